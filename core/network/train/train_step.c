/* train_step.c - one training step: gradient of a batch, update of the parameters; and perplexity. */
#include "network/train/buckets.h"
#include "network/train/optim.h"
#include "network/train/tapes.h"
#include "network/train/teacher.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one step ---- */

struct train_step {
    model *m;
    optimizer *optim;
    tapes tapes, evaluation; /* evaluation: for train_step_perplexity on a device */
    void *sum;               /* [params.total]: summed gradients; NULL until an update has a second batch */
    int batches;             /* number of batches since the last update */
    int64_t parts;           /* this rank's batches in the update, also empty: each adds its value of every buffer */
    const comm *comm;        /* the other ranks; NULL: one rank */
    buckets *buckets;
    teacher *teacher;   /* NULL: none */
    bool reducing;      /* buckets are being sent */
    bool ran;           /* the last batch had sentences */
    ab_ctx *last;       /* tape of the last batch, owned by `tapes` */
    const void *summed; /* gradient of the last update */
    run_options last_run;
    double losses[STEPPER_PENDING][2];
    double *device_losses; /* losses in a device's memory, until train_step_losses reads them */
    int pending;
};

static int gradient_again(void *self, err *e);

train_step *train_step_open(model *m, err *e)
{
    if (m->optimizer->iface.optimizer.shift && m->cfg.gradient_accumulation > 1) {
        fail(e, "gradient_accumulation = %lld: optimizer '%s' takes a second gradient of each batch, expected 1",
             (long long)m->cfg.gradient_accumulation, m->optimizer->desc.name);
        return NULL;
    }
    optimizer *o = optim_open(m, e);
    if (!o) return NULL;
    train_step *s = xcalloc(1, sizeof *s);
    s->m = m;
    s->optim = o;
    optim_again(o, gradient_again, s);
    s->tapes = (tapes){.m = m, .training = true};
    s->evaluation = (tapes){.m = m};
    if (on_device(m->backend)) s->device_losses = m->backend->alloc(sizeof s->losses);
    return s;
}

void train_step_share(train_step *s, const comm *c)
{
    s->comm = c;
    if (c) s->buckets = buckets_open(c, &s->m->params);
}

void train_step_teach(train_step *s, teacher *t) { s->teacher = t; }

void train_step_close(train_step *s)
{
    if (!s) return;
    buckets_close(s->buckets);
    tapes_close(&s->tapes);
    tapes_close(&s->evaluation);
    if (s->sum) s->m->backend->release(s->sum);
    if (s->device_losses) s->m->backend->release(s->device_losses);
    optim_close(s->optim);
    free(s);
}

model_batch train_view(const batch *b)
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

/* The losses of a tape that has run: [rows][2] as doubles. The caller frees. */
static double *losses_of(const ab_ctx *c, int64_t rows, err *e)
{
    ab_t x = tape_find(c, "losses");
    bool wide = c->v[x.id].type == F64;
    size_t n = (size_t)rows * 2;
    double *out = xmalloc(n * sizeof *out + 1);
    float *narrow = (float *)out;
    if (tape_read(c, x, out, n * (wide ? sizeof *out : sizeof *narrow), e)) {
        free(out);
        return NULL;
    }
    for (size_t i = n; !wide && i > 0; i--) { /* from the end, because it widens numbers in place */
        float v;
        memcpy(&v, &narrow[i - 1], sizeof v);
        out[i - 1] = (double)v;
    }
    return out;
}

static int record_losses(train_step *s, const ab_ctx *c, int64_t rows, err *e)
{
    double *sums = s->losses[s->pending];
    if (s->device_losses) {
        s->m->backend->add_columns(s->device_losses + 2 * s->pending++, c->v[tape_find(c, "losses").id].data, rows);
        return 0;
    }
    double *each = losses_of(c, rows, e);
    if (!each) return -1;
    sums[0] = sums[1] = 0;
    for (int64_t i = 0; i < rows; i++) sums[0] += each[2 * i], sums[1] += each[2 * i + 1];
    s->pending++;
    free(each);
    return 0;
}

/* Each rank and each batch of an update has its own dropout masks. The batch is in the upper 8 bits of the 32-bit step;
 * every 256 batches the seed changes. */
static uint64_t dropout_seed(const train_step *s)
{
    uint64_t rank = s->comm ? (uint64_t)s->comm->rank : 0;
    return (uint64_t)s->m->cfg.seed + rank * UINT64_C(0x9e3779b97f4a7c15) +
           (uint64_t)(s->batches >> 8) * UINT64_C(0xd1b54a32d192ed03);
}
static uint64_t dropout_step(const train_step *s, int64_t step)
{
    return (uint64_t)step + ((uint64_t)(s->batches & 255) << 24);
}

