/* sheet.h - holds other programs' results as one sheet: records with named columns. Readers fill it (csv.c,
 * json_lines.c, events.c, lm_eval.c, read.c); foreign.h makes runs of it.
 *
 * Limits, so that a stranger's file cannot exhaust the machine: each reader has its own; the sheet holds at most
 * MOST_RECORDS records of MOST_COLUMNS columns.
 */
#ifndef ABLATE_FOREIGN_SHEET_H
#define ABLATE_FOREIGN_SHEET_H
#include "base/cleanup.h"
#include "base/base.h"

enum { MOST_RECORDS = 4000000, MOST_COLUMNS = 4096, MOST_FILE = 1 << 28 };

/* Texts numbered in the order of their first appearance. */
typedef struct {
    const char **at; /* [n]; copies in the arena */
    size_t n, cap, n_slots;
    size_t *slots;
} names;
size_t names_add(names *x, arena *a, const char *text); /* adds a new text; returns the text's number */
size_t names_find(const names *x, const char *text);    /* SIZE_MAX: no such name */
void names_free(names *x);

typedef struct {
    const char *file; /* file and line, for messages */
    size_t line;
    size_t n;
    const char **cell; /* [n] by column; NULL: empty */
} sheet_record;

typedef struct {
    arena mem;
    names columns;
    sheet_record *records;
    size_t n, cap;
    names files; /* files read so far */
    const char *format;
} sheet;

/* The documented names of columns, which readers use and shape.c finds. */
#define SHEET_ROW     "row"
#define SHEET_SEED    "seed"
#define SHEET_METRIC  "metric"
#define SHEET_VALUE   "value"
#define SHEET_STEP    "step"
#define SHEET_EXAMPLE "example"
#define SHEET_EVENTS  "TensorBoard event files" /* a format */
#define SHEET_FILE    "(file)"                  /* the file's name without its ending */

int sheet_column(sheet *s, const char *name, size_t *column, err *e); /* finds or adds a column */
int sheet_start(sheet *s, const char *file, size_t line, err *e);     /* adds a record */
void sheet_add(sheet *s, size_t column, const char *text); /* writes into the last record; "" leaves the cell empty */
int sheet_add_named(sheet *s, const char *column, const char *text, err *e);
/* Adds a record of n pairs: a column's name, its text or NULL. */
int sheet_add_pairs(sheet *s, const char *file, size_t line, const char *const pairs[][2], size_t n, err *e);
const char *sheet_cell(const sheet *s, size_t record, size_t column); /* NULL: empty; column SIZE_MAX: NULL */
/* Unifies spellings in columns that contain only numbers: 0.0001 after 1e-4 becomes 1e-4, so that rows and settings
 * differ only by value. */
void sheet_unify_numbers(sheet *s);
void sheet_free(sheet *s);

/* ---- readers: append a text of n bytes (a NUL follows) to the sheet; `name` is for messages ---- */

/* Reads cells separated by commas, semicolons or tabs, whichever the first line has, with quotes as in RFC 4180. A
 * chart exported from W&B ("Step" and columns "RUN - METRIC") becomes one record per point. */
int csv_parse(sheet *s, const char *text, size_t n, const char *name, err *e);
/* Reads one object a line; nested keys are joined by dots; NaN and Infinity are read as Python writes them. */
int json_lines_parse(sheet *s, const char *text, size_t n, const char *name, err *e);
/* Reads the scalars of a TensorBoard event file. run: the row. A last record that is cut off is left out. */
int events_parse(sheet *s, const char *bytes, size_t n, const char *name, const char *run, err *e);
/* Read a results_*.json of lm-eval, and the samples_*.jsonl next to it with one record per example. */
bool is_lm_eval(const char *text);
int lm_eval_results(sheet *s, const char *text, const char *name, str *model, err *e);
int lm_eval_samples(sheet *s, const char *text, size_t n, const char *name, const char *task, const char *model,
                    err *e);
/* Reads the log_history of a trainer_state.json, as transformers' Trainer writes it; row: the run. */
int trainer_state_parse(sheet *s, const char *text, size_t n, const char *name, const char *row, err *e);

/* Reads a file of any of these kinds, or a folder of event files or lm-eval's results. */
int sheet_read(sheet *s, const char *path, err *e);
#endif
