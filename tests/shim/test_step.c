/* test_step.c - ATTEND_STEP: several steps with one cache, rows that continue other rows' pasts, the first and the last
 * position, heads of every width; and a step for which the cache is full. */
#include "shim_test.h"

typedef struct {
    int64_t rows, heads, d_k, d_v, capacity;
    int32_t time[3];
} setting;

static void check_setting(dtype type, const setting *s)
{
    int64_t width = s->heads * (s->d_k + s->d_v);
    view cache = randoms(tensor(type, 1, s->rows, s->capacity, width)), time = tensor(I32, 1, 1, 1, 1);
    view ancestors = ids_below(tensor(I32, 1, 1, s->rows, s->capacity), s->rows);
    view qkv = tensor(type, 1, 1, s->rows, width + s->heads * s->d_k),
         y = tensor(type, 1, 1, s->rows, s->heads * s->d_v);
    for (int i = 0; i < 3; i++) {
        char name[128];
        snprintf(name, sizeof name, "%lld rows, %lld heads, d %lld and %lld, time %d, %s", (long long)s->rows,
                 (long long)s->heads, (long long)s->d_k, (long long)s->d_v, s->time[i], dtype_name(type));
        set(&time, 0, s->time[i]);
        randoms(qkv);
        call k = {.op = OP_ATTEND_STEP,
                  .n_in = 4,
                  .n_out = 1,
                  .in = {qkv, cache, ancestors, time},
                  .out = {y},
                  .a = {.ATTEND = {.scale = 1 / sqrt((double)s->d_k),
                                   .heads = s->heads,
                                   .d_k = s->d_k,
                                   .d_v = s->d_v,
                                   .causal = 1,
                                   .most_keys = s->capacity}}};
        check_call(name, cpu_ATTEND_STEP, cuda_ATTEND_STEP, &k, type == F32 ? 1e-5 : 2e-3);
        if (i == 2) release_views(&k);
    }
}

/* With batch_invariant, a row has the same bits however many rows there are. */
static void check_company(dtype type)
{
    enum { MANY = 40, HEADS = 2, WIDTH = HEADS * 16, CAPACITY = 40 };
    view cache = randoms(tensor(type, 1, MANY, CAPACITY, WIDTH)),
         qkv = randoms(tensor(type, 1, 1, MANY, WIDTH + HEADS * 8));
    view ancestors = tensor(I32, 1, 1, MANY, CAPACITY), y = tensor(type, 1, 1, MANY, HEADS * 8),
         time = ids_of(1, (int32_t[]){33});
    for (int64_t i = 0; i < size_of(&ancestors); i++) set(&ancestors, i, (double)(i / CAPACITY));
    size_t bytes = (size_t)(HEADS * 8) * dtype_size(type);
    char rows[2][HEADS * 8 * 4];
    call k = {.op = OP_ATTEND_STEP,
              .n_in = 4,
              .n_out = 1,
              .in = {qkv, cache, ancestors, time},
              .out = {y},
              .a = {.ATTEND = {.scale = 0.4, .heads = HEADS, .d_k = 8, .d_v = 8, .causal = 1, .most_keys = CAPACITY}}};
    for (int i = 0; i < 4; i++) k.in[i].data = gpu_copy_of(k.in[i].data, bytes_of_view(&k.in[i]));
    k.out[0].data = gpu_alloc(bytes_of_view(&y));
    for (int run = 0; run < 2; run++) {
        err e = {{0}};
        k.in[0].dim[2] = k.in[1].dim[1] = k.in[2].dim[2] = k.out[0].dim[2] = run ? 1 : MANY;
        CHECK_THAT(!cuda_ATTEND_STEP(&k, &e), "%s", e.text);
        gpu_copy_out(rows[run], k.out[0].data, bytes);
    }
    CHECK_THAT(!memcmp(rows[0], rows[1], bytes), "%s: other bits of row 0 among %d rows than alone", dtype_name(type),
               MANY);
    for (int i = 0; i < 4; i++) gpu_release(k.in[i].data);
    gpu_release(k.out[0].data);
    free(cache.data), free(qkv.data), free(ancestors.data), free(y.data), free(time.data);
}

/* Only the device knows the position: a wrong position must give NaN and leave the cache unchanged. */
static void check_no_room(int32_t wrong)
{
    enum { WIDTH = 16 };
    float host[3 * WIDTH], out[8];
    for (int i = 0; i < 3 * WIDTH; i++) host[i] = 1;
    int32_t zeros[2] = {0, 0};
    float *qkv = gpu_copy_of(host, 24 * sizeof *host), *cache = gpu_copy_of(host, 2 * WIDTH * sizeof *host);
    float *y = gpu_alloc(8 * sizeof *y);
    int32_t *ancestors = gpu_copy_of(zeros, sizeof zeros), *time = gpu_copy_of(&wrong, sizeof wrong);
    call k = {.op = OP_ATTEND_STEP,
              .n_in = 4,
              .n_out = 1,
              .in = {{qkv, {1, 1, 1, 24}, F32, -1},
                     {cache, {1, 1, 2, WIDTH}, F32, -1},
                     {ancestors, {1, 1, 1, 2}, I32, -1},
                     {time, {1, 1, 1, 1}, I32, -1}},
              .out = {{y, {1, 1, 1, 8}, F32, -1}},
              .a = {.ATTEND = {.scale = 1, .heads = 1, .d_k = 8, .d_v = 8, .causal = 1, .most_keys = 2}}};
    err e = {{0}};
    CHECK_THAT(!cuda_ATTEND_STEP(&k, &e), "time %d: %s", wrong, e.text);
    gpu_copy_out(out, y, sizeof out);
    gpu_copy_out(host, cache, 2 * WIDTH * sizeof *host);
    for (int i = 0; i < 8; i++)
        CHECK_THAT(isnan(out[i]), "time %d: y[%d] is %g, expected no number", wrong, i, (double)out[i]);
    for (int i = 0; i < 2 * WIDTH; i++)
        CHECK_THAT(host[i] == 1, "time %d: cache[%d] is %g, expected 1", wrong, i, (double)host[i]);
    gpu_release(qkv), gpu_release(cache), gpu_release(y), gpu_release(ancestors), gpu_release(time);
}

int main(void)
{
    start();
    static const setting settings[] = {
        {3, 2, 16, 16, 5, {0, 1, 4}},    {2, 2, 64, 64, 40, {0, 7, 39}},    {10, 2, 8, 8, 40, {0, 31, 32}},
        {5, 1, 20, 20, 33, {3, 31, 32}}, {2, 3, 7, 65, 70, {0, 40, 69}},    {2, 1, 128, 128, 9, {0, 7, 8}},
        {5, 2, 40, 24, 10, {2, 5, 9}},   {1, 1, 256, 128, 18, {1, 16, 17}}, {1, 1, 512, 512, 12, {0, 8, 11}},
        {1, 1, 510, 1, 12, {0, 8, 11}},  {4, 1, 32, 32, 6, {0, 3, 5}},      {2, 1, 64, 512, 6, {0, 3, 5}},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        check_setting(F32, &settings[i]);
        check_setting(BF16, &settings[i]);
    }
    check_company(F32);
    check_company(BF16);
    check_no_room(2);
    check_no_room(-1);
    return finish();
}
