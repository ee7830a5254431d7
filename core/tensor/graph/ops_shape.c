/* ops_shape.c - operations on axes, ids and tables; moves of the attention context between rows and [B,H,T,d]. */
#include "tensor/graph/grad.h"
#include <string.h>

static bool real_axis(ab_ctx *c, const char *what, int axis)
{
    if (axis >= -4 && axis <= -1) return true;
    tape_fail(c, "%s: axis %d, expected -4 to -1 (-1 is the last)", what, axis);
    return false;
}

ab_t t_reshape(ab_ctx *c, ab_t a, const int64_t dim[4])
{
    GIVEN1(a);
    char from[64], to[64];
    if (dim[0] * dim[1] * dim[2] * dim[3] != node_count(tape_at(c, a)))
        return tape_fail(c, "reshape: %s and %s have different numbers of elements",
                         shape_text(tape_at(c, a)->dim, from), shape_text(dim, to));
    return push1(c, OP_RESHAPE, a, dim, NULL);
}
static void reshape_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    int32_t a = tape_at(c, y)->in[0];
    grad_add(c, a, t_reshape(c, dy, dims_of(c, a).dim));
}

ab_t t_transpose(ab_ctx *c, ab_t a, int axis1, int axis2)
{
    GIVEN1(a);
    if (!real_axis(c, "swap", axis1) || !real_axis(c, "swap", axis2)) return (ab_t){0};
    dims d = dims_of(c, a.id);
    int64_t t = d.dim[4 + axis1];
    d.dim[4 + axis1] = d.dim[4 + axis2];
    d.dim[4 + axis2] = t;
    return push1(c, OP_TRANSPOSE, a, d.dim, &(attr){.TRANSPOSE = {.axis1 = axis1, .axis2 = axis2}});
}
static void swap_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    grad_add(c, v.i.TRANSPOSE.x, t_transpose(c, dy, (int)v.a.TRANSPOSE.axis1, (int)v.a.TRANSPOSE.axis2));
}

ab_t t_slice(ab_ctx *c, ab_t a, int axis, int64_t from, int64_t n)
{
    GIVEN1(a);
    if (!real_axis(c, "slice", axis)) return (ab_t){0};
    dims d = dims_of(c, a.id);
    if (from < 0 || n < 1 || from + n > d.dim[4 + axis])
        return tape_fail(c, "slice: found %lld elements from %lld, expected at least 1, all within length %lld",
                         (long long)n, (long long)from, (long long)d.dim[4 + axis]);
    d.dim[4 + axis] = n;
    return push1(c, OP_SLICE, a, d.dim, &(attr){.SLICE = {.axis = axis, .from = from}});
}
static void slice_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    grad_add(c, v.i.SLICE.x, push1(c, OP_PAD, dy, c->v[v.i.SLICE.x].dim, &v.a));
}
static void place_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    int axis = (int)v.a.SLICE.axis;
    grad_add(c, v.i.PAD.x, t_slice(c, dy, axis, v.a.SLICE.from, c->v[v.i.PAD.x].dim[4 + axis]));
}

ab_t t_place(ab_ctx *c, ab_t x, int axis, int64_t from, int64_t n)
{
    GIVEN1(x);
    dims d = dims_of(c, x.id);
    if (d.dim[4 + axis] == n) return x;
    d.dim[4 + axis] = n;
    return push1(c, OP_PAD, number(c, x), d.dim, &(attr){.SLICE = {.axis = axis, .from = from}});
}

ab_t t_concat(ab_ctx *c, ab_t a, ab_t b, int axis)
{
    GIVEN2(a, b);
    if (!real_axis(c, "join", axis)) return (ab_t){0};
    dims d = dims_of(c, a.id), e = dims_of(c, b.id);
    char sa[64], sb[64];
    for (int i = 0; i < 4; i++)
        if (i != 4 + axis && d.dim[i] != e.dim[i])
            return tape_fail(c, "concat: shapes %s and %s differ at axis %d", shape_text(d.dim, sa),
                             shape_text(e.dim, sb), i - 4);
    d.dim[4 + axis] += e.dim[4 + axis];
    b = t_cast(c, b, tape_at(c, a)->type);
    return push2(c, OP_CONCAT, a, b, d.dim, &(attr){.CONCAT = {.axis = axis}});
}
static void join_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    int axis = (int)v.a.CONCAT.axis;
    int64_t na = c->v[v.i.CONCAT.a].dim[4 + axis], nb = c->v[v.i.CONCAT.b].dim[4 + axis];
    if (grad_wanted(c, v.i.CONCAT.a)) grad_add(c, v.i.CONCAT.a, t_slice(c, dy, axis, 0, na));
    if (grad_wanted(c, v.i.CONCAT.b)) grad_add(c, v.i.CONCAT.b, t_slice(c, dy, axis, na, nb));
}

