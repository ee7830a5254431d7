/* score.c - scores a trained model: perplexity, token accuracy, and the task's scores of outputs or likelihoods. */
#include "lab/run/worker.h"
#include "lab/launch/event.h"
#include "text/metric/documents.h"
#include <math.h>
#include <string.h>

bool worker_decoder_only(const worker_run *r) { return r->task->flags & AB_DECODER_ONLY; }

bool worker_decodes(const worker_run *r, ab_split split)
{
    if (worker_decoder_only(r)) return false;
    int64_t which = r->cfg.decode_split;
    return split == AB_DEV ? which == DECODE_DEV || which == DECODE_BOTH : worker_scores(r, split);
}

bool worker_scores(const worker_run *r, ab_split split)
{
    int64_t which = r->cfg.decode_split;
    return split == AB_DEV || (split == AB_TEST && (which == DECODE_TEST || which == DECODE_BOTH));
}

/* Returns the folder of a task's data. A name with '/' may be relative to the current folder. */
static char *folder_of(const worker_run *r, const char *data)
{
    if (strchr(data, '/') && is_folder(data)) return xstrdup(data);
    return path_join(r->job.data_dir, data);
}

/* Returns a split's examples per document ("10 12 8"), as the task or documents.tsv beside its data has them; or "". */
static str documents_of(const worker_run *r, ab_split split, int64_t n)
{
    AUTOFREE char *key = xprintf("%s.data", r->task_plugin->desc.name);
    const char *data = settings_get(&r->set, key);
    AUTOFREE char *folder = folder_of(r, data ? data : ""), *path = path_join(folder, "documents.tsv");
    str counts = {0};
    err e = {0};
    const pairs *p = &r->data.split[split];
    for (int64_t d = 0; d < p->n_documents; d++) str_addf(&counts, "%s%lld", d ? " " : "", (long long)p->documents[d]);
    if (!p->n_documents && data && is_folder(folder) && file_exists(path))
        documents_read(path, split_names[split], n, &counts, &e);
    if (e.text[0]) {
        log_line(LOG_WARN, "%s; sentences count as independent", e.text);
        str_clear(&counts);
    }
    return counts;
}

static void report_documents(const char *metric, const str *counts)
{
    if (!counts->n) return;
    AUTOFREE char *tag = xprintf("documents %s", metric);
    event_fact(tag, str_text(counts));
}

/* Sends the sizes of documents for a metric of the split's pairs, if the pairs have the examples' order. */
static void report_documents_of_pairs(const worker_run *r, ab_split split, const char *metric)
{
    const pairs *p = &r->data.split[split];
    for (int64_t i = 0; i < p->n; i++)
        if (p->example[i] != i) return;
    CLEANUP(str_free) str documents = documents_of(r, split, p->n);
    report_documents(metric, &documents);
}

static const ab_split scored[] = {AB_DEV, AB_TEST};

/* Sends a metric that every run has. Its signature names the split; for test, its name does, too. */
static void report_metric(const worker_run *r, ab_split split, const metric *m, const char *how, double value,
                          const double *stats)
{
    AUTOFREE char *name = xprintf("%s%s", m->name, split == AB_TEST ? METRIC_OF_TEST : "");
    AUTOFREE char *signature = xprintf("%s, EOS counted, %s", how, split_names[split]);
    metric of = *m;
    of.name = name;
    report_documents_of_pairs(r, split, name);
    event_result(&of, signature, value, r->trained.how_step, r->trained.how, (size_t)r->data.split[split].n, stats);
}

int score_perplexity(worker_run *r, err *e)
{
    for (size_t k = 0; k < LENGTH(scored); k++) {
        ab_split split = scored[k];
        const pairs *p = &r->data.split[split];
        err why = {0};
        if (!worker_scores(r, split) || (split == AB_TEST && !p->n)) continue;
        r->nll[split] = xcalloc((size_t)p->n * 2 + 2, sizeof *r->nll[split]);
        r->hits[split] = xcalloc((size_t)p->n * 2 + 2, sizeof *r->hits[split]);
        double ppl = p->n ? train_score(&r->model, p, r->nll[split], r->hits[split], &why) : NAN;
        if (why.text[0]) return fail(e, "%s", why.text);
        report_metric(r, split, &metric_perplexity, "exp(nll/token)", ppl, r->nll[split]);
    }
    return 0;
}

