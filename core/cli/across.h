/* across.h - rows over several experiments. */
#ifndef ABLATE_COMMANDS_ACROSS_H
#define ABLATE_COMMANDS_ACROSS_H
#include "cli/options.h"

enum { MOST_TASKS = 64 };
typedef struct {
    const char *metric; /* NULL: the headline metric of each */
    const char *to;     /* a file for performance profiles, or NULL */
    int format;         /* enum table_format */
} across_options;
/* Prints interquartile means and probabilities of improvement over the experiments of the command line; exit code. */
int across_print(const invocation *c, const across_options *o);
#endif
