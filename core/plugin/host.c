/* host.c - the table of functions that plugins call: it maps the ABI onto the tape and the attention context. */
#include "plugin/plugin.h"
#include "plugin/attention_context.h"
#include "plugin/host.h"
#include <stdlib.h>
#include <string.h>

static ab_ctx *h_at(ab_ctx *c, const char *file, int line)
{
    c->file = file;
    c->line = line;
    return c;
}

bool host_dims4(ab_ctx *c, const char *what, int rank, const int64_t *dims, int64_t out[4])
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
bool host_owns_all(ab_ctx *c, const ab_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!tape_owns(c, x[i])) return false;
    return true;
}

static int64_t h_dim(ab_ctx *c, ab_t x, int axis)
{
    if (!tape_owns(c, x)) return 1;
    axis = from_end(axis);
    return x.id && axis >= -4 && axis < 0 ? tape_at(c, x)->dim[4 + axis] : 1;
}
/* ---- where functions may be called (the tags of ab_plugin.h) ---- */

bool host_may_call(ab_ctx *c, const char *function, unsigned hooks)
{
#define HOOK_DOC(NAME, doc) doc,
    static const char *const names[AB_HOOK_COUNT] = {"no plugin's function", AB_HOOKS(HOOK_DOC)};
    if (hooks & BIT(c->hook)) return true;
    char list[512] = "";
    for (int h = 1; h < AB_HOOK_COUNT; h++)
        if (hooks & BIT(h)) strcat(strcat(list, *list ? ", " : ""), names[h]);
    tape_fail(c, "%s was called in %s; it may be called in %s%s", function, names[c->hook], list,
              c->hook == AB_IN_REFERENCE || c->hook == AB_IN_GRAD ? ". What an operation needs is in its inputs and attr" : "");
    return false;
}
static const ab_info *h_info(ab_ctx *c)
{
    static const ab_info nowhere = {.heads = 1, .d_k = 1, .d_v = 1, .d_model = 1, .n_layers = 1};
    return host_may_call(c, "ab_info", MODEL_HOOKS) ? &c->attn->info : &nowhere;
}
static ab_t h_fail(ab_ctx *c, const char *message) { return tape_fail(c, "%s", message); }
static ab_t h_add(ab_ctx *c, ab_t a, ab_t b)
{
    OWN(a, b);
    return t_binary(c, OP_ADD, a, b);
}
static ab_t h_sub(ab_ctx *c, ab_t a, ab_t b)
{
    OWN(a, b);
    return t_binary(c, OP_SUB, a, b);
}
static ab_t h_mul(ab_ctx *c, ab_t a, ab_t b)
{
    OWN(a, b);
    return t_binary(c, OP_MUL, a, b);
}
static ab_t h_div(ab_ctx *c, ab_t a, ab_t b)
{
    OWN(a, b);
    return t_binary(c, OP_DIV, a, b);
}
static ab_t h_minimum(ab_ctx *c, ab_t a, ab_t b)
{
    OWN(a, b);
    return t_binary(c, OP_MINIMUM, a, b);
}
static ab_t h_less_than(ab_ctx *c, ab_t a, ab_t b)
{
    OWN(a, b);
    return t_binary(c, OP_LESS_THAN, a, b);
}

/* ---- activations: composed ---- */

static ab_t h_silu(ab_ctx *c, ab_t a)
{
    OWN(a);
    return t_binary(c, OP_MUL, a, t_map(c, a, AB_SIGMOID));
}
/* (1 + tanh(u)) / 2 is sigmoid(2 u). */
static ab_t h_gelu(ab_ctx *c, ab_t a)
{
    OWN(a);
    const double twice = 1.5957691216057308; /* 2 sqrt(2/pi) */
    ab_t slope = t_add_scalar(c, t_mul_scalar(c, t_map(c, a, AB_SQUARE), 0.044715 * twice), twice);
    return t_binary(c, OP_MUL, a, t_map(c, t_binary(c, OP_MUL, a, slope), AB_SIGMOID));
}
/* relu(a) + log(1 + exp(-|a|)): no overflow. */
static ab_t h_softplus(ab_ctx *c, ab_t a)
{
    OWN(a);
    ab_t tail = t_map(c, t_mul_scalar(c, t_map(c, a, AB_ABS), -1), AB_EXP);
    return t_binary(c, OP_ADD, t_map(c, a, AB_RELU), t_map(c, t_add_scalar(c, tail, 1), AB_LOG));
}

