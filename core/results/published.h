/* published.h - numbers of papers: tables that are inside the program. */
#ifndef ABLATE_RESULTS_PUBLISHED_H
#define ABLATE_RESULTS_PUBLISHED_H
#include "base/base.h"

typedef struct { /* one file of experiments/published */
    const char *name, *text;
} published_text;
extern const published_text published_tables[]; /* by name; ends with a NULL name. Made by CMakeLists.txt */

/* A published table: cells[row * n_columns + column], "" where the paper has none. Column 0 is the row's key. */
typedef struct {
    const char *table, *paper, *title;
    size_t n_rows, n_columns;
    const char *const *columns;
    const char *const *cells;
    const bool *is_result; /* of a column: a result, not a setting */
} read_published;

/* Reads the text of a table. 0, or -1 and words with the line's number. */
int published_parse(const char *name, const char *text, arena *a, read_published *out, err *e);
/* The table of that name: 0; 1 when there is none (no words); -1. */
int published_read(const char *name, arena *a, read_published *out, err *e);
#endif
