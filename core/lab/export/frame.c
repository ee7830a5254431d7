/* frame.c - fills a table of columns, and writes it as CSV. */
#include "lab/export/frame.h"
#include <math.h>
#include <stdlib.h>

void frame_add_column(frame *f, const char *name, frame_type type)
{
    f->columns = grow(f->columns, &f->column_cap, f->n_columns + 1, sizeof *f->columns);
    f->columns[f->n_columns++] = (frame_column){.name = arena_strdup(&f->mem, name), .type = type};
}

void frame_add_row(frame *f)
{
    f->values = grow(f->values, &f->value_cap, (f->n_rows + 1) * f->n_columns, sizeof *f->values);
    frame_value *row = f->values + f->n_rows++ * f->n_columns;
    for (size_t j = 0; j < f->n_columns; j++) {
        if (f->columns[j].type == FRAME_WHOLE) row[j].whole = FRAME_MISSING;
        if (f->columns[j].type == FRAME_REAL) row[j].real = NAN;
        if (f->columns[j].type == FRAME_TEXT) row[j].text = NULL;
    }
}

/* Returns the value of a column in the last row. */
static frame_value *last(frame *f, size_t j, frame_type type)
{
    if (j >= f->n_columns || f->columns[j].type != type) broken("lab/export/frame.c: column %zu is of another type", j);
    return &f->values[(f->n_rows - 1) * f->n_columns + j];
}

void frame_put_whole(frame *f, size_t j, int64_t v) { last(f, j, FRAME_WHOLE)->whole = v; }
void frame_put_real(frame *f, size_t j, double v) { last(f, j, FRAME_REAL)->real = isfinite(v) ? v : NAN; }

void frame_put_text(frame *f, size_t j, const char *v)
{
    frame_value *at = last(f, j, FRAME_TEXT);
    const char *before = f->n_rows > 1 ? at[-(ptrdiff_t)f->n_columns].text : NULL; /* one copy of a repeated value */
    at->text = !v ? NULL : same(before, v) ? before : arena_strdup(&f->mem, v);
}

void frame_free(frame *f)
{
    free(f->columns);
    free(f->values);
    arena_free(&f->mem);
    *f = (frame){0};
}

static void csv_text(str *out, const char *text)
{
    if (*text)
        str_add_csv(out, text);
    else
        str_add(out, "\"\"");
}

void frame_csv(const frame *f, str *out)
{
    char real[32];
    for (size_t j = 0; j < f->n_columns; j++) {
        if (j) str_addc(out, ',');
        csv_text(out, f->columns[j].name);
    }
    str_add(out, "\r\n");
    for (size_t i = 0; i < f->n_rows; i++) {
        for (size_t j = 0; j < f->n_columns; j++) {
            frame_type type = f->columns[j].type;
            frame_value v = f->values[i * f->n_columns + j];
            if (j) str_addc(out, ',');
            if (type == FRAME_WHOLE && v.whole != FRAME_MISSING) str_addf(out, "%lld", (long long)v.whole);
            if (type == FRAME_REAL && isfinite(v.real)) str_add(out, format_real(v.real, real));
            if (type == FRAME_TEXT && v.text) csv_text(out, v.text);
        }
        str_add(out, "\r\n");
    }
}
