/* state.c - a run's files: checkpoints, the state to resume from, the final weights. */
#include "network/train/checkpoint.h"
#include "network/train/optim.h"
#include "network/train/state.h"
#include "base/cleanup.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <time.h>

static char *state_file(const train_job *j, const char *name) { return path_join(j->folder, name); }
static char *numbered_file(const train_job *j, const char *what, int64_t step)
{
    char name[48];
    snprintf(name, sizeof name, "%s-%lld.safetensors", what, (long long)step);
    return state_file(j, name);
}
static char *step_file(const train_job *j, int64_t step) { return numbered_file(j, "step", step); }
/* Path of the file with the weights of best_step. It exists with checkpoint = best, unless that is the last step. */
static char *best_file(const train_job *j, int64_t step) { return numbered_file(j, "best", step); }
static void remove_file(char *path)
{
    unlink(path);
    free(path);
}

static int64_t checkpoint_before(const training *t, int64_t step)
{
    return (step - 1) / t->m->cfg.save_every * t->m->cfg.save_every;
}

/* ---- checkpoints ---- */

static void write_words(checkpoint_meta *meta, const char *key, const vocab *v)
{
    CLEANUP(str_free) str bytes = {0};
    vocab_write(v, &bytes);
    meta_write_bytes(meta, key, bytes.s, bytes.n);
}

static void describe(const training *t, checkpoint_meta *meta)
{
    str json = {0}, plugins = {0};
    config_to_json(&t->m->set, NULL, NULL, &json);
    meta_write(meta, "config", str_text(&json));
    err ignored = {0}; /* in tests a task may be missing; the model's other plugins are open */
    if (!model_plugins_json(&t->m->set, &plugins, &ignored)) meta_write(meta, "plugins", str_text(&plugins));
    if (t->j->src) write_words(meta, "vocab.src", t->j->src);
    if (t->j->tgt != t->j->src) write_words(meta, "vocab.tgt", t->j->tgt);
    meta_write_int(meta, "step", t->step);
    str_free(&json);
    str_free(&plugins);
}

/* Numbers in a state. The last LENT are written only if the run used threads of other runs. */
enum { LENT = 3 };
static const struct {
    const char *key;
    size_t at; /* in training */
} reals[] = {{"best", offsetof(training, best)},
             {"recent", offsetof(training, recent)},
             {"seconds", offsetof(training, seconds)},
             {"run_seconds", offsetof(training, run_before)},
             {"core_seconds", offsetof(training, processor_before)},
             {"src_tokens", offsetof(training, src_tokens)},
             {"tgt_tokens", offsetof(training, tgt_tokens)},
             {"lent_seconds", offsetof(training, lent.seconds)},
             {"lent_src_tokens", offsetof(training, lent.src_tokens)},
             {"lent_tgt_tokens", offsetof(training, lent.tgt_tokens)}};

int state_write_values(const training *t, const train_result *from, const char *path, err *e)
{
    CLEANUP(meta_free) checkpoint_meta meta = {0};
    describe(t, &meta);
    if (from) meta_write(&meta, "weights", from->how), meta_write_int(&meta, "weights_step", from->how_step);
    int bad = checkpoint_write(path, &t->m->params, NULL, 0, &meta, e);
    return bad;
}

int state_write(const training *t, err *e)
{
    if (!t->j->folder || !comm_leads(t->j->comm)) return 0;
    CLEANUP(meta_free) checkpoint_meta meta = {0};
    describe(t, &meta);
    batch_state b = batcher_state(t->batches);
    meta_write_int(&meta, "epoch", b.epoch);
    meta_write_int(&meta, "index", b.index);
    meta_write_int(&meta, "best_step", t->best_step);
    meta_write_int(&meta, "worse", t->worse);
    training now = *t;
    now.run_before += ticks() - t->j->began;
    now.processor_before += (double)clock() / CLOCKS_PER_SEC - t->j->processor;
    for (size_t i = 0; i < LENGTH(reals) - (t->lent.seconds > 0 ? 0 : LENT); i++) {
        char text[32];
        snprintf(text, sizeof text, "%.17g", *(const double *)((const char *)&now + reals[i].at));
        meta_write(&meta, reals[i].key, text);
    }
    meta_write(&meta, "points", str_text(&t->points));
    const ab_optimizer_plugin *rule = &t->m->optimizer->iface.optimizer;
    char *path = state_file(t->j, STATE_FILE);
    int bad = checkpoint_write(path, &t->m->params, rule->slots, rule->n_slots, &meta, e);
    free(path);
    return bad;
}