void score_token_accuracy(const worker_run *r)
{
    for (size_t k = 0; k < LENGTH(scored); k++) {
        const double *hits = r->hits[scored[k]];
        double right = 0, tokens = 0;
        for (int64_t i = 0; hits && i < r->data.split[scored[k]].n; i++)
            right += hits[2 * i], tokens += hits[2 * i + 1];
        if (tokens > 0)
            report_metric(r, scored[k], &metric_token_accuracy,
                          "% of target tokens that are the likeliest after the true ones before", 100 * right / tokens,
                          hits);
    }
}

typedef struct { /* sums over the splits that are decoded */
    beam_stats stats;
    task_routes routes;
} decoding;

/* Decodes a split: the best outputs as lines, in the order of its examples; [p->n], the caller frees each. */
static int decode_split(worker_run *r, ab_split split, char **lines, decoding *sums, err *e)
{
    const pairs *p = &r->data.split[split];
    beam_options o = beam_options_of(&r->cfg);
    AUTOFREE const char **src = xcalloc((size_t)p->n + 1, sizeof *src);
    AUTOFREE char **out = xcalloc((size_t)p->n + 1, sizeof *out);
    beam_stats stats = {0};
    task_routes routes = {0};
    for (int64_t i = 0; i < p->n; i++) {
        ab_example x;
        r->task->get(r->task_self, split, p->example[i], &x);
        src[i] = x.src;
    }
    int bad = task_decode(&r->model, &r->rules, p, src, &o, out, &stats, &routes, e);
    for (int64_t i = 0; i < p->n && !bad; i++) lines[p->example[i]] = out[i];
    beam_stats_add(&sums->stats, &stats);
    sums->routes.first += routes.first;
    sums->routes.in_beam += routes.in_beam;
    sums->routes.again += routes.again;
    sums->routes.refused += routes.refused;
    return bad;
}

static void report_decoding(const worker_run *r, const decoding *d)
{
    event_fact_number("decode_seconds", d->stats.seconds);
    if (!r->lent) event_fact_number("decode_tokens_second", (double)d->stats.tokens / d->stats.seconds);
    if (!r->task->accepts) return;
    event_fact_number("outputs_first", (double)d->routes.first);
    event_fact_number("outputs_in_beam", (double)d->routes.in_beam);
    event_fact_number("outputs_again", (double)d->routes.again);
    event_fact_number("outputs_refused", (double)d->routes.refused);
}

static int write_file(const worker_run *r, ab_split split, const char *ending, const char *kind, const str *text,
                      err *e)
{
    AUTOFREE char *name = xprintf("%s.%s", split_names[split], ending), *path = path_join(r->job.folder, name);
    int bad = file_write(path, str_text(text), text->n, e);
    if (!bad) event_artifact(kind, path);
    return bad;
}

/* Writes SPLIT.hyp and SPLIT.ref as scorers read them, and SPLIT.out, the decoded lines, if the outputs differ. */
static int keep_outputs(const worker_run *r, ab_split split, char **lines, int64_t n, err *e)
{
    CLEANUP(str_free) str out = {0}, hyp = {0}, ref = {0};
    const ab_task_plugin *t = r->task;
    for (int64_t i = 0; i < n; i++) {
        ab_example x;
        t->get(r->task_self, split, i, &x);
        if (t->reference_line) str_addf(&out, "%s\n", lines[i]);
        str_addf(&hyp, "%s\n", t->reference_line ? t->reference_line(r->task_self, split, i, lines[i]) : lines[i]);
        str_addf(&ref, "%s\n", t->reference_line ? t->reference_line(r->task_self, split, i, NULL) : x.tgt);
    }
    int bad = write_file(r, split, "hyp", "hypotheses", &hyp, e) ||
              write_file(r, split, "ref", "references", &ref, e) ||
              (t->reference_line && write_file(r, split, "out", "decoded", &out, e));
    return bad ? -1 : 0;
}

