/* test_dnn_attend.c - ATTEND and ATTEND_BACK by cuDNN. Without a GPU, a stand-in runs its graphs operation by operation
 * and so checks their meaning (fake_cudnn.c); on a GPU, cuDNN itself runs them. Rows outside of sentences are NaN in
 * the inputs. */
#ifndef HAVE_CUDNN
#include <stdio.h>
int main(void)
{
    puts("skipped: this was built without cudnn.h");
    return 77;
}
#else
#include "tensor/cuda/cudnn/dnn_attend.h"
#include "shim_test.h"

enum { SENTENCES = 6, DUMMIES = 5 };
typedef struct {
    const char *name;
    int64_t heads, d_k, d_v;
    bool self, causal;
    double scale, dropout;
    int32_t q[SENTENCES], k[SENTENCES]; /* lengths of the sentences; self: k is q */
    bool taken;
} setting;

static view offsets_of(const int32_t *length, int64_t *longest)
{
    view off = tensor(I32, 1, 1, 1, SENTENCES + 1);
    int64_t at = 0;
    *longest = 1;
    for (int i = 0; i <= SENTENCES; i++) {
        set(&off, i, (double)at);
        if (i < SENTENCES && length[i] > *longest) *longest = length[i];
        at += i < SENTENCES ? length[i] : 0;
    }
    return off;
}
static view rows_with_dummies(dtype type, int64_t rows, int64_t width)
{
    view v = randoms(tensor(type, 1, 1, rows + DUMMIES, width));
    memset((char *)v.data + (size_t)(rows * width) * dtype_size(type), 0xff,
           (size_t)(DUMMIES * width) * dtype_size(type));
    return v;
}

/* Backward passes in a fixed order on packed rows need capability 9.0. */
static bool packs_backwards(void)
{
    gpu_device d = {.major = 0};
    return !gpu_describe(0, &d) && d.major >= 9;
}

/* Checks which calls were counted since `before`, and updates `before`. */
static void expect_calls(const char *name, dnn_attend_count *before, bool of_cudnn)
{
    dnn_attend_count now = dnn_attend_counts();
    int64_t library = now.library - before->library, own = now.own - before->own;
    CHECK_THAT((library > 0) == of_cudnn && (own > 0) == !of_cudnn,
               "%s: cuDNN was called %lld times and our kernels %lld times, expected %s alone", name,
               (long long)library, (long long)own, of_cudnn ? "cuDNN" : "ours");
    *before = now;
}

static void check_setting(dtype type, const setting *s)
{
    char name[128];
    snprintf(name, sizeof name, "%s, %s", s->name, dtype_name(type));
    int64_t queries, keys;
    view q_off = offsets_of(s->q, &queries), k_off = offsets_of(s->self ? s->q : s->k, &keys);
    int64_t used_q = (int64_t)get(&q_off, SENTENCES), used_k = (int64_t)get(&k_off, SENTENCES);
    int64_t K = s->heads * s->d_k, U = s->heads * s->d_v;
    view q = rows_with_dummies(type, used_q, K + (s->self ? K + U : 0)),
         kv = s->self ? q : rows_with_dummies(type, used_k, K + U);
    attr a = {.ATTEND = {.p = s->dropout,
                         .scale = s->scale,
                         .place = 21,
                         .k_column = s->self ? K : 0,
                         .v_column = s->self ? 2 * K : K,
                         .heads = s->heads,
                         .d_k = s->d_k,
                         .d_v = s->d_v,
                         .causal = s->causal,
                         .most_keys = keys + 3,
                         .most_queries = queries + 2}};
    view y = tensor(type, 1, 1, used_q + DUMMIES, U), lse = tensor(F32, 1, 1, used_q + DUMMIES, s->heads);
    call forward = {.op = OP_ATTEND,
                    .n_in = 5,
                    .n_out = 2,
                    .in = {q, kv, kv, q_off, k_off},
                    .out = {y, lse},
                    .a = a,
                    .training = true,
                    .seed = 0x123456789abcdef0u,
                    .step = 7};
    bool taken = s->taken && type == BF16;
    dnn_attend_count before = dnn_attend_counts();
    check_call(name, cpu_ATTEND, cuda_ATTEND, &forward, type == F32 ? 1e-5 : 1e-2);
    expect_calls(name, &before, taken);

    view dy = rows_with_dummies(type, used_q, U), dq = tensor(type, 1, 1, used_q + DUMMIES, q.dim[3]);
    view dkv = s->self ? (view){.type = type, .param = -1} : tensor(type, 1, 1, used_k + DUMMIES, K + U);
    call back = forward;
    back.op = OP_ATTEND_BACK, back.n_in = 8;
    back.in[5] = y, back.in[6] = lse, back.in[7] = dy;
    back.out[0] = dq, back.out[1] = dkv;
    strncat(name, ", backward", sizeof name - strlen(name) - 1);
    check_call(name, cpu_ATTEND_BACK, cuda_ATTEND_BACK, &back, type == F32 ? 2e-5 : 2e-2);
    expect_calls(name, &before, taken && packs_backwards());
    free(q_off.data), free(k_off.data), free(q.data), free(y.data), free(lse.data), free(dy.data), free(dq.data);
    if (!s->self) free(kv.data), free(dkv.data);
}