ab_t t_rotate_half(ab_ctx *c, ab_t a)
{
    GIVEN1(a);
    int64_t n = tape_at(c, a)->dim[3];
    if (n % 2) return tape_fail(c, "rotate_half: the last axis has an odd length, %lld", (long long)n);
    return like(c, OP_ROTATE_HALF, a, NULL);
}
static void turn_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    grad_add(c, tape_at(c, y)->in[0], t_mul_scalar(c, t_rotate_half(c, dy), -1));
}

/* ---- ids and tables ---- */

static bool ids_given(ab_ctx *c, const char *what, ab_t x)
{
    if (tape_at(c, x)->type == I32) return true;
    tape_fail(c, "%s: found numbers, expected ids (positions, distances)", what);
    return false;
}

ab_t t_embedding(ab_ctx *c, ab_t table, ab_t ids)
{
    table = number(c, table);
    GIVEN2(table, ids);
    if (!ids_given(c, "rows", ids)) return (ab_t){0};
    int64_t d[4] = {1, 1, node_count(tape_at(c, ids)), tape_at(c, table)->dim[3]};
    return push2(c, OP_EMBEDDING, table, ids, d, NULL);
}
ab_t t_sum_rows_by_id(ab_ctx *c, ab_t rows, ab_t ids, int64_t n)
{
    rows = number(c, rows);
    GIVEN2(rows, ids);
    if (!ids_given(c, "scatter_rows", ids)) return (ab_t){0};
    const int64_t *d = tape_at(c, rows)->dim;
    char sr[64];
    if (d[0] != 1 || d[1] != 1 || d[2] != node_count(tape_at(c, ids)))
        return tape_fail(c, "scatter_rows: rows %s with %lld ids, expected one id per row", shape_text(d, sr),
                         (long long)node_count(tape_at(c, ids)));
    return push2(c, OP_EMBEDDING_BACK, rows, ids, (int64_t[4]){1, 1, n, d[3]}, NULL);
}
static void sum_rows_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    grad_add(c, v.i.EMBEDDING_BACK.dy, t_embedding(c, dy, (ab_t){v.i.EMBEDDING_BACK.ids}));
}

static void rows_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t table = {v.i.EMBEDDING.table}, ids = {v.i.EMBEDDING.ids};
    if (grad_wanted(c, table.id))
        grad_add(c, table.id, push2(c, OP_EMBEDDING_BACK, dy, ids, tape_at(c, table)->dim, NULL));
}

ab_t t_to_float(ab_ctx *c, ab_t ids)
{
    GIVEN1(ids);
    if (!ids_given(c, "real", ids)) return (ab_t){0};
    ab_t y = like(c, OP_TO_FLOAT, ids, NULL);
    tape_at(c, y)->type = generic_type(c);
    return y;
}

static ab_t pair(ab_ctx *c, op o, ab_t q, ab_t k, dtype type, const attr *a)
{
    GIVEN2(q, k);
    if (!ids_given(c, "positions", q) || !ids_given(c, "positions", k)) return (ab_t){0};
    int64_t d[4] = {1, 1, node_count(tape_at(c, q)), node_count(tape_at(c, k))};
    ab_t y = push2(c, o, q, k, d, a);
    tape_at(c, y)->type = type;
    return y;
}
ab_t t_relative_position(ab_ctx *c, ab_t q, ab_t k)
{
    return pair(c, OP_RELATIVE_POSITION, q, k, generic_type(c), NULL);
}
ab_t t_clipped_relative_position(ab_ctx *c, ab_t q, ab_t k, int64_t clip)
{
    return pair(c, OP_CLIPPED_RELATIVE_POSITION, q, k, I32, &(attr){.CLIPPED_RELATIVE_POSITION = {.clip = clip}});
}

