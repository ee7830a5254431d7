/* columns.h - the columns of an experiment's table, a list with one row each (columns.c; beside a published table
 * columns_paper.c). Text, Markdown, LaTeX, HTML, CSV and JSON loop over it (cells.c, layout.c, machine.c). */
#ifndef ABLATE_REPORT_COLUMNS_H
#define ABLATE_REPORT_COLUMNS_H
#include "lab/report/gather.h"
#include "lab/report/grid.h"

/* Input of a column's functions. */
typedef struct {
    const gathered *g;
    const gathered_row *row;
    size_t i;            /* index of the metric, setting or published column */
    const comparison *c; /* the row against base in metric i, or in the headline metric if the column has none */
} place;

typedef enum { ONCE, EACH_SETTING, EACH_METRIC, EACH_RECORDED, EACH_PUBLISHED } column_each;
enum column_in { /* the tables that have a column; OWN and BESIDE: text, Markdown, LaTeX and HTML */
                 OWN = 1,
                 BESIDE = 2,  /* next to the rows of a published table */
                 READERS = 3, /* both */
                 CSV = 4,
                 JSON = 8,     /* columns of the row's object; with EACH_METRIC, of each metric's object */
                 AGAINST = 16, /* in "against_base" of each metric's object in JSON */
                 IF_ANY = 32   /* left out of JSON if it has no value */
};

typedef struct column {
    const char *name; /* name in CSV and JSON */
    /* Heading for readers. %s: name of the metric, setting or published column; with ONCE, of the headline metric. */
    const char *heading;
    /* Unit of the number in CSV and JSON. NULL: unit of the metric; "unit": of the comparison; "scale": of the compared
     * scale, natural logarithms if differences are in percent; "": no unit. */
    const char *unit;
    unsigned in; /* column_in */
    column_each each;
    const char *meaning;              /* one line for the printed list of columns */
    double (*number)(const place *p); /* NaN: nothing */
    /* A text (NULL: nothing). If there is a number too, readers get the text, CSV and JSON the number. */
    const char *(*text)(const place *p, arena *a);
    void (*json)(const place *p, str *out); /* writes the value in JSON, if it is neither number nor text */
    /* Prints a number for readers. digits: decimals; for some columns added to the metric's decimals. */
    const char *(*print)(const place *p, double v, int digits, arena *a);
    int digits;
    bool (*shown)(const gathered *g); /* NULL: always */
    bool left;                        /* aligned left */
} column;

extern const column columns[]; /* ends with {0} */

/* One column of one table. */
typedef struct {
    const column *of;
    size_t i;
    const char *heading;
} table_column;

/* Returns the table's n columns in `in` (OWN, BESIDE or CSV), in the arena. */
const table_column *columns_of(const gathered *g, enum column_in in, size_t *n, arena *a);
/* Returns a cell for readers or for CSV; "" if it has no value. */
const char *column_cell(const table_column *c, const gathered *g, const gathered_row *row, enum column_in in, arena *a);
/* Appends a JSON object with the values of these columns at p. */
void columns_json(const place *p, column_each each, enum column_in in, str *out);
/* Lists all columns: headings and names, units, meanings. */
void columns_describe(grid *t);

/* ---- beside a published table (columns_paper.c) ---- */

/* Settings that have a column next to Table 3. */
size_t setting_columns(void);
const char *setting_heading(size_t i);
/* Returns setting p->i in the paper's notation, as 100k or 0.1; blank if the row does not differ from base. */
const char *setting_text(const place *p, arena *a);
/* Returns the parts of "heads=1 position=learned" whose key has no column. */
const char *other_text(const place *p, arena *a);
/* Returns the cell of the paper's column p->i; NULL: the paper lacks the row. */
const char *published_cell(const place *p, arena *a);
void published_json(const place *p, str *out); /* appends the paper's row as an object, or null */
void json_published(const read_published *p, size_t row, str *out);
/* Is it table 1, 2 or 4 of the paper, which lists other systems? Our rows are then beside the paper's. */
bool published_comes_first(const gathered *g);
bool published_costs(const gathered *g); /* does the paper's table have a column of FLOPs? */
#endif