/* Sends metrics that a task filled in. If two splits are scored, each name includes its split: BLEU_dev. If dev alone
 * is scored, the signature ends in the split. */
static int send_metrics(const worker_run *r, ab_split split, const ab_metric *m, int found, int64_t n,
                        const char *message, err *e)
{
    bool both = r->cfg.decode_split == DECODE_BOTH;
    int bad = 0;
    if (found < 0) return fail(e, "task '%s': %s", r->task_plugin->desc.name, message);
    CLEANUP(str_free) str documents = documents_of(r, split, n);
    for (int i = 0; i < found && !bad; i++) {
        AUTOFREE char *name = xprintf("%s%s%s", m[i].name, both ? "_" : "", both ? split_names[split] : "");
        bool marked = both || split != AB_DEV || metric_split(name, m[i].signature, NULL);
        AUTOFREE char *signature = xprintf("%s%s", m[i].signature, marked ? "" : "; dev");
        metric facts = metric_declared(&m[i]);
        size_t width = facts.sum ? facts.sum->width : 0;
        facts.name = name;
        bad = (size_t)m[i].n_stats == width ? 0
                                            : fail(e, "task '%s': %s has %lld statistics per sentence, expected %zu",
                                                   r->task_plugin->desc.name, name, (long long)m[i].n_stats, width);
        if (!bad && m[i].n_stats) report_documents(name, &documents);
        if (!bad)
            event_result(&facts, signature, m[i].value, r->trained.how_step, r->trained.how, (size_t)n, m[i].stats);
    }
    return bad;
}

enum { MOST_METRICS = 16 };

static int score_lines(worker_run *r, ab_split split, char **lines, int64_t n, err *e)
{
    ab_metric m[MOST_METRICS];
    char message[1024] = "";
    int found =
        r->task->score(r->task_self, split, (const char *const *)lines, n, m, MOST_METRICS, message, sizeof message);
    return send_metrics(r, split, m, found, n, message, e);
}

/* Computes metrics of a task that scores likelihoods, from the likelihoods that score_perplexity kept. */
static int score_from(worker_run *r, ab_split split, err *e)
{
    const pairs *p = &r->data.split[split];
    const double *nll = r->nll[split], *hits = r->hits[split];
    ab_metric m[MOST_METRICS];
    char message[1024] = "";
    AUTOFREE ab_likelihood *x = xcalloc((size_t)p->n + 1, sizeof *x);
    for (int64_t i = 0; i < p->n; i++)
        x[p->example[i]] = (ab_likelihood){-nll[2 * i], (int64_t)nll[2 * i + 1], (int64_t)hits[2 * i]};
    int found = r->task->score_likelihoods(r->task_self, split, x, p->n, m, MOST_METRICS, message, sizeof message);
    return send_metrics(r, split, m, found, p->n, message, e);
}

int score_likelihoods(worker_run *r, err *e)
{
    bool on_test = r->nll[AB_TEST], on_dev = r->cfg.decode_split != DECODE_TEST || !on_test;
    if (r->cfg.decode_split == DECODE_NONE) return 0;
    if (on_test && score_from(r, AB_TEST, e)) return -1;
    return on_dev && r->data.split[AB_DEV].n ? score_from(r, AB_DEV, e) : 0;
}

int score_decoded(worker_run *r, err *e)
{
    static const ab_split order[] = {AB_TEST, AB_DEV}; /* a table's first metric is its headline, so test comes first */
    decoding sums = {0};
    int bad = 0;
    for (size_t k = 0; k < LENGTH(order) && !bad; k++) {
        int64_t n = r->data.split[order[k]].n;
        if (!n || !worker_decodes(r, order[k])) continue;
        char **lines = xcalloc((size_t)n, sizeof *lines);
        bad = decode_split(r, order[k], lines, &sums, e) || keep_outputs(r, order[k], lines, n, e) ||
              score_lines(r, order[k], lines, n, e);
        free_texts(lines, (size_t)n);
    }
    if (!bad && sums.stats.seconds > 0) report_decoding(r, &sums);
    return bad ? -1 : 0;
}
