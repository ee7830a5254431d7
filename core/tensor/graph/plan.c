/* plan.c - drops unread values and gives every other value an address in one arena, reused after its last reader has
 * run.
 *
 * RESHAPE always shares storage (alias); operations that work in place share it if they are the last reader of their
 * first input; LINEAR_DX, EMBED_TOKENS_BACK and CE share it with the value they add to or overwrite. Parameters'
 * gradients have fixed places in params->grad. Inputs, states and kept results live to the end.
 */
#include "tensor/graph/together.h"
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 }; /* bytes; every value starts at a multiple */

static size_t padded_bytes(const node *v)
{
    return ((size_t)node_count(v) * dtype_size(v->type) + LINE - 1) / LINE * LINE;
}
static bool has_storage(const node *v)
{
    return v->live && v->op != OP_PARAM && v->op != OP_CONST && v->op != OP_STATE && node_count(v) > 0;
}

/* ---- which values are read, and until when ---- */

static void mark_live(ab_ctx *c)
{
    for (int32_t i = c->n - 1; i > 0; i--) {
        node *v = &c->v[i];
        for (int k = 1; k < v->n_out; k++) v->live |= c->v[i + k].live;
        if (!v->live) continue;
        for (int k = 0; k < v->n_in; k++) c->v[v->in[k]].live |= v->in[k] != 0;
    }
    for (int32_t i = 1; i < c->n; i++) /* kernels write all their outputs */
        for (int k = 1; k < c->v[i].n_out; k++) c->v[i + k].live = c->v[i].live;
}

/* The input whose storage this node must share, or -1. */
static int forced(const node *v)
{
    if (v->op == OP_RESHAPE) return INPUT(RESHAPE, x);
    if (v->op == OP_EMBED_TOKENS_BACK && v->i.EMBED_TOKENS_BACK.base) return INPUT(EMBED_TOKENS_BACK, base);
    if (v->op == OP_LINEAR_DX && v->i.LINEAR_DX.base) return INPUT(LINEAR_DX, base);
    return -1;
}
static int32_t forced_source(const ab_ctx *c, int32_t i)
{
    const node *v = &c->v[i];
    int k = forced(v);
    if (k >= 0) return v->in[k];
    const node *of = v->op == OP_PART ? &c->v[v->i.PART.of] : v;
    bool over_logits = of->op == OP_CE && v->op == OP_PART && v->a.PART.output == OUTPUT(CE, d_logits) && node_count(v);
    return over_logits ? of->i.CE.logits : 0;
}
int32_t plan_storage(const ab_ctx *c, int32_t i)
{
    for (int32_t from = i; from; from = forced_source(c, i)) i = from;
    return i;
}
static void find_last_readers(ab_ctx *c)
{
    for (int32_t i = 1; i < c->n; i++) {
        node *v = &c->v[i];
        int32_t first =
            v->op == OP_PART ? v->i.PART.of : i; /* unread outputs are written, too, so they must not overlap */
        v->last = first + c->v[first].n_out - 1;
        if (!v->live) continue;
        for (int k = 0; k < v->n_in; k++) {
            node *u = &c->v[v->in[k]];
            if (v->in[k] && u->last < i + v->n_out - 1) u->last = i + v->n_out - 1; /* no later output may reuse it */
            if (v->in[k] && v->op == OP_ASSIGN) u->last = c->n;  /* assignments happen at the very end */
            if (v->in[k] && u->phase < v->phase) u->last = c->n; /* read again by later runs of the later phase */
        }
    }
    for (int32_t i = 1; i < c->n; i++)
        if (c->v[i].live && (c->v[i].name || c->v[i].op == OP_INPUT)) c->v[i].last = c->n;
    for (const printed *p = c->to_print; p; p = p->next) c->v[p->copy.id].last = c->v[p->gradient.id].last = c->n;
    for (int32_t i = 1; i < c->forward_n && c->grad; i++) /* gradients are results: no operation may overwrite them */
        if ((c->v[i].op == OP_PARAM || c->v[i].op == OP_INPUT) && c->grad[i]) c->v[c->grad[i]].last = c->n;
    for (int32_t i = c->n - 1; i > 0; i--) {
        int32_t from = c->v[i].live ? forced_source(c, i) : 0;
        if (from && c->v[from].last < c->v[i].last) c->v[from].last = c->v[i].last;
    }
}

int32_t plan_root(const ab_ctx *c, int32_t i)
{
    while (c->v[i].alias != i) i = c->v[i].alias;
    return i;
}

