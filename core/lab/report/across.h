/* across.h - rows over several experiments. */
#ifndef ABLATE_REPORT_ACROSS_H
#define ABLATE_REPORT_ACROSS_H
#include "lab/results/read.h"

enum { MOST_TASKS = 64 };
typedef struct {
    const char *metric; /* NULL: the headline metric of each experiment */
    const char *to;     /* a file for performance profiles, or NULL */
    int format;         /* enum table_format */
} across_options;
/* Prints interquartile means and probabilities of improvement over n <= MOST_TASKS experiments. -1 and e. */
int across_print(const db_options *where, const char *const *names, size_t n, const across_options *o, err *e);
#endif
