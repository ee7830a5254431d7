/* table.h - the ablation table of an experiment: mean and sample standard deviation over seeds, the difference from
 * base with its 95 % interval and p, parameter counts, and the published numbers.
 *
 * Interval and p are for the design, over seeds and sentences, and need two seeds per row (statistics/design.h); p is
 * adjusted after Holm (1979) over the rows. With one seed there is only the test over sentences, which concerns these
 * models. docs/statistics.md has the formulas.
 */
#ifndef ABLATE_REPORT_TABLE_H
#define ABLATE_REPORT_TABLE_H
#include "lab/results/read.h"

enum table_format { TABLE_TEXT, TABLE_MD, TABLE_LATEX, TABLE_CSV, TABLE_JSON };

typedef struct {
    const char *const *metrics; /* columns to show, in this order, n_metrics of them; none: all metrics of the runs */
    size_t n_metrics;
    bool vs_recorded;            /* add columns of recorded runs */
    bool vs_paper;               /* add published columns, in the paper's layout if it has one */
    int trials;                  /* shuffles in the randomisation test; 0: 10,000 */
    double sustained;            /* FLOPs per second of devices whose rate the paper does not give; 0: unknown */
    const char *caption, *label; /* for LaTeX; NULL: the title, and tab:NAME */
    const char *ini; /* text of the experiment's INI, whose head comment Markdown prints around the table; or NULL */
    /* all statistics: standard deviation over seeds only, variance components, P(A > B), tests over sentences and
     * seeds */
    bool full;
} table_options;

/* Appends the table of experiment `name` (NULL: the latest) to `out`. Without such an experiment, "table1" to
 * "table4" print only the published table. */
int table_print(reader *r, const char *name, const table_options *o, enum table_format format, str *out, err *e);
/* Is there a published table of that name? It is printed even if the reader is NULL. */
bool table_is_published(const char *name);
#endif
