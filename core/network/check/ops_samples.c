/* ops_samples.c - finds the operations that a plugin calls, listed or not, and records their inputs in models. */
#include "network/check/ops.h"
#include <string.h>

enum { OF_ONE = 6 }; /* largest number of samples of one operation */

/* ---- finding uses ---- */

static int declines(const ab_run *r)
{
    (void)r;
    return -1;
}

static bool wanted(const samples *all, const ab_ctx *c, const op_use *k)
{
    size_t of_one = 0;
    if (!k->op->cpu && !k->op->grad) return false;
    for (size_t i = 0; i < all->n; i++) {
        const sample *s = &all->at[i];
        if (s->is != k->op) continue;
        bool alike = true;
        for (int j = 0; j < k->op->n_in; j++) alike &= !memcmp(s->dim[j], c->v[k->in[j].id].dim, sizeof s->dim[j]);
        if (alike || ++of_one == OF_ONE) return false;
    }
    return all->n < MOST_SAMPLES;
}

static void keep_inputs(ab_ctx *c, const op_use *k)
{
    for (int i = 0; i < k->op->n_in; i++) {
        node *v = &c->v[k->in[i].id];
        if (!v->name && v->op != OP_PARAM && v->op != OP_CONST) t_keep(c, k->in[i], "input of an operation");
    }
}

static void take(samples *all, const ab_ctx *c, const op_use *k)
{
    sample *s = &all->at[all->n++];
    *s = (sample){.op = *k->op, .is = k->op};
    if (!s->op.cpu) s->op.cpu = declines; /* if the kernel declines, the reference runs, and `grad` differentiates */
    if (k->attr) s->attr = memcpy(arena_alloc(&all->memory, k->attr_size), k->attr, k->attr_size);
    for (int i = 0; i < s->op.n_in; i++) {
        const node *v = &c->v[k->in[i].id];
        memcpy(s->dim[i], v->dim, sizeof v->dim);
        s->type[i] = s->mixed[i] = v->type;
        size_t bytes = (size_t)node_count(v) * dtype_size(v->type);
        s->data[i] = arena_alloc(&all->memory, bytes + 8);
        memcpy(s->data[i], v->data, bytes);
    }
    s->mixed[4] = c->v[k->y.id].type;
}

/* Finds the types that this call's inputs and output have in a bf16 run. */
static void sample_types(sample *s, const pairing *w, const sentences *text, int place)
{
    CLEANUP(model_free) model m;
    CLEANUP(pass_close) pass p = {0};
    err e = {0};
    if (check_model_open(&m, w, &(model_kind){.compute = BF16}, &e)) return;
    if (!pass_trace(&p, &m, text, false, 2, 0, &e)) {
        const op_use *k = p.c->calls;
        for (int i = 0; k && i < place; i++) k = k->next;
        for (int i = 0; k && k->op == s->is && i < s->op.n_in; i++) s->mixed[i] = p.c->v[k->in[i].id].type;
        if (k && k->op == s->is && k->y.id) s->mixed[4] = p.c->v[k->y.id].type;
    }
}

/* Runs the references, because the kernels are not trusted yet. */
static int run_without_kernels(pass *p, err *e)
{
    for (int32_t i = 1; i < p->c->n; i++) {
        if (p->c->v[i].op != OP_CALL) continue;
        ab_op *without = arena_alloc(&p->c->memory, sizeof *without);
        *without = *p->c->v[i].call;
        without->cpu = declines;
        p->c->v[i].call = without;
    }
    return pass_plan(p, e) ? -1 : pass_run(p, 1, e);
}

/* Adds the calls of one model. Returns false if the model cannot be built or run; the check 'build' reports this. */
static bool sample_from(samples *all, const pairing *w, const sentences *text)
{
    CLEANUP(model_free) model m;
    CLEANUP(pass_close) pass p = {0};
    err e = {0};
    bool any = false;
    if (check_model_open(&m, w, &(model_kind){.compute = F64}, &e)) return false;
    if (pass_trace(&p, &m, text, false, 2, 0, &e)) return false;
    for (const op_use *k = p.c->calls; k; k = k->next)
        if (wanted(all, p.c, k)) keep_inputs(p.c, k), any = true;
    if (!any) return true;
    if (run_without_kernels(&p, &e)) return false;
    int place = 0;
    for (const op_use *k = p.c->calls; k; k = k->next, place++) {
        if (!wanted(all, p.c, k)) continue;
        take(all, p.c, k);
        sample_types(&all->at[all->n - 1], w, text, place);
    }
    return true;
}

/* Samples three sizes: small with every partner; one token and long sentences with the first partner only. */
bool check_find_samples(const plugin *p, samples *all, check_result *r)
{
    bool good = true;
    AUTOFREE pairing *partners = NULL;
    size_t n = check_pairings(p, &partners, r);
    AUTOFREE sentences *s = xmalloc(sizeof *s);
    *all = (samples){0};
    for (int size = 0; size < 4; size++)
        for (size_t i = 0; i < (size ? 1 : n) && good; i++) {
            check_sentences(s);
            if (size == 1) s->n = 1, s->src_n[0] = s->tgt_n[0] = 1;
            if (size > 1) s->n = 1, s->src_n[0] = 31, s->tgt_n[0] = size == 2 ? 129 : 400;
            good = sample_from(all, &partners[i], s);
            if (!size && !all->n && i + 1 == n) size = 3; /* no own operation was called: skip the other sizes */
        }
    if (!good) check_none(r, "no model that is built around it can be run");
    return good;
}
