/* source_values.h - carries values that a step tape computed from the sources (keys and values of cross-attention) to
 * the batch's next tape, which is traced for fewer sentences or more hypotheses. */
#ifndef ABLATE_SOURCE_VALUES_H
#define ABLATE_SOURCE_VALUES_H
#include "tensor/graph/tape.h"

typedef struct {
    int32_t node;
    size_t row; /* bytes */
    char *data; /* values within source_values.data */
} source_value;

typedef struct {
    source_value *value;
    size_t n, values_cap;
    char *data;
    size_t size;
    bool taken, read; /* taken: `data` has the values; read: the current tape reads them from `data` */
} source_values;

/* Keeps the values that a tape has computed for the sentences with keep[b] (NULL: all): copies them, or closes the gaps
 * if the tape already reads them from `data`. offset [batch + 1]: first rows of the sentences. Keeps nothing if a value
 * is not computed row by row. */
void source_values_borrow(source_values *s, const ab_ctx *c, const int32_t *offset, int64_t batch, const bool *keep);
/* Makes a tape traced and planned for `rows` source rows read the kept values instead of computing them. Does nothing
 * if no values are kept or the tape needs others. */
void source_values_return(source_values *s, ab_ctx *c, int64_t rows);
void source_values_free(source_values *s);
#endif
