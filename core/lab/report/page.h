/* page.h - one self-contained HTML page of an experiment: verdict, table, learning curves, cost, grids, settings,
 * runs. */
#ifndef ABLATE_REPORT_PAGE_H
#define ABLATE_REPORT_PAGE_H
#include "lab/results/read.h"

/* `name` NULL: the latest experiment. The page needs no other file and no network: style, script and drawings are
 * embedded. `state` is compared with the server's by a served page; NULL: a static page. */
int page_print(reader *r, const char *name, const char *state, str *out, err *e);
#endif
