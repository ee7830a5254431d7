/* task.c - checks a task's examples, and whether its scores separate right outputs from wrong ones. */
#include "network/check/internal.h"
#include "text/data/dataset.h"
#include "text/data/inspect.h"
#include "text/metric/metric.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const ab_task_plugin *t;
    void *self;
    arena memory;
} opened;

static const char *data_dir(void)
{
    const char *d = getenv("ABLATE_DATA");
    return d && *d ? d : "data";
}

/* 0, or -1 and e; the caller calls task_close in either case. */
static int task_open(opened *o, const plugin *p, err *e)
{
    char message[1024] = "";
    settings set = {0};
    *o = (opened){.t = &p->iface.task};
    ab_env env = {.data_dir = data_dir(), .seed = 1};
    check_add_settings(&set, &o->memory);
    void *cfg = model_bind_plugin(&o->memory, &set, p, e);
    if (!cfg) return -1;
    if (!o->t->open(&o->self, cfg, &host_table, &env, message, sizeof message)) return 0;
    return fail(e, "%s", message[0] ? message : "open failed without a message");
}

static void task_close(opened *o)
{
    if (o->self) o->t->close(o->self);
    arena_free(&o->memory);
}

/* Opens the task for a check. Returns false and sets r on failure. */
static bool open_for(opened *o, const plugin *p, check_result *r)
{
    err e = {0};
    if (!task_open(o, p, &e)) return true;
    check_none(r, "not opened: %s", e.text);
    return false;
}

void check_open(const plugin *p, check_result *r)
{
    CLEANUP(task_close) opened o;
    err e = {0};
    if (task_open(&o, p, &e)) {
        if (strstr(e.text, data_dir()))
            check_none(r, "its data are not available: %s", e.text);
        else
            check_fail(r, "with default settings: %s", e.text);
    } else {
        int64_t n[AB_SPLITS];
        for (int s = 0; s < AB_SPLITS; s++) n[s] = o.t->count(o.self, (ab_split)s);
        for (int s = 0; s < AB_SPLITS; s++)
            if (n[s] < 1 && !(s == AB_TEST && o.t->flags & AB_DECODER_ONLY))
                check_fail(r, "%s has %lld examples", split_names[s], (long long)n[s]);
        check_note(r, "train %lld, dev %lld, test %lld examples", (long long)n[0], (long long)n[1], (long long)n[2]);
    }
}

static void check_line(const char *line, const char *side, const char *split, int64_t i, check_result *r)
{
    if (!line) {
        check_fail(r, "%s example %lld has no %s", split, (long long)i, side);
        return;
    }
    int64_t bad = utf8_bad(line, strlen(line));
    if (bad >= 0)
        check_fail(r, "%s example %lld: its %s is not UTF-8 at byte %lld", split, (long long)i, side, (long long)bad);
    if (strpbrk(line, "\n\r")) check_fail(r, "%s example %lld: its %s contains a line end", split, (long long)i, side);
}

static uint64_t hash_lines(const ab_example *x)
{
    return (x->src ? hash64(x->src, strlen(x->src)) : 1) * 0x9E3779B97F4A7C15u ^
           (x->tgt ? hash64(x->tgt, strlen(x->tgt)) : 2);
}

/* Checks that lines stay unchanged while other examples are read: the host keeps the pointers until close. */
static void check_borrowed(const opened *o, check_result *r)
{
    for (int s = 0; s < AB_SPLITS; s++) {
        int64_t n = o->t->count(o->self, (ab_split)s);
        AUTOFREE ab_example *x = xcalloc((size_t)n + 1, sizeof *x);
        AUTOFREE uint64_t *text = xcalloc((size_t)n + 1, sizeof *text);
        for (int64_t i = 0; i < n; i++) {
            o->t->get(o->self, (ab_split)s, i, &x[i]);
            text[i] = hash_lines(&x[i]);
        }
        for (int64_t i = 0; i < n && r->outcome != CHECK_FAIL; i++)
            if (hash_lines(&x[i]) != text[i])
                check_fail(r,
                           "%s example %lld changes when others are asked for: lines are borrowed until close, so a "
                           "task must not reuse its buffer",
                           split_names[s], (long long)i);
    }
}

/* Writes how many examples of dev and test are also training examples. */
static void count_known(const opened *o, char message[200])
{
    data_report found;
    data_inspect(o->t, o->self, &found, NULL);
    for (ab_split s = AB_DEV; s <= AB_TEST; s++) {
        const split_report *x = &found.split[s];
        size_t used = strlen(message);
        if (x->in_train)
            snprintf(message + used, 200 - used, "; %lld of %lld %s examples are training examples",
                     (long long)x->in_train, (long long)x->pairs, split_names[s]);
    }
}

