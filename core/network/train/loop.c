/* loop.c - the loop over updates: evaluation, early stopping. state.c reads and writes its files. */
#include "network/train/checkpoint.h"
#include "network/train/optim.h"
#include "network/train/state.h"
#include "network/train/teacher.h"
#include "network/train/watch.h"
#include <math.h>
#include <string.h>

/* ---- evaluation ---- */

static void point(training *t, const char *metric, double value)
{
    const train_events *v = &t->j->events;
    str_addf(&t->points, "%s %lld %.17g\n", metric, (long long)t->step, value);
    if (v->point) v->point(v->self, metric, t->step, value);
}

static void point_of(void *t, const char *metric, double value) { point(t, metric, value); }

/* Mean of the unsmoothed loss over about the last 50 updates, bias-corrected as in Adam. */
static double recent_loss(const training *t) { return t->known ? t->recent / (1 - pow(0.98, (double)t->known)) : NAN; }

static int evaluate(training *t, err *e)
{
    const config *c = &t->m->cfg;
    const pairs *dev = &t->j->data->split[AB_DEV];
    if (!dev->n) return 0;
    err why = {0};
    t->dev_ppl = train_step_perplexity(t->s, dev, t->j->comm, &why);
    t->dev_step = t->step;
    if (why.text[0]) return fail(e, "%s", why.text);
    point(t, "dev_PPL", t->dev_ppl);
    log_line(LOG_INFO, "step %lld: dev PPL %.4f, training PPL %.4f, %.0f tokens/s", (long long)t->step, t->dev_ppl,
             exp(recent_loss(t)), t->seconds > 0 ? (t->src_tokens + t->tgt_tokens) / t->seconds : 0);
    if (t->best_step && !(t->dev_ppl < t->best) && (isnan(t->dev_ppl) || !isnan(t->best))) {
        t->worse++;
        return 0;
    }
    int64_t before = t->best_step;
    t->best = t->dev_ppl;
    t->best_step = t->step;
    t->worse = 0;
    bool last = t->step == c->steps || t->out_of_time; /* the weights after this update are the final ones */
    if (!t->j->folder || c->checkpoint != SELECT_BEST || last || !comm_leads(t->j->comm)) return 0;
    return state_write_best(t, before, e);
}

/* ---- one update ---- */

/* Has training diverged: is the loss NaN, or after 100 steps 2 nats above the loss of a uniform guess? */
static bool diverged(training *t, err *e)
{
    double uniform = log((double)t->m->tgt_vocab);
    t->recent = 0.98 * t->recent + 0.02 * t->plain;
    if (isfinite(t->plain) && !(t->known > 100 && recent_loss(t) > uniform + 2)) return false;
    char loss[32] = "not a number";
    if (!isnan(t->plain)) snprintf(loss, sizeof loss, "%.3g", t->plain);
    char first[400];
    bool found = !isfinite(t->plain) && train_step_not_finite(t->s, first, sizeof first);
    fail(e, "diverged at step %lld: loss %s per token, a uniform guess has %.3g%s%s", (long long)t->known, loss,
         uniform, found ? "; " : "", found ? first : "");
    return true;
}

/* Sums the losses of n batches over ranks. The ranks also agree on whether to stop and whether time is up. */
static int share_losses(training *t, int n, double sums[][2], err *e)
{
    const train_events *v = &t->j->events;
    bool spent = t->limit > 0 && t->seconds >= t->limit;
    t->out_of_time = spent;
    if (!t->j->comm) return 0;
    sums[n][0] = v->stop && v->stop(v->self);
    sums[n][1] = spent;
    if (comm_add(t->j->comm, &sums[0][0], 2 * ((size_t)n + 1), e)) return -1;
    t->stopping = sums[n][0] > 0;
    t->out_of_time = sums[n][1] > 0;
    return 0;
}

static train_outcome collect(training *t, err *e)
{
    const double(*own)[2];
    double sums[STEPPER_PENDING + 1][2], start = ticks();
    int n = train_step_losses(t->s, &own, e);
    if (n > 0) memcpy(sums, own, (size_t)n * sizeof *sums);
    if (n >= 0 && share_losses(t, n, sums, e)) n = -1;
    t->seconds += ticks() - start;
    if (n < 0) return TRAIN_FAILED;
    t->n_waiting = 0;
    for (int i = 0; i < n; i++) {
        t->sum += sums[i][1];
        t->tokens += t->waiting[i];
        if (++t->counted < t->m->cfg.gradient_accumulation) continue;
        t->plain = t->sum / t->tokens;
        t->sum = t->tokens = 0;
        t->counted = 0;
        t->known++;
        if (diverged(t, e)) return TRAIN_DIVERGED;
    }
    return TRAIN_DONE;
}