static ab_t h_sum(ab_ctx *c, ab_t a, int axis)
{
    OWN(a);
    if (!a.id) return a;
    int64_t d[4];
    memcpy(d, tape_at(c, a)->dim, sizeof d);
    axis = from_end(axis);
    if (axis < -4 || axis >= 0) return tape_fail(c, "ab_sum_axis: axis %d, expected -4 to -1", axis);
    d[4 + axis] = 1;
    return t_sum_to(c, a, d);
}

static ab_t h_maximum(ab_ctx *c, ab_t a, ab_t b)
{
    OWN(a, b);
    return t_mul_scalar(c, t_binary(c, OP_MINIMUM, t_mul_scalar(c, a, -1), t_mul_scalar(c, b, -1)), -1);
}
static ab_t h_where(ab_ctx *c, ab_t condition, ab_t a, ab_t b)
{
    OWN(condition, a, b);
    return t_binary(c, OP_ADD, b, t_binary(c, OP_MUL, condition, t_binary(c, OP_SUB, a, b)));
}

static ab_t h_full(ab_ctx *c, int rank, const int64_t *dims, double value)
{
    int64_t d[4];
    if (!host_dims4(c, "ab_full", rank, dims, d)) return (ab_t){0};
    return t_broadcast_to(c, t_const(c, (int64_t[4]){1, 1, 1, 1}, &value), d);
}

/* A product with ones on and below the diagonal. */
static ab_t h_cumsum(ab_ctx *c, ab_t a)
{
    OWN(a);
    if (!a.id) return a;
    int64_t n = tape_at(c, a)->dim[2];
    double *ones = xcalloc((size_t)(n * n), sizeof *ones);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) ones[i * n + j] = 1;
    ab_t below = t_const(c, (int64_t[4]){1, 1, n, n}, ones);
    free(ones);
    return t_matmul(c, below, a, 0, 0);
}

/* A value behind which no gradient looks. */
static ab_t h_detach(ab_ctx *c, ab_t a)
{
    OWN(a);
    if (!a.id) return a;
    int64_t d[4];
    memcpy(d, tape_at(c, a)->dim, sizeof d);
    ab_t y = t_reshape(c, a, d);
    if (y.id) tape_at(c, y)->needs = false;
    return y;
}

static ab_t h_reshape(ab_ctx *c, ab_t a, int rank, const int64_t *dims)
{
    OWN(a);
    int64_t d[4];
    return a.id && host_dims4(c, "ab_reshape", rank, dims, d) ? t_reshape(c, a, d) : (ab_t){0};
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
    OWN(a, b);
    if (a.id && b.id && is_ids(c, a) != is_ids(c, b))
        return tape_fail(c, "ab_concat: ids with numbers; ab_to_float makes ids numbers");
    return t_concat(c, a, b, from_end(axis));
}
static ab_t h_embedding(ab_ctx *c, ab_t table, ab_t ids)
{
    OWN(table, ids);
    const int64_t *d = c->v[table.id].dim;
    char shape[64];
    if (table.id && (d[0] != 1 || d[1] != 1))
        return tape_fail(c, "ab_embedding: a table of shape %s, expected [n,d]", shape_text(d, shape));
    return t_embedding(c, table, ids);
}
static ab_t h_clipped_relative_position(ab_ctx *c, ab_t q, ab_t k, int64_t clip)
{
    OWN(q, k);
    if (clip < 0) return tape_fail(c, "ab_clipped_relative_position: clip %lld, expected 0 or more", (long long)clip);
    return t_clipped_relative_position(c, q, k, clip);
}
static ab_t h_scatter_add(ab_ctx *c, ab_t p, ab_t ids, int64_t n)
{
    OWN(p, ids);
    if (n < 1) return tape_fail(c, "ab_scatter_add: %lld buckets, expected 1 or more", (long long)n);
    return attn_scatter_add(c, p, ids, n);
}

static ab_t h_outer(ab_ctx *c, ab_t a, ab_t b)
{
    OWN(a, b);
    if (!a.id || !b.id) return (ab_t){0};
    int64_t n = node_count(tape_at(c, a)), m = node_count(tape_at(c, b));
    ab_t col = t_reshape(c, a, (int64_t[4]){1, 1, n, 1}), row = t_reshape(c, b, (int64_t[4]){1, 1, 1, m});
    return t_binary(c, OP_MUL, col, row);
}

