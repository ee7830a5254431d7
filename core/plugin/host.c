/* host.c - the table of functions that plugins call: it maps the ABI onto the tape and the attention context. */
#include "plugin/plugin.h"
#include "plugin/attention_context.h"
#include <stdlib.h>
#include <string.h>

static ab_ctx *h_at(ab_ctx *c, const char *file, int line)
{
    c->file = file;
    c->line = line;
    return c;
}

/* Axes given as rank and dims, aligned at the right. */
static bool dims4(ab_ctx *c, const char *what, int rank, const int64_t *dims, int64_t out[4])
{
    if (rank < 1 || rank > 4) {
        tape_fail(c, "%s: %d axes, expected 1 to 4", what, rank);
        return false;
    }
    for (int i = 0; i < 4; i++) out[i] = i < 4 - rank ? 1 : dims[i - (4 - rank)];
    for (int i = 0; i < 4; i++)
        if (out[i] < 1) {
            tape_fail(c, "%s: an axis of length %lld", what, (long long)out[i]);
            return false;
        }
    return true;
}
/* Ids that plugins pass are checked before anything looks at the tensor. */
#define OWN(x)                                                                                               \
    if (!tape_owns(c, x)) return (ab_t){0}

static int from_end(int axis) { return axis >= 0 ? axis - 4 : axis; }

static int64_t h_dim(ab_ctx *c, ab_t x, int axis)
{
    if (!tape_owns(c, x)) return 1;
    axis = from_end(axis);
    return x.id && axis >= -4 && axis < 0 ? tape_at(c, x)->dim[4 + axis] : 1;
}
/* An operation's meaning (lower) is also run where no attention is around it: in a gradient, where a kernel declines. */
#define NO_MODEL                                                                                             \
    "there is no attention around this call; an operation with a kernel, its meaning and its gradient get "  \
    "what they need as inputs and attr"
static const ab_info *h_info(ab_ctx *c)
{
    static const ab_info nowhere = {.heads = 1, .d_k = 1, .d_v = 1, .d_model = 1, .n_layers = 1};
    if (c->attn) return &c->attn->info;
    tape_fail(c, "info: " NO_MODEL);
    return &nowhere;
}
static ab_t h_fail(ab_ctx *c, const char *words) { return tape_fail(c, "%s", words); }
static ab_t h_add(ab_ctx *c, ab_t a, ab_t b)
{
    OWN(a);
    OWN(b);
    return t_binary(c, OP_ADD, a, b);
}
static ab_t h_sub(ab_ctx *c, ab_t a, ab_t b)
{
    OWN(a);
    OWN(b);
    return t_binary(c, OP_SUB, a, b);
}
static ab_t h_mul(ab_ctx *c, ab_t a, ab_t b)
{
    OWN(a);
    OWN(b);
    return t_binary(c, OP_MUL, a, b);
}
static ab_t h_div(ab_ctx *c, ab_t a, ab_t b)
{
    OWN(a);
    OWN(b);
    return t_binary(c, OP_DIV, a, b);
}
static ab_t h_minimum(ab_ctx *c, ab_t a, ab_t b)
{
    OWN(a);
    OWN(b);
    return t_binary(c, OP_MINIMUM, a, b);
}
static ab_t h_less_than(ab_ctx *c, ab_t a, ab_t b)
{
    OWN(a);
    OWN(b);
    return t_binary(c, OP_LESS_THAN, a, b);
}

static ab_t h_sum(ab_ctx *c, ab_t a, int axis)
{
    OWN(a);
    if (!a.id) return a;
    int64_t d[4];
    memcpy(d, tape_at(c, a)->dim, sizeof d);
    axis = from_end(axis);
    if (axis < -4 || axis >= 0) return tape_fail(c, "sum: axis %d, expected -4 to -1", axis);
    d[4 + axis] = 1;
    return t_sum_to(c, a, d);
}

