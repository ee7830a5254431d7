/* attend_setting.h - ATTEND and ATTEND_BACK on random sentences of given lengths, against the CPU: for test_attend.c
 * and test_wgmma.c. */
#ifndef ABLATE_ATTEND_SETTING_H
#define ABLATE_ATTEND_SETTING_H
#include "tensor/cuda/attention.h"
#include "shim_test.h"

typedef struct {
    const char *name;
    int64_t heads, d_k, d_v, gap; /* gap: unused columns in front of q and between k and v */
    bool self, causal;
    double p;
    int n;
    int32_t q[10], k[10]; /* q, k: lengths of up to ten sentences; self: k is q */
} setting;

static bool all_pairs;   /* every sentence has two rows, whatever `q` and `k` say */
static double times = 1; /* the scale is `times` / sqrt(the keys' width) */

/* Offsets of n sentences. From the eleventh on, most sentences are empty. */
static view offsets_of(int n, const int32_t *length, int64_t *longest)
{
    view off = tensor(I32, 1, 1, 1, n + 1);
    int64_t at = 0;
    *longest = 1;
    for (int i = 0; i <= n; i++) {
        set(&off, i, (double)at);
        int64_t rows = all_pairs ? 2 : i < 10 ? length[i] : i % 7 ? 0 : i % 3;
        if (i < n && rows > *longest) *longest = rows;
        at += rows;
    }
    return off;
}
/* Random rows, followed by `dummies` rows of NaN. */
static view rows_with_dummies(dtype type, int64_t rows, int64_t dummies, int64_t width)
{
    view v = randoms(tensor(type, 1, 1, rows + dummies, width));
    memset((char *)v.data + (size_t)(rows * width) * dtype_size(type), 0xff,
           (size_t)(dummies * width) * dtype_size(type));
    return v;
}

static void check_setting(dtype type, const setting *s, bool backward)
{
    char name[128];
    snprintf(name, sizeof name, "%s, %s", s->name, dtype_name(type));
    int64_t longest, longest_query;
    view q_off = offsets_of(s->n, s->q, &longest_query), k_off = q_off;
    longest = longest_query;
    if (!s->self) k_off = offsets_of(s->n, s->k, &longest);
    int64_t used_q = (int64_t)get(&q_off, s->n), used_k = (int64_t)get(&k_off, s->n), rows = used_q + 3;
    int64_t q_width = s->heads * s->d_k, v_width = s->heads * s->d_v, kv_width = q_width + s->gap + v_width;
    view q = rows_with_dummies(type, used_q, 3, s->gap + q_width + (s->self ? kv_width : 0));
    view kv = s->self ? q : rows_with_dummies(type, used_k, 19, kv_width);
    int64_t k_column = s->self ? s->gap + q_width : 0;
    attr a = {.ATTEND = {.p = s->p,
                         .scale = times / sqrt((double)s->d_k),
                         .place = 21,
                         .q_column = s->gap,
                         .k_column = k_column,
                         .v_column = k_column + q_width + s->gap,
                         .heads = s->heads,
                         .d_k = s->d_k,
                         .d_v = s->d_v,
                         .causal = s->causal,
                         .most_keys = longest,
                         .most_queries = longest_query}};
    view y = tensor(type, 1, 1, rows, v_width), lse = tensor(F32, 1, 1, rows, s->heads);
    call forward = {.op = OP_ATTEND,
                    .n_in = 5,
                    .n_out = 2,
                    .in = {q, kv, kv, q_off, k_off},
                    .out = {y, lse},
                    .a = a,
                    .training = true,
                    .seed = 0x123456789abcdef0u,
                    .step = 7};
    check_call(name, cpu_ATTEND, cuda_ATTEND, &forward, type == F32 ? 1e-5 : 4e-3);

    if (!backward) {
        release_views(&forward);
        return;
    }
    view dy = rows_with_dummies(type, used_q, 3, v_width), dq = tensor(type, 1, 1, rows, q.dim[3]);
    view dkv = s->self ? (view){.type = type, .param = -1} : tensor(type, 1, 1, used_k + 19, kv_width);
    call back = forward;
    back.op = OP_ATTEND_BACK, back.n_in = 8;
    back.in[5] = y, back.in[6] = lse, back.in[7] = dy;
    back.out[0] = dq, back.out[1] = dkv;
    strncat(name, ", backward", sizeof name - strlen(name) - 1);
    check_call(name, cpu_ATTEND_BACK, cuda_ATTEND_BACK, &back, type == F32 ? 2e-5 : 1e-2);
    release_views(&back);
}
#endif
