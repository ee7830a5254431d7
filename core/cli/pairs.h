/* pairs.h - reads pairs of sentences ("source TAB target" on standard input) and one trained model, for commands that
 * force the decoder through the target. In fp32 on the CPU, so figures do not depend on the machine. */
#ifndef ABLATE_CLI_PAIRS_H
#define ABLATE_CLI_PAIRS_H
#include "cli/options.h"
#include "network/model/model.h"
#include "text/data/dataset.h"

typedef struct {
    const char *run;
    int64_t threads;
} pairs_options;
/* clang-format off */
#define PAIRS_OPTIONS(options, field) \
    OPTION_RUN(offsetof(options, field.run)), \
    {"--threads", "N", "processor threads [all]", OPTION_COUNT, offsetof(options, field.threads), 1, MOST_THREADS}, \
    OPTION_PLUGIN_PATH
/* clang-format on */

/* Calls f with each part of standard input as token ids: lines `first` .. first + p->n - 1. Returns the exit code,
 * after printing any failure. */
int pairs_read(const invocation *c, const pairs_options *o,
               int (*f)(void *self, model *m, const vocab *src, const vocab *tgt, const pairs *p, size_t first, err *e),
               void *self);
#endif
