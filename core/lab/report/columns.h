/* columns.h - the columns of an experiment's table, one row each: columns.c, and columns_paper.c for those beside a
 * published table. Text, Markdown, LaTeX, HTML, CSV and JSON are loops over them (cells.c, layout.c, machine.c). */
#ifndef ABLATE_REPORT_COLUMNS_H
#define ABLATE_REPORT_COLUMNS_H
#include "lab/report/gather.h"
#include "lab/report/grid.h"

/* Of which a column is computed. */
typedef struct {
    const gathered *g;
    const gathered_row *row;
    size_t i;            /* which metric, setting or published column */
    const comparison *c; /* the row against base: in the metric, else in the headline metric */
} place;

typedef enum { ONCE, EACH_SETTING, EACH_METRIC, EACH_RECORDED, EACH_PUBLISHED } column_each;
enum column_in { /* where it stands; for readers: text, Markdown, LaTeX and HTML */
                 OWN = 1,
                 BESIDE = 2,  /* next to the rows of a published table */
                 READERS = 3, /* both */
                 CSV = 4,
                 JSON = 8,     /* in the row's object; EACH_METRIC: in its metric's */
                 AGAINST = 16, /* in "against_base" of each metric's object in JSON */
                 IF_ANY = 32   /* not in JSON where there is nothing */
};

typedef struct column {
    const char *name;    /* in CSV and JSON */
    const char *heading; /* for readers; with %s: the name of the metric, setting or published column */
    /* of the number in CSV and JSON. NULL: the metric's; "unit": the comparison's; "scale": the compared scale, natural
     * logarithms where that is percent; "": none */
    const char *unit;
    unsigned in; /* column_in */
    column_each each;
    const char *meaning;              /* in a sentence */
    double (*number)(const place *p); /* NaN: nothing */
    /* Instead: a text (NULL: nothing), for readers only also in place of the number. */
    const char *(*text)(const place *p, arena *a);
    void (*json)(const place *p, str *out); /* in JSON: something else */
    /* A number for readers. digits: after the point; of some, how many more than the metric has. */
    const char *(*print)(const place *p, double v, int digits, arena *a);
    int digits;
    bool (*shown)(const gathered *g); /* NULL: always */
    bool left;                        /* flush left */
} column;

extern const column columns[]; /* ends with {0} */

/* One column of one table. */
typedef struct {
    const column *of;
    size_t i;
    const char *heading;
} table_column;

/* The columns of this table in `in` (OWN, BESIDE or CSV), n of them in the arena. */
const table_column *columns_of(const gathered *g, enum column_in in, size_t *n, arena *a);
/* A cell for readers, or for CSV; "": nothing. */
const char *column_cell(const table_column *c, const gathered *g, const gathered_row *row, enum column_in in, arena *a);
/* An object of the columns of a place. */
void columns_json(const place *p, column_each each, enum column_in in, str *out);
/* The list itself: headings and names, units, meanings. */
void columns_describe(grid *t);

/* ---- beside a published table (columns_paper.c) ---- */

/* Settings that have a column next to Table 3. */
size_t setting_columns(void);
const char *setting_heading(size_t i);
/* The value of setting p->i, blank if the row does not differ from base; as the paper writes it: 100k, 0.1. */
const char *setting_text(const place *p, arena *a);
/* The parts of "heads=1 position=learned" whose key has no column. */
const char *other_text(const place *p, arena *a);
const char *published_cell(const place *p, arena *a); /* of the paper's column p->i; NULL: the row is not the paper's */
void published_json(const place *p, str *out);        /* the paper's row as an object, or null */
void json_published(const read_published *p, size_t row, str *out);
bool published_comes_first(const gathered *g); /* tables 1, 2 and 4 of the paper: other systems, ours beside them */
#endif
