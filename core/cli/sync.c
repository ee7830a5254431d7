/* sync.c - ablate sync: records the progress of runs that Slurm or another engine trains. Also the commands that such
 * engines run. */
#include "cli/options.h"
#include "lab/launch/launch.h"
#include "lab/results/read.h"
#include <dirent.h>

typedef struct {
    bool wait;
} sync_options;

static int sync_one(const invocation *c, db *d, const char *name, const char *folder, const sync_options *o, err *e)
{
    sync_result r;
    enum progress_mode mode = c->verbosity < 0 ? PROGRESS_NONE : PROGRESS_PLAIN;
    launch_options l = {.program = c->p.program, .experiment = name, .folder = folder, .progress = mode};
    if (launch_sync(d, &l, o->wait, &r, e)) return -1;
    if (r.jobs && c->verbosity >= 0)
        printf("%s: %zu run%s ended, %zu not finished\n", name, r.taken, r.taken == 1 ? "" : "s", r.left);
    return 0;
}

/* Do the database and the experiment exist? */
static int is_there(const invocation *c, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_experiment x;
    CLEANUP(reader_end) reader *r = reader_open(&c->p.db, e); /* creates no database */
    int rc = r && c->n_words ? reader_experiment(r, c->word[0], READ_BRIEF, &a, &x, e) : r ? 0 : -1;
    return rc == 1 ? reader_no_experiment(r, c->word[0], e) : rc;
}

/* Synchronises one experiment, or all with runs that other engines train. */
static int sync_run(const invocation *c, void *options)
{
    err e = {0};
    if (is_there(c, &e)) return call_failed(c, &e);
    AUTOFREE char *folder = db_runs_folder(&c->p.db);
    db *d = db_open(&c->p.db, &e);
    int bad = !d;
    if (d && c->n_words) bad = sync_one(c, d, c->word[0], folder, options, &e);
    DIR *all = d && !c->n_words ? opendir(folder) : NULL;
    struct dirent *x;
    while (all && !bad && (x = readdir(all))) {
        if (x->d_name[0] == '.') continue;
        if (launch_is_away(folder, x->d_name)) bad = sync_one(c, d, x->d_name, folder, options, &e);
    }
    if (all) closedir(all);
    db_close(d);
    return bad ? call_failed(c, &e) : 0;
}

#define AT(field) offsetof(sync_options, field)
static const option options[] = {
    {"--wait", NULL, "wait until all runs have ended", OPTION_FLAG, AT(wait)}, OPTION_DATABASE, {0}};
const command sync_command = {
    .name = "sync",
    .part = FOR_TRAINING,
    .does = "record the progress of runs that Slurm or another engine trains",
    .about = "A sweep started with `ablate run --launcher slurm --detach` (or a COMMAND) trains without a host. This "
             "command records its workers' reports, and starts lost runs again. Run it as often as you like, on any "
             "machine that sees the results folder. See docs/cluster.md.",
    .arguments = "[EXPERIMENT]",
    .choices = CHOICES_EXPERIMENTS,
    .options = options,
    .size = sizeof(sync_options),
    .run = sync_run,
    .example = "ablate sync table3-multi30k --wait"};

/* Runs `slurm-task SPOOL TASK RUNS_PER_TASK`, a command that launch/slurm.c writes into the batch script. */
static int slurm_task(const invocation *c, void *unused)
{
    int64_t task, per_task;
    (void)unused;
    if (!parse_int(c->word[1], &task) || !parse_int(c->word[2], &per_task) || task < 0 || per_task < 1) {
        err e = {0};
        fail(&e, "expected a task number and a number of runs, found %s and %s", c->word[1], c->word[2]);
        return call_failed(c, &e);
    }
    return task_run(c->p.program, c->word[0], task, per_task);
}
const command slurm_task_command = {
    .name = "slurm-task", .part = FOR_TRAINING, .arguments = "SPOOL TASK RUNS", .run = slurm_task};

/* Runs `launch-round SPOOL ROUND`, a command that launch/engine.c starts. */
static int round_run(const invocation *c, void *unused)
{
    int64_t round;
    err e = {0};
    (void)unused;
    if (!parse_int(c->word[1], &round)) return fail(&e, "found the round \"%s\"", c->word[1]), call_failed(c, &e);
    return launch_round(c->p.program, c->word[0], round, &e) ? call_failed(c, &e) : 0;
}
const command launch_round_command = {
    .name = "launch-round", .part = FOR_TRAINING, .arguments = "SPOOL ROUND", .run = round_run};