/* With keep_states, links the new state to a name with its step, because the next state replaces the file. */
static int keep_state(const training *t, err *e)
{
    int64_t keep = t->m->cfg.keep_states, old = checkpoint_before(t, t->step + 1) - keep * t->m->cfg.save_every;
    if (!keep) return 0;
    char *from = state_file(t->j, STATE_FILE), *to = numbered_file(t->j, "state", t->step);
    unlink(to);
    str whole = {0};
    int bad = link(from, to) && (file_read(from, &whole, e) ||
                                 file_write(to, whole.s, whole.n, e)); /* copies if the file system has no links */
    str_free(&whole);
    free(from);
    free(to);
    if (old <= 0 || bad) return bad;
    remove_file(numbered_file(t->j, "state", old));
    return 0;
}

static double real_of(const checkpoint_meta *m, const char *key)
{
    const char *text = meta_text(m, key);
    return text ? strtod(text, NULL) : 0;
}

/* Hashes the settings except plugins, which are compared by content, not by path. */
static void hash_settings(const settings *s, bool decoding, char out[65])
{
    CLEANUP(arena_free) arena a = {0};
    settings rest = {0};
    for (size_t i = 0; i < s->n; i++)
        if (!config_plugin_kind(s->at[i].key) && (decoding || !config_only_decodes(s->at[i].key)))
            settings_set(&rest, s->at[i].key, config_unmoved(s->at[i].key, s->at[i].value), &a);
    config_hash(&rest, out);
}

/* Checks that a state was made with the same plugins and the same settings that change numbers; without `decoding`,
 * keys that only decoding reads may differ. */
static int same_run(const training *t, const checkpoint_meta *meta, bool decoding, const char *path, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    settings then = {0};
    char was[65], is[65];
    CLEANUP(str_free) str plugins = {0};
    const char *json = meta_text(meta, "config");
    int bad = json ? config_from_json(json, &then, &a, e) : fail(e, "%s: contains no settings", path);
    if (!bad) bad = model_plugins_json(&t->m->set, &plugins, e);
    if (!bad) bad = train_same_plugins(path, meta_text(meta, "plugins"), str_text(&plugins), e);
    if (!bad) {
        hash_settings(&then, decoding, was);
        hash_settings(&t->m->set, decoding, is);
        if (!same(was, is)) bad = fail(e, "%s: was made with other settings; remove it to start again", path);
    }
    return bad;
}

/* Reports earlier points of the curves again, because a listener that was killed may have lost some. */
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

int state_resume(training *t, err *e)
{
    char *path = t->j->resume ? xstrdup(t->j->resume) : t->j->folder ? state_file(t->j, STATE_FILE) : NULL;
    if (!path || !file_exists(path)) {
        free(path);
        return 0;
    }
    CLEANUP(meta_free) checkpoint_meta meta = {0};
    batch_state b = {0};
    const ab_optimizer_plugin *rule = &t->m->optimizer->iface.optimizer;
    int bad = checkpoint_read_meta(path, &meta, e);
    if (!bad) bad = same_run(t, &meta, true, path, e);
    if (!bad) bad = checkpoint_read(path, &t->m->params, rule->slots, rule->n_slots, e);
    if (!bad && !(meta_int(&meta, "step", &t->step) && meta_int(&meta, "epoch", &b.epoch) &&
                  meta_int(&meta, "index", &b.index) && meta_int(&meta, "best_step", &t->best_step) &&
                  meta_int(&meta, "worse", &t->worse)))
        bad = fail(e, "%s: cannot resume from this file: counters are missing", path);
    if (!bad) bad = batcher_seek(t->batches, b, e);
    t->best_saved = t->best_step;
    for (size_t i = 0; i < LENGTH(reals); i++) *(double *)((char *)t + reals[i].at) = real_of(&meta, reals[i].key);
    t->known = t->step;
    if (!bad) repeat_points(t, meta_text(&meta, "points"));
    if (!bad) log_line(LOG_INFO, "resumed at step %lld from %s", (long long)t->step, path);
    free(path);
    return bad;
}

/* Do both files have the same vocabularies? */
static bool same_words(const checkpoint_meta *own, const checkpoint_meta *theirs)
{
    bool same_ones = true;
    for (int side = 0; side < 2; side++) {
        const char *key = side ? "vocab.tgt" : "vocab.src", *a = meta_text(own, key), *b = meta_text(theirs, key);
        same_ones = same_ones && (same(a, b) || (!a && !b)); /* NULL: no such vocabulary */
    }
    return same_ones;
}

