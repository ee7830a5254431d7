/* metric.c - the kinds of metrics, each a row of a table. */
#include "text/metric/metric.h"
#include "base/cleanup.h"
#include "text/metric/bleu.h"
#include "text/metric/influence.h"
#include <math.h>
#include <string.h>
#include <strings.h>

/* ab_sum (ab_task.h) describes each kind's statistics. */
static const aggregation aggregations[] = {
    [AB_SUM_RATIO] = {"ratio", 2, stats_ratio, influence_ratio, false},
    [AB_SUM_BLEU] = {"BLEU", BLEU_STATS, stats_bleu, influence_bleu, false},
    [AB_SUM_F1] = {"F1", 3, stats_f1, influence_f1, false},
    [AB_SUM_PERPLEXITY] = {"perplexity", 2, stats_perplexity, influence_log_ratio, true},
};

const metric metric_perplexity = {"PPL", "", -1, &aggregations[AB_SUM_PERPLEXITY]};
const metric metric_token_accuracy = {"token_accuracy", "%", 1, &aggregations[AB_SUM_RATIO]};

const aggregation *aggregation_of(ab_sum kind)
{
    return (size_t)kind < LENGTH(aggregations) ? &aggregations[kind] : NULL;
}

const aggregation *aggregation_recorded(const char *name, const char *metric, size_t width)
{
    if (!name && !strcasecmp(metric, metric_perplexity.name)) return metric_perplexity.sum;
    for (size_t i = 0; i < LENGTH(aggregations); i++)
        if (name ? same(aggregations[i].name, name) : aggregations[i].width == width) return &aggregations[i];
    return NULL;
}

bool metric_of_every_run(const char *name)
{
    const metric *every[] = {&metric_perplexity, &metric_token_accuracy};
    size_t plain;
    metric_split(name, NULL, &plain);
    for (size_t i = 0; i < LENGTH(every); i++)
        if (strlen(every[i]->name) == plain && !strncmp(every[i]->name, name, plain)) return true;
    return false;
}

const char *metric_split(const char *name, const char *signature, size_t *plain)
{
    static const char *const parts[] = {"dev", "test"};
    size_t n = strlen(name);
    const char *found = NULL;
    for (size_t i = 0; i < LENGTH(parts); i++) {
        size_t end = strlen(parts[i]);
        if (n > end + 1 && has_suffix(name, parts[i]) && name[n - end - 1] == '_') {
            if (plain) *plain = n - end - 1;
            return parts[i];
        }
        if (signature && has_suffix(signature, parts[i]) && strlen(signature) > end + 2) {
            const char *before = signature + strlen(signature) - end - 2;
            if (has_prefix(before, ", ") || has_prefix(before, "; ")) found = parts[i];
        }
    }
    if (plain) *plain = n;
    return found;
}

size_t metric_named(const char *const *names, size_t n, const char *name)
{
    size_t plain, found = n;
    const char *split = metric_split(name, NULL, &plain);
    AUTOFREE char *of_test = xprintf("%s" METRIC_OF_TEST, name), *of_dev = xstrndup(name, plain);
    const char *tried[] = {split ? name : of_test, split && same(split, "dev") ? of_dev : name};
    for (size_t k = 0; k < 2 * LENGTH(tried) && found == n; k++) /* in this case first, then in any */
        for (found = 0; found < n && (k % 2 ? strcasecmp : strcmp)(names[found], tried[k / 2]);) found++;
    return found;
}

int metric_better(const metric *m, double a, double b) { return a > b ? m->direction : a < b ? -m->direction : 0; }

bool metric_in_percent(const metric *m) { return m->sum && m->sum->log_scale; }

int metric_decimals(const metric *m, double value)
{
    if (metric_in_percent(m)) return 2;
    if ((same(m->unit, "%") || m->direction > 0) && fabs(value) > 1.5) return 1; /* as papers print BLEU and F1 */
    if (!(fabs(value) > 0)) return 2;
    int digits = 3 - (int)floor(log10(fabs(value))); /* four significant digits */
    return digits < 0 ? 0 : digits > 9 ? 9 : digits;
}

const char *metric_direction_text(const metric *m)
{
    return m->direction > 0 ? "max" : m->direction < 0 ? "min" : NULL;
}

int metric_direction(const char *text) { return same(text, "max") ? 1 : same(text, "min") ? -1 : 0; }

metric metric_declared(const ab_metric *m)
{
    return (metric){m->name, m->unit, m->better == AB_LOWER ? -1 : 1, m->n_stats ? aggregation_of(m->sum) : NULL};
}
