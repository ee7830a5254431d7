/* stepper.c - gradient of a batch, update of the parameters, perplexity: the inner part of training. */
#include "train/optim.h"
#include "train/train.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct stepper {
    model *m;
    optimizer *optim;
    ab_ctx *tape; /* of the last shape */
    model_shape shape;
    workspace space;
    void *sum;   /* gradients of several batches, [params.total]; NULL until a second one comes */
    int batches; /* since the last update */
};

stepper *stepper_open(model *m, err *e)
{
    optimizer *o = optim_open(m, e);
    if (!o) return NULL;
    stepper *s = xcalloc(1, sizeof *s);
    s->m = m;
    s->optim = o;
    return s;
}

void stepper_close(stepper *s)
{
    if (!s) return;
    tape_free(s->tape);
    workspace_free(&s->space, s->m->backend);
    if (s->sum) s->m->backend->release(s->sum);
    optim_close(s->optim);
    free(s);
}

static model_batch view_of_batch(const batch *b)
{
    return (model_batch){.shape = {b->n_sentences, b->src_cap, b->tgt_cap, b->src_longest, b->tgt_longest},
                         .src_ids = b->src_ids,
                         .src_pos = b->src_pos,
                         .src_offset = b->src_offset,
                         .tgt_in = b->tgt_in,
                         .tgt_out = b->tgt_out,
                         .tgt_pos = b->tgt_pos,
                         .tgt_offset = b->tgt_offset};
}

/* The tape for a batch's shape: the last one if it fits, otherwise traced anew (about a millisecond). */
static int fit_tape(model *m, ab_ctx **tape, model_shape *shape, workspace *space, const model_shape *wanted,
                    bool training, err *e)
{
    if (*tape && !memcmp(shape, wanted, sizeof *shape)) return 0;
    tape_free(*tape);
    *tape = model_loss_tape(m, wanted, training, e);
    if (!*tape) return -1;
    (*tape)->shared = space;
    *shape = *wanted;
    return tape_plan(*tape, NULL, NULL) ? fail(e, "%s", (*tape)->error.text) : 0;
}

static double column(const ab_ctx *c, int64_t rows, int k, double *row_out)
{
    const node *v = &c->v[tape_find(c, "losses").id];
    double sum = 0;
    for (int64_t i = 0; i < rows; i++) {
        double x = v->type == F64 ? ((const double *)v->data)[2 * i + k]
                                  : (double)((const float *)v->data)[2 * i + k];
        if (row_out) row_out[i] = x;
        sum += x;
    }
    return sum;
}

int stepper_gradient(stepper *s, const batch *b, int64_t step, double *smoothed, double *plain, err *e)
{
    model *m = s->m;
    model_batch view = view_of_batch(b);
    if (fit_tape(m, &s->tape, &s->shape, &s->space, &view.shape, true, e)) return -1;
    model_loss_inputs(s->tape, &view, 1);
    if (s->batches) { /* gradients are written, not added: put the earlier ones aside */
        size_t bytes = m->params.total * dtype_size(m->params.type);
        if (!s->sum) memset(s->sum = m->backend->alloc(bytes), 0, bytes);
        if (s->batches == 1) memcpy(s->sum, m->params.grad, bytes);
    }
    /* batches of one update have their own dropout: the counter has the batch in its upper bits */
    run_options o = {.seed = (uint64_t)m->cfg.seed,
                     .step = (uint64_t)step + ((uint64_t)s->batches << 24),
                     .from = PHASE_CONST};
    if (tape_run(s->tape, &o)) return fail(e, "%s", s->tape->error.text);
    if (s->batches) m->backend->accumulate(s->sum, m->params.grad, (int64_t)m->params.total, m->params.type);
    s->batches++;
    *smoothed = column(s->tape, b->tgt_rows, 0, NULL);
    *plain = column(s->tape, b->tgt_rows, 1, NULL);
    return 0;
}

int stepper_update(stepper *s, double tokens, int64_t step, err *e)
{
    const void *grad = s->batches > 1 ? s->sum : s->m->params.grad;
    s->batches = 0;
    return optim_update(s->optim, grad, 1 / tokens, schedule_lr(&s->m->cfg, step), step, NULL, e);
}

/* ---- perplexity ---- */

static void per_pair(const batch *b, const double *row, double *nll, const int64_t *place)
{
    for (int64_t i = 0; i < b->n_sentences; i++) {
        double *out = nll + 2 * place[b->example[i]];
        out[0] = 0;
        for (int32_t r = b->tgt_offset[i]; r < b->tgt_offset[i + 1]; r++) out[0] += row[r];
        out[1] = b->tgt_offset[i + 1] - b->tgt_offset[i];
    }
}

/* example number in the split -> place among the pairs */
static int64_t *places(const pairs *p)
{
    int64_t most = 0;
    for (int64_t i = 0; i < p->n; i++)
        if (p->example[i] > most) most = p->example[i];
    int64_t *place = xcalloc((size_t)most + 1, sizeof *place);
    for (int64_t i = 0; i < p->n; i++) place[p->example[i]] = i;
    return place;
}

double train_perplexity(model *m, const pairs *p, double *nll, err *e)
{
    int64_t longest = p->src_longest > p->tgt_longest ? p->src_longest : p->tgt_longest;
    int64_t budget = m->cfg.batch_tokens < 4096 ? m->cfg.batch_tokens : 4096;
    batch_options o = {.batch_tokens = budget > longest ? budget : longest, .round = 64};
    batcher *all = batcher_new(p, &o, e);
    if (!all) return NAN;
    ab_ctx *tape = NULL;
    model_shape shape = {0};
    workspace space = {0};
    int64_t *place = places(p);
    double sum = 0, tokens = 0;
    batch b;
    bool bad = false;
    while (!bad && batcher_next(all, &b)) {
        model_batch view = view_of_batch(&b);
        run_options r = {.from = PHASE_CONST};
        bad = fit_tape(m, &tape, &shape, &space, &view.shape, false, e) != 0;
        if (bad) break;
        model_loss_inputs(tape, &view, 1);
        if (tape_run(tape, &r)) bad = fail(e, "%s", tape->error.text) != 0;
        if (bad) break;
        double *row = xcalloc((size_t)b.tgt_rows, sizeof *row);
        sum += column(tape, b.tgt_rows, 1, row);
        tokens += (double)b.tgt_rows;
        if (nll) per_pair(&b, row, nll, place);
        free(row);
    }
    free(place);
    tape_free(tape);
    workspace_free(&space, m->backend);
    batcher_free(all);
    return bad ? NAN : exp(sum / tokens);
}
