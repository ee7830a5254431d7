/* attention_scores.c - recognises attention whose scores go through elementwise operations, and fuses it.
 *
 * A plugin ends an attention with ab_weighted_sum(dropout(weights(t)), v), where `weights` is a softmax, with or
 * without a sink, or an entmax. From there this file walks the tape backwards. If t is f(q k') with f elementwise over
 * [B,H,Tq,Tk], followed by the mask, the whole attention becomes one ATTEND_PROGRAM (graph/score.h). Weights may also
 * be elementwise functions of the masked scores, if these map masked scores to 0 (sigmoid, ReLU), or a sum or
 * difference of weights, each times a number per query, head or sentence (attention_maps.c). The planner drops the
 * traced nodes, except those that the plugin reads elsewhere. Any other attention runs composed.
 */
#include "network/plugin/attention_scores.h"
#include <stdlib.h>
#include <string.h>

/* The value that masked keys must have: any, -inf, 0. */
typedef enum { WANTS_NONE, WANTS_HIDDEN, WANTS_ZERO } wanted;

static bool has_dims(const node *v, int64_t a, int64_t b, int64_t d, int64_t e)
{
    return v->dim[0] == a && v->dim[1] == b && v->dim[2] == d && v->dim[3] == e;
}
/* Number of keys that the scores have; in a decoding step, all cached ones. */
static int64_t keys_of(const ab_ctx *c) { return attn_steps(c) ? c->attn->seen : c->attn->k_time; }
static bool of_scores(const score_walk *w, int32_t x) /* has node x the scores' shape? */
{
    const attn_context *t = w->c->attn;
    return has_dims(&w->c->v[x], t->batch, t->info.heads, t->q_time, keys_of(w->c));
}

/* Does the operation support windows, chosen blocks and tables of vectors? Without support, as on devices and in
 * decoding steps, their traced form is used. */
static bool takes_tables(const ab_ctx *c) { return c->backend->takes_tables && !attn_steps(c); }

/* May d_k and d_v of this attention differ from the model's? */
static bool any_width(const ab_ctx *c) { return c->backend->takes_weights; }

static const narrowed *narrowed_at(const score_walk *w, int32_t x)
{
    if (!takes_tables(w->c)) return NULL;
    const narrowed *y = w->c->attn->narrowed;
    while (y && y->result != x) y = y->next;
    return y;
}

/* Finds the product q k' that x depends on, and whether it is scaled right after. */
static int32_t find_product(score_walk *w, int32_t x, int depth)
{
    const node *v = &w->c->v[x];
    const attn_context *t = w->c->attn;
    if (!of_scores(w, x) || depth > SCORE_STEPS) return 0;
    w->culprit = x;
    if (v->op == OP_MATMUL) {
        int64_t d_k = any_width(w->c) ? w->c->v[v->i.MATMUL.a].dim[3] : t->info.d_k;
        return !v->a.MATMUL.transpose_a && v->a.MATMUL.transpose_b &&
                       has_dims(&w->c->v[v->i.MATMUL.a], t->batch, t->info.heads, t->q_time, d_k) &&
                       has_dims(&w->c->v[v->i.MATMUL.b], t->batch, t->info.heads, keys_of(w->c), d_k)
                   ? x
                   : 0;
    }
    const narrowed *narrow = narrowed_at(w, x);
    if (narrow) return find_product(w, narrow->scores, depth + 1);
    int n = v->op == OP_MASK ? 1 : op_elementwise(v->op) ? v->n_in : 0;
    for (int k = 0; k < n; k++) {
        int32_t found = find_product(w, v->in[k], depth + 1);
        if (!found) continue;
        if (v->op == OP_MUL_SCALAR && v->i.MUL_SCALAR.a == found) w->scored = x, w->scale = v->a.MUL_SCALAR.by;
        return found;
    }
    return 0;
}

static bool depends(score_walk *w, int32_t x)
{
    const node *v = &w->c->v[x];
    if (x == w->scored) return true;
    if (w->below[x]) return w->below[x] > 0;
    bool yes = false;
    int n = v->op == OP_MASK ? 1 : op_elementwise(v->op) ? v->n_in : 0;
    for (int k = 0; k < n && !yes; k++) yes = depends(w, v->in[k]);
    w->below[x] = yes ? 1 : -1;
    return yes;
}

