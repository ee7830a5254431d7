/* frame.h - a table of typed columns, written as CSV. */
#ifndef ABLATE_EXPORT_FRAME_H
#define ABLATE_EXPORT_FRAME_H
#include "base/base.h"

typedef enum { FRAME_WHOLE, FRAME_REAL, FRAME_TEXT } frame_type;
typedef struct {
    const char *name;
    frame_type type;
} frame_column;

#define FRAME_MISSING INT64_MIN
typedef union {       /* the field of the column's type */
    int64_t whole;    /* FRAME_MISSING: missing value */
    double real;      /* NaN: missing value, as everywhere in ablate */
    const char *text; /* NULL: missing value */
} frame_value;

typedef struct {
    arena mem;
    frame_column *columns;
    frame_value *values; /* [n_rows][n_columns] */
    size_t n_columns, column_cap, n_rows, value_cap;
} frame; /* {0} is empty; add all columns before the first row */

void frame_add_column(frame *f, const char *name, frame_type type);
void frame_add_row(frame *f); /* adds a row of missing values */
/* Set a value of the last row. Text is copied. */
void frame_put_whole(frame *f, size_t column, int64_t v);
void frame_put_real(frame *f, size_t column, double v);
void frame_put_text(frame *f, size_t column, const char *v);
void frame_free(frame *f);

/* RFC 4180; a missing value is an empty field, an empty text is "" in quotes */
void frame_csv(const frame *f, str *out);
#endif