/* A rank whose slice of the batch is empty adds a gradient of 0, losses of 0 and its unchanged buffers. */
static int empty_gradient(train_step *s)
{
    const params *p = &s->m->params;
    size_t size = dtype_size(p->type), from = p->learned * size;
    if (!s->batches) backend_zero(s->m->backend, p->grad, p->total * size);
    s->batches += !s->batches;
    char *sum = s->batches > 1 ? s->sum : p->grad;
    if (p->total > p->learned)
        s->m->backend->accumulate(sum + from, (char *)p->value + from, (int64_t)(p->total - p->learned), p->type);
    if (s->device_losses) backend_zero(s->m->backend, s->device_losses + 2 * s->pending, sizeof *s->losses);
    s->losses[s->pending][0] = s->losses[s->pending][1] = 0;
    s->pending++;
    return 0;
}

int train_step_gradient(train_step *s, const batch *b, int64_t step, err *e)
{
    model *m = s->m;
    const backend *on = m->backend;
    model_batch view = train_view(b);
    if (s->pending == STEPPER_PENDING)
        return fail(e, "train_step_losses was not called for %d batches", STEPPER_PENDING);
    s->parts++;
    s->ran = b->n_sentences > 0;
    if (!b->n_sentences) return empty_gradient(s);
    ab_ctx *c = tapes_get(&s->tapes, b, e);
    if (!c) return -1;
    model_loss_inputs(c, &view, 1);
    if (*m->cfg.teacher && tape_find(c, TEACHER).id) {
        if (teacher_teach(s->teacher, b, c, e)) return -1;
    } else if (s->teacher && !s->last) {
        log_line(LOG_WARN, "teacher: head = %s does not ask for its logits", m->head->desc.name);
    }
    if (s->batches) { /* the tape will overwrite the gradient: save the sum */
        size_t bytes = m->params.total * dtype_size(m->params.type);
        if (!s->sum) s->sum = on->alloc(bytes);
        if (s->batches == 1) backend_move(on, s->sum, m->params.grad, bytes);
    }
    run_options o = {.seed = dropout_seed(s), .step = dropout_step(s, step), .from = PHASE_CONST};
    if (s->comm &&
        m->cfg.gradient_accumulation == 1) { /* with several batches per update, ranks add their sums at the end */
        if (buckets_begin(s->buckets, m->params.grad, c, e)) return -1;
        o.after = buckets_after, o.self = s->buckets;
        o.stops = buckets_stops(s->buckets, &o.n_stops);
        s->reducing = true;
    }
    if (tape_run(c, &o)) return fail(e, "%s", c->error.text);
    if (m->print_to && tape_print(c, "training", m->print_to, e)) return -1;
    s->last_run = (run_options){.seed = o.seed, .step = o.step, .from = PHASE_CONST};
    if (s->batches) on->accumulate(s->sum, m->params.grad, (int64_t)m->params.total, m->params.type);
    s->batches++;
    s->last = c;
    return record_losses(s, c, b->tgt_rows, e);
}

int train_step_losses(train_step *s, const double (**sums)[2], err *e)
{
    int n = s->pending;
    s->pending = 0;
    *sums = (const double(*)[2])s->losses;
    if (s->device_losses && n && comm_wait(s->comm, e)) return -1;
    if (s->device_losses && n &&
        backend_read(s->m->backend, s->losses, s->device_losses, (size_t)n * sizeof *s->losses, e))
        return -1;
    return n;
}

static int sum_over_ranks(train_step *s, void *grad, err *e)
{
    if (!s->reducing && buckets_begin(s->buckets, grad, NULL, e)) return -1;
    s->reducing = false;
    return buckets_end(s->buckets, e);
}

static int gradient_again(void *self, err *e)
{
    train_step *s = self;
    const params *p = &s->m->params;
    if (!s->ran)
        backend_zero(s->m->backend, p->grad, p->total * dtype_size(p->type));
    else if (tape_run(s->last, &s->last_run))
        return fail(e, "%s", s->last->error.text);
    return s->comm ? sum_over_ranks(s, p->grad, e) : 0;
}

int train_step_recorded(const train_step *s, void (*f)(void *self, const char *name, double value), void *self, err *e)
{
    for (int32_t i = 1; s->last && i < s->last->n; i++) {
        const node *v = &s->last->v[i];
        double wide[AB_LOG_MOST] = {0};
        float narrow[AB_LOG_MOST] = {0};
        if (!v->name || !has_prefix(v->name, RECORDED)) continue;
        int64_t n = node_count(v);
        if (tape_read(s->last, (ab_t){i}, v->type == F64 ? (void *)wide : (void *)narrow,
                      (size_t)n * dtype_size(v->type), e))
            return -1;
        for (int64_t k = 0; k < n; k++) {
            char *name = n > 1 ? xprintf("%s[%lld]", v->name + strlen(RECORDED), (long long)k)
                               : xstrdup(v->name + strlen(RECORDED));
            f(self, name, v->type == F64 ? wide[k] : (double)narrow[k]);
            free(name);
        }
    }
    return 0;
}

