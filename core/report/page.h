/* page.h - one self-contained HTML page of an experiment: verdict, table, learning curves, cost, grids, settings, runs. */
#ifndef ABLATE_REPORT_PAGE_H
#define ABLATE_REPORT_PAGE_H
#include "results/read.h"

/* `name` NULL: the latest experiment. Needs no other file and no network: style, script and drawings are inside. `state`
 * is what a served page compares with the server's; NULL: a page that stays as it is. */
int page_print(reader *r, const char *name, const char *state, str *out, err *e);
#endif
