/* verify.c - ablate verify: does a recorded or published experiment hold? */
#include "cli/options.h"
#include "lab/archive/artifact.h"

static int verify_artifact(const invocation *c, void *options)
{
    verify_options *o = options;
    err e = {0};
    if (o->build_plugins && !is_folder(c->word[0]))
        return call_usage(c, "--build-plugins: %s is no folder of `ablate publish`", c->word[0]);
    if (o->seed < 0) o->seed = (int64_t)now();
    int code = verify(o, c->word[0], &c->p, &e);
    return code < 0 ? call_failed(c, &e) : code;
}

#define AT(field) offsetof(verify_options, field)
static const verify_options defaults = {.runs = 1, .seed = -1};
static const option options[] = {
    {"--runs", "N", "runs to train again; 0: none [1]", OPTION_COUNT, AT(runs), 0, 1e6},
    {"--only", "ROW", "train again only runs of this row, or this run: ROW@SEED", OPTION_LIST, AT(only)},
    {"--at-most", "SECONDS", "train again only runs that took at most this long", OPTION_REAL, AT(at_most), 0, 0},
    {"--seed", "N", "seed of the random choice of runs [the time]", OPTION_COUNT, AT(seed), 0, 1e9},
    {"--build-plugins", NULL, "build and load the plugins in the folder, programs that others wrote", OPTION_FLAG,
     AT(build_plugins)},
    {0}};
const command verify_command = {
    .name = "verify",
    .part = FOR_RESULTS,
    .does = "check a recorded or published experiment: its files, its table, and some runs trained again",
    .about = "WHAT: a folder of `ablate publish`, or a file of `ablate record`. Runs are trained with the recorded "
             "number of threads and instruction set, if this processor has it, and compared in every digit. Exit code "
             "0: everything agrees; 1: an error, or a file or the table differs, and then nothing is trained; 3: a run "
             "differs in a digit.",
    .arguments = "WHAT",
    .missing = "expected a folder of `ablate publish` or a file of `ablate record`",
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .run = verify_artifact,
    .example = "ablate verify experiments/recorded/smoothing.json.gz --runs 2 --at-most 30"};
