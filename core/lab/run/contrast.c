/* contrast.c - contrastive pairs (key `contrast`): measures how often a trained model finds the right target likelier
 * than the wrong one, in all pairs and in each group. */
#include "lab/run/worker.h"
#include "lab/launch/event.h"
#include <stdlib.h>
#include <string.h>

static char *path_of(const worker_run *r)
{
    char *path = *r->cfg.contrast == '/' ? xstrdup(r->cfg.contrast) : path_join(r->job.data_dir, r->cfg.contrast);
    if (file_exists(path)) return path;
    free(path);
    return xstrdup(r->cfg.contrast);
}

/* Warns of pairs whose targets have equal tokens, because the vocabulary lacks words: the model has no choice. */
static void warn_of_equal(const worker_run *r, const char *path)
{
    const pairs *p = &r->contrast_right, *q = &r->contrast_wrong;
    int64_t equal = 0;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t n = p->tgt_at[i + 1] - p->tgt_at[i];
        equal += q->tgt_at[i + 1] - q->tgt_at[i] == n &&
                 !memcmp(p->tgt + p->tgt_at[i], q->tgt + q->tgt_at[i], (size_t)n * sizeof *p->tgt);
    }
    if (!equal) return;
    char message[192];
    snprintf(message, sizeof message,
             "%.80s: in %lld of %lld pairs both targets have equal tokens; such pairs count as wrong", path,
             (long long)equal, (long long)p->n);
    log_line(LOG_WARN, "contrast: %s", message);
    event_fact("contrast", message);
}

int contrast_open(worker_run *r, err *e)
{
    if (!*r->cfg.contrast) return 0;
    AUTOFREE char *path = path_of(r);
    contrasts *x = &r->contrasts;
    int bad = worker_decoder_only(r)
                  ? fail(e, "task '%s' has no source, which contrastive pairs begin with", r->task_plugin->desc.name)
                  : contrasts_read(path, x, e);
    if (!bad && (pairs_encode(&r->contrast_right, x->source, x->right, x->n, r->src, r->tgt, e) ||
                 pairs_encode(&r->contrast_wrong, x->source, x->wrong, x->n, r->src, r->tgt, e)))
        bad = fail_in(e, "%s: ", path);
    if (!bad) warn_of_equal(r, path);
    return bad ? fail_in(e, "contrast: ") : 0;
}

int64_t contrast_longest(const worker_run *r)
{
    const pairs *p = &r->contrast_right, *q = &r->contrast_wrong;
    int64_t target = p->tgt_longest > q->tgt_longest ? p->tgt_longest : q->tgt_longest;
    return p->src_longest > target ? p->src_longest : target;
}

void contrast_close(worker_run *r)
{
    pairs_free(&r->contrast_right);
    pairs_free(&r->contrast_wrong);
    contrasts_free(&r->contrasts);
}

/* Reports the share of pairs of a group (-1: all) whose right target is likelier. rows [n][2]: 1 if it is likelier,
 * else 0; then 1, which counts the pair. */
static void report_share(const worker_run *r, const double *rows, int64_t group)
{
    const contrasts *x = &r->contrasts;
    AUTOFREE double *own = xcalloc((size_t)x->n * 2, sizeof *own);
    double right = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < x->n; i++)
        if (group < 0 || x->group[i] == group) {
            memcpy(own + 2 * n++, rows + 2 * i, 2 * sizeof *own);
            right += rows[2 * i];
        }
    AUTOFREE char *name = group < 0 ? xstrdup("contrast") : xprintf("contrast_%s", x->name[group]);
    AUTOFREE char *signature = xprintf("right target likelier than the wrong one|pairs:%lld", (long long)n);
    metric m = {.name = name, .unit = "%", .direction = 1, .sum = aggregation_of(AB_SUM_RATIO)};
    event_result(&m, signature, 100 * right / (double)n, r->trained.how_step, r->trained.how, (size_t)n, own);
}

int contrast_score(worker_run *r, err *e)
{
    int64_t n = r->contrasts.n;
    err why = {0};
    if (!n) return 0;
    AUTOFREE double *right = xcalloc((size_t)n * 4, sizeof *right);
    double *wrong = right + 2 * n;
    train_score(&r->model, &r->contrast_right, right, NULL, &why);
    if (!why.text[0]) train_score(&r->model, &r->contrast_wrong, wrong, NULL, &why);
    for (int64_t i = 0; i < n; i++) right[2 * i] = right[2 * i] < wrong[2 * i], right[2 * i + 1] = 1;
    for (int64_t g = -1; g < r->contrasts.n_groups && !why.text[0]; g++) report_share(r, right, g);
    return why.text[0] ? fail(e, "contrast: %s", why.text) : 0;
}
