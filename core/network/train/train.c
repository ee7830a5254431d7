/* train.c - the loop over updates: evaluation, checkpoints, resuming, early stopping, the choice of weights
 * at the end. */
#include "network/train/checkpoint.h"
#include "network/train/optim.h"
#include "network/train/train.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    train_job *j;
    model *m;
    train_step *s;
    batcher *batches;
    int64_t step; /* updates made */
    double best;
    int64_t best_step; /* lowest dev perplexity */
    double dev_ppl;
    int64_t dev_step; /* the last evaluation */
    int64_t worse;    /* evaluations since the best */
    double seconds, src_tokens, tgt_tokens;
    /* of the unsmoothed loss: 0.98 of the value before + 0.02 of the step's; recent_loss() is the mean */
    double recent;
    /* losses, which a device tells some steps late */
    double waiting[STEPPER_PENDING]; /* target tokens of the batches whose losses are not known yet */
    int n_waiting;
    double sum, tokens;     /* of the step whose batches are being counted */
    int64_t counted, known; /* its batches so far; last step of which the loss is known */
    double plain;           /* per token, of that step */
    bool stopping;          /* some rank was asked to stop: all of them do */
    double limit;           /* max_time in seconds; 0: none */
    bool out_of_time;       /* a rank's updates have taken that long: the step is the last one of all ranks */
    str points;             /* all points of its curves so far: lines of metric, step, value */
} training;

static char *file_in(const train_job *j, const char *name) { return path_join(j->folder, name); }
static char *step_file(const train_job *j, int64_t step)
{
    char name[48];
    snprintf(name, sizeof name, "step-%lld.safetensors", (long long)step);
    return file_in(j, name);
}

/* ---- checkpoints ---- */

static void describe(const training *t, checkpoint_meta *meta)
{
    str json = {0}, bytes = {0};
    config_to_json(&t->m->set, NULL, NULL, &json);
    meta_put(meta, "config", str_text(&json));
    err ignored = {0}; /* the model's plugins are open; a task may be missing in tests, and in them alone */
    str plugins = {0};
    if (!model_plugins_json(&t->m->set, &plugins, &ignored)) meta_put(meta, "plugins", str_text(&plugins));
    str_free(&plugins);
    if (t->j->src) {
        vocab_write(t->j->src, &bytes);
        meta_put_bytes(meta, "vocab.src", bytes.s, bytes.n);
    }
    if (t->j->tgt != t->j->src) {
        str_clear(&bytes);
        vocab_write(t->j->tgt, &bytes);
        meta_put_bytes(meta, "vocab.tgt", bytes.s, bytes.n);
    }
    meta_put_int(meta, "step", t->step);
    str_free(&json);
    str_free(&bytes);
}

static void put_real(checkpoint_meta *m, const char *key, double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.17g", x);
    meta_put(m, key, text);
}

static int write_values(const training *t, const char *path, err *e)
{
    checkpoint_meta meta = {0};
    describe(t, &meta);
    int bad = checkpoint_write(path, &t->m->params, NULL, 0, &meta, e);
    meta_free(&meta);
    return bad;
}

static int write_state(const training *t, err *e)
{
    if (!t->j->folder || !comm_leads(t->j->comm)) return 0;
    checkpoint_meta meta = {0};
    describe(t, &meta);
    batch_state b = batcher_state(t->batches);
    meta_put_int(&meta, "epoch", b.epoch);
    meta_put_int(&meta, "index", b.index);
    meta_put_int(&meta, "best_step", t->best_step);
    meta_put_int(&meta, "worse", t->worse);
    put_real(&meta, "best", t->best);
    put_real(&meta, "recent", t->recent);
    put_real(&meta, "seconds", t->seconds);
    put_real(&meta, "src_tokens", t->src_tokens);
    put_real(&meta, "tgt_tokens", t->tgt_tokens);
    meta_put(&meta, "points", str_text(&t->points));
    const ab_optimizer_plugin *rule = &t->m->optimizer->iface.optimizer;
    char *path = file_in(t->j, "state.safetensors");
    int bad = checkpoint_write(path, &t->m->params, rule->slots, rule->n_slots, &meta, e);
    free(path);
    meta_free(&meta);
    return bad;
}

