/* host.h - shared by the files with host functions (host.c, host_tensor.c, host_layer.c, host_order.c): checks of ids,
 * of axes, and of where a function may be called. */
#ifndef ABLATE_PLUGIN_HOST_H
#define ABLATE_PLUGIN_HOST_H
#include "tensor/graph/tape.h"

/* Checks ids from plugins before the tensor is read. */
bool host_owns_all(ab_ctx *c, const ab_t *x, size_t n);
#define OWN(...)                                                                                                       \
    if (!host_owns_all(c, (const ab_t[]){__VA_ARGS__}, sizeof((ab_t[]){__VA_ARGS__}) / sizeof(ab_t))) return (ab_t)    \
        {                                                                                                              \
            0                                                                                                          \
        }

/* Converts rank and dims to right-aligned axes; false and an error if invalid. */
bool host_dims4(ab_ctx *c, const char *what, int rank, const int64_t *dims, int64_t out[4]);
static inline int from_end(int axis) { return axis >= 0 ? axis - 4 : axis; }

/* Where functions may be called (the tags of ab_plugin.h). */
#define BIT(h) (1u << (h))
enum {
    ATTENTION_HOOKS = BIT(AB_IN_FORWARD) | BIT(AB_IN_STEP) | BIT(AB_IN_ROTATE) | BIT(AB_IN_BIAS) | BIT(AB_IN_SCORES) |
                      BIT(AB_IN_VALUES),
    BLOCK_HOOKS = BIT(AB_IN_BLOCK) | BIT(AB_IN_FINISH),
    HEAD_HOOKS = BIT(AB_IN_LOGITS) | BIT(AB_IN_LOSSES),
    SENTENCE_HOOKS = ATTENTION_HOOKS | BIT(AB_IN_FEED_FORWARD) | BIT(AB_IN_BLOCK),
    UPDATE_HOOKS = BIT(AB_IN_UPDATE),
    MODEL_HOOKS = (BIT(AB_HOOK_COUNT) - 1) & ~(BIT(AB_IN_HOST) | BIT(AB_IN_REFERENCE) | BIT(AB_IN_GRAD) | UPDATE_HOOKS),
};
/* Checks that the current hook may call `function`; else false and an error that lists the hooks that may. */
bool host_may_call(ab_ctx *c, const char *function, unsigned hooks);
#define ONLY_IN(c, function, hooks)                                                                                    \
    if (!host_may_call(c, function, hooks)) return (ab_t)                                                              \
        {                                                                                                              \
            0                                                                                                          \
        }

/* The functions of host_tensor.c, described in ab_plugin.h. */
ab_t host_add(ab_ctx *c, ab_t a, ab_t b);
ab_t host_sub(ab_ctx *c, ab_t a, ab_t b);
ab_t host_mul(ab_ctx *c, ab_t a, ab_t b);
ab_t host_div(ab_ctx *c, ab_t a, ab_t b);
ab_t host_minimum(ab_ctx *c, ab_t a, ab_t b);
ab_t host_less_than(ab_ctx *c, ab_t a, ab_t b);
ab_t host_silu(ab_ctx *c, ab_t a);
ab_t host_gelu(ab_ctx *c, ab_t a);
ab_t host_softplus(ab_ctx *c, ab_t a);
ab_t host_unit_length(ab_ctx *c, ab_t a, double eps);
ab_t host_sum(ab_ctx *c, ab_t a, int axis);
ab_t host_maximum(ab_ctx *c, ab_t a, ab_t b);
ab_t host_where(ab_ctx *c, ab_t condition, ab_t a, ab_t b);
ab_t host_full(ab_ctx *c, int rank, const int64_t *dims, double value);
ab_t host_cumsum(ab_ctx *c, ab_t a);
ab_t host_detach(ab_ctx *c, ab_t a);
ab_t host_fp32(ab_ctx *c, ab_t x);
ab_t host_reshape(ab_ctx *c, ab_t a, int rank, const int64_t *dims);
ab_t host_transpose(ab_ctx *c, ab_t a, int i, int j);
ab_t host_slice(ab_ctx *c, ab_t a, int axis, int64_t from, int64_t n);
ab_t host_concat(ab_ctx *c, ab_t a, ab_t b, int axis);
ab_t host_embedding(ab_ctx *c, ab_t table, ab_t ids);
ab_t host_clipped_relative_position(ab_ctx *c, ab_t q, ab_t k, int64_t clip);
ab_t host_scatter_add(ab_ctx *c, ab_t p, ab_t ids, int64_t n);
ab_t host_outer(ab_ctx *c, ab_t a, ab_t b);
ab_t host_consts(ab_ctx *c, int rank, const int64_t *dims, const double *v);
ab_t host_computed_table(ab_ctx *c, int rank, const int64_t *dims, double (*f)(const void *, const int64_t *),
                         const void *cfg, size_t cfg_size);