/* Records why node x prevents fusion (x 0: no node), unless a reason is recorded already. Returns id 0. */
static ab_t give_up(score_walk *w, int32_t x, const char *because)
{
    if (!w->failed) w->culprit = x, w->because = because;
    w->failed = true;
    return (ab_t){0};
}

/* ---- leaves ---- */

bool attn_same_ids(const ab_ctx *c, int32_t a, int32_t b)
{
    const node *u = &c->v[a], *v = &c->v[b];
    return a == b || (u->op == OP_CLIPPED_RELATIVE_POSITION && v->op == u->op &&
                      !memcmp(&u->i.CLIPPED_RELATIVE_POSITION, &v->i.CLIPPED_RELATIVE_POSITION,
                              sizeof u->i.CLIPPED_RELATIVE_POSITION) &&
                      u->a.CLIPPED_RELATIVE_POSITION.clip == v->a.CLIPPED_RELATIVE_POSITION.clip);
}

/* Returns the table E if x = by q E' with the product's queries; else id 0. */
static ab_t key_table(const score_walk *w, int32_t x, double *by)
{
    const ab_ctx *c = w->c;
    for (*by = 1; c->v[x].op == OP_MUL_SCALAR; x = c->v[x].i.MUL_SCALAR.a) *by *= c->v[x].a.MUL_SCALAR.by;
    const node *v = &c->v[x];
    if (!takes_tables(c) || v->op != OP_MATMUL || v->a.MATMUL.transpose_a || !v->a.MATMUL.transpose_b ||
        v->i.MATMUL.a != c->v[w->product].i.MATMUL.a)
        return (ab_t){0};
    const node *e = &c->v[v->i.MATMUL.b];
    return (ab_t){e->dim[0] * e->dim[1] == 1 && e->type == v->type ? v->i.MATMUL.b : 0};
}

static ab_t leaf(score_walk *w, int32_t x)
{
    const attn_context *t = w->c->attn;
    int32_t of = x;
    const node *v = &w->c->v[x];
    bool gathered = v->op == OP_GATHER && v->dim[2] == t->q_time && v->dim[3] == keys_of(w->c) &&
                    w->c->v[v->i.GATHER.x].dim[2] == t->q_time;
    /* the ids must be equal for all sentences and heads */
    if (gathered && w->c->v[v->i.GATHER.ids].dim[0] * w->c->v[v->i.GATHER.ids].dim[1] != 1) gathered = false;
    if (gathered && w->ids.id && !attn_same_ids(w->c, w->ids.id, v->i.GATHER.ids)) gathered = false;
    if (gathered && !w->ids.id) w->ids = (ab_t){v->i.GATHER.ids};
    if (gathered) of = v->i.GATHER.x;
    if (v->op == OP_BROADCAST_TO) of = v->i.BROADCAST_TO.x;
    double by;
    ab_t table = gathered && w->keys < 0 && w->n < SCORE_LEAVES ? key_table(w, of, &by) : (ab_t){0};
    if (table.id) {
        w->keys = w->n, w->keys_scale = by;
        w->leaf[w->n] = table;
        w->gathered[w->n++] = true;
        return score_draft_leaf(&w->draft, true); /* the table needs the gradient of its product with the queries */
    }
    const int64_t full[4] = {t->batch, t->info.heads, t->q_time, keys_of(w->c)};
    const node *u = &w->c->v[of];
    for (int i = 0; i < (gathered ? 2 : 4); i++)
        if (u->dim[i] != 1 && u->dim[i] != full[i]) return give_up(w, x, "has another shape than the scores");
    if (w->n == SCORE_LEAVES) return give_up(w, x, "is a fifth value that enters the scores, expected at most 4");
    if (u->type != F32 && u->type != F64) return give_up(w, x, "is not fp32 or fp64");
    w->leaf[w->n] = (ab_t){of};
    w->gathered[w->n++] = gathered;
    return score_draft_leaf(&w->draft, u->needs);
}

/* ---- the program, from the softmax down ---- */

static bool right_mask(const score_walk *w, const node *v)
{
    const attn_context *t = w->c->attn;
    /* a step's causal mask hides nothing: all cached keys are in the past */
    bool causal = t->info.role == AB_CAUSAL && (!t->decode || attn_steps(w->c));
    return v->i.MASK.q_positions == t->qpos.id && v->i.MASK.k_positions == t->kpos.id &&
           v->i.MASK.k_lengths == t->klen.id && (!v->a.MASK.causal || causal);
}

