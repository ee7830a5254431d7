/* rows.c - sums over rows, the gradient of ReLU, embedding: small kernels on packed rows. */
#include "tensor/cpu/fused.h"
#include "tensor/cpu/vectors.h"

#define S f32
#include "tensor/cpu/rows.inc"
#undef S
#define S f64
#include "tensor/cpu/rows.inc"
#undef S
#define S bf16
#include "tensor/cpu/rows.inc"
#undef S

int cpu_COLUMN_SUM(const call *k, err *e)
{
    (void)e;
    BY_TYPE(k->in[0].type, colsum, rows_of(&k->in[0]), width_of(&k->in[0]), k->in[0].data, k->out[0].data);
    return 0;
}

int cpu_RELU_BACK(const call *k, err *e)
{
    (void)e;
    BY_TYPE(k->in[0].type, relu_back, rows_of(&k->in[0]) * width_of(&k->in[0]), k->in[0].data, k->in[1].data,
            k->out[0].data);
    return 0;
}

static int check_ids(const char *what, const int32_t *id, int64_t n, int64_t words, err *e)
{
    for (int64_t r = 0; r < n; r++)
        if (id[r] >= words)
            return fail(e, "%s: id %d in row %lld, but the table has %lld rows", what, id[r], (long long)r,
                        (long long)words);
    return 0;
}

int cpu_EMBED_TOKENS(const call *k, err *e)
{
    int64_t rows = rows_of(&k->out[0]);
    if (check_ids("embedding", k->in[1].data, rows, rows_of(&k->in[0]), e)) return -1;
    BY_TYPE(k->out[0].type, embed, rows, width_of(&k->out[0]), k->in[0].data, k->in[1].data, k->a.EMBED_TOKENS.scale,
            k->out[0].data);
    return 0;
}

int cpu_EMBED_TOKENS_BACK(const call *k, err *e)
{
    int64_t rows = rows_of(&k->in[1]), words = rows_of(&k->out[0]), d = width_of(&k->out[0]);
    if (check_ids("gradient of embedding", k->in[2].data, rows, words, e)) return -1;
    BY_TYPE(k->in[1].type, embed_back, rows, words, d, k->in[0].data, k->in[1].data, k->in[2].data,
            k->a.EMBED_TOKENS.scale, k->out[0].data);
    return 0;
}
