/* sheet.h - what other programs write, as one sheet: records with named columns. Readers fill it (csv.c, json_lines.c,
 * events.c, lm_eval.c, read.c); foreign.h makes runs of it.
 *
 * Limits, so that a stranger's file cannot exhaust the machine: each reader names its own; the sheet holds MOST_RECORDS
 * records of MOST_COLUMNS columns.
 */
#ifndef ABLATE_FOREIGN_SHEET_H
#define ABLATE_FOREIGN_SHEET_H
#include "base/base.h"

enum { MOST_RECORDS = 4000000, MOST_COLUMNS = 4096, MOST_FILE = 1 << 28 };

/* Texts numbered in the order of their first appearance. */
typedef struct {
    const char **at; /* [n]; copies in the arena */
    size_t n, cap, n_slots;
    size_t *slots;
} names;
size_t names_put(names *x, arena *a, const char *text); /* its number; added when new */
size_t names_find(const names *x, const char *text);    /* SIZE_MAX: not there */
void names_free(names *x);

typedef struct {
    const char *file; /* where it stands, for messages */
    size_t line;
    size_t n;
    const char **cell; /* [n] by column; NULL: empty */
} sheet_record;

typedef struct {
    arena mem;
    names columns;
    sheet_record *records;
    size_t n, cap;
    names files; /* what was read */
    const char *format;
} sheet;

/* The names by which readers hand over what they know; the guesses of foreign.h find them first. */
#define SHEET_ROW     "row"
#define SHEET_SEED    "seed"
#define SHEET_METRIC  "metric"
#define SHEET_VALUE   "value"
#define SHEET_STEP    "step"
#define SHEET_EXAMPLE "example"
#define SHEET_FILE    "(file)" /* the file's name without its ending */

int sheet_column(sheet *s, const char *name, size_t *column, err *e); /* existing or new */
int sheet_start(sheet *s, const char *file, size_t line, err *e);     /* a new record */
void sheet_put(sheet *s, size_t column, const char *text);            /* into the last record; "" is empty */
int sheet_put_named(sheet *s, const char *column, const char *text, err *e);
const char *sheet_cell(const sheet *s, size_t record, size_t column); /* NULL: empty; column SIZE_MAX: NULL */
/* Columns of numbers alone: 0.0001 after 1e-4 becomes 1e-4, so that rows and settings are told apart by value. */
void sheet_unify_numbers(sheet *s);
void sheet_free(sheet *s);

/* ---- readers: text of n bytes (a NUL follows), appended to the sheet; `name` is for messages ---- */

/* Commas, semicolons or tabs, by the first line; quotes as in RFC 4180. A chart exported from W&B ("Step" and columns
 * "RUN - METRIC") becomes one record per point. */
int csv_parse(sheet *s, const char *text, size_t n, const char *name, err *e);
/* One object a line; nested keys are joined by dots; NaN and Infinity are read as Python writes them. */
int json_lines_parse(sheet *s, const char *text, size_t n, const char *name, err *e);
/* TensorBoard: scalars of an event file. run: the row. A last record that is cut off is left out. */
int events_parse(sheet *s, const char *bytes, size_t n, const char *name, const char *run, err *e);
/* A results_*.json of lm-eval, and the samples_*.jsonl next to it: one record per example. */
bool is_lm_eval(const char *text);
int lm_eval_results(sheet *s, const char *text, const char *name, str *model, str *seed, err *e);
int lm_eval_samples(sheet *s, const char *text, size_t n, const char *name, const char *task, const char *model,
                    const char *seed, err *e);

/* A file of any of these kinds, or a folder of event files or lm-eval's results. */
int sheet_read(sheet *s, const char *path, err *e);
#endif
