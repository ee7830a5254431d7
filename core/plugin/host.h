/* host.h - what the files with functions of the host share (host.c, host_order.c): the check of ids, axes, and of where a function may
 * be called. */
#ifndef ABLATE_PLUGIN_HOST_H
#define ABLATE_PLUGIN_HOST_H
#include "graph/tape.h"

/* Ids that plugins pass are checked before anything looks at the tensor. */
bool host_owns_all(ab_ctx *c, const ab_t *x, size_t n);
#define OWN(...)                                                                                             \
    if (!host_owns_all(c, (const ab_t[]){__VA_ARGS__}, sizeof((ab_t[]){__VA_ARGS__}) / sizeof(ab_t))) return (ab_t) {0}

/* Axes given as rank and dims, aligned at the right. Else false and an error. */
bool host_dims4(ab_ctx *c, const char *what, int rank, const int64_t *dims, int64_t out[4]);
static inline int from_end(int axis) { return axis >= 0 ? axis - 4 : axis; }

/* Where functions may be called (the tags of ab_plugin.h). */
#define BIT(h) (1u << (h))
enum {
    ATTENTION_HOOKS = BIT(AB_IN_FORWARD) | BIT(AB_IN_STEP) | BIT(AB_IN_ROTATE) | BIT(AB_IN_BIAS) | BIT(AB_IN_SCORES) | BIT(AB_IN_VALUES),
    BLOCK_HOOKS = BIT(AB_IN_BLOCK) | BIT(AB_IN_FINISH),
    MODEL_HOOKS = ATTENTION_HOOKS | BLOCK_HOOKS | BIT(AB_IN_EMBED) | BIT(AB_IN_FEED_FORWARD) | BIT(AB_IN_NORM) | BIT(AB_IN_ADD_NORM),
    UPDATE_HOOKS = BIT(AB_IN_UPDATE),
};
/* May `function` be called by the hook that runs? Else false and an error that says where it may. */
bool host_may_call(ab_ctx *c, const char *function, unsigned hooks);
#define ONLY_IN(c, function, hooks)                                                                          \
    if (!host_may_call(c, function, hooks)) return (ab_t) {0}

/* The functions of host_order.c, as ab_plugin.h describes them. */
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
void host_share(ab_ctx *c, const char *name, ab_t x);
ab_t host_shared(ab_ctx *c, const char *name);
#endif