static ab_t h_reshape(ab_ctx *c, ab_t a, int rank, const int64_t *dims)
{
    OWN(a);
    int64_t d[4];
    return a.id && dims4(c, "reshape", rank, dims, d) ? t_reshape(c, a, d) : (ab_t){0};
}
static ab_t h_transpose(ab_ctx *c, ab_t a, int i, int j)
{
    OWN(a);
    return t_transpose(c, a, from_end(i), from_end(j));
}
static ab_t h_slice(ab_ctx *c, ab_t a, int axis, int64_t from, int64_t n)
{
    OWN(a);
    return t_slice(c, a, from_end(axis), from, n);
}
static bool is_ids(const ab_ctx *c, ab_t x) { return x.id && c->v[x.id].type == I32; }
static ab_t h_concat(ab_ctx *c, ab_t a, ab_t b, int axis)
{
    OWN(a);
    OWN(b);
    if (a.id && b.id && is_ids(c, a) != is_ids(c, b))
        return tape_fail(c, "concat: ids with numbers; ab_to_float makes ids numbers");
    return t_concat(c, a, b, from_end(axis));
}
static ab_t h_embedding(ab_ctx *c, ab_t table, ab_t ids)
{
    OWN(table);
    OWN(ids);
    const int64_t *d = c->v[table.id].dim;
    char shape[64];
    if (table.id && (d[0] != 1 || d[1] != 1))
        return tape_fail(c, "rows: a table of shape %s, expected [n,d]", shape_text(d, shape));
    return t_embedding(c, table, ids);
}
static ab_t h_clipped_relative_position(ab_ctx *c, ab_t q, ab_t k, int64_t clip)
{
    OWN(q);
    OWN(k);
    if (clip < 0) return tape_fail(c, "dist: clip %lld, expected 0 or more", (long long)clip);
    return t_clipped_relative_position(c, q, k, clip);
}
static ab_t h_scatter_add(ab_ctx *c, ab_t p, ab_t ids, int64_t n)
{
    OWN(p);
    OWN(ids);
    if (n < 1) return tape_fail(c, "bucket: %lld buckets, expected 1 or more", (long long)n);
    return t_scatter_add(c, p, ids, n);
}

static ab_t h_outer(ab_ctx *c, ab_t a, ab_t b)
{
    OWN(a);
    OWN(b);
    if (!a.id || !b.id) return (ab_t){0};
    int64_t n = node_count(tape_at(c, a)), m = node_count(tape_at(c, b));
    ab_t col = t_reshape(c, a, (int64_t[4]){1, 1, n, 1}), row = t_reshape(c, b, (int64_t[4]){1, 1, 1, m});
    return t_binary(c, OP_MUL, col, row);
}

static ab_t h_consts(ab_ctx *c, int rank, const int64_t *dims, const double *v)
{
    int64_t d[4];
    return dims4(c, "const", rank, dims, d) ? t_const(c, d, v) : (ab_t){0};
}