static void share_storage(ab_ctx *c)
{
    for (int32_t i = 1; i < c->n; i++) {
        node *v = &c->v[i];
        if (!v->live) continue;
        int32_t from = forced_source(c, i);
        if (!from && op_in_place[v->op]) {
            int32_t r = plan_root(c, v->in[0]);
            const node *u = &c->v[r];
            bool dies = u->last == i && has_storage(u) && u->op != OP_INPUT && !u->data;
            if (dies && u->phase == v->phase && padded_bytes(u) == padded_bytes(v) && node_count(u) == node_count(v))
                from = r;
        }
        if (!from) continue;
        int32_t r = plan_root(c, from);
        v->alias = r;
        if (c->v[r].last < v->last) c->v[r].last = v->last;
    }
}

/* ---- parameters' gradients go straight to their place in the flat buffer ---- */

static void place_gradients(ab_ctx *c)
{
    params *s = c->params;
    for (int32_t i = 1; i < c->forward_n && c->grad; i++) {
        node *p = &c->v[i];
        if (p->op != OP_PARAM || !c->grad[i] || !s->grad) continue;
        node *g = &c->v[plan_root(c, c->grad[i])];
        g->data = (char *)s->grad + s->p[p->param].at * dtype_size(s->type);
    }
}

/* Copies a gradient that shares its storage with an input or with a second parameter's gradient. */
static void own_gradients(ab_ctx *c)
{
    int32_t forward_n = c->forward_n;
    for (int32_t i = 1; i < forward_n && c->grad; i++) {
        if (c->v[i].op != OP_PARAM || !c->grad[i]) continue;
        int32_t r = tape_source(c, c->grad[i]);
        op o = c->v[r].op;
        bool borrowed = o == OP_INPUT || o == OP_CONST || o == OP_PARAM || o == OP_STATE;
        for (int32_t j = 1; j < i && !borrowed; j++) {
            int32_t s = c->v[j].op == OP_PARAM || c->v[j].op == OP_INPUT ? c->grad[j] : 0;
            borrowed = tape_source(c, s) == r;
        }
        if (!borrowed) continue;
        ab_t g = {c->grad[i]};
        ab_t copy = tape_push(c, OP_CAST, c->v[i].type, c->v[i].dim, 1, &g, NULL);
        c->v[copy.id].live = true;
        c->grad[i] = copy.id;
    }
}

/* ---- places in the arena: best fit among the holes ---- */

typedef struct {
    size_t at, size;
} hole;
typedef struct {
    hole *h;
    size_t n, cap, top;
} holes;

static size_t take_hole(holes *s, size_t need)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < s->n; i++)
        if (s->h[i].size >= need && (best == SIZE_MAX || s->h[i].size < s->h[best].size)) best = i;
    if (best == SIZE_MAX) { /* no hole is large enough: append, from the last hole on if it touches the end */
        size_t at = s->top;
        if (s->n && s->h[s->n - 1].at + s->h[s->n - 1].size == s->top) at = s->h[--s->n].at;
        s->top = at + need;
        return at;
    }
    size_t at = s->h[best].at;
    s->h[best].at += need;
    s->h[best].size -= need;
    if (!s->h[best].size) memmove(&s->h[best], &s->h[best + 1], (--s->n - best) * sizeof *s->h);
    return at;
}

static void give_back(holes *s, size_t at, size_t size)
{
    size_t i = 0;
    while (i < s->n && s->h[i].at < at) i++;
    bool joins_left = i > 0 && s->h[i - 1].at + s->h[i - 1].size == at;
    bool joins_right = i < s->n && at + size == s->h[i].at;
    if (joins_left && joins_right) {
        s->h[i - 1].size += size + s->h[i].size;
        memmove(&s->h[i], &s->h[i + 1], (--s->n - i) * sizeof *s->h);
    } else if (joins_left) {
        s->h[i - 1].size += size;
    } else if (joins_right) {
        s->h[i].at = at;
        s->h[i].size += size;
    } else {
        s->h = grow(s->h, &s->cap, s->n + 1, sizeof *s->h);
        memmove(&s->h[i + 1], &s->h[i], (s->n++ - i) * sizeof *s->h);
        s->h[i] = (hole){at, size};
    }
}

static bool in_arena(const ab_ctx *c, int32_t i)
{
    const node *v = &c->v[i];
    return has_storage(v) && v->alias == i && !v->data;
}

/* Inputs, and values that an earlier phase computes for all runs of a later one, are placed before any run. */
static bool there_before(const ab_ctx *c, int32_t i)
{
    const node *v = &c->v[i];
    return v->op == OP_INPUT || (v->phase < PHASE_STEP && v->last == c->n);
}

/* The slab that holds a value, or NULL. The slab's first value reserves it; its last reader frees it. */
static slab *slab_of(const ab_ctx *c, const node *v) { return v->slab ? &c->slabs[v->slab - 1] : NULL; }
static size_t room_of(const ab_ctx *c, const node *v)
{
    return padded_bytes(v) * (size_t)(v->slab ? slab_of(c, v)->n : 1);
}
static bool take_room(holes *s, slab *all, node *v, size_t room) /* false: the slab has a place already */
{
    bool first = !all || !all->taken;
    size_t at = first ? take_hole(s, room) : all->at;
    v->offset = all ? at + (size_t)v->place * padded_bytes(v) : at;
    if (all) all->taken = true, all->at = at;
    return first;
}
bool plan_may_place(const ab_ctx *c, int32_t i) { return in_arena(c, i) && !there_before(c, i); }

