/* replay.c - ablate replay: repeats updates of a recorded run, or of an INI's row. */
#include "cli/replay.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Becomes gdb, which starts this command without --gdb. Returns only if there is no gdb. */
static void become_gdb(const invocation *c)
{
    char **args = xcalloc((size_t)c->argc + 6, sizeof *args);
    size_t n = 0;
    args[n++] = "gdb", args[n++] = "-q", args[n++] = "--args", args[n++] = (char *)c->p.program;
    for (int i = 0; i < c->argc; i++)
        if (!same(c->argv[i], "--gdb")) args[n++] = c->argv[i];
    fflush(NULL);
    execvp(args[0], args);
    fprintf(stderr, "gdb cannot be started (%s): continuing without it\n", strerror(errno));
    free(args);
}

int replay_begin(const invocation *c, replay_options *o)
{
    if (!o->until) o->until = o->step;
    if (o->until < o->step)
        return call_usage(c, "--until %lld: expected at least --step, %lld", (long long)o->until, (long long)o->step);
    if (o->gdb) become_gdb(c);
    return 0;
}

static int replay_steps(const invocation *c, void *options)
{
    replay_call *o = options;
    err e = {0};
    const char *ini = strstr(c->word[0], ".ini");
    if (ini && (!ini[4] || ini[4] == '/')) return replay_ini(c, o);
    if (o->set.n || o->seed >= 0) return call_usage(c, "-s and --seed are only for an INI: found a run");
    int code = replay_begin(c, &o->what);
    if (code) return code;
    code = replay(&o->what, c->word[0], &c->p, c->verbosity < 0, &e);
    return code < 0 ? call_failed(c, &e) : code;
}

#define AT(field) offsetof(replay_call, field)
static const replay_call defaults = {.seed = -1};
static const option options[] = {
    {"--step", "N", "the update to show, from 1", OPTION_COUNT, AT(what.step), 1, 1e9, true},
    {"--until", "N", "the last update to show [--step]", OPTION_COUNT, AT(what.until), 1, 1e9},
    {"--gdb", NULL, "run under gdb, if it is installed", OPTION_FLAG, AT(what.gdb)},
    {"--profile", NULL, "print the time per operation on standard error", OPTION_FLAG, AT(what.profile)},
    OPTION_PLUGIN_PATH,
    {"-s", "KEY=VALUE", "override a setting of the INI's [base]", OPTION_LIST, AT(set), .choices = CHOICES_KEYS},
    {"--seed", "N", "for an INI: the run's seed [the INI's first]", OPTION_COUNT, AT(seed), 0, 4294967295.0},
    OPTION_DATABASE,
    {0}};
const command replay_command = {
    .name = "replay",
    .part = FOR_RESULTS,
    .does = "train some steps of a run or of an INI's row again, to see what plugins print (ab_print), or under gdb",
    .about =
        "Continues from the run's newest saved state before the step (keep_states), else trains from the start, with\n"
        "the run's threads and instruction set. Writes no files. Exit code 1: a point of a curve differs from the\n"
        "recorded point in a digit. A row of an INI is trained from its start, without a database.",
    .arguments = "RUN | SPEC.ini[/ROW]",
    .missing = "expected a run (its number, EXPERIMENT/ROW or EXPERIMENT/ROW@SEED), or an INI and perhaps a row",
    .choices = CHOICES_RUNS,
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .run = replay_steps,
    .example = "ablate replay quick/base@1 --step 200"};