/* The values of a table, computed or found among those kept from an earlier trace. */
static void *table_data(ab_ctx *c, int rank, const int64_t *dims, const int64_t d[4],
                        double (*f)(const void *, const int64_t *), const void *cfg, size_t cfg_size)
{
    table_cache *t = c->tables;
    uint64_t key =
        hash64(cfg, cfg_size) ^ hash64(&f, sizeof f) * 31 ^ (c->compute == F64) ^ (uint64_t)rank << 8;
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

static ab_t h_table(ab_ctx *c, int rank, const int64_t *dims, double (*f)(const void *, const int64_t *),
                    const void *cfg, size_t cfg_size)
{
    int64_t d[4];
    if (!dims4(c, "table", rank, dims, d)) return (ab_t){0};
    return t_const_at(c, d, table_data(c, rank, dims, d, f, cfg, cfg_size));
}

static ab_t h_param(ab_ctx *c, const char *name, int rank, const int64_t *dims, double scale)
{
    int64_t d[4];
    if (!c->attn) return tape_fail(c, "weight: " NO_MODEL);
    return dims4(c, "weight", rank, dims, d) ? attn_param(c, name, d, scale, 0) : (ab_t){0};
}
static ab_t h_linear(ab_ctx *c, ab_t x, const char *name, int64_t width, int bias)
{
    OWN(x);
    if (!c->attn) return tape_fail(c, "linear: " NO_MODEL);
    if (width < 1) return tape_fail(c, "linear: width %lld", (long long)width);
    return attn_linear(c, x, name, width, width, bias, 0);
}
static ab_t h_call(ab_ctx *c, const ab_op *op, const ab_t *in, const void *attr_, size_t n)
{
    for (int i = 0; op && i < op->n_in; i++) OWN(in[i]);
    return t_call(c, op, in, attr_, n);
}
static void h_assign(ab_ctx *c, ab_t to, ab_t value)
{
    if (!tape_owns(c, to) || !tape_owns(c, value)) return;
    if (c->attn)
        tape_fail(c, "assign: only optimizers assign values");
    else
        t_assign(c, to, value);
}

/* The context serves attention plugins and positions' hooks on them; an optimizer has no model around it, an embedding no attention. */
#define IN_MODEL(c)                                                                                          \
    if (!(c)->attn || !(c)->attn->x.id)                                                                        \
    return tape_fail(c, "this function is for attention plugins: " NO_MODEL)
static ab_t h_project(ab_ctx *c, ab_t x, int what)
{
    OWN(x);
    IN_MODEL(c);
    return attn_project(c, x, what);
}
static ab_t h_scores(ab_ctx *c, ab_t q, ab_t k, double scale)
{
    OWN(q);
    OWN(k);
    IN_MODEL(c);
    return attn_scores(c, q, k, scale);
}
static ab_t h_mask(ab_ctx *c, ab_t s)
{
    OWN(s);
    IN_MODEL(c);
    return attn_mask(c, s);
}
static ab_t h_position(ab_ctx *c, ab_t s, ab_t q, ab_t k)
{
    OWN(s);
    OWN(q);
    OWN(k);
    IN_MODEL(c);
    return attn_position(c, s, q, k);
}
static ab_t h_weighted_sum(ab_ctx *c, ab_t p, ab_t v)
{
    OWN(p);
    OWN(v);
    IN_MODEL(c);
    return attn_weighted_sum(c, p, v);
}
static ab_t h_attend(ab_ctx *c, ab_t q, ab_t k, ab_t v, double scale)
{
    OWN(q);
    OWN(k);
    OWN(v);
    IN_MODEL(c);
    return attn_attend(c, q, k, v, scale);
}
static ab_t h_causal_kv_sum(ab_ctx *c, ab_t q, ab_t k, ab_t v)
{
    OWN(q);
    OWN(k);
    OWN(v);
    IN_MODEL(c);
    return attn_causal_kv_sum(c, q, k, v);
}
static ab_t h_output(ab_ctx *c, ab_t y)
{
    OWN(y);
    IN_MODEL(c);
    return attn_output(c, y);
}
static ab_t h_pad(ab_ctx *c, ab_t rows)
{
    OWN(rows);
    IN_MODEL(c);
    return attn_pad(c, rows);
}
static ab_t h_pack(ab_ctx *c, ab_t x)
{
    OWN(x);
    IN_MODEL(c);
    return attn_pack(c, x);
}
static ab_t h_scan(ab_ctx *c, ab_step f, const void *cfg, ab_t x, int64_t d, int back)
{
    OWN(x);
    IN_MODEL(c);
    return attn_scan(c, f, cfg, x, d, back);
}
static ab_t h_gru(ab_ctx *c, ab_t x, const char *in, const char *u, int64_t d, int backwards)
{
    OWN(x);
    IN_MODEL(c);
    if (d < 1) return tape_fail(c, "gru: %lld units, expected 1 or more", (long long)d);
    return attn_gru(c, x, in, u, d, backwards);
}
static ab_t h_conv(ab_ctx *c, ab_t x, const char *name, int64_t width, int64_t before, int64_t behind)
{
    OWN(x);
    IN_MODEL(c);
    if (width < 1 || before < 0 || behind < 0)
        return tape_fail(c, "conv: width %lld over %lld places before and %lld behind", (long long)width,
                         (long long)before, (long long)behind);
    return attn_conv(c, x, name, width, before, behind);
}
static ab_t h_qpos(ab_ctx *c)
{
    IN_MODEL(c);
    return c->attn->qpos;
}
static ab_t h_kpos(ab_ctx *c)
{
    IN_MODEL(c);
    return c->attn->kpos;
}
static ab_t h_klen(ab_ctx *c)
{
    IN_MODEL(c);
    return attn_klen(c);
}

/* Those that need nothing but the check. */
static ab_t h_mul_scalar(ab_ctx *c, ab_t a, double x)
{
    OWN(a);
    return t_mul_scalar(c, a, x);
}
static ab_t h_add_scalar(ab_ctx *c, ab_t a, double x)
{
    OWN(a);
    return t_add_scalar(c, a, x);
}
static ab_t h_map(ab_ctx *c, ab_t a, ab_fn f)
{
    OWN(a);
    return t_map(c, a, f);
}
static ab_t h_dropout(ab_ctx *c, ab_t a, double p)
{
    OWN(a);
    return t_dropout(c, a, p);
}
static ab_t h_softmax(ab_ctx *c, ab_t s)
{
    OWN(s);
    return attn_softmax(c, s);
}
static ab_t h_matmul(ab_ctx *c, ab_t a, ab_t b, int ta, int tb)
{
    OWN(a);
    OWN(b);
    return t_matmul(c, a, b, ta, tb);
}
static ab_t h_rotate_half(ab_ctx *c, ab_t a)
{
    OWN(a);
    return t_rotate_half(c, a);
}
static ab_t h_to_float(ab_ctx *c, ab_t ids)
{
    OWN(ids);
    return t_to_float(c, ids);
}
static ab_t h_relative_position(ab_ctx *c, ab_t q, ab_t k)
{
    OWN(q);
    OWN(k);
    return t_relative_position(c, q, k);
}
static ab_t h_gather(ab_ctx *c, ab_t x, ab_t ids)
{
    OWN(x);
    OWN(ids);
    return t_gather(c, x, ids);
}

ab_host host_table = {
    .size = sizeof(ab_host),
    .minor = AB_ABI_MINOR,
    .at = h_at,
    .dim = h_dim,
    .info = h_info,
    .fail = h_fail,
    .add = h_add,
    .sub = h_sub,
    .mul = h_mul,
    .div = h_div,
    .minimum = h_minimum,
    .less_than = h_less_than,
    .mul_scalar = h_mul_scalar,
    .add_scalar = h_add_scalar,
    .map = h_map,
    .dropout = h_dropout,
    .sum = h_sum,
    .softmax = h_softmax,
    .matmul = h_matmul,
    .reshape = h_reshape,
    .transpose = h_transpose,
    .slice = h_slice,
    .concat = h_concat,
    .rotate_half = h_rotate_half,
    .embedding = h_embedding,
    .to_float = h_to_float,
    .outer = h_outer,
    .relative_position = h_relative_position,
    .clipped_relative_position = h_clipped_relative_position,
    .gather = h_gather,
    .scatter_add = h_scatter_add,
    .consts = h_consts,
    .table = h_table,
    .param = h_param,
    .linear = h_linear,
    .call = h_call,
    .assign = h_assign,
    .project = h_project,
    .scores = h_scores,
    .mask = h_mask,
    .position = h_position,
    .weighted_sum = h_weighted_sum,
    .attend = h_attend,
    .causal_kv_sum = h_causal_kv_sum,
    .output = h_output,
    .pad = h_pad,
    .pack = h_pack,
    .scan = h_scan,
    .qpos = h_qpos,
    .kpos = h_kpos,
    .klen = h_klen,
    .gru = h_gru,
    .conv = h_conv,
};

void plugin_set_services(const plugin_services *s)
{
    host_table.bleu = s->bleu;
    host_table.read_lines = s->read_lines;
    host_table.free_lines = s->free_lines;
    host_table.f1 = s->f1;
}