/* Broadcasts the first two axes of ids and of x [d]: each must be equal or 1. */
static bool batch_of_ids(const int64_t ids[4], int64_t d[4])
{
    for (int i = 0; i < 2; i++) {
        if (d[i] == 1) d[i] = ids[i];
        if (ids[i] != 1 && ids[i] != d[i]) return false;
    }
    return true;
}

ab_t t_gather(ab_ctx *c, ab_t x, ab_t ids)
{
    x = number(c, x);
    GIVEN2(x, ids);
    if (!ids_given(c, "pick", ids)) return (ab_t){0};
    dims d = dims_of(c, x.id);
    char sa[64], sb[64];
    if (tape_at(c, ids)->dim[2] != d.dim[2] || !batch_of_ids(tape_at(c, ids)->dim, d.dim))
        return tape_fail(c, "gather: %s with ids %s: the axes before the last differ", shape_text(d.dim, sa),
                         shape_text(tape_at(c, ids)->dim, sb));
    x = t_broadcast_to(c, x, d.dim);
    d.dim[3] = tape_at(c, ids)->dim[3];
    return push2(c, OP_GATHER, x, ids, d.dim, NULL);
}
static void pick_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    grad_add(c, v.i.GATHER.x, t_scatter_add(c, dy, (ab_t){v.i.GATHER.ids}, c->v[v.i.GATHER.x].dim[3]));
}

ab_t t_scatter_add(ab_ctx *c, ab_t p, ab_t ids, int64_t n)
{
    p = number(c, p);
    GIVEN2(p, ids);
    if (!ids_given(c, "bucket", ids)) return (ab_t){0};
    dims d = dims_of(c, p.id);
    const int64_t *of_ids = tape_at(c, ids)->dim;
    char sa[64], sb[64];
    if (of_ids[2] != d.dim[2] || of_ids[3] != d.dim[3] || !batch_of_ids(of_ids, d.dim))
        return tape_fail(c, "scatter_add: %s with ids %s: the axes differ", shape_text(d.dim, sa),
                         shape_text(of_ids, sb));
    p = t_broadcast_to(c, p, d.dim);
    d.dim[3] = n;
    return push2(c, OP_SCATTER_ADD, p, ids, d.dim, &(attr){.SCATTER_ADD = {.n = n}});
}
static void bucket_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    grad_add(c, v.i.SCATTER_ADD.p, t_gather(c, dy, (ab_t){v.i.SCATTER_ADD.ids}));
}

/* ---- ids that are computed, orthogonal factors, and noise ---- */

/* Ids that were computed from numbers: without a gradient. */
static ab_t as_ids(ab_ctx *c, ab_t y)
{
    tape_at(c, y)->type = I32;
    tape_cut(c, y);
    return y;
}

ab_t t_top_k(ab_ctx *c, ab_t x, int64_t k, bool smallest)
{
    x = number(c, x);
    GIVEN1(x);
    dims d = dims_of(c, x.id);
    if (k < 1 || k > d.dim[3])
        return tape_fail(c, "top_k: k = %lld, but the axis has %lld numbers", (long long)k, (long long)d.dim[3]);
    d.dim[3] = k;
    return as_ids(c, push1(c, OP_TOP_K, x, d.dim, &(attr){.TOP_K = {.k = k, .smallest = smallest}}));
}

ab_t t_max(ab_ctx *c, ab_t x)
{
    x = number(c, x);
    GIVEN1(x);
    dims d = dims_of(c, x.id);
    d.dim[3] = 1;
    return push1(c, OP_MAX, x, d.dim, NULL);
}
static void max_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t x = {v.i.MAX.x};
    grad_add(c, x.id, tape_push(c, OP_MAX_BACK, v.type, tape_at(c, x)->dim, 3, (ab_t[]){x, y, dy}, NULL));
}

ab_t t_to_ids(ab_ctx *c, ab_t x)
{
    x = number(c, x);
    GIVEN1(x);
    return as_ids(c, like(c, OP_TO_IDS, x, NULL));
}

ab_t t_qr(ab_ctx *c, ab_t a)
{
    a = number(c, a);
    GIVEN1(a);
    const int64_t *d = tape_at(c, a)->dim;
    char shape[64];
    if (d[2] < d[3])
        return tape_fail(c, "qr: found shape %s, expected at least as many rows as columns", shape_text(d, shape));
    ab_t y = like(c, OP_QR, a, NULL);
    tape_cut(c, y);
    return y;
}

