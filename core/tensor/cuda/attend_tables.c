/* attend_tables.c - a tape's tables of attention's tiles. They depend on offsets only: all layers share them. */
#include "tensor/cuda/ops_attention.h"
#include "tensor/cuda/ops.h"
#include <stdlib.h>

enum { EACH = 2 /* a call has at most two tables */ };

typedef struct {
    gpu_tile_shape shape;
    int32_t *at;
    uint8_t phase; /* the last phase that writes one of the offsets */
    bool written;
} table;
struct attend_tables {
    table *of;
    size_t n, cap;
    void *memory;
};
static const attend_tables *current;

static int shapes_of(const call *k, gpu_tile_shape s[EACH])
{
    bool back = k->op == OP_ATTEND_BACK;
    s[0] = (gpu_tile_shape){.own = k->i.ATTEND.q_offsets.data,
                            .other = k->i.ATTEND.k_offsets.data,
                            .sentences = (int)(k->i.ATTEND.q_offsets.dim[3] - 1),
                            .own_rows = (int)rows_of(&k->i.ATTEND.q),
                            .other_rows = (int)rows_of(&k->i.ATTEND.k),
                            .rows = attention_by_wgmma(k) ? ATTEND_WGMMA_QUERIES : ATTEND_TILE,
                            .both = back,
                            .whole = back ? ATTEND_WHOLE : 0};
    if (k->op != OP_ATTEND_PROGRAM_BACK) return 1;
    s[1] = s[0];
    s[1].own = s[0].other, s[1].other = s[0].own;
    s[1].own_rows = s[0].other_rows, s[1].other_rows = s[0].own_rows;
    return 2;
}

static table *find(const attend_tables *t, const gpu_tile_shape *s)
{
    for (size_t i = 0; t && i < t->n; i++)
        if (!memcmp(&t->of[i].shape, s, sizeof *s)) return &t->of[i];
    return NULL;
}

/* ---- a tape's tables ---- */

static bool is_given(const node *v) { return v->op == OP_INPUT || v->op == OP_CONST; }

static attend_tables *tables_of(const ab_ctx *c)
{
    attend_tables *t = xcalloc(1, sizeof *t);
    for (int32_t i = 1; i < c->n; i++) {
        const node *v = &c->v[i];
        gpu_tile_shape s[EACH];
        call k = {0};
        if (!tape_is_call(v) || !op_attends(v->op) || !is_given(&c->v[v->i.ATTEND.q_offsets]) ||
            !is_given(&c->v[v->i.ATTEND.k_offsets]))
            continue;
        uint8_t a = c->v[v->i.ATTEND.q_offsets].phase, b = c->v[v->i.ATTEND.k_offsets].phase;
        tape_call(c, i, &(run_options){0}, &k);
        for (int j = 0, n = shapes_of(&k, s); j < n; j++) {
            if (find(t, &s[j])) continue;
            t->of = grow(t->of, &t->cap, t->n + 1, sizeof *t->of);
            t->of[t->n++] = (table){.shape = s[j], .phase = a > b ? a : b};
        }
    }
    size_t bytes = 0;
    for (size_t i = 0; i < t->n; i++) bytes += gpu_tile_bytes(&t->of[i].shape);
    char *at = t->memory = t->n ? gpu_alloc(bytes) : NULL;
    for (size_t i = 0; i < t->n; i++) t->of[i].at = (int32_t *)at, at += gpu_tile_bytes(&t->of[i].shape);
    return t;
}

int attend_tables_write(const ab_ctx *c, attend_tables **t, phase first, phase last)
{
    if (!*t) *t = tables_of(c);
    gpu_tile_shape *s = xmalloc(((*t)->n + 1) * sizeof *s);
    int32_t **to = xmalloc(((*t)->n + 1) * sizeof *to);
    int n = 0;
    for (size_t i = 0; i < (*t)->n; i++) {
        table *x = &(*t)->of[i];
        if (x->phase > last || (x->phase < first && x->written)) continue;
        s[n] = x->shape, to[n++] = x->at, x->written = true;
    }
    int bad = gpu_list_tiles(n, s, to);
    free(s), free(to);
    return bad;
}

void attend_tables_free(attend_tables *t)
{
    if (!t) return;
    if (current == t) current = NULL;
    gpu_release(t->memory);
    free(t->of);
    free(t);
}

const attend_tables *attend_tables_use(const attend_tables *t)
{
    const attend_tables *before = current;
    current = t;
    return before;
}

/* ---- a call's tables ---- */

int attend_tables_find(const call *k, gpu_attention *a)
{
    gpu_tile_shape s[EACH];
    int n = shapes_of(k, s), missing = 0;
    int32_t *at[EACH] = {NULL};
    size_t bytes = 0;
    for (int i = 0; i < n; i++) {
        table *x = find(current, &s[i]);
        at[i] = x ? x->at : NULL;
        missing += !x, bytes += gpu_tile_bytes(&s[i]);
    }
    if (missing) {
        char *to = gpu_scratch(SCRATCH_TILES, bytes);
        for (int i = 0; i < n; i++) at[i] = (int32_t *)to, to += gpu_tile_bytes(&s[i]);
        if (gpu_list_tiles(n, s, at)) return -1;
    }
    a->tiles = at[0], a->key_tiles = at[1];
    return 0;
}