static double real_of(const checkpoint_meta *m, const char *key)
{
    const char *text = meta_text(m, key);
    return text ? strtod(text, NULL) : 0;
}

/* The hash of the settings but for plugins, which are compared by what they are, not by where they lie. */
static void hash_settings(const settings *s, char out[65])
{
    arena a = {0};
    settings rest = {0};
    for (size_t i = 0; i < s->n; i++)
        if (!config_plugin_kind(s->at[i].key)) settings_put(&rest, s->at[i].key, s->at[i].value, &a);
    config_hash(&rest, out);
    arena_free(&a);
}

/* The settings that change numbers, and the plugins, must be those the state was made with. */
static int same_run(const training *t, const checkpoint_meta *meta, const char *path, err *e)
{
    arena a = {0};
    settings then = {0};
    char was[65], is[65];
    str plugins = {0};
    const char *json = meta_text(meta, "config");
    int bad = json ? config_from_json(json, &then, &a, e) : fail(e, "%s: contains no settings", path);
    if (!bad) bad = model_plugins_json(&t->m->set, &plugins, e);
    if (!bad) bad = train_same_plugins(path, meta_text(meta, "plugins"), str_text(&plugins), e);
    if (!bad) {
        hash_settings(&then, was);
        hash_settings(&t->m->set, is);
        if (!same(was, is)) bad = fail(e, "%s: was made with other settings; remove it to start again", path);
    }
    str_free(&plugins);
    arena_free(&a);
    return bad;
}

/* Tells the points again: those before the state that the listener lost when it was killed would be missing.
 */
static void repeat_points(training *t, const char *text)
{
    const train_events *v = &t->j->events;
    char metric[64];
    long long step;
    double value;
    str_clear(&t->points);
    str_add(&t->points, text ? text : "");
    for (const char *line = str_text(&t->points); *line && v->point; line++) {
        if (sscanf(line, "%63s %lld %lf", metric, &step, &value) == 3) v->point(v->self, metric, step, value);
        line += strcspn(line, "\n");
        if (!*line) break;
    }
}

static int resume(training *t, err *e)
{
    char *path = t->j->folder ? file_in(t->j, "state.safetensors") : NULL;
    if (!path || !file_exists(path)) {
        free(path);
        return 0;
    }
    checkpoint_meta meta = {0};
    batch_state b = {0};
    const ab_optimizer_plugin *rule = &t->m->optimizer->iface.optimizer;
    int bad = checkpoint_read_meta(path, &meta, e);
    if (!bad) bad = same_run(t, &meta, path, e);
    if (!bad) bad = checkpoint_read(path, &t->m->params, rule->slots, rule->n_slots, e);
    if (!bad && !(meta_int(&meta, "step", &t->step) && meta_int(&meta, "epoch", &b.epoch) &&
                  meta_int(&meta, "index", &b.index) && meta_int(&meta, "best_step", &t->best_step) &&
                  meta_int(&meta, "worse", &t->worse)))
        bad = fail(e, "%s: cannot resume from this file: counters are missing", path);
    if (!bad) bad = batcher_seek(t->batches, b, e);
    t->best = real_of(&meta, "best");
    t->recent = real_of(&meta, "recent");
    t->seconds = real_of(&meta, "seconds");
    t->src_tokens = real_of(&meta, "src_tokens");
    t->tgt_tokens = real_of(&meta, "tgt_tokens");
    t->known = t->step;
    if (!bad) repeat_points(t, meta_text(&meta, "points"));
    if (!bad) log_line(LOG_INFO, "resumed at step %lld from %s", (long long)t->step, path);
    meta_free(&meta);
    free(path);
    return bad;
}