const ab_ctx *train_step_tape(const train_step *s) { return s->last; }
const void *train_step_summed(const train_step *s) { return s->summed; }
bool train_step_not_finite(train_step *s, char *out, size_t n)
{
    return s->last && tape_find_not_finite(s->last, &s->last_run, out, n);
}

int train_step_update(train_step *s, double tokens, int64_t step, err *e)
{
    const void *grad = s->batches > 1 ? s->sum : s->m->params.grad;
    int64_t parts = s->parts * (s->comm ? s->comm->size : 1);
    s->batches = 0, s->parts = 0, s->summed = grad;
    if (s->comm && sum_over_ranks(s, (void *)grad, e)) return -1;
    double rate = schedule_lr(s->m, step);
    if (!isfinite(rate))
        return fail(e, "schedule %s: the rate of update %lld is %g, expected a number; its log may say why",
                    s->m->schedule->desc.name, (long long)step, rate);
    if (optim_update(s->optim, grad, 1 / tokens, rate, step, NULL, e)) return -1;
    return params_set_buffers(&s->m->params, grad, parts, e);
}

/* ---- perplexity ---- */

static void per_pair(const batch *b, const double *losses, double *nll, const int64_t *place)
{
    for (int64_t i = 0; i < b->n_sentences; i++) {
        double *out = nll + 2 * place[b->example[i]];
        out[0] = out[1] = 0;
        for (int32_t r = b->tgt_offset[i]; r < b->tgt_offset[i + 1]; r++)
            if (b->tgt_out[r] >= 0) out[0] += losses[2 * r + 1], out[1]++;
    }
}

/* Maps an example's number in the split to its index among the pairs. */
static int64_t *places(const pairs *p)
{
    int64_t most = 0;
    for (int64_t i = 0; i < p->n; i++)
        if (p->example[i] > most) most = p->example[i];
    int64_t *place = xcalloc((size_t)most + 1, sizeof *place);
    for (int64_t i = 0; i < p->n; i++) place[p->example[i]] = i;
    return place;
}

/* The index of the largest logit [v], the first among equals. */
static int32_t likeliest(const void *row, dtype type, size_t v)
{
    size_t best = 0;
    for (size_t i = 1; i < v; i++)
        if (number_at(row, type, i) > number_at(row, type, best)) best = i;
    return (int32_t)best;
}

/* Stores each pair's token hits in `hits`, by the pair's index. */
static int count_hits(const ab_ctx *c, const batch *b, double *hits, const int64_t *place, err *e)
{
    ab_t x = tape_find(c, "logits");
    const node *logits = &c->v[x.id];
    size_t v = (size_t)logits->dim[3], row = v * dtype_size(logits->type);
    char *all = xmalloc((size_t)b->tgt_rows * row + 1);
    int bad = tape_read(c, x, all, (size_t)b->tgt_rows * row, e);
    for (int64_t i = 0; i < b->n_sentences && !bad; i++) {
        double *out = hits + 2 * place[b->example[i]];
        out[0] = out[1] = 0;
        for (int32_t r = b->tgt_offset[i]; r < b->tgt_offset[i + 1]; r++)
            if (b->tgt_out[r] >= 0)
                out[0] += likeliest(all + (size_t)r * row, logits->type, v) == b->tgt_out[r], out[1]++;
    }
    free(all);
    return bad;
}

static batch_options evaluation_options(const model *m, const pairs *p)
{
    int64_t longest = p->src_longest > p->tgt_longest ? p->src_longest : p->tgt_longest;
    int64_t budget = m->cfg.batch_tokens < 4096 ? m->cfg.batch_tokens : 4096,
            most = budget > longest ? budget : longest;
    return (batch_options){.batch_tokens = most, .round = train_step_round(m, most, 1)};
}