/* Requires the same optimizer, because slots with equal names differ in meaning between optimizers. */
static int same_optimizer(const training *t, const checkpoint_meta *theirs, const char *path, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    settings then = {0};
    const char *json = meta_text(theirs, "config"), *now = settings_get(&t->m->set, "optimizer");
    int bad = json ? config_from_json(json, &then, &a, e) : fail(e, "%s: contains no settings", path);
    const char *was = bad ? NULL : settings_get(&then, "optimizer");
    if (!bad && !(was && same(was, now)))
        bad = fail(e, "%s: has the state of optimizer = %s, not of %s", path, was ? was : "", now);
    return bad;
}

int state_fork(training *t, char *said, size_t most, err *e)
{
    const char *path = t->m->cfg.start_from;
    const ab_optimizer_plugin *rule = &t->m->optimizer->iface.optimizer;
    checkpoint_meta theirs = {0}, own = {0};
    batch_state b = {0};
    err other = {0};
    int bad = checkpoint_read_meta(path, &theirs, e);
    describe(t, &own);
    if (!bad && !(meta_int(&theirs, "step", &t->step) && meta_int(&theirs, "epoch", &b.epoch) &&
                  meta_int(&theirs, "index", &b.index)))
        bad = fail(e, "%s: is no state of a run (state-STEP.safetensors)", path);
    if (!bad && t->step != t->m->cfg.start_step)
        bad = fail(e, "%s: is the state of step %lld, not of start_step = %lld", path, (long long)t->step,
                   (long long)t->m->cfg.start_step);
    if (!bad) bad = same_optimizer(t, &theirs, path, e);
    if (!bad && !same_words(&own, &theirs)) bad = fail(e, "%s: has another vocabulary", path);
    if (!bad) bad = checkpoint_read(path, &t->m->params, rule->slots, rule->n_slots, e);
    if (bad) fail_in(e, "start_step = %lld: ", (long long)t->m->cfg.start_step);
    bool placed = !bad && !batcher_seek(t->batches, b, &other);
    if (!bad && !placed) bad = batcher_seek(t->batches, (batch_state){b.epoch + 1, 0}, e); /* other data or batches */
    t->known = t->step;
    t->recent = real_of(&theirs, "recent");
    if (!bad)
        snprintf(said, most, "step %lld of %s: parameters, optimizer%s", (long long)t->step, path,
                 placed ? " and place in the data" : "; the data from the next epoch on");
    if (!bad) log_line(LOG_INFO, "started at %s", said);
    meta_free(&theirs);
    meta_free(&own);
    return bad;
}

int state_start_from(training *t, char *said, size_t most, err *e)
{
    const char *path = t->m->cfg.start_from;
    checkpoint_meta theirs = {0}, own = {0};
    CLEANUP(str_free) str left = {0};
    size_t taken = 0;
    int bad = checkpoint_read_meta(path, &theirs, e);
    describe(t, &own);
    bool words = same_words(&own, &theirs);
    if (!bad) bad = checkpoint_read_matching(path, &t->m->params, words, &taken, &left, e);
    if (!bad && !taken) bad = fail(e, "start_from = %s: found no parameter whose name and shape this model has", path);
    if (!bad)
        snprintf(said, most, "%zu of %zu parameters from %s%s%s%s", taken, params_learned(&t->m->params), path,
                 words ? "" : ", whose vocabulary is another", left.n ? "; new: " : "", str_text(&left));
    if (!bad) log_line(LOG_INFO, "started with %s", said);
    meta_free(&theirs);
    meta_free(&own);
    return bad;
}

/* Does the average of checkpoints up to the best one so far need the checkpoint of this step? */
static bool averaged_with_best(const training *t, int64_t step)
{
    const config *c = &t->m->cfg;
    if (c->checkpoint != SELECT_BEST || c->average_checkpoints < 2 || !t->best_step) return false;
    int64_t last = checkpoint_before(t, t->best_step);
    return step <= last && step > last - (c->average_checkpoints - 1) * c->save_every;
}