static ab_t h_consts(ab_ctx *c, int rank, const int64_t *dims, const double *v)
{
    int64_t d[4];
    return host_dims4(c, "ab_const", rank, dims, d) ? t_const(c, d, v) : (ab_t){0};
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
    if (!host_dims4(c, "ab_table", rank, dims, d)) return (ab_t){0};
    return t_const_at(c, d, table_data(c, rank, dims, d, f, cfg, cfg_size));
}

static ab_t h_param(ab_ctx *c, const char *name, int rank, const int64_t *dims, double scale)
{
    int64_t d[4];
    ONLY_IN(c, "ab_weight", MODEL_HOOKS);
    return host_dims4(c, "ab_weight", rank, dims, d) ? attn_param(c, name, d, scale, 0) : (ab_t){0};
}
static ab_t h_linear(ab_ctx *c, ab_t x, const char *name, int64_t width, int bias)
{
    OWN(x);
    ONLY_IN(c, "ab_linear", MODEL_HOOKS);
    if (width < 1) return tape_fail(c, "ab_linear: width %lld", (long long)width);
    return attn_linear(c, x, name, width, width, bias, 0);
}
static ab_t h_param_full(ab_ctx *c, const char *name, int rank, const int64_t *dims, double value)
{
    int64_t d[4];
    ONLY_IN(c, "ab_weight_full", MODEL_HOOKS);
    return host_dims4(c, "ab_weight_full", rank, dims, d) ? attn_param(c, name, d, 0, value) : (ab_t){0};
}
static ab_t h_linear_relu(ab_ctx *c, ab_t x, const char *name, int64_t width, int bias)
{
    OWN(x);
    ONLY_IN(c, "ab_linear_relu", MODEL_HOOKS);
    if (width < 1) return tape_fail(c, "ab_linear_relu: width %lld", (long long)width);
    return attn_linear(c, x, name, width, width, bias, 1);
}
static ab_t h_layer_norm(ab_ctx *c, ab_t x, ab_t gain, ab_t bias, double eps)
{
    OWN(x, gain, bias);
    ONLY_IN(c, "ab_layer_norm", MODEL_HOOKS);
    return t_norm(c, x, (ab_t){0}, gain, bias, 0, eps);
}
static ab_t h_add_layer_norm(ab_ctx *c, ab_t x, ab_t s, ab_t gain, ab_t bias, double eps)
{
    OWN(x, s, gain, bias);
    ONLY_IN(c, "ab_add_layer_norm", MODEL_HOOKS);
    return s.id ? t_norm(c, x, s, gain, bias, c->attn->residual_dropout, eps) : s;
}

/* ---- a layer's parts ---- */

static ab_t h_self_attention(ab_ctx *c, ab_t x)
{
    OWN(x);
    ONLY_IN(c, "ab_self_attention", BIT(AB_IN_BLOCK));
    return x.id ? c->attn->layer->attention(c, x, false) : x;
}
static ab_t h_cross_attention(ab_ctx *c, ab_t x)
{
    OWN(x);
    ONLY_IN(c, "ab_cross_attention", BIT(AB_IN_BLOCK));
    if (!c->attn->info.cross) return tape_fail(c, "ab_cross_attention: this layer reads no encoder (ab_info(c)->cross is 0)");
    return x.id ? c->attn->layer->attention(c, x, true) : x;
}
static ab_t h_feed_forward(ab_ctx *c, ab_t x, const char *name)
{
    OWN(x);
    ONLY_IN(c, "ab_feed_forward", BIT(AB_IN_BLOCK));
    if (!c->attn->info.feed_forward) return tape_fail(c, "ab_feed_forward: layers have none (ab_info(c)->feed_forward is 0)");
    return x.id ? c->attn->layer->feed_forward(c, x, name) : x;
}
static ab_t h_normalize(ab_ctx *c, ab_t x, const char *name)
{
    OWN(x);
    ONLY_IN(c, "ab_normalize", BLOCK_HOOKS);
    return x.id ? c->attn->layer->norm(c, x, NULL, name) : x;
}
static ab_t h_add_normalize(ab_ctx *c, ab_t x, ab_t s, const char *name)
{
    OWN(x, s);
    ONLY_IN(c, "ab_add_normalize", BLOCK_HOOKS);
    return x.id && s.id ? c->attn->layer->norm(c, x, &s, name) : (ab_t){0};
}
static ab_t h_add_dropout(ab_ctx *c, ab_t x, ab_t s)
{
    OWN(x, s);
    ONLY_IN(c, "ab_add_dropout", BLOCK_HOOKS);
    return x.id && s.id ? t_dropout_add(c, x, s, c->attn->residual_dropout) : (ab_t){0};
}