/* At step 0: the values of another model, as far as they fit this one. */
static int start_from(training *t, char *said, size_t most, err *e)
{
    const char *path = t->m->cfg.start_from;
    checkpoint_meta theirs = {0}, own = {0};
    str left = {0};
    size_t taken = 0;
    int bad = checkpoint_read_meta(path, &theirs, e);
    describe(t, &own);
    bool words = true;
    for (int side = 0; side < 2; side++) {
        const char *key = side ? "vocab.tgt" : "vocab.src", *a = meta_text(&own, key), *b = meta_text(&theirs, key);
        words = words && (same(a, b) || (!a && !b)); /* neither: a decoder-only model, or one vocabulary for both */
    }
    if (!bad) bad = checkpoint_read_matching(path, &t->m->params, words, &taken, &left, e);
    if (!bad && !taken) bad = fail(e, "start_from = %s: found no parameter of this model's name and shape in it", path);
    if (!bad)
        snprintf(said, most, "%zu of %zu parameters from %s%s%s%s", taken, t->m->params.n, path,
                 words ? "" : ", whose vocabulary is another", left.n ? "; new: " : "", str_text(&left));
    if (!bad) log_line(LOG_INFO, "started with %s", said);
    meta_free(&theirs);
    meta_free(&own);
    str_free(&left);
    return bad;
}

/* The last checkpoint before a step. */
static int64_t checkpoint_before(const training *t, int64_t step)
{
    return (step - 1) / t->m->cfg.save_every * t->m->cfg.save_every;
}

/* Will an average that ends at the best weights so far want this checkpoint? */
static bool averaged_with_best(const training *t, int64_t step)
{
    const config *c = &t->m->cfg;
    if (c->checkpoint != SELECT_BEST || c->average_checkpoints < 2 || !t->best_step) return false;
    int64_t last = checkpoint_before(t, t->best_step);
    return step <= last && step > last - (c->average_checkpoints - 1) * c->save_every;
}

/* Checkpoints that are too old go; those that wait for a better best go when one comes, so all are looked for then. */
static void prune(const training *t)
{
    const config *c = &t->m->cfg;
    int64_t keep = c->keep_checkpoints > c->average_checkpoints ? c->keep_checkpoints : c->average_checkpoints,
            step = checkpoint_before(t, t->step + 1) - keep * c->save_every;
    bool all = c->checkpoint == SELECT_BEST && c->average_checkpoints > 1;
    for (; step > 0; step = all ? step - c->save_every : 0) {
        char *path = step_file(t->j, step);
        if (!averaged_with_best(t, step)) unlink(path);
        free(path);
    }
}

static int save(training *t, err *e)
{
    if (!t->j->folder || !comm_leads(t->j->comm)) return 0;
    char *path = step_file(t->j, t->step);
    int bad = optim_exchange(t->m, e) || write_values(t, path, e) || optim_exchange(t->m, e) || write_state(t, e);
    free(path);
    if (!bad) prune(t);
    return bad;
}

/* ---- evaluation ---- */

static void point(training *t, const char *metric, double value)
{
    const train_events *v = &t->j->events;
    str_addf(&t->points, "%s %lld %.17g\n", metric, (long long)t->step, value);
    if (v->point) v->point(v->self, metric, t->step, value);
}

static void point_of(void *t, const char *metric, double value) { point(t, metric, value); }

/* Mean of the unsmoothed loss over about the last 50 updates: the share of the zero that the sum began with is taken
 * out, as Adam does. */
static double recent_loss(const training *t) { return t->known ? t->recent / (1 - pow(0.98, (double)t->known)) : NAN; }