/* Removes obsolete checkpoints. A new best checkpoint makes more of them obsolete, so all are checked. */
static void prune(const training *t)
{
    const config *c = &t->m->cfg;
    int64_t keep = c->keep_checkpoints > c->average_checkpoints ? c->keep_checkpoints : c->average_checkpoints,
            step = checkpoint_before(t, t->step + 1) - keep * c->save_every;
    bool all = c->checkpoint == SELECT_BEST && c->average_checkpoints > 1;
    for (; step > 0; step = all ? step - c->save_every : 0) {
        if (!averaged_with_best(t, step)) remove_file(step_file(t->j, step));
    }
}

int state_write_best(const training *t, int64_t before, err *e)
{
    char *path = best_file(t->j, t->best_step);
    int bad = state_write_values(t, NULL, path, e);
    free(path);
    if (!bad && before && before != t->best_saved) remove_file(best_file(t->j, before));
    return bad;
}

int state_save(training *t, err *e)
{
    if (!t->j->folder || !comm_leads(t->j->comm)) return 0;
    char *path = step_file(t->j, t->step);
    int bad = optim_exchange(t->m, e) || state_write_values(t, NULL, path, e) || optim_exchange(t->m, e) ||
              state_write(t, e) || keep_state(t, e);
    free(path);
    if (bad) return -1;
    if (t->best_saved && t->best_saved != t->best_step) remove_file(best_file(t->j, t->best_saved));
    t->best_saved = t->best_step;
    prune(t);
    return bad;
}

/* ---- final weights ---- */

/* Averages the last checkpoints, or with checkpoint = best the best checkpoint and those before it. */
static int average(training *t, train_result *out, err *e)
{
    const config *c = &t->m->cfg;
    bool best = c->checkpoint == SELECT_BEST && t->best_step;
    out->how_step = best ? t->best_step : t->step;
    char **paths = xcalloc((size_t)c->average_checkpoints, sizeof *paths);
    size_t n = 0;
    for (int64_t s = out->how_step; s > 0 && n < (size_t)c->average_checkpoints; s = checkpoint_before(t, s)) {
        char *path = s == t->best_step && s < t->step && best ? best_file(t->j, s) : step_file(t->j, s);
        if (file_exists(path))
            paths[n++] = path;
        else
            free(path);
    }
    int bad = n ? checkpoint_average((const char *const *)paths, n, &t->m->params, e)
                : fail(e, "no checkpoint to average in %s", t->j->folder);
    free_texts(paths, n);
    snprintf(out->how_text, sizeof out->how_text, "average of %zu%s", n, best ? ", best" : "");
    out->how = out->how_text;
    return bad;
}

int state_choose_weights(training *t, train_result *out, err *e)
{
    const config *c = &t->m->cfg;
    out->how = "last";
    out->how_step = t->step;
    if (!t->j->folder) return 0;
    if (c->average_checkpoints > 1) {
        if (average(t, out, e)) return -1;
    } else if (c->checkpoint == SELECT_BEST && t->best_step) {
        char *path = best_file(t->j, t->best_step);
        int bad = t->best_step < t->step ? checkpoint_read(path, &t->m->params, NULL, 0, e) : 0;
        free(path);
        if (bad) return -1;
        out->how = "best";
        out->how_step = t->best_step;
    }
    char *path = state_file(t->j, "model.safetensors");
    int bad = state_write_values(t, out, path, e);
    free(path);
    return bad;
}

int state_trained(training *t, train_result *out, err *e)
{
    char *path = t->j->folder ? state_file(t->j, TRAINED_FILE) : NULL,
         *own = path ? state_file(t->j, "model.safetensors") : NULL;
    CLEANUP(meta_free) checkpoint_meta meta = {0};
    err other = {0};
    int rc = 0;
    if (path && file_exists(path) && !checkpoint_read_meta(path, &meta, &other) &&
        !same_run(t, &meta, false, path, &other) && meta_int(&meta, "step", &t->step)) {
        const char *how = meta_text(&meta, "weights");
        snprintf(out->how_text, sizeof out->how_text, "%s", how ? how : "last");
        out->how = out->how_text, out->how_step = t->step;
        meta_int(&meta, "weights_step", &out->how_step);
        rc = checkpoint_read(path, &t->m->params, NULL, 0, e) || state_write_values(t, out, own, e) ? -1 : 1;
        if (rc == 1)
            log_line(LOG_INFO,
                     "uses the model of another run, whose settings differ only in decoding: nothing to train");
    } else if (other.text[0])
        log_line(LOG_WARN, "trains, because the model of another run does not fit: %s", other.text);
    if (path) unlink(path);
    free(path);
    free(own);
    return rc;
}
