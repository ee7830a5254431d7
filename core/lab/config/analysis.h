/* analysis.h - how an experiment is set up and judged. The INI reader or an import fills it in, the database stores it
 * as JSON (docs/json.md), and tables read it. Texts and arrays are borrowed, or live in the reader's arena. */
#ifndef ABLATE_ANALYSIS_H
#define ABLATE_ANALYSIS_H
#include "base/base.h"

typedef struct {
    const char *name;
    text_list keys, low, high; /* coupled keys, and the value of each at both levels */
} design_factor;

typedef struct { /* a two-level design: the rows of one sweep */
    const char *group;
    size_t resolution; /* 0: all combinations, else a fraction */
    design_factor *factors;
    size_t n;
} two_level_design;

typedef struct {        /* [criterion]. margin: in the unit of differences, 0: none */
    const char *metric; /* "": the table's */
    double margin, level;
    size_t seeds;          /* minimum for a verdict, of the row and of base */
    double failed_as;      /* value that failed and diverged runs get; NaN: none */
    bool given, one_sided; /* one_sided: the INI sets not_worse_by, not margin */
} comparison_criterion;

typedef struct {
    comparison_criterion criterion;
    struct {
        const char *metric;
        double effect;
        int64_t most, base;        /* most 0: seeds are a list; base: seeds of base per look, 0: like other rows */
    } until;                       /* seeds = until EFFECT METRIC, at most N */
    const char *match, *match_key; /* "params", "flops" or "time", and the key to solve for; "": none */
    two_level_design *designs;
    size_t n_designs;
    text_list *sizes; /* [scale]: each has a row's name, then the names of that row at each size */
    size_t n_sizes;
    text_list *conditions; /* each has names of rows; the first is the base of the others */
    size_t n_conditions;
    const char *imported; /* files of another program that were imported; NULL: none */
    text_list warnings;   /* about those files */
} analysis;

/* Returns the analysis as JSON, in the arena; NULL if there is nothing in it. */
const char *analysis_write(const analysis *x, arena *a);
/* Reads that JSON (NULL: none). Missing or mistyped items, which a stranger's record may have, get the defaults. */
analysis analysis_read(const char *json, arena *a);
#endif
