/* told.c - writes workers' events (event.h) to the database and the progress display. */
#include "base/shell.h"
#include "lab/launch/internal.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int on_result(launcher *l, worker *w, char **f, int n, err *e)
{
    if (n < EVENT_RESULT_FIELDS - 1) return 0;
    db_result r = {.metric = f[1],
                   .direction = *f[2] ? f[2] : NULL,
                   .unit = f[3],
                   .aggregation = *f[4] ? f[4] : NULL,
                   .signature = *f[5] ? f[5] : NULL,
                   .value = strtod(f[6], NULL),
                   .step = strtoll(f[7], NULL, 10),
                   .how = f[8]};
    size_t rows = strtoull(f[9], NULL, 10), width = strtoull(f[10], NULL, 10);
    AUTOFREE double *v = n > 11 ? event_stats(f[11], rows, width) : NULL;
    if (v) r.stats = (db_stats){rows, width, v};
    int bad = db_begin(l->d, e) || db_put_result(l->d, &w->claim, &r, e);
    size_t used = strlen(w->scores);
    bool dev = r.signature && has_suffix(r.signature, ", dev"); /* a metric has one name on dev and test */
    snprintf(w->scores + used, sizeof w->scores - used, "  %s%s %.4g", dev ? "dev " : "", r.metric, r.value);
    return bad;
}

static int on_fact(launcher *l, worker *w, const char *key, const char *value, err *e)
{
    db_provenance *p = &w->facts;
    if (same(key, "device"))
        p->device = arena_strdup(&w->texts, value);
    else if (same(key, "host"))
        p->host = arena_strdup(&w->texts, value);
    else if (same(key, "plugins_json"))
        p->plugins_json = arena_strdup(&w->texts, value);
    else if (same(key, "parameters"))
        p->parameters = (int64_t)strtod(value, NULL);
    else if (same(key, "flops_step"))
        p->flops_step = strtod(value, NULL);
    else if (same(key, "tokens_second"))
        p->tokens_second = strtod(value, NULL);
    else if (same(key, "peak_memory"))
        p->peak_memory = (int64_t)strtod(value, NULL);
    else if (same(key, "trained_tokens"))
        l->p.tokens += strtod(value, NULL);
    else
        return db_begin(l->d, e) || db_put_tag(l->d, &w->claim, key, value, e);
    return 0;
}

void launch_notify(launcher *l, const worker *w, const char *what)
{
    if (!l->o->notify || l->told_notify) return;
    l->told_notify = true;
    AUTOFREE char *text = xprintf("ablate: %s: %s s%lld: %s\nlog: %s\n", l->o->experiment, w->claim.name,
                                  (long long)w->claim.seed, what, w->log ? w->log : "");
    shell_run(l->o->notify, text, strlen(text), NULL, false);
}

static void watch_curve(launcher *l, worker *w, int64_t step, double dev_ppl)
{
    char why[128];
    care_see(&w->curve, step, dev_ppl);
    if (w->curve.told || !care_trouble(&w->curve, w->total, why)) return;
    w->curve.told = true;
    if (l->p.mode == PROGRESS_JSON)
        progress_event(&l->p, w, "trouble", dev_ppl);
    else
        progress_line(&l->p, "trouble %s s%lld: %s", w->claim.name, (long long)w->claim.seed, why);
    launch_notify(l, w, why);
}

static void on_point(launcher *l, worker *w, char **f)
{
    db_point x = {f[1], strtoll(f[2], NULL, 10), strtod(f[3], NULL)};
    if (same(f[1], "dev_PPL")) {
        w->dev_ppl = x.value;
        w->step = x.step;
        if (w->total) progress_event(&l->p, w, "eval", x.value); /* total is 0 while a resumed run repeats old points */
        watch_curve(l, w, x.step, x.value);
    }
    w->points = grow(w->points, &w->points_cap, w->n_points + 1, sizeof *w->points);
    w->points[w->n_points++] = x;
}

/* Hashes the file outside of a transaction: hashing a large file would keep other processes from writing. */
static int on_artifact(launcher *l, worker *w, char **f, err *e)
{
    enum { SMALL = 1 << 20 };
    struct stat st;
    if (stat(f[2], &st)) return 0;
    int bad = st.st_size > SMALL ? db_end(l->d, 0, e) : db_begin(l->d, e);
    return bad || db_put_artifact(l->d, &w->claim, f[1], f[2], e);
}

static int write_points(launcher *l, worker *w, err *e)
{
    size_t n = w->n_points;
    w->n_points = 0;
    return n ? db_points(l->d, &w->claim, w->points, n, e) : 0;
}

static void on_progress(worker *w, char **f)
{
    w->step = strtoll(f[1], NULL, 10);
    w->total = strtoll(f[2], NULL, 10);
    w->ppl = strtod(f[3], NULL);
    w->tokens_per_second = strtod(f[4], NULL);
    if (w->first_tick > 0) return;
    w->first_tick = ticks();
    w->first_step = w->step;
}

static int on_line(launcher *l, worker *w, char *line, err *e)
{
    char *f[EVENT_RESULT_FIELDS];
    bool result = has_prefix(line, "result\t");
    w->news = ticks(), w->silent = false;
    int n = event_split(line, f, result ? EVENT_RESULT_FIELDS : 8);
    if (same(f[0], "phase") && n > 1)
        snprintf(w->phase, sizeof w->phase, "%s", f[1]);
    else if (same(f[0], "progress") && n > 4)
        on_progress(w, f);
    else if (same(f[0], "point") && n > 3)
        on_point(l, w, f);
    else if (w->n_points && write_points(l, w, e)) /* later events must not be in the database without the point */
        return -1;
    else if (result)
        return on_result(l, w, f, n, e);
    else if (same(f[0], "fact") && n > 2)
        return on_fact(l, w, f[1], f[2], e);
    else if (same(f[0], "artifact") && n > 2)
        return on_artifact(l, w, f, e);
    else if (same(f[0], "error") && n > 1)
        snprintf(w->error, sizeof w->error, "%s", f[1]);
    else if (same(f[0], "end"))
        w->ended = true, w->reported = ticks();
    else if (same(f[0], "idle"))
        w->idle = true;
    else if (same(f[0], "stopped"))
        w->reported = ticks();
    else if (same(f[0], "diverged") && n > 1) {
        snprintf(w->error, sizeof w->error, "%s", f[1]);
        w->diverged = true, w->reported = ticks();
    }
    return 0;
}

/* Writes events that arrived together in one transaction: one for each event would be most of the host's work. */
int launch_collect_events(launcher *l, worker *w, err *e)
{
    char *start = w->buffer.s, *end;
    int bad = 0;
    while (!bad && start && (end = memchr(start, '\n', (size_t)(w->buffer.s + w->buffer.n - start)))) {
        *end = 0;
        bad = on_line(l, w, start, e);
        start = end + 1;
    }
    if (!bad) bad = write_points(l, w, e);
    bad = db_end(l->d, bad, e);
    if (start) {
        size_t rest = (size_t)(w->buffer.s + w->buffer.n - start);
        memmove(w->buffer.s, start, rest);
        w->buffer.n = rest;
    }
    return bad;
}
