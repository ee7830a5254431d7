/* rows.c - sums over rows, the gradient of ReLU, embedding: small kernels on packed rows. */
#include "tensor/cpu/fused.h"
#include "tensor/cpu/vectors.h"

#define OF_EACH_TYPE "tensor/cpu/rows.inc"
#include "tensor/cpu/each_type.h"

int cpu_COLUMN_SUM(const call *k, err *e)
{
    (void)e;
    BY_TYPE(k->i.COLUMN_SUM.x.type, colsum, rows_of(&k->i.COLUMN_SUM.x), width_of(&k->i.COLUMN_SUM.x),
            k->i.COLUMN_SUM.x.data, k->o.COLUMN_SUM.y.data);
    return 0;
}

int cpu_RELU_BACK(const call *k, err *e)
{
    (void)e;
    BY_TYPE(k->i.RELU_BACK.y.type, relu_back, rows_of(&k->i.RELU_BACK.y) * width_of(&k->i.RELU_BACK.y),
            k->i.RELU_BACK.y.data, k->i.RELU_BACK.dy.data, k->o.RELU_BACK.y.data);
    return 0;
}

static int check_token_ids(const char *what, const int32_t *id, int64_t n, int64_t vocab, err *e)
{
    for (int64_t r = 0; r < n; r++)
        if (id[r] >= vocab)
            return fail(e, "%s: id %d in row %lld, but the table has %lld rows", what, id[r], (long long)r,
                        (long long)vocab);
    return 0;
}

int cpu_EMBED_TOKENS(const call *k, err *e)
{
    int64_t rows = rows_of(&k->o.EMBED_TOKENS.y);
    if (check_token_ids("embedding", k->i.EMBED_TOKENS.ids.data, rows, rows_of(&k->i.EMBED_TOKENS.table), e)) return -1;
    BY_TYPE(k->o.EMBED_TOKENS.y.type, embed, rows, width_of(&k->o.EMBED_TOKENS.y), k->i.EMBED_TOKENS.table.data,
            k->i.EMBED_TOKENS.ids.data, k->a.EMBED_TOKENS.scale, k->o.EMBED_TOKENS.y.data);
    return 0;
}

int cpu_EMBED_TOKENS_BACK(const call *k, err *e)
{
    int64_t rows = rows_of(&k->i.EMBED_TOKENS_BACK.dy), vocab = rows_of(&k->o.EMBED_TOKENS_BACK.y),
            d = width_of(&k->o.EMBED_TOKENS_BACK.y);
    if (check_token_ids("gradient of embedding", k->i.EMBED_TOKENS_BACK.ids.data, rows, vocab, e)) return -1;
    BY_TYPE(k->i.EMBED_TOKENS_BACK.dy.type, embed_back, rows, vocab, d, k->i.EMBED_TOKENS_BACK.base.data,
            k->i.EMBED_TOKENS_BACK.dy.data, k->i.EMBED_TOKENS_BACK.ids.data, k->a.EMBED_TOKENS.scale,
            k->o.EMBED_TOKENS_BACK.y.data);
    return 0;
}