/* Does the training curve have a point at this step? */
static bool is_mark(const training *t, int64_t step)
{
    enum { POINTS = 50 };
    return step % POINTS == 0 || step == t->m->cfg.steps;
}

/* Runs one update. On the CPU, the update's losses are read at once, so NaN never reaches the weights. */
static train_outcome run_update(training *t, err *e)
{
    const config *c = &t->m->cfg;
    double start = ticks(), src = 0, tgt = 0, predicted = 0;
    bool late = on_device(t->m->backend);
    batch b = {0};
    for (int64_t k = 0; k < c->gradient_accumulation; k++) {
        if (!batcher_next(t->batches, &b)) {
            fail(e, "found no batch in the training data");
            return TRAIN_FAILED;
        }
        if (train_step_gradient(t->s, &b, t->step + 1, e)) return TRAIN_FAILED;
        t->waiting[t->n_waiting++] = (double)b.all_predicted;
        src += (double)b.all_src_rows;
        tgt += (double)b.all_tgt_rows;
        predicted += (double)b.all_predicted;
        if (late && t->n_waiting < STEPPER_PENDING / 2) continue;
        t->seconds += ticks() - start;
        train_outcome seen = collect(t, e);
        if (seen != TRAIN_DONE) return seen;
        start = ticks();
    }
    t->step++;
    bool watched = t->watch && is_mark(t, t->step);
    if (watched && watch_before(t->watch, train_step_tape(t->s), &b, e)) return TRAIN_FAILED;
    if (train_step_update(t->s, predicted, t->step, e)) return TRAIN_FAILED;
    if (watched && watch_after(t->watch, train_step_summed(t->s), 1 / predicted, e)) return TRAIN_FAILED;
    t->seconds += ticks() - start;
    t->src_tokens += src;
    t->tgt_tokens += tgt;
    return TRAIN_DONE;
}

/* Runs the next update. From show_from on, also prints ab_print's values and the loss. */
static train_outcome shown_update(training *t, err *e)
{
    bool shown = t->j->show && t->step + 1 >= t->j->show_from;
    if (!shown) return run_update(t, e);
    fprintf(t->j->show, "step %lld\n", (long long)t->step + 1);
    t->m->print_to = t->j->show;
    train_outcome now = run_update(t, e);
    t->m->print_to = NULL;
    if (now == TRAIN_DONE && t->n_waiting) now = collect(t, e);
    if (now == TRAIN_DONE) fprintf(t->j->show, "loss %.9g per token\n", t->plain);
    fflush(t->j->show);
    return now;
}

static train_outcome stop(training *t, err *e)
{
    train_outcome now = t->n_waiting ? collect(t, e) : TRAIN_DONE;
    if (now != TRAIN_DONE) return now;
    return state_write(t, e) ? TRAIN_FAILED : TRAIN_STOPPED;
}

enum { LATE = 16 }; /* steps between readings of a device's losses */

static train_outcome loop(training *t, err *e)
{
    const config *c = &t->m->cfg;
    const train_events *v = &t->j->events;
    int64_t end = t->j->until > 0 && t->j->until < c->steps ? t->j->until : c->steps;
    while (t->step < end && !t->out_of_time) {
        if (t->j->comm ? t->stopping : v->stop && v->stop(v->self)) return stop(t, e);
        if (c->patience && t->worse >= c->patience)
            return t->step % c->save_every && state_save(t, e) ? TRAIN_FAILED : TRAIN_DONE;
        bool lent = v->lent && v->lent(v->self, t->step);
        double before[] = {t->seconds, t->src_tokens, t->tgt_tokens};
        train_outcome now = shown_update(t, e);
        if (now != TRAIN_DONE) return now;
        if (lent) {
            t->lent.seconds += t->seconds - before[0];
            t->lent.src_tokens += t->src_tokens - before[1];
            t->lent.tgt_tokens += t->tgt_tokens - before[2];
        }
        bool last = t->step == c->steps, mark = is_mark(t, t->step);
        bool judge = t->step % c->eval_every == 0 || last, keep = t->step % c->save_every == 0 || last;
        if (t->n_waiting && (mark || judge || keep || t->step % LATE == 0)) now = collect(t, e);
        if (now != TRAIN_DONE) return now;
        if (t->out_of_time) mark = judge = keep = true;
        if (v->progress)
            v->progress(v->self, t->step, c->steps, exp(t->plain), (t->src_tokens + t->tgt_tokens) / t->seconds);
        if (mark) {
            point(t, "train_PPL", exp(recent_loss(t)));
            point(t, "lr", schedule_lr(t->m, t->step));
            if (train_step_recorded(t->s, point_of, t, e)) return TRAIN_FAILED;
            if (t->watch && is_mark(t, t->step)) watch_report(t->watch, point_of, t);
        }
        if (t->j->show && t->step >= t->j->show_from) t->m->print_to = t->j->show;
        if (judge && (optim_exchange(t->m, e) || evaluate(t, e) || optim_exchange(t->m, e))) return TRAIN_FAILED;
        t->m->print_to = NULL;
        if (keep && state_save(t, e)) return TRAIN_FAILED;
    }
    return TRAIN_DONE;
}