static int evaluate(training *t, err *e)
{
    const pairs *dev = &t->j->data->split[AB_DEV];
    if (!dev->n) return 0;
    err why = {0};
    t->dev_ppl = train_step_perplexity(t->s, dev, t->j->comm, &why);
    t->dev_step = t->step;
    if (why.text[0]) return fail(e, "%s", why.text);
    point(t, "dev_PPL", t->dev_ppl);
    log_line(LOG_INFO, "step %lld: dev PPL %.4f, training PPL %.4f, %.0f tokens/s", (long long)t->step, t->dev_ppl,
             exp(recent_loss(t)), t->seconds > 0 ? (t->src_tokens + t->tgt_tokens) / t->seconds : 0);
    if (t->best_step && !(t->dev_ppl < t->best)) {
        t->worse++;
        return 0;
    }
    t->best = t->dev_ppl;
    t->best_step = t->step;
    t->worse = 0;
    if (!t->j->folder || t->m->cfg.checkpoint != SELECT_BEST || !comm_leads(t->j->comm)) return 0;
    char *path = file_in(t->j, "best.safetensors");
    int bad = write_values(t, path, e);
    free(path);
    return bad;
}

/* ---- one update ---- */

/* A loss that is NaN, or stays two nats above that of a uniform guess, has diverged. */
static bool diverged(training *t, err *e)
{
    double uniform = log((double)t->m->tgt_vocab);
    t->recent = 0.98 * t->recent + 0.02 * t->plain;
    if (isfinite(t->plain) && !(t->known > 100 && recent_loss(t) > uniform + 2)) return false;
    char loss[32] = "not a number";
    if (!isnan(t->plain)) snprintf(loss, sizeof loss, "%.3g", t->plain);
    fail(e, "diverged at step %lld: loss %s per token, a uniform guess has %.3g", (long long)t->known, loss, uniform);
    return true;
}

/* The losses of n batches become their sums over ranks, and the ranks agree on whether to stop and whether time is up.
 * */
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

/* Takes the losses that have become known. */
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