void check_examples(const plugin *p, check_result *r)
{
    CLEANUP(task_close) opened o;
    int64_t done = 0;
    char known[200] = "";
    if (!open_for(&o, p, r)) return;
    for (int s = 0; s < AB_SPLITS; s++)
        for (int64_t i = 0; i < o.t->count(o.self, (ab_split)s) && r->outcome != CHECK_FAIL; i++, done++) {
            ab_example x = {0};
            o.t->get(o.self, (ab_split)s, i, &x);
            if (x.src || !(o.t->flags & AB_DECODER_ONLY)) check_line(x.src, "source", split_names[s], i, r);
            check_line(x.tgt, "target", split_names[s], i, r);
        }
    if (r->outcome != CHECK_FAIL) check_borrowed(&o, r);
    if (r->outcome != CHECK_FAIL) count_known(&o, known);
    check_note(r, "%lld lines of UTF-8 per side%s", (long long)done, known);
}

uint64_t check_hash_examples(const plugin *p, err *e)
{
    CLEANUP(task_close) opened o;
    CLEANUP(str_free) str all = {0};
    if (!task_open(&o, p, e))
        for (int s = 0; s < AB_SPLITS; s++)
            for (int64_t i = 0; i < o.t->count(o.self, (ab_split)s); i++) {
                ab_example x = {0};
                o.t->get(o.self, (ab_split)s, i, &x);
                str_addf(&all, "%s\n%s\n", x.src ? x.src : "", x.tgt);
            }
    return hash64(str_text(&all), all.n);
}

static void open_twice(const plugin *p, check_result *r)
{
    CLEANUP(task_close) opened o = {0}, again = {0};
    if (!open_for(&o, p, r) || !open_for(&again, p, r)) return;
    for (int s = 0; s < AB_SPLITS; s++) {
        int64_t n = o.t->count(o.self, (ab_split)s), m = again.t->count(again.self, (ab_split)s);
        if (n != m)
            check_fail(r, "%s: %lld examples, but %lld when opened again", split_names[s], (long long)n, (long long)m);
        for (int64_t i = n - 1; i >= 0 && r->outcome != CHECK_FAIL; i--) {
            ab_example a = {0}, b = {0};
            o.t->get(o.self, (ab_split)s, i, &a);
            again.t->get(again.self, (ab_split)s, i, &b);
            if (!same(a.src, b.src) || !same(a.tgt, b.tgt))
                check_fail(r, "%s example %lld differs when the task is opened again with the same seed",
                           split_names[s], (long long)i);
        }
    }
}

void check_repeatable(const plugin *p, check_result *r)
{
    open_twice(p, r);
    if (r->outcome == CHECK_OK && has_suffix(p->path, ".py")) check_elsewhere(p, "examples", r);
}

/* ---- scores ---- */

enum { METRICS = 16 };

static int score_lines(const opened *o, ab_split split, const char *const *line, int64_t n, ab_metric m[METRICS],
                       check_result *r)
{
    char message[512] = "";
    int found = o->t->score(o->self, split, line, n, m, METRICS, message, sizeof message);
    if (found < 1) check_fail(r, "score of %s: %s", split_names[split], found < 0 ? message : "no score was returned");
    return found;
}

static bool better_than(const ab_metric *a, const ab_metric *b)
{
    metric m = metric_declared(a);
    return metric_better(&m, a->value, b->value) > 0;
}

/* Checks that the per-sentence statistics add up to the figure. */
static void check_stats(const ab_metric *m, int64_t n, check_result *r)
{
    if (!m->n_stats) return;
    const aggregation *how = aggregation_of(m->sum);
    if (!how || (int64_t)how->width != m->n_stats || !m->stats) {
        check_fail(r, "%s: %lld statistics per sentence do not match its kind of sum", m->name, (long long)m->n_stats);
        return;
    }
    double sum[16] = {0};
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < m->n_stats; k++) sum[k] += m->stats[i * m->n_stats + k];
    double from_sum = how->score(sum, NULL);
    if (check_beyond(r, fabs(from_sum - m->value)))
        check_fail(r, "%s is %.9g, but the sum of its statistics over %lld sentences gives %.9g", m->name, m->value,
                   (long long)n, from_sum);
}

