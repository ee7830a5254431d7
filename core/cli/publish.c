/* publish.c - ablate publish: writes a folder with all that a paper's reader needs to check an experiment. */
#include "cli/options.h"
#include "lab/archive/artifact.h"

typedef struct {
    const char *to;
} publish_options;

static int publish_experiment(const invocation *c, void *options)
{
    const publish_options *o = options;
    err e = {0};
    if ((c->n_words == 2) == (o->to != NULL)) return call_usage(c, "expected one new folder, as FOLDER or with -o");
    return publish(&c->p, c->word[0], o->to ? o->to : c->word[1], c->verbosity < 0, &e) ? call_failed(c, &e) : 0;
}

static const option options[] = {
    {"--output -o", "FOLDER", "the new folder", OPTION_TEXT, offsetof(publish_options, to)}, OPTION_DATABASE, {0}};
const command publish_command = {
    .name = "publish",
    .part = FOR_RESULTS,
    .does = "write a folder with an experiment's INI, runs, table, page and plugins, for a paper's artifact",
    .about = "Paths of this machine are left out, its host name is kept. `ablate verify FOLDER` checks the folder on "
             "any machine.",
    .arguments = "EXPERIMENT [FOLDER]",
    .missing = "expected an experiment and a new folder",
    .choices = CHOICES_EXPERIMENTS,
    .options = options,
    .size = sizeof(publish_options),
    .run = publish_experiment,
    .example = "ablate publish smoothing smoothing-artifact"};
