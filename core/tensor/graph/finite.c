/* finite.c - finds the operation of a tape that first makes a number that is not finite. */
#include "tensor/graph/params.h"
#include "tensor/graph/tape.h"
#include "base/vmath.h"
#include <math.h>

/* True for NaN and +infinity. -infinity is allowed: masks write it. */
static bool went_wrong(const node *v)
{
    int64_t n = v->data && v->type != I32 ? node_count(v) : 0;
    bool wrong = false;
    for (int64_t i = 0; i < n && !wrong; i++) {
        double x = v->type == F64   ? ((const double *)v->data)[i]
                   : v->type == F32 ? ((const float *)v->data)[i]
                                    : from_bf16(((const bf16 *)v->data)[i]);
        wrong = isnan(x) || x == INFINITY;
    }
    return wrong;
}

static void describe_node(const ab_ctx *c, const node *v, int32_t i, char *out, size_t n)
{
    char shape[64], where[160] = "";
    if (v->file) snprintf(where, sizeof where, ", %.120s:%d", v->file, v->line);
    snprintf(out, n, "%s %s%s%.80s%s makes the first number that is not finite, of %s",
             i >= c->forward_n ? "in the gradient," : "in the forward pass,", op_names[v->op],
             v->scope && *v->scope ? " of " : "", v->scope ? v->scope : "", where, shape_text(v->dim, shape));
}

bool tape_find_not_finite(ab_ctx *c, const run_options *o, char *out, size_t n)
{
    if (on_device(c->backend)) return false;
    for (int32_t i = c->n - 1; i > 0; i--) { /* gradients flow from the end: the last one is nearest to the cause */
        const node *v = &c->v[i];
        if (v->op != OP_PARAM || !v->live || !went_wrong(v)) continue;
        snprintf(out, n, "the update before made parameter %.80s not finite", c->params->p[v->param].name);
        return true;
    }
    for (int32_t i = 1; i < c->n; i++) {
        const node *v = &c->v[i];
        if (!tape_is_call(v)) continue;
        if (tape_run_node(c, i, o, NULL)) return false;
        for (int k = 0; k < v->n_out; k++)
            if (went_wrong(&c->v[i + k])) {
                describe_node(c, v, i, out, n);
                return true;
            }
    }
    return false;
}