/* By default cuDNN is used from 128 rows per sentence on average, however long the longest sentence is. */
static void check_choice(void)
{
    static const struct {
        const char *wish;
        int64_t longest, rows;
        bool expected;
    } cases[] = {{NULL, 512, 4, false},
                 {NULL, 512, 127, false},
                 {NULL, 128, 128, true},
                 {"own", 512, 128, false},
                 {"cudnn", 40, 4, true}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        if (cases[i].wish)
            setenv("ABLATE_ATTENTION", cases[i].wish, 1);
        else
            unsetenv("ABLATE_ATTENTION");
        int64_t rows = cases[i].rows;
        view q = randoms(tensor(BF16, 1, 1, rows, 48)), off = ids_of(2, (int32_t[]){0, (int32_t)rows}),
             y = tensor(BF16, 1, 1, rows, 16), lse = tensor(F32, 1, 1, rows, 1);
        call k = {.op = OP_ATTEND,
                  .n_in = 5,
                  .n_out = 2,
                  .in = {q, q, q, off, off},
                  .out = {y, lse},
                  .a = {.ATTEND = {.scale = 1,
                                   .k_column = 16,
                                   .v_column = 32,
                                   .heads = 1,
                                   .d_k = 16,
                                   .d_v = 16,
                                   .most_keys = cases[i].longest,
                                   .most_queries = rows}}};
        int64_t before = dnn_attend_counts().library;
        check_call("choice", cpu_ATTEND, cuda_ATTEND, &k, 1e-2);
        CHECK_THAT((dnn_attend_counts().library > before) == cases[i].expected,
                   "ABLATE_ATTENTION=%s, %lld rows of a sentence, which may have %lld: cuDNN was %scalled",
                   cases[i].wish ? cases[i].wish : "(not set)", (long long)rows, (long long)cases[i].longest,
                   cases[i].expected ? "not " : "");
        free(q.data), free(off.data), free(y.data), free(lse.data);
    }
}

/* cuDNN before 9.25 is used only if the user asks for it. */
static void check_version(void)
{
#ifdef GPU_ON_CPU
    static const struct {
        const char *version, *wish;
        bool expected;
    } cases[] = {{"92500", "auto", true}, {"92400", "auto", false}, {"92400", "cudnn", true}};
    enum { ROWS = 130 };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        setenv("FAKE_CUDNN_VERSION", cases[i].version, 1);
        setenv("ABLATE_ATTENTION", cases[i].wish, 1);
        view q = randoms(tensor(BF16, 1, 1, ROWS, 48)), off = ids_of(2, (int32_t[]){0, ROWS}),
             y = tensor(BF16, 1, 1, ROWS, 16), lse = tensor(F32, 1, 1, ROWS, 1);
        call k = {.op = OP_ATTEND,
                  .n_in = 5,
                  .n_out = 2,
                  .in = {q, q, q, off, off},
                  .out = {y, lse},
                  .a = {.ATTEND = {.scale = 1,
                                   .k_column = 16,
                                   .v_column = 32,
                                   .heads = 1,
                                   .d_k = 16,
                                   .d_v = 16,
                                   .most_keys = ROWS,
                                   .most_queries = ROWS}}};
        int64_t before = dnn_attend_counts().library;
        check_call("version", cpu_ATTEND, cuda_ATTEND, &k, 1e-2);
        CHECK_THAT((dnn_attend_counts().library > before) == cases[i].expected,
                   "cuDNN %s with ABLATE_ATTENTION=%s was %scalled", cases[i].version, cases[i].wish,
                   cases[i].expected ? "not " : "");
        free(q.data), free(off.data), free(y.data), free(lse.data);
    }
    unsetenv("FAKE_CUDNN_VERSION");
#endif
}

static void check_wish(void)
{
    view q = randoms(tensor(BF16, 1, 1, 4, 48)), off = ids_of(2, (int32_t[]){0, 4}), y = tensor(BF16, 1, 1, 4, 16),
         lse = tensor(F32, 1, 1, 4, 1);
    call k = {.op = OP_ATTEND,
              .n_in = 5,
              .n_out = 2,
              .in = {q, q, q, off, off},
              .out = {y, lse},
              .a = {.ATTEND = {.scale = 1,
                               .k_column = 16,
                               .v_column = 32,
                               .heads = 1,
                               .d_k = 16,
                               .d_v = 16,
                               .most_keys = 4,
                               .most_queries = 4}}};
    err e = {{0}};
    setenv("ABLATE_ATTENTION", "cudn", 1);
    CHECK_REFUSED(cuda_ATTEND(&k, &e), &e, "ABLATE_ATTENTION=cudn: expected own, cudnn, wgmma or auto");
    free(q.data), free(off.data), free(y.data), free(lse.data);
}

int main(void)
{
    start();
    static const setting settings[] = {
        {"self", 2, 16, 16, true, false, 0.25, 0, {7, 1, 20, 0, 33, 12}, {0}, true},
        {"self, causal", 2, 16, 16, true, true, 0.25, 0, {33, 2, 1, 17, 0, 5}, {0}, true},
        {"cross, other widths", 3, 32, 16, false, false, 0.2, 0, {3, 9, 40, 1, 17, 5}, {35, 4, 2, 30, 16, 1}, true},
        {"scale below 0", 1, 16, 32, true, true, -0.3, 0, {5, 6, 7, 8, 9, 10}, {0}, true},
        {"dropout", 2, 16, 16, true, false, 0.25, 0.2, {7, 1, 20, 0, 33, 12}, {0}, false},
        {"d 24", 2, 24, 24, true, false, 0.25, 0, {7, 1, 20, 0, 33, 12}, {0}, false},
    };
    setenv("ABLATE_ATTENTION", "cudnn", 1);
    for (size_t i = 0; i < LENGTH(settings); i++) check_setting(BF16, &settings[i]), check_setting(F32, &settings[i]);
    check_choice();
    check_version();
    check_wish();
    dnn_close();
    return finish();
}
#endif