static void score_split(const opened *o, ab_split split, check_result *r)
{
    int64_t n = o->t->count(o->self, split);
    AUTOFREE const char **right = xcalloc((size_t)n + 1, sizeof *right),
                        **nonsense = xcalloc((size_t)n + 1, sizeof *nonsense);
    for (int64_t i = 0; i < n; i++) {
        ab_example x = {0};
        o->t->get(o->self, split, i, &x);
        right[i] = xstrdup(x.tgt);
        nonsense[i] = i % 2 ? "" : "zzzz qqqq zzzz";
    }
    ab_metric good[METRICS], bad[METRICS];
    memset(good, 0, sizeof good), memset(bad, 0, sizeof bad);
    int n_good = score_lines(o, split, right, n, good, r);
    for (int k = 0; k < n_good; k++) {
        check_stats(&good[k], n, r);
        if (!good[k].name[0]) check_fail(r, "score %d has no name", k);
        double best = good[k].better == AB_LOWER ? 0 : 100;
        if (!(fabs(good[k].value - best) <= 1e-9) && good[k].n_stats)
            check_fail(r, "%s: the references score %s %.6g, not the best value %g", split_names[split], good[k].name,
                       good[k].value, best);
    }
    int n_bad = score_lines(o, split, nonsense, n, bad, r);
    if (n_good > 0 && n_bad > 0 && !better_than(&good[0], &bad[0]))
        check_fail(r, "%s: nonsense scores %s %.6g, the references %.6g", split_names[split], good[0].name,
                   bad[0].value, good[0].value);
    for (int k = 0; k < n_bad; k++) check_stats(&bad[k], n, r);
    int64_t moved = 0, empty = 0;
    for (int64_t i = 0; i < n; i++) { /* each sentence is given the next sentence's reference */
        nonsense[i] = right[(i + 1) % n];
        moved += !same(right[i], nonsense[i]), empty += !*right[i];
    }
    if (moved && score_lines(o, split, nonsense, n, bad, r) > 0 && !better_than(&good[0], &bad[0]))
        check_fail(r,
                   "%s: outputs that are the references of other sentences score %s %.6g, the references themselves "
                   "%.6g: against which lines does it score?",
                   split_names[split], good[0].name, bad[0].value, good[0].value);
    for (int64_t i = 0; i < n; i++) nonsense[i] = "";
    if (!empty && score_lines(o, split, nonsense, n, bad, r) > 0 && bad[0].better == AB_HIGHER && bad[0].value != 0)
        check_fail(r, "%s: empty outputs score %s %.6g, expected 0", split_names[split], bad[0].name, bad[0].value);
    for (int64_t i = 0; i < n; i++) free((char *)right[i]);
}

/* Computes the figures of a made-up model: every token is right with probability 1, or wrong, with probability e^-4. */
static int score_guess(const opened *o, ab_split split, const pairs *p, bool right, ab_metric m[METRICS],
                       check_result *r)
{
    char message[512] = "";
    AUTOFREE ab_likelihood *x = xcalloc((size_t)p->n + 1, sizeof *x);
    for (int64_t i = 0; i < p->n; i++) {
        for (int64_t k = p->tgt_at[i]; k < p->tgt_at[i + 1]; k++) x[p->example[i]].tokens += p->tgt[k] >= 0;
        x[p->example[i]].right = right ? x[p->example[i]].tokens : 0;
        x[p->example[i]].log_likelihood = right ? 0 : -4.0 * (double)x[p->example[i]].tokens;
    }
    int n = o->t->score_likelihoods(o->self, split, x, p->n, m, METRICS, message, sizeof message);
    if (n < 1)
        check_fail(r, "score_likelihoods of %s: %s", split_names[split], n < 0 ? message : "no score was returned");
    for (int k = 0; k < n; k++) {
        check_stats(&m[k], p->n, r);
        if (!m[k].name[0]) check_fail(r, "score %d has no name", k);
    }
    return n;
}

static void score_likelihoods(const opened *o, check_result *r)
{
    CLEANUP(dataset_free) dataset d = {0};
    vocab *src, *tgt = NULL;
    err e = {0};
    enum { SUBWORDS = 1000 };
    if (dataset_vocabs(o->t, o->self, false, TOKENS_BPE, SUBWORDS, false, NULL, &src, &tgt, &e) ||
        dataset_build(&d, o->t, o->self, src, tgt, 0, &e))
        check_fail(r, "%s", e.text);
    for (ab_split s = AB_DEV; s <= AB_TEST && r->outcome != CHECK_FAIL; s++) {
        const pairs *p = &d.split[s];
        ab_metric good[METRICS], bad[METRICS];
        memset(good, 0, sizeof good), memset(bad, 0, sizeof bad);
        if (!p->n || score_guess(o, s, p, true, good, r) < 1 || score_guess(o, s, p, false, bad, r) < 1) continue;
        if (!better_than(&good[0], &bad[0]))
            check_fail(r, "%s: wrong guesses score %s %.6g, right ones %.6g", split_names[s], good[0].name,
                       bad[0].value, good[0].value);
    }
    vocab_free(tgt);
}

void check_score(const plugin *p, check_result *r)
{
    CLEANUP(task_close) opened o;
    if (!open_for(&o, p, r)) return;
    if (o.t->flags & AB_DECODER_ONLY) {
        score_likelihoods(&o, r);
    } else {
        score_split(&o, AB_DEV, r);
        score_split(&o, AB_TEST, r);
    }
}
