/* source_values.h - what a step tape computed from the sources (keys and values of cross-attention), carried over to
 * the next tape of the same batch, which is traced for fewer sentences or more hypotheses. */
#ifndef ABLATE_SOURCE_VALUES_H
#define ABLATE_SOURCE_VALUES_H
#include "tensor/graph/tape.h"

typedef struct {
    int32_t node;
    size_t row; /* bytes */
    char *data; /* in `data` below */
} source_value;

typedef struct {
    source_value *value;
    size_t n, values_cap;
    char *data;
    size_t size;
    bool taken, read; /* the values are here; the current tape reads them here */
} source_values;

/* Takes the values of a tape that has run, of the sentences with keep[b] (NULL: all): copies, or, if the tape reads
 * them here, the others move up. offset [batch + 1]: first rows of the sentences. Nothing is taken if a value is more
 * than a product of each source row alone. */
void source_values_take(source_values *s, const ab_ctx *c, const int32_t *offset, int64_t batch, const bool *keep);
/* To a tape that was traced and planned for `rows` source rows, which reads them here and does not compute them.
 * Nothing happens if nothing was taken or the tape has other values. */
void source_values_give(source_values *s, ab_ctx *c, int64_t rows);
void source_values_free(source_values *s);
#endif