/* ---- the run ---- */

static int finish(training *t, train_result *out, err *e)
{
    if ((t->step && optim_exchange(t->m, e)) || state_choose_weights(t, out, e)) return -1;
    const pairs *dev = &t->j->data->split[AB_DEV];
    err why = {0};
    if (same(out->how, "best"))
        out->dev_ppl = t->best;
    else if ((same(out->how, "last") && t->dev_step == t->step) || !dev->n)
        out->dev_ppl = t->dev_ppl;
    else
        out->dev_ppl = train_perplexity(t->m, dev, NULL, &why);
    return why.text[0] ? fail(e, "%s", why.text) : 0;
}

train_outcome train_run(train_job *j, train_result *out, err *e)
{
    training t = {.j = j, .m = j->m};
    batch_options o = {.batch_tokens = j->m->cfg.batch_tokens,
                       .round = train_step_round(j->m, j->m->cfg.batch_tokens, j->comm ? j->comm->size : 1),
                       .seed = (uint64_t)j->m->cfg.seed,
                       .word_dropout = j->m->cfg.word_dropout,
                       .rank = j->comm ? j->comm->rank : 0,
                       .ranks = j->comm ? j->comm->size : 1,
                       .renew = j->renew,
                       .self = j->renewed,
                       .train = true};
    train_outcome outcome = TRAIN_FAILED;
    *out = (train_result){.how = "last"};
    if (!j->until && config_seconds(j->m->cfg.max_time, &t.limit, e)) return TRAIN_FAILED;
    if (j->folder && make_folders(j->folder, e)) return TRAIN_FAILED;
    t.s = train_step_open(j->m, e);
    if (t.s) train_step_share(t.s, j->comm);
    const char *from = j->m->cfg.teacher;
    teacher *teacher =
        t.s && *from ? teacher_open(from, j->m, j->src, j->tgt, out->taught, sizeof out->taught, e) : NULL;
    if (t.s) train_step_teach(t.s, teacher);
    t.batches = t.s && !e->text[0] ? batcher_new(&j->data->split[AB_TRAIN], &o, e) : NULL;
    if (j->m->cfg.watch_layers && comm_leads(j->comm)) t.watch = watch_open(j->m);
    bool fresh = t.batches && !state_resume(&t, e) && !t.step && *j->m->cfg.start_from;
    if (fresh && !e->text[0])
        (j->m->cfg.start_step ? state_fork : state_start_from)(&t, out->started, sizeof out->started, e);
    if (t.batches && !e->text[0] && !comm_agree(j->comm, &t.step, sizeof t.step, "state to resume from", e)) {
        double before = t.src_tokens + t.tgt_tokens;
        t.out_of_time = t.limit > 0 && t.seconds >= t.limit; /* the run was resumed after reaching its time limit */
        int trained = t.step || j->until || j->comm ? 0 : state_trained(&t, out, e);
        outcome = trained < 0 ? TRAIN_FAILED : trained ? TRAIN_DONE : loop(&t, e);
        if (trained > 0 && j->events.progress) j->events.progress(j->events.self, t.step, t.step, NAN, 0);
        if (outcome == TRAIN_DONE && !trained && !j->until && comm_leads(j->comm) && finish(&t, out, e))
            outcome = TRAIN_FAILED;
        out->step = t.step;
        out->best_ppl = t.best;
        out->best_step = t.best_step;
        out->seconds = t.seconds;
        out->run_before = t.run_before, out->processor_before = t.processor_before;
        out->out_of_time = t.out_of_time && t.step < j->m->cfg.steps;
        out->tokens = t.src_tokens + t.tgt_tokens - before;
        double own = t.seconds - t.lent.seconds, target = t.tgt_tokens - t.lent.tgt_tokens;
        out->target_tokens_per_second = own > 0 ? target / own : 0;
        out->tokens_per_second = own > 0 ? (t.src_tokens - t.lent.src_tokens + target) / own : 0;
        out->fill = batcher_fill(t.batches);
    }
    batcher_free(t.batches);
    train_step_close(t.s);
    teacher_close(teacher);
    watch_close(t.watch);
    str_free(&t.points);
    return outcome;
}