/* On the CPU a loss is known at once, so that NaN never reaches the weights. */
static train_outcome update(training *t, err *e)
{
    const config *c = &t->m->cfg;
    double start = ticks(), src = 0, tgt = 0, predicted = 0;
    bool late = on_device(t->m->backend);
    for (int64_t k = 0; k < c->gradient_accumulation; k++) {
        batch b;
        if (!batcher_next(t->batches, &b)) {
            fail(e, "the training data have no batch");
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
    if (train_step_update(t->s, predicted, t->step, e)) return TRAIN_FAILED;
    t->seconds += ticks() - start;
    t->src_tokens += src;
    t->tgt_tokens += tgt;
    return TRAIN_DONE;
}

static train_outcome stop(training *t, err *e)
{
    train_outcome now = t->n_waiting ? collect(t, e) : TRAIN_DONE;
    if (now != TRAIN_DONE) return now;
    return write_state(t, e) ? TRAIN_FAILED : TRAIN_STOPPED;
}

enum { POINTS = 50, LATE = 16 }; /* steps between points of the training curve; between looks at a device's losses */

static train_outcome loop(training *t, err *e)
{
    const config *c = &t->m->cfg;
    const train_events *v = &t->j->events;
    while (t->step < c->steps && !t->out_of_time) {
        if (t->j->comm ? t->stopping : v->stop && v->stop(v->self)) return stop(t, e);
        if (c->patience && t->worse >= c->patience)
            return t->step % c->save_every && save(t, e) ? TRAIN_FAILED : TRAIN_DONE;
        train_outcome now = update(t, e);
        if (now != TRAIN_DONE) return now;
        bool last = t->step == c->steps, mark = t->step % POINTS == 0 || last;
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
        }
        if (judge && (optim_exchange(t->m, e) || evaluate(t, e) || optim_exchange(t->m, e))) return TRAIN_FAILED;
        if (keep && save(t, e)) return TRAIN_FAILED;
    }
    return TRAIN_DONE;
}

/* ---- the weights that count ---- */

/* The last checkpoints, or the best one and those before it. */
static int average(training *t, train_result *out, err *e)
{
    const config *c = &t->m->cfg;
    bool best = c->checkpoint == SELECT_BEST && t->best_step;
    char **paths = xcalloc((size_t)c->average_checkpoints, sizeof *paths);
    size_t n = 0;
    for (int64_t s = best ? t->best_step : t->step; s > 0 && n < (size_t)c->average_checkpoints;
         s = checkpoint_before(t, s)) {
        char *path = best && !n ? file_in(t->j, "best.safetensors") : step_file(t->j, s);
        if (file_exists(path))
            paths[n++] = path;
        else
            free(path);
    }
    int bad = n ? checkpoint_average((const char *const *)paths, n, &t->m->params, e)
                : fail(e, "no checkpoint to average in %s", t->j->folder);
    for (size_t i = 0; i < n; i++) free(paths[i]);
    free(paths);
    snprintf(out->how_text, sizeof out->how_text, "average of %zu%s", n, best ? ", best" : "");
    out->how = out->how_text;
    return bad;
}

static int choose_weights(training *t, train_result *out, err *e)
{
    const config *c = &t->m->cfg;
    out->how = "last";
    if (!t->j->folder) return 0;
    if (c->average_checkpoints > 1) {
        if (average(t, out, e)) return -1;
    } else if (c->checkpoint == SELECT_BEST && t->best_step) {
        char *path = file_in(t->j, "best.safetensors");
        int bad = checkpoint_read(path, &t->m->params, NULL, 0, e);
        free(path);
        if (bad) return -1;
        out->how = "best";
    }
    char *path = file_in(t->j, "model.safetensors");
    int bad = write_values(t, path, e);
    free(path);
    return bad;
}

static int finish(training *t, train_result *out, err *e)
{
    if ((t->step && optim_exchange(t->m, e)) || choose_weights(t, out, e)) return -1;
    const pairs *dev = &t->j->data->split[AB_DEV];
    bool known = same(out->how, "last") && t->dev_step == t->step;
    err why = {0};
    out->dev_ppl = known || !dev->n ? t->dev_ppl : train_perplexity(t->m, dev, NULL, &why);
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
                       .train = true};
    train_outcome outcome = TRAIN_FAILED;
    *out = (train_result){.how = "last"};
    if (config_seconds(j->m->cfg.max_time, &t.limit, e)) return TRAIN_FAILED;
    if (j->folder && make_folders(j->folder, e)) return TRAIN_FAILED;
    t.s = train_step_open(j->m, e);
    if (t.s) train_step_share(t.s, j->comm);
    t.batches = t.s ? batcher_new(&j->data->split[AB_TRAIN], &o, e) : NULL;
    bool fresh = t.batches && !resume(&t, e) && !t.step && *j->m->cfg.start_from;
    if (fresh && !e->text[0]) start_from(&t, out->started, sizeof out->started, e);
    if (t.batches && !e->text[0] && !comm_agree(j->comm, &t.step, sizeof t.step, "state to resume from", e)) {
        double before = t.src_tokens + t.tgt_tokens;
        t.out_of_time = t.limit > 0 && t.seconds >= t.limit; /* a resumed run that was about to end */
        outcome = loop(&t, e);
        if (outcome == TRAIN_DONE && comm_leads(j->comm) && finish(&t, out, e)) outcome = TRAIN_FAILED;
        out->step = t.step;
        out->best_ppl = t.best;
        out->best_step = t.best_step;
        out->seconds = t.seconds;
        out->out_of_time = t.out_of_time && t.step < j->m->cfg.steps;
        out->tokens = t.src_tokens + t.tgt_tokens - before;
        out->tokens_per_second = t.seconds > 0 ? (t.src_tokens + t.tgt_tokens) / t.seconds : 0;
        out->target_tokens_per_second = t.seconds > 0 ? t.tgt_tokens / t.seconds : 0;
        out->fill = batcher_fill(t.batches);
    }
    batcher_free(t.batches);
    train_step_close(t.s);
    str_free(&t.points);
    return outcome;
}
