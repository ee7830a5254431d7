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
    const char *metric; /* "": the table's metric */
    double margin, level;
    size_t seeds;          /* number of seeds that the row and base each need for a verdict */
    double failed_as;      /* score that failed and diverged runs get; NaN: no score */
    bool given, one_sided; /* one_sided: the INI sets not_worse_by, not margin */
} comparison_criterion;

typedef struct {
    comparison_criterion criterion;
    struct {
        const char *metric;
        double effect;
        int64_t most, base;        /* most 0: no `until`; base: base's seeds at each look, 0: as many as other rows */
    } until;                       /* seeds = until EFFECT METRIC, at most N */
    const char *match, *match_key; /* "params", "flops" or "time", and the key to solve for; "": none */
    two_level_design *designs;
    size_t n_designs;
    text_list *sizes; /* [scale]: each has a row's name, then the names of that row at each size */
    size_t n_sizes;
    text_list *conditions; /* each has names of rows; the first is the base of the others */
    size_t n_conditions;
    const char *imported; /* names of files imported from another program; NULL: nothing was imported */
    text_list warnings;   /* warnings about the imported files */
} analysis;

/* Returns the analysis as JSON, in the arena; NULL if the analysis is empty. */
const char *analysis_write(const analysis *x, arena *a);
/* Reads analysis_write's JSON (NULL: no analysis). Missing or mistyped items, as a stranger may write, get defaults. */
analysis analysis_read(const char *json, arena *a);
#endif
