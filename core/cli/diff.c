/* diff.c - ablate diff: compares two runs. */
#include "cli/options.h"
#include "lab/report/diff.h"

typedef struct {
    bool json;
} diff_options;

static int diff(const invocation *c, void *options)
{
    err e = {0};
    return diff_print(&c->p.db, c->word, ((const diff_options *)options)->json, &e) ? call_failed(c, &e) : 0;
}

static const option options[] = {OPTION_JSON(offsetof(diff_options, json)), OPTION_DATABASE, {0}};
const command diff_command = {.name = "diff",
                              .part = FOR_RESULTS,
                              .does = "show how two runs differ: settings, commit, machine, plugins, results, curves",
                              .about =
                                  "For differences between designs, with intervals over seeds, use `ablate table`.",
                              .arguments = "RUN RUN",
                              .missing = "expected two runs",
                              .choices = CHOICES_RUNS,
                              .options = options,
                              .size = sizeof(diff_options),
                              .run = diff,
                              .example = "ablate diff quick/base \"quick/grid/heads=1 position=none\""};
