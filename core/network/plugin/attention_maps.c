/* attention_maps.c - fuses sums and differences of attention weights ("maps"), each times a number equal for all keys.
 * If the backend takes maps (graph/score.h), softmaxes whose scores go through the same steps become one operation,
 * which sums the weights before the product with v. Otherwise each softmax becomes an operation. */
#include "network/plugin/attention_scores.h"
#include <string.h>

enum { DEEPEST = 4, MOST_TERMS = 8 };
typedef struct {
    double by;
    ab_t number[DEEPEST]; /* n factors */
    int n;
} factor;
typedef struct {
    factor factor;
    score_walk w;
    const score_program *f;
} term;
typedef struct {
    term of[MOST_TERMS];
    int n;
} terms;

static bool match_term(ab_ctx *c, int32_t p, const factor *x, terms *t)
{
    if (t->n == MOST_TERMS) return false;
    term *y = &t->of[t->n];
    *y = (term){.factor = *x, .w = {.c = c}};
    y->f = attn_program_of(&y->w, p);
    if (!y->f && !c->attn->because) c->attn->culprit = y->w.culprit, c->attn->because = y->w.because;
    t->n += y->f != NULL;
    return y->f != NULL;
}

static bool match_terms(ab_ctx *c, int32_t p, factor x, int depth, terms *t)
{
    const node v = c->v[p];
    bool found = false;
    int before = t->n;
    if (attn_weights_at(c, p).kind == WEIGHTS_PLAIN && depth < DEEPEST && !attn_steps(c)) {
        if (v.op == OP_ADD || v.op == OP_SUB) {
            factor second = x;
            score_walk whole = {.c = c}; /* a program computes both parts at once if they have one product */
            if (v.op == OP_SUB) second.by = -x.by;
            found = !attn_program_of(&whole, p) && match_terms(c, v.in[0], x, depth + 1, t) &&
                    match_terms(c, v.in[1], second, depth + 1, t);
        } else if (v.op == OP_MUL_SCALAR) {
            factor scaled = x;
            scaled.by *= v.a.MUL_SCALAR.by;
            found = match_terms(c, v.i.MUL_SCALAR.a, scaled, depth + 1, t);
        }
        for (int k = 0; k < 2 && v.op == OP_MUL && !found; k++) {
            int32_t number = c->v[v.in[k]].op == OP_BROADCAST_TO ? c->v[v.in[k]].i.BROADCAST_TO.x : v.in[k];
            factor times = x;
            if (c->v[number].dim[3] != 1) continue;
            times.number[times.n++] = (ab_t){number};
            found = match_terms(c, v.in[1 - k], times, depth + 1, t);
        }
    }
    if (found) return true;
    t->n = before;
    return match_term(c, p, &x, t);
}

static bool same_value(const ab_ctx *c, int32_t a, int32_t b, int depth)
{
    const node *u = &c->v[a], *v = &c->v[b];
    if (a == b) return true;
    if (u->op != v->op || u->op == OP_INPUT || u->op == OP_CALL || u->type != v->type || u->n_in != v->n_in ||
        u->param != v->param || memcmp(u->dim, v->dim, sizeof u->dim) || memcmp(&u->a, &v->a, sizeof u->a))
        return false;
    if (u->op == OP_CONST)
        return u->data == v->data || !memcmp(u->data, v->data, (size_t)node_count(u) * dtype_size(u->type));
    bool same = depth > 0 && u->n_in > 0 && !u->call_attr && !v->call_attr;
    for (int k = 0; k < u->n_in && same; k++) same = same_value(c, u->in[k], v->in[k], depth - 1);
    return same;
}

static bool same_steps(const score_program *f, const score_program *g)
{
    bool same = f->n_steps == g->n_steps && f->result == g->result && f->hiding == g->hiding;
    for (int i = 0; i < f->n_steps && same; i++) {
        const score_step *s = &f->step[i], *t = &g->step[i];
        same = s->op == t->op && s->n_in == t->n_in && s->by == t->by && s->fn == t->fn;
        for (int k = 0; k < s->n_in; k++) same &= s->in[k] == t->in[k];
    }
    return same;
}

static bool alike(const term *a, const term *b)
{
    enum { DEEP = 16 };
    const score_program *f = a->f, *g = b->f;
    const ab_ctx *c = a->w.c;
    int64_t d_k = c->v[c->v[a->w.product].i.MATMUL.a].dim[3];
    if (d_k != c->v[c->v[b->w.product].i.MATMUL.a].dim[3] || a->w.scale != b->w.scale || a->w.causal != b->w.causal ||
        f->weights != WEIGHTS_SOFTMAX || g->weights != WEIGHTS_SOFTMAX || f->n_leaves != g->n_leaves ||
        f->sink != g->sink || f->window != g->window || f->blocks != g->blocks || f->block != g->block ||
        f->keys != g->keys || f->keys_scale != g->keys_scale || memcmp(f->gathered, g->gathered, sizeof f->gathered) ||
        !same_steps(f, g) ||
        (a->w.ids.id != b->w.ids.id && !(a->w.ids.id && b->w.ids.id && attn_same_ids(c, a->w.ids.id, b->w.ids.id))))
        return false;
    bool same = true;
    for (int i = 0; i < f->n_leaves && same; i++) same = same_value(c, a->w.leaf[i].id, b->w.leaf[i].id, DEEP);
    return same;
}

