/* columns.h - statistics of a record's runs as columns that results share (docs/queries.md has the format). A result
 * names its columns by number. A column of several results is written once, also if another metric has it in another
 * unit, such as nats and bits. Restored numbers have the same bits. */
#ifndef ABLATE_RESULTS_COLUMNS_H
#define ABLATE_RESULTS_COLUMNS_H
#include "lab/results/db.h"
#include <cjson/cJSON.h>

typedef struct {
    str text;      /* elements of a JSON array, one a line */
    size_t n, cap; /* columns so far */
    struct columns_entry *entry;
    size_t *slot, slots; /* hash table of column numbers + 1; 0: free */
} columns;

/* Adds the statistics of one run's results. number: the columns' numbers, s[0]'s first; the caller frees it. */
void columns_add(columns *c, const db_stats *s, size_t n, size_t **number);
void columns_free(columns *c);

typedef struct {
    const cJSON **at;
    size_t n;
    size_t left; /* bytes that results may still restore, so that a small file cannot fill the disk */
} columns_read;

int columns_open(columns_read *c, const cJSON *list, err *e); /* list: array of columns, or NULL. Call columns_close */
void columns_close(columns_read *c);
/* Restores a result's statistics from the numbers of its columns, in the arena. */
int columns_stats(columns_read *c, const cJSON *numbers, arena *a, db_stats *out, err *e);

/* ---- packed.c ---- */

bool packed_append(const double *v, size_t n, str *out); /* false: some number does not fit; appends nothing */
typedef struct {
    const unsigned char *p; /* the counts */
    size_t n;
    int shift, bits;
    int64_t least;
} packed;
int packed_open(const unsigned char *p, size_t size, packed *out); /* -1: damaged */
void packed_get(const packed *x, double *out, size_t stride);
#endif
