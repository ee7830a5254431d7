/* page.h - a self-contained HTML page of an experiment: verdict, table, curves, cost, grids, settings, runs. */
#ifndef ABLATE_REPORT_PAGE_H
#define ABLATE_REPORT_PAGE_H
#include "lab/results/read.h"

/* `name` NULL: the latest experiment. The page needs no other file and no network: style, script and drawings are
 * embedded. A live page reloads itself every five seconds. */
int page_print(reader *r, const char *name, bool live, str *out, err *e);
#endif
