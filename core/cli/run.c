/* run.c - ablate run: options; lab/sweep/run.c does the work. */
#include "cli/options.h"
#include "lab/results/read.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static sweep_call call_of(const invocation *c)
{
    return (sweep_call){.ini = c->word[0], .p = &c->p, .argc = c->argc, .argv = c->argv, .verbosity = c->verbosity};
}

static bool is_experiment(const invocation *c, const char *name)
{
    CLEANUP(arena_free) arena a = {0};
    err e = {0};
    read_experiment x;
    CLEANUP(reader_end) reader *r = reader_open_any(&c->p.db, &e);
    return r && !reader_experiment(r, name, READ_VALUES, &a, &x, &e);
}

/* Returns the INI file in this folder with the nearest name, in the arena, or NULL. */
static const char *near_file(const char *path, arena *a)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, **names = NULL;
    const char *folder = slash ? arena_printf(a, "%.*s", (int)(base - path), path) : "";
    size_t n = 0, cap = 0;
    DIR *d = opendir(*folder ? folder : ".");
    for (struct dirent *f; d && (f = readdir(d));) {
        if (!has_suffix(f->d_name, ".ini")) continue;
        names = grow(names, &cap, n + 1, sizeof *names);
        names[n++] = arena_printf(a, "%s", f->d_name);
    }
    if (d) closedir(d);
    const char *found = nearest(base, names, n);
    free(names);
    return found ? arena_printf(a, "%s%s", folder, found) : NULL;
}

/* Prints INI files that may have been meant, after one could not be opened. */
static void print_what_there_is(const invocation *c)
{
    CLEANUP(arena_free) arena a = {0};
    const char *near = near_file(c->word[0], &a);
    if (is_experiment(c, c->word[0]))
        fprintf(stderr,
                "%s is an experiment of the database, which `ablate table %s` shows; to train, name its INI file\n",
                c->word[0], c->word[0]);
    else if (near)
        fprintf(stderr, "did you mean %s?\n", near);
}

static int run(const invocation *c, void *typed)
{
    err e = {0};
    sweep_call call = call_of(c);
    places mine = c->p;
    mine.db.patient = true; /* wait as long as a backup locks the database */
    call.p = &mine;
    if (sweep_check(typed, &e)) return call_usage(c, "%s", e.text);
    int code = sweep_run(&call, typed, &e);
    if (e.text[0]) call_failed(c, &e);
    if (code == 2 && !file_exists(c->word[0])) print_what_there_is(c);
    return code;
}

/* Prints estimates. Runs in a process that `ablate run` starts with the same arguments. */
static int estimate(const invocation *c, void *typed)
{
    sweep_call call = call_of(c);
    return sweep_estimate_print(&call, typed);
}

#define AT(field) offsetof(sweep_options, field)
static const sweep_options defaults = {.rerun = RERUN_NONE, .step_limit = 1800, .launcher = "local"};
static const option table[] = {
    {"-s", "KEY=VALUE", "override a setting of the INI's [base]; a list becomes a sweep", OPTION_LIST, AT(set),
     .choices = CHOICES_KEYS},
    {"--only", "ROW", "train only this row, group or pattern", OPTION_LIST, AT(only), .choices = CHOICES_ROWS},
    {"--seeds", "LIST", "seeds, such as 1..3 or 1,5 [the INI's]", OPTION_TEXT, AT(seeds)},
    OPTION_DATABASE,
    {"--device", "auto|cpu|cuda|cuda:N", "device to train on [auto]", OPTION_TEXT, AT(device)},
    {"--workers", "N|auto",
     "runs at a time; auto: as many as cores (--threads or 1 per run; more when few runs are left) and memory allow "
     "[one per device]",
     OPTION_TEXT, AT(at_a_time)},
    {"--no-mps", NULL, "runs that share a GPU take turns: start no MPS daemon (docs/gpu.md)", OPTION_FLAG, AT(no_mps)},
    {"--threads", "N", "processor threads per run [all, divided among the runs at a time]", OPTION_COUNT, AT(threads),
     1, MOST_THREADS},
    {"--step-limit", "SECONDS", "end a run when a step takes longer; 0: never [1800]", OPTION_COUNT, AT(step_limit), 0,
     1e9},
    {"--no-check", NULL, "do not check new plugins before training", OPTION_FLAG, AT(no_check)},
    {"--sandbox", NULL,
     "open plugins of others only in processes that can neither write outside their run's folder nor reach sockets or "
     "other processes (docs/reliability.md)",
     OPTION_FLAG, AT(sandbox)},
    {"--ignore-room", NULL, "start even if disk or memory may not suffice", OPTION_FLAG, AT(ignore_room)},
    {"--notify", "COMMAND",
     "start COMMAND, with a summary on standard input, at the end and at the first run that fails, diverges or has "
     "trouble in its dev curve",
     OPTION_TEXT, AT(notify)},
    {"--fail-fast", NULL, "stop at the first run that fails; the others save first", OPTION_FLAG, AT(fail_fast)},
    {"--dry-run", NULL, "print the sweep's costs and its rows as an INI; train nothing", OPTION_FLAG, AT(dry_run)},
    {"--launcher", "local|slurm|COMMAND",
     "train runs in processes on this machine, in tasks of a Slurm array job, or by a shell COMMAND that gets each "
     "run's command on standard input, or in place of {} (docs/cluster.md) [local]",
     OPTION_TEXT, AT(launcher)},
    {"--slurm-args", "TEXT", "options for sbatch, after those of [slurm] in the INI: \"-p cpu -t 4:00:00 -c 8\"",
     OPTION_TEXT, AT(slurm_args)},
    {"--runs-per-task", "N", "with Slurm: runs that share a task's cores [the INI's, or 1]", OPTION_COUNT, AT(per_task),
     1, 1024},
    {"--detach", NULL, "with slurm or COMMAND: return after submitting runs; `ablate sync` records their progress",
     OPTION_FLAG, AT(detach)},
    {"--rerun", "failed|changed|all",
     "train again: failed runs; runs trained with another version of a plugin or with other defaults; or all runs",
     OPTION_WORD, AT(rerun)},
    {"--progress", "auto|tty|plain|json|none", "progress display on standard error [auto]", OPTION_WORD, AT(progress)},
    {"--profile", NULL, "print the time per operation in each run's log", OPTION_FLAG, AT(profile)},
    {0}};
const command run_command = {
    .name = "run",
    .part = FOR_TRAINING,
    .does = "expand a sweep, train missing runs, print the table",
    .about = "The same command resumes a killed or interrupted sweep. docs/ini.md describes the INI.",
    .arguments = "SPEC.ini",
    .missing = "expected an INI file",
    .options = table,
    .defaults = &defaults,
    .size = sizeof defaults,
    .run = run,
    .example = "ablate run experiments/quick.ini -s steps=200 --seeds 1..3"};
const command estimate_command = {.name = "estimate",
                                  .part = FOR_TRAINING,
                                  .arguments = "SPEC.ini",
                                  .options = table,
                                  .defaults = &defaults,
                                  .size = sizeof defaults,
                                  .run = estimate};
