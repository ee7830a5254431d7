/* factors.h - the keys in which rows differ from base; pairs of keys that form a grid. */
#ifndef ABLATE_REPORT_FACTORS_H
#define ABLATE_REPORT_FACTORS_H
#include "lab/report/gather.h"

typedef struct {
    const char *name;
    const char **levels; /* distinct values, numbers in ascending order, words in order of appearance */
    size_t n_levels;
    bool numbers; /* all levels are numbers */
} factor;

typedef struct {
    size_t n_factors;
    factor *factors; /* the keys that any row changes, in order of appearance */
    size_t *level;   /* level[row * n_factors + factor]; NO_ROW: the row does not have the key */
} factor_table;

/* From the rows' changes and configurations. Lives in the arena. */
void factors_find(const gathered *g, arena *a, factor_table *out);
/* Returns the index of the factor whose name is the first `length` characters of `name`; NO_ROW: none. */
size_t factor_named(const factor_table *t, const char *name, size_t length);
/* Does row i equal base except in factors a and b? */
bool factors_in_slice(const factor_table *t, size_t i, size_t base, size_t a, size_t b);

/* A two-factor grid: cell[i * levels of b + j] holds the mean over the rows with level i of a and j of b
 * (several if a full factorial has more factors: rows_each per cell), NaN: none. */
typedef struct {
    size_t a, b; /* indices of factors */
    size_t rows_each;
    double *mean, *sd; /* sd: over seeds, if the cell has one row; else NaN */
    size_t *row;       /* the row of a cell; NO_ROW: the cell has no row or several */
} factor_grid;
/* Pairs of factors with at least two levels each and at least three quarters of their combinations; the
 * other factors are at base's level, or averaged over if all combinations are equally frequent. metric: index in g. */
size_t factors_grids(const gathered *g, const factor_table *t, size_t metric, arena *a, factor_grid **out);
#endif