static bool keeps_masked(score_walk *w, const node *v, int k)
{
    if (!depends(w, v->in[k])) return false;
    if (v->op == OP_ADD) return !depends(w, v->in[1 - k]);
    if (v->op == OP_SUB) return k == INPUT(SUB, a) && !depends(w, v->i.SUB.b);
    return v->op == OP_ADD_SCALAR || v->op == OP_MINIMUM || (v->op == OP_MUL_SCALAR && v->a.MUL_SCALAR.by > 0);
}

/* The value that input k must have at masked keys for the result to be 0 there. */
static wanted zero_wants(score_walk *w, const node *v, int k)
{
    bool own = depends(w, v->in[k]);
    bool other = v->n_in > 1 && v->in[1 - k] != v->in[k] && depends(w, v->in[1 - k]);
    if (own && other && (v->op == OP_ADD || v->op == OP_SUB)) return WANTS_ZERO;
    if (!own || other) return WANTS_NONE;
    if (v->op == OP_MUL || v->op == OP_MUL_SCALAR || (v->op == OP_DIV && k == INPUT(DIV, a))) return WANTS_ZERO;
    if (v->op != OP_MAP) return WANTS_NONE;
    switch ((int)v->a.MAP.function) {
    case AB_EXP:
    case AB_SIGMOID:
    case AB_RELU: return WANTS_HIDDEN;
    case AB_SQUARE:
    case AB_ABS:
    case AB_SQRT:
    case AB_SILU:
    case AB_ERF:
    case AB_FLOOR:
    case AB_TANH: return WANTS_ZERO;
    default: return WANTS_NONE;
    }
}
static wanted wants_below(score_walk *w, const node *v, int k, wanted above)
{
    return above == WANTS_ZERO                              ? zero_wants(w, v, k)
           : above == WANTS_HIDDEN && keeps_masked(w, v, k) ? WANTS_HIDDEN
                                                            : WANTS_NONE;
}

/* Adds the window or blocks to the program. Keys outside have weight 0, whatever is added to their scores. */
static ab_t match_narrowed(score_walk *w, const narrowed *x)
{
    int *which = x->block ? &w->blocks : &w->window;
    if (*which >= 0 || w->n == SCORE_LEAVES || tape_at(w->c, x->by)->needs)
        return give_up(w, x->result, "is a second window or choice of blocks, or one whose bounds are learned");
    *which = w->n;
    if (x->block) w->block = x->block;
    w->leaf[w->n++] = x->by;
    score_draft_leaf(&w->draft, false); /* so that the draft counts this leaf, too */
    return w->draft.score;
}

/* How x is used: the value that masked keys must have there, and whether a mask follows. Greater than 1 (depends). */
static int use_of(const score_walk *w, wanted above) { return 2 + (int)above + 3 * w->covered; }

/* Keeps y, which x became, for other places that use x alike. */
static ab_t emitted(score_walk *w, int32_t x, wanted above, ab_t y)
{
    w->twin[x] = y.id;
    if (w->below[x] > 0) w->below[x] = (signed char)use_of(w, above);
    return y;
}