static ab_t h_call(ab_ctx *c, const ab_op *op, const ab_t *in, const void *attr_, size_t n)
{
    for (int i = 0; op && i < op->n_in; i++) OWN(in[i]);
    return t_call(c, op, in, attr_, n);
}
static void h_assign(ab_ctx *c, ab_t to, ab_t value)
{
    if (tape_owns(c, to) && tape_owns(c, value) && host_may_call(c, "ab_assign", UPDATE_HOOKS)) t_assign(c, to, value);
}

static const ab_parameter *h_parameter(ab_ctx *c)
{
    static const ab_parameter nothing = {.name = "", .kind = AB_WEIGHT, .dim = {1, 1, 1, 1}, .n_parts = 1, .part = {1}};
    if (!host_may_call(c, "ab_this_parameter", UPDATE_HOOKS)) return &nothing;
    if (c->updated) return c->updated;
    tape_fail(c, "ab_this_parameter: an update with AB_ELEMENTWISE sees tiles of all parameters, not one with its shape");
    return &nothing;
}

static ab_t h_project(ab_ctx *c, ab_t x, ab_projection what)
{
    OWN(x);
    ONLY_IN(c, "ab_query, ab_key or ab_value", ATTENTION_HOOKS);
    return attn_project(c, x, what);
}
static ab_t h_scores(ab_ctx *c, ab_t q, ab_t k, double scale)
{
    OWN(q, k);
    ONLY_IN(c, "ab_scores", ATTENTION_HOOKS);
    return attn_scores(c, q, k, scale);
}
static ab_t h_mask(ab_ctx *c, ab_t s)
{
    OWN(s);
    ONLY_IN(c, "ab_mask", ATTENTION_HOOKS);
    return attn_mask(c, s);
}
static ab_t h_window(ab_ctx *c, ab_t s, ab_t from, ab_t to)
{
    OWN(s, from, to);
    ONLY_IN(c, "ab_window", ATTENTION_HOOKS);
    return attn_window(c, s, from, to);
}
static ab_t h_position(ab_ctx *c, ab_t s, ab_t q, ab_t k)
{
    OWN(s, q, k);
    ONLY_IN(c, "ab_position", ATTENTION_HOOKS);
    return attn_position(c, s, q, k);
}
static ab_t h_weighted_sum(ab_ctx *c, ab_t p, ab_t v)
{
    OWN(p, v);
    ONLY_IN(c, "ab_weighted_sum", ATTENTION_HOOKS);
    return attn_weighted_sum(c, p, v);
}
static ab_t h_attend(ab_ctx *c, ab_t q, ab_t k, ab_t v, double scale)
{
    OWN(q, k, v);
    ONLY_IN(c, "ab_attend", ATTENTION_HOOKS);
    return attn_attend(c, q, k, v, scale);
}
static ab_t h_causal_kv_sum(ab_ctx *c, ab_t q, ab_t k, ab_t v)
{
    OWN(q, k, v);
    ONLY_IN(c, "ab_causal_kv_sum", ATTENTION_HOOKS);
    return attn_causal_kv_sum(c, q, k, v);
}
static ab_t h_output(ab_ctx *c, ab_t y)
{
    OWN(y);
    ONLY_IN(c, "ab_output", ATTENTION_HOOKS);
    return attn_output(c, y);
}
static ab_t h_heads(ab_ctx *c, ab_t rows, int64_t heads)
{
    OWN(rows);
    ONLY_IN(c, "ab_heads", ATTENTION_HOOKS);
    return attn_heads(c, rows, heads);
}
static ab_t h_rotate(ab_ctx *c, ab_t x)
{
    OWN(x);
    ONLY_IN(c, "ab_rotate", ATTENTION_HOOKS);
    return attn_rotate(c, x);
}
static ab_t h_remember(ab_ctx *c, ab_t x)
{
    OWN(x);
    ONLY_IN(c, "ab_remember", ATTENTION_HOOKS);
    return attn_remember(c, x);
}
static ab_t h_merge(ab_ctx *c, ab_t y)
{
    OWN(y);
    ONLY_IN(c, "ab_merge", ATTENTION_HOOKS);
    return attn_merge(c, y);
}
static ab_t h_pad(ab_ctx *c, ab_t rows)
{
    OWN(rows);
    ONLY_IN(c, "ab_pad", ATTENTION_HOOKS);
    return attn_pad(c, rows);
}
static ab_t h_pack(ab_ctx *c, ab_t x)
{
    OWN(x);
    ONLY_IN(c, "ab_pack", ATTENTION_HOOKS);
    return attn_pack(c, x);
}
static ab_t h_scan(ab_ctx *c, ab_step f, const void *cfg, ab_t x, int64_t d, int back)
{
    OWN(x);
    ONLY_IN(c, "ab_scan", ATTENTION_HOOKS);
    return attn_scan(c, f, cfg, x, d, back);
}
static ab_t h_gru(ab_ctx *c, ab_t x, const char *in, const char *u, int64_t d, int backwards)
{
    OWN(x);
    ONLY_IN(c, "ab_gru", ATTENTION_HOOKS);
    if (d < 1) return tape_fail(c, "ab_gru: %lld units, expected 1 or more", (long long)d);
    return attn_gru(c, x, in, u, d, backwards);
}
static ab_t h_conv(ab_ctx *c, ab_t x, const char *name, int64_t width, int64_t before, int64_t behind)
{
    OWN(x);
    ONLY_IN(c, "ab_conv", ATTENTION_HOOKS);
    if (width < 1 || before < 0 || behind < 0)
        return tape_fail(c, "ab_conv: width %lld over %lld places before and %lld behind", (long long)width,
                         (long long)before, (long long)behind);
    return attn_conv(c, x, name, width, before, behind);
}
static ab_t h_qpos(ab_ctx *c)
{
    ONLY_IN(c, "ab_qpos", ATTENTION_HOOKS);
    return c->attn->qpos;
}
static ab_t h_kpos(ab_ctx *c)
{
    ONLY_IN(c, "ab_kpos", ATTENTION_HOOKS);
    return c->attn->kpos;
}
static ab_t h_klen(ab_ctx *c)
{
    ONLY_IN(c, "ab_klen", ATTENTION_HOOKS);
    return attn_klen(c);
}

