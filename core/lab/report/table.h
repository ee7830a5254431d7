/* table.h - the ablation table of an experiment: mean and sample standard deviation over seeds, the difference from
 * base with its 95 % interval and p, parameter counts, and the published numbers.
 *
 * Interval and p are for the design, over seeds and sentences, and need two seeds per row (statistics/design.h); p is
 * adjusted after Holm (1979) over the rows. With one seed there is only the test over sentences, which concerns these
 * models. docs/statistics.md has the formulas.
 */
#ifndef ABLATE_REPORT_TABLE_H
#define ABLATE_REPORT_TABLE_H
#include "lab/report/gather.h"
#include "lab/report/grid.h"

/* Appends the table of experiment `name` (NULL: the latest) to `out`. Without such an experiment, "table1" to
 * "table4" print only the published table. */
int table_print(reader *r, const char *name, const table_options *o, enum table_format format, str *out, err *e);
/* Is there a published table of that name? It is printed even if the reader is NULL. */
bool table_is_published(const char *name);
#endif