/* Writes x into the draft. above: the value that masked keys must have there. */
static ab_t emit(score_walk *w, int32_t x, wanted above)
{
    node v = w->c->v[x];
    if (w->failed) return (ab_t){0};
    if (x == w->scored)
        return w->covered ? w->draft.score : give_up(w, 0, "its scores are masked by neither scores nor mask");
    bool some = depends(w, x);
    if (w->twin[x] && (!some || w->below[x] == use_of(w, above))) return (ab_t){w->twin[x]};
    if (v.op == OP_MASK && some) {
        if (above != WANTS_HIDDEN)
            return give_up(w, x, "is followed by an operation that may give masked keys a weight");
        if (w->masked || !right_mask(w, &v))
            return give_up(w, x, "is a second mask, or not this attention's own (positions, lengths, causal)");
        w->masked = w->covered = true;
        w->causal = v.a.MASK.causal != 0;
        ab_t y = emit(w, v.i.MASK.s, WANTS_HIDDEN);
        w->covered = false;
        return emitted(w, x, above, y);
    }
    const narrowed *narrow = narrowed_at(w, x);
    if (narrow)
        return above == WANTS_HIDDEN && !w->plain && match_narrowed(w, narrow).id
                   ? emit(w, narrow->scores, WANTS_HIDDEN)
                   : give_up(w, x,
                             "is a window or choice of blocks before an operation that may give masked keys a weight");
    const attn_context *t = w->c->attn;
    bool large = of_scores(w, x) && t->batch * t->info.heads > 1; /* cheaper to compute in the kernel than to read */
    if (!some && !(large && op_elementwise(v.op))) return emitted(w, x, above, leaf(w, x));
    if (!op_elementwise(v.op)) return give_up(w, x, "is not elementwise");
    ab_t in[3] = {{0}};
    for (int k = 0; k < v.n_in; k++) {
        in[k] = emit(w, v.in[k], wants_below(w, &v, k, above));
        if (!in[k].id) return (ab_t){0};
    }
    ab_t y = tape_push(w->draft.tape, v.op, tape_at(w->draft.tape, w->draft.score)->type, (int64_t[4]){1, 1, 1, 1},
                       v.n_in, in, &v.a);
    tape_at(w->draft.tape, y)->needs &= v.needs || some;
    if (v.op == OP_LESS_THAN || (v.op == OP_MAP && (v.a.MAP.function == AB_SIGN || v.a.MAP.function == AB_FLOOR)))
        tape_at(w->draft.tape, y)->needs = false;
    return emitted(w, x, above, y);
}

traced_weights attn_weights_at(const ab_ctx *c, int32_t p)
{
    const traced_weights *x = c->attn->weights_traced;
    if (c->v[p].op == OP_SOFTMAX) return (traced_weights){p, c->v[p].i.SOFTMAX.x, WEIGHTS_SOFTMAX, {0}, NULL};
    while (x && x->result != p) x = x->next;
    return x ? *x : (traced_weights){p, p, WEIGHTS_PLAIN, {0}, NULL};
}

/* Adds a sink, one number per query or broadcast, to the program. */
static void add_sink(score_walk *w, ab_t sink)
{
    const attn_context *t = w->c->attn;
    const int64_t most[4] = {t->batch, t->info.heads, t->q_time, 1};
    const node *v = tape_at(w->c, sink);
    bool fits = (v->type == F32 || v->type == F64) && w->n < SCORE_LEAVES;
    for (int i = 0; i < 4; i++) fits &= v->dim[i] == 1 || v->dim[i] == most[i];
    if (!fits) {
        give_up(w, sink.id, "is not one fp32 number per query, head or sentence");
        return;
    }
    w->sink = w->n;
    w->leaf[w->n++] = sink;
    score_draft_leaf(&w->draft, false); /* so that the draft counts this leaf, too */
}

/* The program from the product q k' up to the weights; NULL: no such program. */
static score_program *program_of(score_walk *w, const traced_weights *of)
{
    int32_t t = of->scores;
    w->scale = 1;
    w->window = w->blocks = w->keys = w->sink = -1;
    w->plain = of->kind == WEIGHTS_PLAIN;
    w->product = find_product(w, t, 0);
    if (!w->product) {
        w->because = op_elementwise(w->c->v[w->culprit].op)
                         ? "is made of values that are not [B,H,Tq,Tk]"
                         : "is neither elementwise nor each head's q k', both [B,H,T,d_k]";
        return NULL;
    }
    if (!w->scored) w->scored = w->product;
    w->below = xcalloc((size_t)w->c->n, 1);
    w->twin = xcalloc((size_t)w->c->n, sizeof *w->twin);
    score_draft_open(&w->draft, w->c);
    ab_t result = emit(w, t, w->plain ? WANTS_ZERO : WANTS_HIDDEN);
    if (of->sink.id) add_sink(w, of->sink);
    if (w->failed) result = (ab_t){0};
    score_program *f = score_draft_close(&w->draft, w->c, result);
    if (f) {
        memcpy(f->gathered, w->gathered, sizeof f->gathered);
        f->window = w->window, f->blocks = w->blocks, f->block = w->block;
        f->keys = w->keys, f->keys_scale = w->keys_scale;
        f->weights = (weights_kind)of->kind, f->sink = w->sink;
        if (w->plain) f->hiding = -1;
    }
    free(w->below);
    free(w->twin);
    return f;
}