/* Scores all pairs; ranks take batches in turn. kept: tapes that outlive the call, or NULL. */
static double score(model *m, const pairs *p, double *nll, double *hits, const comm *ranks, tapes *kept, err *e)
{
    batch_options o = evaluation_options(m, p);
    batcher *all = batcher_new(p, &o, e);
    if (!all) return NAN;
    tapes own = {.m = m}, *t = kept ? kept : &own;
    int64_t *place = places(p);
    double sums[2] = {0}; /* sum of losses, sum of tokens */
    batch b;
    bool bad = false;
    for (int64_t k = 0; !bad && batcher_next(all, &b); k++) {
        if (ranks && k % ranks->size != ranks->rank) continue;
        model_batch view = train_view(&b);
        run_options r = {.from = PHASE_CONST};
        ab_ctx *c = tapes_get(t, &b, e);
        if ((bad = !c)) break;
        model_loss_inputs(c, &view, 1);
        if (tape_run(c, &r)) bad = fail(e, "%s", c->error.text) != 0;
        if (!bad && !k && m->print_to) bad = tape_print(c, "evaluation", m->print_to, e);
        double *each = bad ? NULL : losses_of(c, b.tgt_rows, e);
        if ((bad = !each)) break;
        for (int64_t i = 0; i < b.tgt_rows; i++) sums[0] += each[2 * i + 1];
        sums[1] += (double)b.predicted;
        if (nll) per_pair(&b, each, nll, place);
        free(each);
        bad = hits && count_hits(c, &b, hits, place, e);
    }
    free(place);
    tapes_close(&own);
    batcher_free(all);
    if (!bad) bad = comm_add(ranks, sums, LENGTH(sums), e);
    return bad ? NAN : exp(sums[0] / sums[1]);
}

double train_score(model *m, const pairs *p, double *nll, double *hits, err *e)
{
    return score(m, p, nll, hits, NULL, NULL, e);
}
double train_perplexity(model *m, const pairs *p, const comm *ranks, err *e)
{
    return score(m, p, NULL, NULL, ranks, NULL, e);
}
double train_step_perplexity(train_step *s, const pairs *p, const comm *ranks, err *e)
{
    return score(s->m, p, NULL, NULL, ranks, on_device(s->m->backend) ? &s->evaluation : NULL, e);
}

/* ---- does the trained model see the future? ---- */

/* The batch's losses, given these inputs of the decoder. The caller frees. */
static double *losses_with(ab_ctx *c, const batch *b, const int32_t *tgt_in, err *e)
{
    model_batch view = train_view(b);
    view.tgt_in = tgt_in;
    model_loss_inputs(c, &view, 1);
    if (!tape_run(c, &(run_options){.seed = 1, .step = 1, .from = PHASE_CONST})) return losses_of(c, b->tgt_rows, e);
    fail(e, "%s", c->error.text);
    return NULL;
}

static int32_t *changed_inputs(const batch *b, int64_t vocab)
{
    int32_t *in = xmalloc((size_t)b->tgt_cap * sizeof *in + 1), tokens = (int32_t)vocab - VOCAB_SPECIALS;
    memcpy(in, b->tgt_in, (size_t)b->tgt_cap * sizeof *in);
    for (int64_t i = 0; i < b->n_sentences; i++)
        for (int32_t r = (b->tgt_offset[i] + b->tgt_offset[i + 1] + 1) / 2; r < b->tgt_offset[i + 1]; r++)
            in[r] = VOCAB_SPECIALS + (in[r] < VOCAB_SPECIALS ? 0 : in[r] - VOCAB_SPECIALS + 1) % tokens;
    return in;
}

double train_sees_future(model *m, const pairs *p, bool training, err *e)
{
    int64_t most_tokens = m->cfg.batch_tokens;
    batch_options o = {most_tokens, train_step_round(m, most_tokens, 1), .seed = 1, .train = true};
    if (!training) o = evaluation_options(m, p);
    batcher *all = batcher_new(p, &o, e);
    tapes t = {.m = m, .training = training};
    batch b;
    double most = all ? 0 : NAN;
    if (all && m->tgt_vocab - VOCAB_SPECIALS > 1 && batcher_next(all, &b)) {
        ab_ctx *c = tapes_get(&t, &b, e);
        int32_t *in = changed_inputs(&b, m->tgt_vocab);
        double *before = c ? losses_with(c, &b, b.tgt_in, e) : NULL, *after = before ? losses_with(c, &b, in, e) : NULL;
        if (!after) most = NAN;
        for (int64_t i = 0; after && i < b.n_sentences; i++)
            for (int32_t r = b.tgt_offset[i]; r < (b.tgt_offset[i] + b.tgt_offset[i + 1] + 1) / 2; r++) {
                double was = before[2 * r + 1], moved = fabs(after[2 * r + 1] - was) / fmax(1, fabs(was));
                if (isfinite(was)) most = isnan(moved) ? INFINITY : fmax(most, moved);
            }
        free(before);
        free(after);
        free(in);
    }
    tapes_close(&t);
    if (all) batcher_free(all);
    return most;
}
