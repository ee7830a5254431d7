/* influence.c - finds the keys that an attention's output depends on, for any attention, by differentiating through its
 * call.
 *
 * Let the output be linear in a head's values, y_i = sum_j A_ij v_j W_h, with a weight A_ij for each query and key. The
 * gradient of r y_i' with respect to v_j is A_ij r W_h', whose length is |A_ij| times a factor that all keys share. So
 * it yields the weights of attention, and the effective weights of linear attention, decaying states and delta rules.
 * An attention without such values is differentiated with respect to the rows that it reads.
 */
#include "network/model/trace.h"
#include "tensor/graph/grad.h"
#include <string.h>

/* Did the call keep exactly one softmax over keys? If there are several, none is the attention's weights. */
static bool one_softmax(const ab_ctx *c, const char *scope)
{
    char name[128];
    int n = 0;
    snprintf(name, sizeof name, "%s.weights", scope);
    for (int32_t i = 1; i < c->n; i++) n += c->v[i].name && same(c->v[i].name, name);
    return n == 1;
}

/* The values [B,n,Tk,d] of the call's sum over keys; id 0 if the call has no such sum or several. */
static ab_t values_of(const ab_ctx *c, const attn_context *k)
{
    ab_t v = k->values.id ? k->values : k->value_rows;
    const int64_t *d = c->v[v.id].dim;
    bool fits = v.id && !k->several_values && d[0] == k->batch && d[2] == k->k_time;
    return fits ? v : (ab_t){0};
}

/* The gradient with respect to `of`, given the gradient dy of y, through nodes from `first` on; id 0: no gradient. */
static ab_t gradient(ab_ctx *c, ab_t of, int32_t first, ab_t y, ab_t dy)
{
    grad_replace(c, y.id, dy);
    grad_sweep(c, first > of.id ? first : of.id + 1, y.id + 1);
    ab_t g = {c->grad[of.id]};
    memset(c->grad, 0, c->grad_cap * sizeof *c->grad);
    return g.id ? t_add_scalar(c, g, 0) : g; /* + 0 makes a new node, which t_keep may name */
}

void trace_influence(ab_ctx *c, const attn_context *k, int32_t first, ab_t y, const char *scope)
{
    if (!y.id || one_softmax(c, scope)) return;
    trace_caller before = {c->attn, c->hook, c->scope};
    c->attn = NULL, c->hook = AB_IN_HOST;
    const int64_t *d = tape_at(c, y)->dim;
    ab_t probe =
             t_input(c, arena_printf(&c->memory, "%s" PROBE, scope), tape_at(c, y)->type, PHASE_STEP, 1, 1, d[2], d[3]),
         v = values_of(c, k), g = v.id ? gradient(c, v, first, y, probe) : v;
    if (g.id)
        t_keep(c, g, arena_printf(&c->memory, "%s" BY_VALUES, scope));
    else
        t_keep(c, gradient(c, k->mem, first, y, probe), arena_printf(&c->memory, "%s" BY_ROWS, scope));
    trace_end(c, before);
}
