/* estimate_child.h - the parts of the estimating process: the data (estimate_data.c), the times (estimate_time.c), the
 * lines (estimate_row.c), what a run does (estimate_run.c). */
#ifndef ABLATE_ESTIMATE_CHILD_H
#define ABLATE_ESTIMATE_CHILD_H
#include "lab/sweep/estimate.h"
#include "network/model/costs.h"

typedef struct { /* a split: tokens of all its lines, ends counted, and of the longest of a side */
    double lines, src, tgt, longest_src, longest_tgt;
} split_size;

typedef struct { /* rows with the same data and vocabularies */
    char *key;
    int64_t src, tgt; /* sizes of the vocabularies; src 0: decoder-only */
    int64_t length;   /* of a sentence that costs are counted with [tokens] */
    bool windows;     /* of a text: every sentence has that length */
    split_size split[AB_SPLITS];
    double seconds; /* to read the data once */
    bool subwords;  /* on a side */
    bool published; /* the data are missing; these are their published sizes */
} group;

/* The group of each row to run; n groups in `groups`, which the caller frees with groups_free. -1 and a message if data
 * cannot be opened and their sizes are not known either; `missing`: why data of known size cannot be opened. */
int groups_open(const spec *s, const places *p, group **groups, size_t *n, size_t *of, err *missing, err *e);
void groups_free(group *groups, size_t n);

typedef struct {    /* seconds, on a machine without other processes */
    double step;    /* one update */
    double forward; /* of one target token with its share of the source, in evaluation */
    double token;   /* of one token of one hypothesis, in decoding */
    double busy;    /* seconds on the clock per second of the processor: above 1 beside other processes */
} row_speed;

static const double PROGRAM = 150e6;      /* bytes of a process besides values and parameters */
static const double MOST_TO_TIME = 1.9e9; /* bytes that planning may count on: it takes some more */
/* Bytes that time_row takes on the CPU; 0 on a device. NaN and e on failure. full: count_update's. */
double timing_memory(const spec_row *row, const group *g, const backend *on, dtype compute, const model_costs *full,
                     err *e);
/* Times a few updates with lengths like the data's, on the CPU in processor time; `patience`: seconds to spend, `most`:
 * updates. NaN and e on failure. */
row_speed time_row(const spec_row *row, const group *g, const backend *on, dtype compute, const model_costs *full,
                   double patience, double most, err *e);
/* Tokens of both sides of one update with the data's lengths. */
double tokens_of_update(const group *g, double batch_tokens);
/* Costs of one batch with the data's lengths, and FLOPs of an update of accumulated ones. */
int count_update(const spec_row *row, const group *g, const backend *on, dtype compute, model_costs *out, err *e);
double update_flops(const spec_row *row, const model_costs *update);

typedef struct {               /* what a run does */
    double updates;            /* at most: patience may end it earlier */
    double evaluations, saves; /* passes over dev; checkpoints */
    double evaluated, decoded; /* target tokens that are scored, that are decoded */
} run_counts;
/* steps: asked for; step_seconds: of one, for max_time. trial: of a search, which decodes nothing. (estimate_run.c) */
run_counts count_run(const config *c, const group *g, double steps, double step_seconds, bool trial);

typedef struct { /* the sweep's data */
    group *groups;
    size_t n, *of; /* of [rows]: the group of each */
    bool open;
    err missing;  /* why data are missing, or "" */
    double began; /* ticks() */
} estimate_data;
/* Opens them, and prints what is missing. (estimate_row.c) */
void estimate_open(estimate_data *d, const spec *s, const places *p);
void estimate_close(estimate_data *d);

/* Prints the estimates as lines for estimate_sweep; patient: may take some seconds to time steps. limit: seconds for
 * the updates that time one row; 0: none. left, searches [rows]: what is to do. */
void estimate_print(const estimate_data *d, const spec *s, const char *device, int64_t threads, bool patient,
                    double limit, const size_t *left, const search_left *searches);

int64_t row_number(const spec_row *row, const char *key); /* 0 without that setting */
#endif