/* ---- those that need nothing but the check of ids ---- */

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
    OWN(a, b);
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
    OWN(q, k);
    return t_relative_position(c, q, k);
}
static ab_t h_gather(ab_ctx *c, ab_t x, ab_t ids)
{
    OWN(x, ids);
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
    .maximum = h_maximum,
    .where = h_where,
    .less_than = h_less_than,
    .mul_scalar = h_mul_scalar,
    .add_scalar = h_add_scalar,
    .map = h_map,
    .gelu = h_gelu,
    .silu = h_silu,
    .softplus = h_softplus,
    .dropout = h_dropout,
    .sum = h_sum,
    .cumsum = h_cumsum,
    .softmax = h_softmax,
    .matmul = h_matmul,
    .reshape = h_reshape,
    .transpose = h_transpose,
    .slice = h_slice,
    .concat = h_concat,
    .detach = h_detach,
    .full = h_full,
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
    .param_full = h_param_full,
    .linear = h_linear,
    .linear_relu = h_linear_relu,
    .layer_norm = h_layer_norm,
    .add_layer_norm = h_add_layer_norm,
    .self_attention = h_self_attention,
    .cross_attention = h_cross_attention,
    .feed_forward = h_feed_forward,
    .normalize = h_normalize,
    .add_normalize = h_add_normalize,
    .add_dropout = h_add_dropout,
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
    .heads = h_heads,
    .rotate = h_rotate,
    .remember = h_remember,
    .merge = h_merge,
    .pad = h_pad,
    .pack = h_pack,
    .scan = h_scan,
    .qpos = h_qpos,
    .kpos = h_kpos,
    .klen = h_klen,
    .gru = h_gru,
    .conv = h_conv,
    .max = host_max,
    .top_k = host_top_k,
    .sort = host_sort,
    .to_ids = host_to_ids,
    .one_hot = host_one_hot,
    .scatter_rows = host_scatter_rows,
    .noise = host_noise,
    .tokens = host_tokens,
    .row_mask = host_row_mask,
    .add_loss = host_add_loss,
    .log = host_log,
    .share = host_share,
    .shared = host_shared,
    .window = h_window,
    .parameter = h_parameter,
};

void plugin_set_services(const plugin_services *s)
{
    host_table.bleu = s->bleu;
    host_table.read_lines = s->read_lines;
    host_table.free_lines = s->free_lines;
    host_table.f1 = s->f1;
}