static void place_values(ab_ctx *c)
{
    holes s = {0};
    int32_t *dying = xcalloc((size_t)c->n + 1, sizeof *dying), *next = xcalloc((size_t)c->n + 1, sizeof *next);
    for (int pass = 0; pass < 2; pass++) /* first the values that exist before a run begins */
        for (int32_t i = 1; i < c->n; i++) {
            node *v = &c->v[i];
            if (in_arena(c, i) && there_before(c, i) == (pass == 0)) {
                slab *all = slab_of(c, v);
                c->naive_size += padded_bytes(v);
                if (take_room(&s, all, v, room_of(c, v))) {
                    int32_t last = all ? all->last : v->last;
                    next[i] = dying[last];
                    dying[last] = i;
                }
            }
            for (int32_t k = pass ? dying[i] : 0; k; k = next[k]) {
                const slab *all = slab_of(c, &c->v[k]);
                give_back(&s, all ? all->at : c->v[k].offset, room_of(c, &c->v[k]));
            }
        }
    c->buffer_size = s.top;
    free(s.h);
    free(dying);
    free(next);
}

void workspace_free(workspace *w, const backend *b)
{
    if (w->data) b->release(w->data);
    *w = (workspace){0};
}

static char *arena_for(ab_ctx *c)
{
    size_t need = c->buffer_size + LINE;
    if (!c->shared) return c->backend->alloc(need);
    if (c->shared->size < need) {
        workspace_free(c->shared, c->backend);
        *c->shared = (workspace){c->backend->alloc(need + need / 8), need + need / 8};
    }
    return c->shared->data;
}

/* Constants were made by the host: a device gets its own copy. */
static void place_constants(ab_ctx *c)
{
    size_t at = 0;
    if (!on_device(c->backend)) return;
    for (int32_t i = 1; i < c->n; i++)
        if (c->v[i].live && c->v[i].op == OP_CONST) at += padded_bytes(&c->v[i]);
    if (at) c->consts = c->backend->alloc(at);
    at = 0;
    for (int32_t i = 1; i < c->n; i++) {
        node *v = &c->v[i];
        if (!v->live || v->op != OP_CONST) continue;
        char *to = (char *)c->consts + at;
        backend_write(c->backend, to, v->data, (size_t)node_count(v) * dtype_size(v->type));
        v->data = to;
        at += padded_bytes(v);
    }
}

int tape_measure(ab_ctx *c)
{
    if (c->error.text[0]) return -1;
    own_gradients(c);
    mark_live(c);
    find_last_readers(c);
    together_find(c);
    share_storage(c);
    for (int32_t i = 1; i < c->forward_n && c->grad; i++)
        if (c->v[i].op == OP_PARAM && c->grad[i]) c->v[plan_root(c, c->grad[i])].data = c; /* has a place already */
    together_reserve(c);
    place_values(c);
    return 0;
}

int tape_plan(ab_ctx *c, void *(*find_state)(void *self, const char *name, size_t bytes), void *self)
{
    if (c->error.text[0]) return -1;
    own_gradients(c);
    mark_live(c);
    for (int32_t i = 1; i < c->n; i++)
        if (c->v[i].live && c->v[i].op > OP_PART && c->v[i].op != OP_RESHAPE && !c->backend->kernels[c->v[i].op])
            return fail(&c->error, "the %s backend has no kernel for %s", c->backend->name, op_names[c->v[i].op]);
    find_last_readers(c);
    together_find(c);
    for (int32_t i = 1; i < c->n; i++) {
        node *v = &c->v[i];
        if (v->op == OP_PARAM && c->params->value)
            v->data = (char *)c->params->value + c->params->p[v->param].at * dtype_size(v->type);
        if (v->op == OP_STATE && v->live) v->data = find_state ? find_state(self, v->name, padded_bytes(v)) : NULL;
        if (v->op == OP_STATE && v->live && !v->data)
            return fail(&c->error, "no memory was provided for state '%s'", v->name);
    }
    place_constants(c);
    share_storage(c);
    place_gradients(c);
    together_reserve(c);
    place_values(c);
    c->buffer = arena_for(c);
    for (int32_t i = 1; i < c->n; i++)
        if (in_arena(c, i)) c->v[i].data = c->buffer + c->v[i].offset;
    for (int32_t i = 1; i < c->n; i++)
        if (c->v[i].live && node_count(&c->v[i])) c->v[i].data = c->v[plan_root(c, i)].data;
    together_settle(c);
    c->planned = true;
    return 0;
}
