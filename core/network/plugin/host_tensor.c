/* host_tensor.c - host functions on tensors, described in ab_plugin.h: arithmetic, activations, shapes, tables. */
#include "network/plugin/attention_context.h"
#include <string.h>

/* ---- arithmetic ---- */

ab_t host_add(ab_ctx *c, ab_t a, ab_t b) { return t_binary(c, OP_ADD, a, b); }
ab_t host_sub(ab_ctx *c, ab_t a, ab_t b) { return t_binary(c, OP_SUB, a, b); }
ab_t host_mul(ab_ctx *c, ab_t a, ab_t b) { return t_binary(c, OP_MUL, a, b); }
ab_t host_div(ab_ctx *c, ab_t a, ab_t b) { return t_binary(c, OP_DIV, a, b); }
ab_t host_minimum(ab_ctx *c, ab_t a, ab_t b) { return t_binary(c, OP_MINIMUM, a, b); }
ab_t host_less_than(ab_ctx *c, ab_t a, ab_t b) { return t_binary(c, OP_LESS_THAN, a, b); }

/* ---- activations; all but SiLU are composed ---- */

ab_t host_silu(ab_ctx *c, ab_t a) { return t_map(c, a, AB_SILU); }
/* (1 + tanh(u)) / 2 = sigmoid(2 u) */
ab_t host_gelu(ab_ctx *c, ab_t a)
{
    const double twice = 1.5957691216057308; /* 2 sqrt(2/pi) */
    ab_t slope = t_add_scalar(c, t_mul_scalar(c, t_map(c, a, AB_SQUARE), 0.044715 * twice), twice);
    return t_binary(c, OP_MUL, a, t_map(c, t_binary(c, OP_MUL, a, slope), AB_SIGMOID));
}
/* max(a, 0) + log(1 + exp(-|a|)) cannot overflow. max(a, 0) is (a + |a|) / 2, whose gradient at 0 is 1/2, like that of
 * softplus. With relu's gradient of 0, a weight that begins at 0 would stay 0. */
ab_t host_softplus(ab_ctx *c, ab_t a)
{
    ab_t tail = t_map(c, t_mul_scalar(c, t_map(c, a, AB_ABS), -1), AB_EXP);
    ab_t log_tail = t_map(c, t_add_scalar(c, tail, 1), AB_LOG);
    ab_t positive = t_mul_scalar(c, t_binary(c, OP_ADD, a, t_map(c, a, AB_ABS)), 0.5);
    return t_binary(c, OP_ADD, positive, log_tail);
}

ab_t host_unit_length(ab_ctx *c, ab_t a, double eps)
{
    if (!a.id) return a;
    const backend *b = c->backend;
    if (b && b->kernels[OP_UNIT] && !(c->attn && c->attn->generic)) return t_unit(c, a, eps);
    ab_t sum = t_add_scalar(c, host_sum(c, t_map(c, a, AB_SQUARE), -1), eps);
    return t_binary(c, OP_MUL, a, t_map(c, t_map(c, sum, AB_SQRT), AB_RECIP));
}

ab_t host_sum(ab_ctx *c, ab_t a, int axis)
{
    if (!a.id) return a;
    int64_t d[4];
    memcpy(d, tape_at(c, a)->dim, sizeof d);
    axis = from_end(axis);
    if (axis < -4 || axis >= 0) return tape_fail(c, "ab_sum_axis: axis %d, expected -4 to -1", axis);
    d[4 + axis] = 1;
    return t_sum_to(c, a, d);
}

ab_t host_maximum(ab_ctx *c, ab_t a, ab_t b)
{
    return t_mul_scalar(c, t_binary(c, OP_MINIMUM, t_mul_scalar(c, a, -1), t_mul_scalar(c, b, -1)), -1);
}

ab_t host_full(ab_ctx *c, int rank, const int64_t *dims, double value)
{
    int64_t d[4];
    if (!host_dims4(c, "ab_full", rank, dims, d)) return (ab_t){0};
    return t_broadcast_to(c, one_number(c, value), d);
}

/* Stops the gradient: equal value, no backward edge. */
ab_t host_detach(ab_ctx *c, ab_t a)
{
    if (!a.id) return a;
    node v = *tape_at(c, a);
    ab_t y = t_reshape(c, a, v.dim);
    if (y.id) tape_cut(c, y);
    return y;
}

ab_t host_gradient(ab_ctx *c, ab_t y, ab_t x) { return t_gradient(c, y, x); }

