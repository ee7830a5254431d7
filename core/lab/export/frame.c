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
    size_t cap = f->row_cap;
    if (f->n_rows == cap) {
        cap = cap ? 2 * cap : 64;
        for (size_t j = 0; j < f->n_columns; j++) {
            frame_column *c = &f->columns[j];
            if (c->type == FRAME_WHOLE)
                c->whole = xrealloc(c->whole, cap * sizeof *c->whole),
                c->missing = xrealloc(c->missing, cap * sizeof *c->missing);
            if (c->type == FRAME_REAL) c->real = xrealloc(c->real, cap * sizeof *c->real);
            if (c->type == FRAME_TEXT) c->text = xrealloc(c->text, cap * sizeof *c->text);
        }
        f->row_cap = cap;
    }
    for (size_t j = 0; j < f->n_columns; j++) {
        frame_column *c = &f->columns[j];
        if (c->type == FRAME_WHOLE) c->whole[f->n_rows] = 0, c->missing[f->n_rows] = true;
        if (c->type == FRAME_REAL) c->real[f->n_rows] = NAN;
        if (c->type == FRAME_TEXT) c->text[f->n_rows] = NULL;
    }
    f->n_rows++;
}

static frame_column *column(frame *f, size_t j, frame_type type)
{
    if (j >= f->n_columns || f->columns[j].type != type) broken("lab/export/frame.c: column %zu is of another type", j);
    return &f->columns[j];
}

void frame_put_whole(frame *f, size_t j, int64_t v)
{
    frame_column *c = column(f, j, FRAME_WHOLE);
    c->whole[f->n_rows - 1] = v, c->missing[f->n_rows - 1] = false;
}

void frame_put_real(frame *f, size_t j, double v)
{
    column(f, j, FRAME_REAL)->real[f->n_rows - 1] = isfinite(v) ? v : NAN;
}

void frame_put_text(frame *f, size_t j, const char *v)
{
    frame_column *c = column(f, j, FRAME_TEXT);
    size_t i = f->n_rows - 1;
    bool before = i && v && c->text[i - 1] && same(c->text[i - 1], v); /* one copy of a repeated value */
    c->text[i] = !v ? NULL : before ? c->text[i - 1] : arena_strdup(&f->mem, v);
}

void frame_free(frame *f)
{
    for (size_t j = 0; j < f->n_columns; j++) {
        free(f->columns[j].whole);
        free(f->columns[j].missing);
        free(f->columns[j].real);
        free(f->columns[j].text);
    }
    free(f->columns);
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
            const frame_column *c = &f->columns[j];
            if (j) str_addc(out, ',');
            if (c->type == FRAME_WHOLE && !c->missing[i]) str_addf(out, "%lld", (long long)c->whole[i]);
            if (c->type == FRAME_REAL && isfinite(c->real[i])) str_add(out, format_real(c->real[i], real));
            if (c->type == FRAME_TEXT && c->text[i]) csv_text(out, c->text[i]);
        }
        str_add(out, "\r\n");
    }
}
