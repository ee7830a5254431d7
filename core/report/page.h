/* page.h - one self-contained HTML page of an experiment: its table, learning curves, runs. */
#ifndef ABLATE_REPORT_PAGE_H
#define ABLATE_REPORT_PAGE_H
#include "results/read.h"

/* `name` NULL: the latest experiment. Needs no other file: styles and drawings are inside, no scripts. */
int page_print(reader *r, const char *name, str *out, err *e);
#endif
