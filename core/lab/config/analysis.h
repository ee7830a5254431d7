/* analysis.h - how an experiment is set up and judged: what the INI reader or an import fills, the database keeps as
 * JSON (docs/json.md), and tables read back. Texts and arrays are borrowed, or live in the reader's arena. */
#ifndef ABLATE_ANALYSIS_H
#define ABLATE_ANALYSIS_H
#include "base/base.h"

typedef struct {
    const char *name;
    text_list keys, low, high; /* coupled keys, and the value of each at both levels */
} design_factor;

typedef struct { /* a two-level design: the rows of one sweep */
    const char *group;
    size_t resolution; /* 0: all combinations */
    design_factor *factors;
    size_t n;
} two_level_design;

typedef struct {        /* [criterion]. margin: in the unit of differences, 0: none */
    const char *metric; /* "": the table's */
    double margin, level;
    size_t seeds;          /* minimum on each side */
    double failed_as;      /* value that failed and diverged runs get; NaN: none */
    bool given, one_sided; /* one_sided: the margin is not_worse_by's, else equivalence's */
} comparison_criterion;

typedef struct {
    comparison_criterion criterion;
    struct {
        const char *metric;
        double effect;
        int64_t most, base;        /* most 0: seeds are a list; base: its seeds at each look, 0: as many as the rows */
    } until;                       /* seeds = until EFFECT METRIC, at most N */
    const char *match, *match_key; /* "params", "flops" or "time", and the key to solve for; "": none */
    two_level_design *designs;
    size_t n_designs;
    text_list *sizes; /* [scale]: a row's name, then its rows by size */
    size_t n_sizes;
    text_list *conditions; /* names of rows; the others are compared with the first */
    size_t n_conditions;
    const char *imported; /* files of another program; NULL: none */
    text_list warnings;   /* about those files */
} analysis;

/* Returns the analysis as JSON, in the arena; NULL if there is nothing in it. */
const char *analysis_write(const analysis *x, arena *a);
/* Reads that JSON (NULL: none). Missing or mistyped items, which a stranger's record may have, get the defaults. */
analysis analysis_read(const char *json, arena *a);
#endif
