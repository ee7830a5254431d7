/* metric.h - a metric: its better direction, the scale on which values are compared, how sentences add up, how many
 * decimals are shown. A task declares it with each score (ab_metric); the database stores it with results. */
#ifndef ABLATE_METRIC_METRIC_H
#define ABLATE_METRIC_METRIC_H
#include "text/metric/stats.h"

/* How a metric adds up per-sentence statistics, on which tests over sentences and designs depend. */
typedef struct {
    const char *name;  /* the aggregation's name in the database */
    size_t width;      /* numbers per sentence */
    stats_score score; /* computes the score from summed statistics */
    double (*influence)(const double *rows, size_t m, const void *options, double *z); /* influence.h */
    bool log_scale; /* values are compared as logarithms; differences are shown as changes in percent */
} aggregation;

const aggregation *aggregation_of(ab_sum kind); /* NULL: unknown */
/* Finds an aggregation by its name in the database; in older results by metric (PPL) or width. NULL: unknown. */
const aggregation *aggregation_recorded(const char *name, const char *metric, size_t width);

typedef struct {
    const char *name;       /* "BLEU" */
    const char *unit;       /* "%"; "": no unit; NULL: not recorded */
    int direction;          /* 1: higher values are better; -1: lower ones; 0: neither */
    const aggregation *sum; /* NULL: unknown, or no statistics */
} metric;

/* The metrics of every run: perplexity, and token accuracy (the share of tokens ranked first). Their names mean dev;
 * with METRIC_OF_TEST appended, test. */
extern const metric metric_perplexity, metric_token_accuracy;
#define METRIC_OF_TEST "_test"
bool metric_of_every_run(const char *name);
/* Finds which split a metric was measured on, from the end of its name (BLEU_test, BLEU_dev) or signature ("..., dev"):
 * "dev" or "test"; NULL: neither names it. *plain (may be NULL): length of the name without the split. */
const char *metric_split(const char *name, const char *signature, size_t *plain);
/* Finds NAME_test, else NAME. For NAME_dev, also finds a NAME measured on dev. Returns the index; n: not found. */
size_t metric_named(const char *const *names, size_t n, const char *name);

/* 1: a is better than b; -1: worse; 0: equal, or the metric has no direction. For a difference d, metric_better(m, d,
 * 0) tells whether d is an improvement. */
int metric_better(const metric *m, double a, double b);
bool metric_in_percent(const metric *m); /* differences are changes in percent (aggregation.log_scale) */
/* Decimals to show for a value of this size. */
int metric_decimals(const metric *m, double value);
/* Returns "max" or "min", as in the database; NULL: neither. */
const char *metric_direction_text(const metric *m);
int metric_direction(const char *text);
/* The metric that a task declares, with its aggregation. */
metric metric_declared(const ab_metric *m);
#endif
