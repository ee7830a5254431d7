/* host_order.c - host functions for sorting, computed ids, noise, tokens, recorded numbers, and values shared by
 * layers. */
#include "network/plugin/attention_context.h"
#include "network/plugin/plugin.h"

/* ---- sorting: finds indices, then gathers values ---- */

static ab_t ordered(ab_ctx *c, ab_t a, int64_t k, bool smallest, ab_t *ids)
{
    ab_t at = t_top_k(c, a, k, smallest);
    if (ids) *ids = at;
    return t_gather(c, a, at);
}

ab_t host_top_k(ab_ctx *c, ab_t a, int64_t k, ab_t *ids) { return a.id ? ordered(c, a, k, false, ids) : a; }

ab_t host_sort(ab_ctx *c, ab_t a, int descending, ab_t *ids)
{
    return a.id ? ordered(c, a, tape_at(c, a)->dim[3], !descending, ids) : a;
}

ab_t host_max(ab_ctx *c, ab_t a, int axis)
{
    axis = from_end(axis);
    if (axis < -4 || axis >= 0) return tape_fail(c, "ab_max_axis: axis %d, expected -4 to -1", axis);
    if (!a.id) return a;
    const backend *b = c->backend;
    bool one = b && b->kernels[OP_MAX] && !(c->attn && c->attn->generic);
    if (axis != -1) a = t_transpose(c, a, axis, -1);
    a = one ? t_max(c, a) : ordered(c, a, 1, false, NULL);
    return axis == -1 ? a : t_transpose(c, a, axis, -1);
}

/* ---- ids ---- */

ab_t host_one_hot(ab_ctx *c, ab_t ids, int64_t n)
{
    if (!ids.id) return ids;
    const int64_t *d = tape_at(c, ids)->dim;
    char shape[64];
    if (n < 1 || d[0] != 1)
        return tape_fail(c, "ab_one_hot: ids %s, n = %lld; expected at most three axes of ids, and n of 1 or more",
                         shape_text(d, shape), (long long)n);
    int64_t places[4] = {d[1], d[2], d[3], 1};
    ab_t one = t_broadcast_to(c, one_number(c, 1), places);
    return t_scatter_add(c, one, t_reshape(c, ids, places), n);
}

ab_t host_scatter_rows(ab_ctx *c, ab_t rows, ab_t ids, int64_t n)
{
    if (n < 1) return tape_fail(c, "ab_scatter_rows: %lld rows, expected 1 or more", (long long)n);
    return t_sum_rows_by_id(c, rows, ids, n);
}

/* ---- noise, tokens ---- */

ab_t host_noise(ab_ctx *c, ab_noise what, int rank, const int64_t *dims)
{
    int64_t d[4];
    return host_dims4(c, "ab_uniform or ab_normal", rank, dims, d) ? attn_noise(c, what == AB_NORMAL, d) : (ab_t){0};
}

/* ---- recorded numbers, values shared by layers ---- */

void host_add_loss(ab_ctx *c, const char *name, ab_t value, double weight)
{
    attn_record(c, "ab_add_loss", name, value, weight, 1);
}

void host_log(ab_ctx *c, const char *name, ab_t value) { attn_record(c, "ab_log", name, value, 0, AB_LOG_MOST); }

void host_print(ab_ctx *c, const char *name, ab_t x) { t_print(c, x, name ? name : ""); }