ab_t t_random(ab_ctx *c, const int64_t dim[4], bool normal)
{
    return tape_push(c, OP_RANDOM, generic_type(c), dim, 0, NULL,
                     &(attr){.RANDOM = {.place = c->n_dropout++, .normal = normal}});
}

ab_t t_mask(ab_ctx *c, ab_t s, ab_t qpos, ab_t kpos, ab_t klen, int causal)
{
    s = number(c, s);
    GIVEN2(s, qpos);
    GIVEN2(kpos, klen);
    dims d = dims_of(c, s.id);
    int64_t tq = node_count(tape_at(c, qpos)), tk = node_count(tape_at(c, kpos)), b = node_count(tape_at(c, klen));
    char sa[64];
    if (d.dim[2] != tq || d.dim[3] != tk || (d.dim[0] != b && d.dim[0] != 1))
        return tape_fail(c, "mask: scores %s do not fit %lld sentences of %lld queries and %lld keys",
                         shape_text(d.dim, sa), (long long)b, (long long)tq, (long long)tk);
    d.dim[0] = b;
    ab_t in[4] = {t_broadcast_to(c, s, d.dim), qpos, kpos, klen};
    return tape_push(c, OP_MASK, tape_at(c, s)->type, d.dim, 4, in, &(attr){.MASK = {.causal = causal}});
}
/* A masked score has weight 0 after the softmax, so its gradient is 0 already. */
static void mask_rule(ab_ctx *c, ab_t y, ab_t dy) { grad_add(c, tape_at(c, y)->in[0], dy); }

/* ---- between packed rows and [B,H,T,d] ---- */

ab_t t_heads(ab_ctx *c, ab_t rows, ab_t offset, int64_t col, int64_t heads, int64_t width, int64_t time)
{
    GIVEN2(rows, offset);
    node *r = tape_at(c, rows);
    if (col + heads * width > r->dim[3])
        return tape_fail(c, "heads: found columns %lld to %lld, but rows have %lld columns", (long long)col,
                         (long long)(col + heads * width), (long long)r->dim[3]);
    int64_t d[4] = {node_count(tape_at(c, offset)) - 1, heads, time, width};
    ab_t y = push2(c, OP_HEADS, rows, offset, d,
                   &(attr){.HEADS = {.column = col, .heads = heads, .width = width, .time = time}});
    tape_at(c, y)->type = generic_type(c);
    return y;
}
static void heads_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y), r = c->v[v.i.HEADS.rows];
    grad_add(c, v.i.HEADS.rows, t_merge(c, dy, (ab_t){v.i.HEADS.offsets}, r.dim[2], v.a.HEADS.column, r.dim[3]));
}

ab_t t_merge(ab_ctx *c, ab_t x, ab_t offset, int64_t rows, int64_t col, int64_t cols)
{
    GIVEN2(x, offset);
    int64_t d[4] = {1, 1, rows, cols};
    ab_t y = push2(c, OP_MERGE, x, offset, d, &(attr){.HEADS = {.column = col}});
    tape_at(c, y)->type = c->compute;
    return y;
}
static void merge_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y), x = c->v[v.i.MERGE.x];
    grad_add(c, v.i.MERGE.x, t_heads(c, dy, (ab_t){v.i.MERGE.offsets}, v.a.HEADS.column, x.dim[1], x.dim[3], x.dim[2]));
}

const grad_rule shape_rules[OP_COUNT] = {
    [OP_RESHAPE] = reshape_rule,
    [OP_TRANSPOSE] = swap_rule,
    [OP_SLICE] = slice_rule,
    [OP_PAD] = place_rule,
    [OP_CONCAT] = join_rule,
    [OP_ROTATE_HALF] = turn_rule,
    [OP_EMBEDDING] = rows_rule,
    [OP_EMBEDDING_BACK] = sum_rows_rule,
    [OP_MAX] = max_rule,
    [OP_GATHER] = pick_rule,
    [OP_SCATTER_ADD] = bucket_rule,
    [OP_MASK] = mask_rule,
    [OP_HEADS] = heads_rule,
    [OP_MERGE] = merge_rule,
};

/* ---- samples ---- */