const score_program *attn_program_of(score_walk *w, int32_t p)
{
    const traced_weights of = attn_weights_at(w->c, p);
    const backend *b = w->c->backend;
    bool entmax = of.kind == WEIGHTS_ENTMAX15 || of.kind == WEIGHTS_SPARSEMAX;
    if (entmax ? !b->takes_weights : (of.kind != WEIGHTS_SOFTMAX || of.sink.id) && !b->takes_sinks) {
        w->because = "its weights are not a softmax, and this device's kernels do not compute them";
        return NULL;
    }
    w->culprit = p, w->because = "has another shape than [B,H,Tq,Tk]";
    return of_scores(w, p) ? program_of(w, &of) : NULL;
}

static ab_t stays_composed(ab_ctx *c, int32_t at, const char *because)
{
    const node *v = &c->v[at];
    if (*c->unfused || !because || c->attn->generic) return (ab_t){0};
    const char *file = v->file ? strrchr(v->file, '/') : NULL;
    char where[128] = "";
    if (at && v->file)
        snprintf(where, sizeof where, "%s at %.80s:%d ", op_names[v->op], file ? file + 1 : v->file, v->line);
    else if (at)
        snprintf(where, sizeof where, "%s ", op_names[v->op]);
    snprintf(c->unfused, sizeof c->unfused, "%s%s", where, because);
    return (ab_t){0};
}

ab_t attn_fused_sum(ab_ctx *c, ab_t p, ab_t v)
{
    attn_context *t = c->attn;
    dropped_weights d = {0};
    if (!p.id || !v.id || t->generic ||
        !c->backend->kernels[attn_steps(c) ? OP_ATTEND_PROGRAM_STEP : OP_ATTEND_PROGRAM])
        return (ab_t){0};
    int32_t x = p.id;
    if (c->v[x].op == OP_DROPOUT) {
        d = (dropped_weights){c->v[x].a.DROPOUT.p, c->v[x].a.DROPOUT.place};
        x = c->v[x].i.DROPOUT.x;
    }
    if (!has_dims(&c->v[v.id], t->batch, t->info.heads, keys_of(c), any_width(c) ? c->v[v.id].dim[3] : t->info.d_v))
        return stays_composed(c, v.id, "makes values that are not [B,H,Tk,d_v]");
    t->culprit = 0, t->because = NULL;
    ab_t y = attn_sum_of_maps(c, x, v, &d);
    return y.id ? y : stays_composed(c, t->culprit, t->because);
}

ab_t host_scatter_add(ab_ctx *c, ab_t p, ab_t ids, int64_t n)
{
    if (n < 1) return tape_fail(c, "ab_scatter_add: %lld buckets, expected 1 or more", (long long)n);
    const attn_context *t = c->attn;
    if (t && p.id && ids.id && p.id == t->weights.id && t->summed.id) {
        ab_t mine = {c->v[t->summed.id].i.ATTEND_PROGRAM.ids};
        if (mine.id && attn_same_ids(c, mine.id, ids.id)) return t_attend_counts(c, t->summed, t->batch, t->q_time, n);
    }
    return t_scatter_add(c, p, ids, n);
}

ab_t attn_fused_values(ab_ctx *c, ab_t y, ab_t sum)
{
    attn_context *t = c->attn;
    const node *v = &c->v[sum.id];
    if (!sum.id || !t->summed.id || v->op != OP_ADD || !takes_tables(c)) return sum;
    bool first = v->i.ADD.a == y.id;
    const node *m = &c->v[first ? v->i.ADD.b : v->i.ADD.a];
    if ((!first && v->i.ADD.b != y.id) || m->op != OP_MATMUL || m->a.MATMUL.transpose_a || m->a.MATMUL.transpose_b)
        return sum;
    const node *table = &c->v[m->i.MATMUL.b];
    bool counts = m->i.MATMUL.a == tape_part(c, t->summed, OUTPUT(ATTEND_PROGRAM, z)).id;
    if (!counts || table->dim[0] * table->dim[1] != 1 || table->type != c->v[y.id].type) return sum;
    ab_t again = t_attend_values(c, t->summed, (ab_t){m->i.MATMUL.b});
    if (!again.id) return sum;
    t->summed = again;
    return t_heads(c, again, t->q_off, 0, t->info.heads, tape_at(c, again)->a.ATTEND.d_v, t->q_time);
}
