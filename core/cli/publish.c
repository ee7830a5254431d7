/* publish.c - ablate publish: writes a folder with all that a paper's reader needs to check an experiment. */
#include "cli/options.h"
#include "lab/archive/artifact.h"

static int publish_experiment(const invocation *c, void *options)
{
    (void)options;
    err e = {0};
    int rc = publish(&c->p, c->word[0], c->word[1], c->verbosity < 0, &e);
    return rc ? call_failed(c, &e) : 0;
}

static const option options[] = {OPTION_DATABASE, {0}};
const command publish_command = {
    .name = "publish",
    .part = FOR_RESULTS,
    .does = "write a folder with an experiment's INI, runs, table, page and plugins, for a paper's artifact",
    .about =
        "This machine's folders are removed from it, its host's name is not. `ablate verify FOLDER` checks it on any "
        "machine.",
    .arguments = "EXPERIMENT FOLDER",
    .least = 2,
    .most = 2,
    .missing = "expected an experiment and a new folder",
    .choices = CHOICES_EXPERIMENTS,
    .options = options,
    .run = publish_experiment,
    .example = "ablate publish smoothing smoothing-artifact"};