/* A view of x that products read in fp32. */
ab_t host_fp32(ab_ctx *c, ab_t x)
{
    if (!x.id) return x;
    if (tape_at(c, x)->type == I32) return tape_fail(c, "ab_fp32: found ids; ab_to_float converts them to numbers");
    x = t_cast(c, x, c->compute == F64 ? F64 : F32);
    node v = *tape_at(c, x);
    ab_t y = t_reshape(c, x, v.dim);
    if (y.id) tape_at(c, y)->exact = true;
    return y;
}

ab_t host_reshape(ab_ctx *c, ab_t a, int rank, const int64_t *dims)
{
    int64_t d[4];
    return a.id && host_dims4(c, "ab_reshape", rank, dims, d) ? t_reshape(c, a, d) : (ab_t){0};
}
ab_t host_transpose(ab_ctx *c, ab_t a, int i, int j) { return t_transpose(c, a, from_end(i), from_end(j)); }
ab_t host_slice(ab_ctx *c, ab_t a, int axis, int64_t from, int64_t n) { return t_slice(c, a, from_end(axis), from, n); }
static bool is_ids(const ab_ctx *c, ab_t x) { return x.id && c->v[x.id].type == I32; }
ab_t host_concat(ab_ctx *c, ab_t a, ab_t b, int axis)
{
    if (a.id && b.id && is_ids(c, a) != is_ids(c, b))
        return tape_fail(c, "ab_concat: found ids and numbers; ab_to_float converts ids to numbers");
    return t_concat(c, a, b, from_end(axis));
}
ab_t host_embedding(ab_ctx *c, ab_t table, ab_t ids)
{
    const int64_t *d = c->v[table.id].dim;
    char shape[64];
    if (table.id && (d[0] != 1 || d[1] != 1))
        return tape_fail(c, "ab_embedding: a table of shape %s, expected [n,d]", shape_text(d, shape));
    return t_embedding(c, table, ids);
}
ab_t host_clipped_relative_position(ab_ctx *c, ab_t q, ab_t k, int64_t clip)
{
    if (clip < 0) return tape_fail(c, "ab_clipped_relative_position: clip %lld, expected 0 or more", (long long)clip);
    return t_clipped_relative_position(c, q, k, clip);
}

ab_t host_outer(ab_ctx *c, ab_t a, ab_t b)
{
    if (!a.id || !b.id) return (ab_t){0};
    int64_t n = node_count(tape_at(c, a)), m = node_count(tape_at(c, b));
    ab_t col = t_reshape(c, a, (int64_t[4]){1, 1, n, 1}), row = t_reshape(c, b, (int64_t[4]){1, 1, 1, m});
    return t_binary(c, OP_MUL, col, row);
}

ab_t host_consts(ab_ctx *c, int rank, const int64_t *dims, const double *v)
{
    int64_t d[4];
    return host_dims4(c, "ab_const", rank, dims, d) ? t_const(c, d, v) : (ab_t){0};
}

/* The values of a table, cached by an earlier trace or computed now. */
static void *table_data(ab_ctx *c, int rank, const int64_t *dims, const int64_t d[4],
                        double (*f)(const void *, const int64_t *), const void *cfg, size_t cfg_size)
{
    table_cache *t = c->tables;
    uint64_t key = hash64(cfg, cfg_size) ^ hash64(&f, sizeof f) * 31 ^ (c->compute == F64) ^ (uint64_t)rank << 8;
    for (size_t i = 0; t && i < t->n; i++)
        if (t->at[i].key == key && !memcmp(t->at[i].dim, d, sizeof t->at[i].dim)) return t->at[i].data;
    int64_t n = d[0] * d[1] * d[2] * d[3], i[4] = {0};
    size_t size = dtype_size(c->compute == F64 ? F64 : F32);
    void *data = arena_alloc(t ? &t->memory : &c->memory, (size_t)n * size);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t k = rank - 1, r = j; k >= 0; k--) {
            i[k] = r % dims[k];
            r /= dims[k];
        }
        if (c->compute == F64)
            ((double *)data)[j] = f(cfg, i);
        else
            ((float *)data)[j] = (float)f(cfg, i);
    }
    if (!t) return data;
    t->at = grow(t->at, &t->cap, t->n + 1, sizeof *t->at);
    t->at[t->n] = (cached_table){.key = key, .data = data};
    memcpy(t->at[t->n++].dim, d, sizeof t->at[0].dim);
    return data;
}

ab_t host_computed_table(ab_ctx *c, int rank, const int64_t *dims, ab_element f, const void *cfg, size_t cfg_size)
{
    int64_t d[4];
    if (!host_dims4(c, "ab_table", rank, dims, d)) return (ab_t){0};
    return t_const_at(c, d, table_data(c, rank, dims, d, f, cfg, cfg_size));
}
