/* host_head.c - host functions for heads: logits, cross entropy, later targets. */
#include "network/plugin/attention_context.h"

ab_t host_token_vectors(ab_ctx *c) { return c->attn->layer->token_vectors(c); }

ab_t host_logits(ab_ctx *c, ab_t x)
{
    return x.id ? t_linear(c, x, c->attn->layer->token_vectors(c), (ab_t){0}, 1, 0) : x;
}

ab_t host_teacher(ab_ctx *c) { return c->attn->layer->teacher(c); }

ab_t host_layer(ab_ctx *c, ab_t x, const char *name)
{
    char shape[64];
    if (!x.id) return x;
    const int64_t *d = tape_at(c, x)->dim, rows = c->attn->q_rows, width = c->attn->info.d_model;
    if (d[0] != 1 || d[1] != 1 || d[2] != rows || d[3] != width)
        return tape_fail(c, "ab_layer: %s, expected rows [%lld,%lld]", shape_text(d, shape), (long long)rows,
                         (long long)width);
    return attn_claim(c, name) ? c->attn->layer->own_layer(c, t_cast(c, x, c->compute), name) : (ab_t){0};
}

/* ids [rows] as a column of numbers [rows,1] */
static ab_t column(ab_ctx *c, ab_t ids)
{
    int64_t n = node_count(tape_at(c, ids));
    return t_reshape(c, t_to_float(c, ids), (int64_t[4]){1, 1, n, 1});
}

static bool are_ids_of(ab_ctx *c, const char *function, ab_t ids, int64_t rows)
{
    char shape[64];
    const node *v = tape_at(c, ids);
    if (v->type == I32 && node_count(v) == rows && v->dim[3] == rows) return true;
    tape_fail(c, "%s: %s, expected ids [%lld]", function, shape_text(v->dim, shape), (long long)rows);
    return false;
}

/* Returns log sum exp of the row, minus the target's logit. */
ab_t host_cross_entropy(ab_ctx *c, ab_t logits, ab_t target)
{
    if (!logits.id || !target.id) return (ab_t){0};
    int64_t rows = tape_at(c, logits)->dim[2];
    if (!are_ids_of(c, "ab_cross_entropy", target, rows)) return (ab_t){0};
    ab_t none = one_number(c, -1), zero = one_number(c, 0);
    ab_t x = t_cast(c, logits, c->compute == F64 ? F64 : F32), at = column(c, target);
    ab_t largest = host_detach(c, host_max(c, x, -1));
    ab_t sum = host_sum(c, t_map(c, t_binary(c, OP_SUB, x, largest), AB_EXP), -1);
    ab_t all = t_binary(c, OP_ADD, t_map(c, sum, AB_LOG), largest);
    ab_t own = host_gather(c, x, host_to_ids(c, host_maximum(c, at, zero)));
    return t_binary(c, OP_MUL, t_binary(c, OP_SUB, all, own), t_binary(c, OP_LESS_THAN, none, at));
}

/* Splits whole numbers x [1,1,n,1] into multiples of 128 (*rest) and a remainder. Both are exact in bf16. */
static ab_t split_digit(ab_ctx *c, ab_t x, ab_t *rest)
{
    enum { BASE = 128 };
    *rest = t_to_float(c, t_to_ids(c, t_mul_scalar(c, x, 1.0 / BASE)));
    return t_binary(c, OP_SUB, x, t_mul_scalar(c, *rest, BASE));
}

ab_t host_ahead(ab_ctx *c, ab_t ids, int64_t by)
{
    if (!ids.id || !are_ids_of(c, "ab_ahead", ids, c->attn->q_rows)) return (ab_t){0};
    if (by < 0) return tape_fail(c, "ab_ahead: by = %lld rows, expected 0 or more", (long long)by);
    int64_t n = c->attn->q_rows;
    /* rows are moved in the model's type, in which an id may be inexact: move it as digits */
    ab_t high, low = split_digit(c, t_add_scalar(c, column(c, ids), 1), &high), middle = split_digit(c, high, &high);
    ab_t y = attn_ahead(c, t_concat(c, t_concat(c, low, middle, -1), high, -1), by);
    if (!y.id) return y;
    ab_t digit[3];
    for (int i = 0; i < 3; i++) digit[i] = t_cast(c, t_slice(c, y, -1, i, 1), c->compute == F64 ? F64 : F32);
    y = t_binary(c, OP_ADD, t_mul_scalar(c, digit[2], 128), digit[1]);
    y = t_binary(c, OP_ADD, t_mul_scalar(c, y, 128), digit[0]);
    return host_to_ids(c, t_reshape(c, t_add_scalar(c, y, -1), (int64_t[4]){1, 1, 1, n}));
}