/* Writes one program for all terms, with its inputs in `leaf`. Returns NULL if the terms differ or are too many. */
static const score_program *program_of_maps(ab_ctx *c, const terms *t, ab_t *leaf)
{
    const term *first = &t->of[0];
    if (t->n < 2 || t->n > SCORE_MAPS || !c->backend->takes_maps || !c->backend->takes_maps(c->compute)) return NULL;
    int numbers = 0;
    for (int m = 0; m < t->n; m++) {
        if (m && !alike(first, &t->of[m])) return NULL;
        numbers += t->of[m].factor.n > 0;
    }
    if (first->f->n_leaves + numbers > SCORE_LEAVES) return NULL;
    score_program *f = arena_alloc(&c->memory, sizeof *f);
    *f = *first->f;
    f->maps = t->n;
    memcpy(leaf, first->w.leaf, sizeof first->w.leaf);
    for (int m = 0; m < t->n; m++) {
        const factor *x = &t->of[m].factor;
        f->factor[m] = x->by, f->number[m] = -1;
        if (!x->n) continue;
        int k = f->number[m] = f->n_leaves++;
        leaf[k] = x->number[0];
        for (int i = 1; i < x->n; i++) leaf[k] = t_binary(c, OP_MUL, leaf[k], x->number[i]);
        dtype type = tape_at(c, leaf[k])->type;
        if (type != F32 && type != F64) return NULL;
        f->gathered[k] = false, f->d_leaf[k] = -1;
        for (int pass = 0; pass < PASSES; pass++) f->reads[pass][k] = false;
    }
    return f;
}

static bool is_cached(const ab_ctx *c, ab_t x) { return c->v[x.id].op == OP_KV_CACHE_APPEND; }

/* Attends with terms t[0] .. t[n - 1] in one program f, whose inputs are in `leaf`. */
static ab_t attend_terms(ab_ctx *c, const term *t, int n, const score_program *f, const ab_t *leaf, ab_t v,
                         const dropped_weights *d)
{
    const score_walk *w = &t->w;
    ab_t q[SCORE_MAPS], k[SCORE_MAPS];
    for (int m = 0; m < n; m++) {
        const node *product = &c->v[t[m].w.product];
        q[m] = (ab_t){product->i.MATMUL.a}, k[m] = (ab_t){product->i.MATMUL.b};
        /* keys or values computed from cached tensors are not in a cache themselves */
        if (attn_steps(c) && !(is_cached(c, k[m]) && is_cached(c, v))) return (ab_t){0};
    }
    attn_program program = {
        .f = f, .ids = w->ids, .scale = w->scale, .dropout = d->p, .place = d->place, .causal = w->causal};
    memcpy(program.leaf, leaf, sizeof program.leaf);
    c->attn->summed = (ab_t){0};
    return attn_attend_program(c, q, k, v, &program);
}

/* Attends with one operation for all terms if possible, else with one per term. All terms drop the same keys. */
ab_t attn_sum_of_maps(ab_ctx *c, int32_t p, ab_t v, const dropped_weights *d)
{
    terms t = {.n = 0};
    ab_t leaf[SCORE_LEAVES], sum = {0};
    if (!match_terms(c, p, (factor){.by = 1}, 0, &t)) return (ab_t){0};
    const score_program *all = program_of_maps(c, &t, leaf);
    if (all) sum = attend_terms(c, t.of, t.n, all, leaf, v, d);
    bool bare = t.n == 1 && t.of[0].factor.by == 1 && !t.of[0].factor.n;
    for (int m = 0; m < t.n && !all; m++) {
        const term *x = &t.of[m];
        ab_t y = attend_terms(c, x, 1, x->f, x->w.leaf, v, d);
        if (!y.id) return y;
        for (int i = 0; i < x->factor.n; i++) y = t_binary(c, OP_MUL, y, x->factor.number[i]);
        bool minus = m && x->factor.by < 0;
        double by = minus ? -x->factor.by : x->factor.by;
        if (by != 1) y = t_mul_scalar(c, y, by);
        sum = m ? t_binary(c, minus ? OP_SUB : OP_ADD, sum, y) : y;
    }
    if (!bare) c->attn->summed = (ab_t){0}; /* a position's or plugin's term must not be added to this result */
    return sum;
}