SAMPLE(reshape, t_reshape(c, in[0], (int64_t[4]){1, 4, 3, 4}))
SAMPLE(transpose, t_transpose(c, in[0], -1, -3))
SAMPLE(slice, t_slice(c, in[0], -2, 1, 2))
SAMPLE(concat, t_concat(c, in[0], in[1], -1))
SAMPLE(rotate_half, t_rotate_half(c, in[0]))
SAMPLE(embedding, t_embedding(c, in[0], SAMPLE_IDS(3, 0, 3, 1, 3)))
SAMPLE(embedding_back, t_map(c, t_sum_rows_by_id(c, in[0], SAMPLE_IDS(2, 0, 2, 4), 5), AB_SIN))
#define DISTANCES t_clipped_relative_position(c, SAMPLE_IDS(0, 1, 2), SAMPLE_IDS(0, 1, 2, 3), 2)
SAMPLE(gather, t_gather(c, in[0], DISTANCES))
SAMPLE(scatter_add, t_scatter_add(c, in[0], DISTANCES, 5))
SAMPLE(max, t_map(c, t_max(c, in[0]), AB_SIN))
SAMPLE(top_k, t_map(c, t_gather(c, in[0], t_top_k(c, in[0], 3, false)), AB_SIN))
SAMPLE(relative_position, t_binary(c, OP_MUL, in[0], t_relative_position(c, SAMPLE_IDS(4, 1, 2), SAMPLE_IDS(0, 5, 2))))
SAMPLE(to_ids, t_binary(c, OP_MUL, in[0], t_to_float(c, t_to_ids(c, t_to_float(c, SAMPLE_IDS(4, -1, 0, 7, 2))))))
SAMPLE(qr, t_binary(c, OP_MUL, in[0],
                    t_qr(c, t_reshape(c, t_to_float(c, SAMPLE_IDS(4, 1, 2, 0, 3, 5)), (int64_t[4]){1, 1, 3, 2}))))
SAMPLE(random, t_map(c, t_binary(c, OP_MUL, in[0], t_random(c, (int64_t[4]){2, 3, 2, 4}, true)), AB_SIN))
SAMPLE(mask, t_softmax(c, t_mask(c, in[0], SAMPLE_IDS(0, 1, 2), SAMPLE_IDS(0, 1, 2), SAMPLE_IDS(3, 2), 1)))
SAMPLE(heads, t_heads(c, in[0], SAMPLE_IDS(0, 3, 5), 1, 2, 3, 4))
SAMPLE(merge, t_merge(c, number(c, in[0]), SAMPLE_IDS(0, 3, 5), 7, 1, 8))

const op_sample shape_samples[] = {
    {"RESHAPE", sample_reshape, .dim = {{2, 3, 2, 4}}},
    {"TRANSPOSE", sample_transpose, .dim = {{2, 3, 2, 4}}},
    {"SLICE, PAD", sample_slice, .dim = {{2, 3, 3, 4}}},
    {"CONCAT", sample_concat, .dim = {{2, 3, 2, 4}, {2, 3, 2, 2}}},
    {"ROTATE_HALF", sample_rotate_half, .dim = {{2, 3, 2, 4}}},
    {"EMBEDDING", sample_embedding, .dim = {{1, 1, 4, 3}}},
    {"EMBEDDING_BACK", sample_embedding_back, .dim = {{1, 1, 4, 3}}},
    {"GATHER", sample_gather, .dim = {{2, 2, 3, 5}}},
    {"SCATTER_ADD", sample_scatter_add, .dim = {{2, 2, 3, 4}}},
    {"MAX", sample_max, .dim = {{2, 2, 3, 5}}},
    {"TOP_K", sample_top_k, .dim = {{2, 2, 3, 5}}},
    {"TO_IDS, TO_FLOAT", sample_to_ids, .dim = {{2, 2, 3, 5}}},
    {"QR", sample_qr, .dim = {{2, 1, 3, 2}}},
    {"RELATIVE_POSITION", sample_relative_position, .dim = {{2, 1, 3, 3}}},
    {"RANDOM", sample_random, .dim = {{2, 3, 2, 4}}, .training = true},
    {"MASK", sample_mask, .dim = {{2, 2, 3, 3}}},
    {"MASK of one for all sentences", sample_mask, .dim = {{1, 2, 3, 3}}},
    {"HEADS", sample_heads, .dim = {{1, 1, 6, 8}}},
    {"MERGE", sample_merge, .dim = {{2, 2, 4, 3}}},
    {0},
};