ab_t host_mul_scalar(ab_ctx *c, ab_t a, double x);
ab_t host_add_scalar(ab_ctx *c, ab_t a, double x);
ab_t host_map(ab_ctx *c, ab_t a, ab_fn f);
ab_t host_dropout(ab_ctx *c, ab_t a, double p);
ab_t host_softmax(ab_ctx *c, ab_t s);
ab_t host_softmax_sink(ab_ctx *c, ab_t s, ab_t sink);
ab_t host_entmax(ab_ctx *c, ab_t s, double alpha);
ab_t host_matmul(ab_ctx *c, ab_t a, ab_t b, int ta, int tb);
ab_t host_rotate_half(ab_ctx *c, ab_t a);
ab_t host_to_float(ab_ctx *c, ab_t ids);
ab_t host_relative_position(ab_ctx *c, ab_t q, ab_t k);
ab_t host_gather(ab_ctx *c, ab_t x, ab_t ids);
/* The functions of host_layer.c. */
ab_t host_param(ab_ctx *c, const char *name, int rank, const int64_t *dims, double scale);
ab_t host_buffer(ab_ctx *c, const char *name, int rank, const int64_t *dims, double value);
void host_set_buffer(ab_ctx *c, ab_t buffer, ab_t value);
ab_t host_linear(ab_ctx *c, ab_t x, const char *name, int64_t width, int bias);
ab_t host_param_full(ab_ctx *c, const char *name, int rank, const int64_t *dims, double value);
ab_t host_linear_relu(ab_ctx *c, ab_t x, const char *name, int64_t width, int bias);
ab_t host_layer_norm(ab_ctx *c, ab_t x, ab_t gain, ab_t bias, double eps);
ab_t host_add_layer_norm(ab_ctx *c, ab_t x, ab_t s, ab_t gain, ab_t bias, double eps);
ab_t host_self_attention(ab_ctx *c, ab_t x);
ab_t host_cross_attention(ab_ctx *c, ab_t x);
ab_t host_feed_forward(ab_ctx *c, ab_t x, const char *name);
ab_t host_normalize(ab_ctx *c, ab_t x, const char *name);
ab_t host_add_normalize(ab_ctx *c, ab_t x, ab_t s, const char *name);
ab_t host_add_dropout(ab_ctx *c, ab_t x, ab_t s);
ab_t host_project(ab_ctx *c, ab_t x, ab_projection what);
ab_t host_scores(ab_ctx *c, ab_t q, ab_t k, double scale);
ab_t host_mask(ab_ctx *c, ab_t s);
ab_t host_window(ab_ctx *c, ab_t s, ab_t from, ab_t to);
ab_t host_key_blocks(ab_ctx *c, ab_t s, ab_t allowed, int64_t size);
ab_t host_position(ab_ctx *c, ab_t s, ab_t q, ab_t k);
ab_t host_weighted_sum(ab_ctx *c, ab_t p, ab_t v);
ab_t host_attend(ab_ctx *c, ab_t q, ab_t k, ab_t v, double scale);
ab_t host_causal_kv_sum(ab_ctx *c, ab_t q, ab_t k, ab_t v);
ab_t host_output(ab_ctx *c, ab_t y);
ab_t host_heads(ab_ctx *c, ab_t rows, int64_t heads);
ab_t host_rotate(ab_ctx *c, ab_t x);
ab_t host_remember(ab_ctx *c, ab_t x);
ab_t host_merge(ab_ctx *c, ab_t y);
ab_t host_pad(ab_ctx *c, ab_t rows);
ab_t host_pack(ab_ctx *c, ab_t x);
ab_t host_running_sum(ab_ctx *c, ab_t a);
ab_t host_scan(ab_ctx *c, ab_step f, const void *cfg, ab_t x, int64_t d, int back);
ab_t host_delta_scan(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t beta, ab_t log_decay);
ab_t host_gru(ab_ctx *c, ab_t x, const char *in, const char *u, int64_t d, int backwards);
ab_t host_lstm(ab_ctx *c, ab_t x, const char *in, const char *u, int64_t d, int backwards);
ab_t host_conv(ab_ctx *c, ab_t x, const char *name, int64_t width, int64_t before, int64_t behind);
ab_t host_shift(ab_ctx *c, ab_t rows, int64_t by);
ab_t host_long_conv(ab_ctx *c, ab_t rows, ab_t past, ab_t future);
ab_t host_depthwise_conv(ab_ctx *c, ab_t rows, const char *name, int64_t before, int64_t behind);
ab_t host_call_attention(ab_ctx *c, const char *name, ab_t x, ab_t mem);
/* The functions of host_head.c. */
ab_t host_logits(ab_ctx *c, ab_t x);
ab_t host_token_vectors(ab_ctx *c);
ab_t host_cross_entropy(ab_ctx *c, ab_t logits, ab_t target);
ab_t host_ahead(ab_ctx *c, ab_t ids, int64_t by);
ab_t host_teacher(ab_ctx *c);
ab_t host_qpos(ab_ctx *c);
ab_t host_kpos(ab_ctx *c);
ab_t host_klen(ab_ctx *c);
/* The functions of host_order.c. */
ab_t host_top_k(ab_ctx *c, ab_t a, int64_t k, ab_t *ids);
ab_t host_sort(ab_ctx *c, ab_t a, int descending, ab_t *ids);
ab_t host_max(ab_ctx *c, ab_t a, int axis);
ab_t host_to_ids(ab_ctx *c, ab_t a);
ab_t host_one_hot(ab_ctx *c, ab_t ids, int64_t n);
ab_t host_scatter_rows(ab_ctx *c, ab_t rows, ab_t ids, int64_t n);
ab_t host_noise(ab_ctx *c, ab_noise what, int rank, const int64_t *dims);
ab_t host_tokens(ab_ctx *c);
ab_t host_row_mask(ab_ctx *c);
void host_add_loss(ab_ctx *c, const char *name, ab_t value, double weight);
void host_log(ab_ctx *c, const char *name, ab_t value);
void host_print(ab_ctx *c, const char *name, ab_t x);
void host_share(ab_ctx *c, const char *name, ab_t x);
ab_t host_shared(ab_ctx *c, const char *name);
#endif
