/* estimate_child.h - the parts of the estimating process: data (estimate_data.c), times (estimate_time.c), lines
 * (estimate_row.c), a run's work (estimate_run.c). */
#ifndef ABLATE_ESTIMATE_CHILD_H
#define ABLATE_ESTIMATE_CHILD_H
#include "lab/sweep/estimate.h"
#include "network/model/costs.h"

typedef struct { /* a split: tokens of all its lines, ends included, and of each side's longest line */
    double lines, src, tgt, longest_src, longest_tgt;
} split_size;

typedef struct { /* rows with the same data and vocabularies */
    char *key;
    int64_t src, tgt; /* sizes of the vocabularies; src 0: decoder-only */
    int64_t length;   /* tokens of the sentence whose costs are counted */
    bool windows;     /* the examples are windows of a text, all of `length` */
    split_size split[AB_SPLITS];
    double seconds; /* to read the data once */
    bool subwords;  /* at least one side has subwords */
    bool published; /* the data are missing; these are their published sizes */
} group;

/* Finds the group of each row to run; n groups in `groups`, which the caller frees with groups_free. -1 and a message
 * if data of unknown size cannot be opened; `missing`: why data of known size cannot be opened. */
int groups_open(const spec *s, const places *p, group **groups, size_t *n, size_t *of, err *missing, err *e);
void groups_free(group *groups, size_t n);

typedef struct {    /* seconds, on a machine without other processes */
    double step;    /* one update */
    double forward; /* one target token with its share of the source, in evaluation */
    double token;   /* one token of one hypothesis, in decoding */
    double busy;    /* seconds on the clock per second of the processor: above 1 beside other processes */
} row_speed;

static const double PROGRAM = 150e6;      /* bytes of a process beside values and parameters */
static const double MOST_TO_TIME = 1.9e9; /* a row with more estimated bytes is not timed; timing takes some more */
/* Bytes that time_row takes on the CPU; 0 on a device. NaN and e on failure. full: from count_update. */
double timing_memory(const spec_row *row, const group *g, const backend *on, dtype compute, const model_costs *full,
                     err *e);
/* Times at most `most` updates with the data's lengths for `patience` s (CPU: processor time); NaN and e: failed. */
row_speed time_row(const spec_row *row, const group *g, const backend *on, dtype compute, const model_costs *full,
                   double patience, double most, err *e);
/* Tokens of both sides of one update with the data's lengths. */
double tokens_of_update(const group *g, double batch_tokens);
/* Counts the costs of one batch of this shape. */
int count_shape(const spec_row *row, const group *g, const backend *on, dtype compute, const model_shape *shape,
                model_costs *out, err *e);
/* Counts one batch with the data's lengths; update_flops: of an update, which may accumulate several batches. */
int count_update(const spec_row *row, const group *g, const backend *on, dtype compute, model_costs *out, err *e);
double update_flops(const spec_row *row, const model_costs *update);

typedef struct {               /* a run's work */
    double updates;            /* upper limit: patience may end the run earlier */
    double evaluations, saves; /* number of passes over dev, and of checkpoints */
    double evaluated, decoded; /* target tokens scored, and decoded */
} run_counts;
/* steps: requested; step_seconds: of one step, for max_time; trial: of a search, decodes nothing. (estimate_run.c) */
run_counts count_run(const config *c, const group *g, double steps, double step_seconds, bool trial);

typedef struct { /* the sweep's data */
    group *groups;
    size_t n, *of; /* n: number of groups; of [rows]: each row's group */
    bool open;
    err missing;  /* why data are missing, or "" */
    double began; /* ticks() at the start */
} estimate_data;
/* Opens the data, and prints which are missing. (estimate_row.c) */
void estimate_open(estimate_data *d, const spec *s, const places *p);
void estimate_close(estimate_data *d);

/* Prints the estimates as lines for estimate_sweep. patient: may time steps for some seconds. limit: seconds for the
 * updates that time one row; 0: none. left, searches [rows]: runs and trials left to train. */
void estimate_print(const estimate_data *d, const spec *s, const char *device, int64_t threads, bool patient,
                    double limit, const size_t *left, const search_left *searches);

int64_t row_number(const spec_row *row, const char *key); /* 0 without that setting */
#endif
