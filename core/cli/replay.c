/* replay.c - ablate replay: repeats updates of a recorded run, from the nearest state that it left, and compares them
 * with its curves in the database. Also functions shared with replay_ini.c. */
#include "cli/replay.h"
#include "cli/artifact.h"
#include "network/train/states.h"
#include "tensor/cpu/cpu.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- shared with replay_ini.c ---- */

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
    err e = {0};
    if (!o->until) o->until = o->step;
    if (o->until < o->step) {
        fail(&e, "--until %lld: expected --step or more, %lld", (long long)o->until, (long long)o->step);
        return call_usage(c, &e);
    }
    if (o->gdb) become_gdb(c);
    return 0;
}

int replay_job_of(const invocation *c, const replay_options *o, const char *config, replay_job *j, err *e)
{
    arena a = {0};
    settings set = {0};
    int bad = config_from_json(config, &set, &a, e);
    const char *steps = bad ? NULL : settings_get(&set, "steps"), *ranks = bad ? NULL : settings_get(&set, "ranks"),
               *start = bad ? NULL : settings_get(&set, "start_step");
    if (!bad && steps && o->until > strtoll(steps, NULL, 10))
        bad = fail(e, "step %lld: the run has %s", (long long)o->until, steps);
    if (!bad && start && o->step <= strtoll(start, NULL, 10))
        bad = fail(e, "step %lld: the run continues another from its step %s", (long long)o->step, start);
    if (!bad && ranks && !same(ranks, "1"))
        bad = fail(e, "the run has %s ranks, which do not fit into one process", ranks);
    *j = (replay_job){.job = {.config = config,
                              .data_dir = c->p.data_dir,
                              .cache_dir = path_join(c->p.root, "runs/cache"),
                              .device = "auto",
                              .fd = -1,
                              .profile = o->profile},
                      .until = o->until,
                      .show_from = o->step,
                      .show = stdout};
    arena_free(&a);
    return bad;
}

/* ---- a recorded run ---- */

typedef struct {
    const read_curve *curves;
    size_t n;
    int64_t from; /* the state's updates */
    size_t points, differ;
} comparison;

static void compare_point(void *self, const char *metric, int64_t step, double value)
{
    comparison *x = self;
    if (step <= x->from) return; /* points that the state repeats */
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->curves[i].n && same(x->curves[i].metric, metric); k++) {
            double was = x->curves[i].points[k].value;
            if (x->curves[i].points[k].step != step) continue;
            bool equal = was == value || (!isfinite(was) && !isfinite(value));
            x->points++, x->differ += !equal;
            if (!equal)
                printf("%s at step %lld: recorded %.17g, now %.17g: %d digits agree\n", metric, (long long)step, was,
                       value, digits_shared(was, value));
        }
}

/* Sets the run's own device, threads and instruction set. */
static void compute_as(const read_run *run, replay_job *j)
{
    computed how = how_computed(run->device);
    err lacks = {0};
    j->job.seed = run->seed;
    if (!how.cpu) return;
    j->job.device = "cpu", j->job.threads = how.threads;
    if (how.isa[0] && cpu_use(how.isa, &lacks))
        fprintf(stderr, "this processor does not do %s: digits may differ\n", how.isa);
}

static int say_outcome(const invocation *c, const read_run *run, const comparison *x, train_outcome now, const err *e)
{
    bool same_end = now == TRAIN_DIVERGED && run->error && same(run->error, e->text);
    if (now == TRAIN_FAILED || (now == TRAIN_DIVERGED && !same_end)) return call_failed(c, e);
    if (same_end) printf("%s, as recorded\n", e->text);
    if (!x->points)
        printf(
            "curves: the run has no point between these steps (they are at every 50th, and where dev is measured)\n");
    else
        printf("curves: %zu of %zu points are as recorded, bit for bit\n", x->points - x->differ, x->points);
    return x->differ ? 1 : 0;
}

static int replay_run(const invocation *c, const replay_options *o, reader *r, const read_detail *d, arena *a, err *e)
{
    replay_job j;
    comparison x = {0};
    read_curve *curves = NULL;
    if (replay_job_of(c, o, d->config_json, &j, e) || reader_curves(r, d->run.id, NULL, a, &curves, &x.n, e))
        return free((char *)j.job.cache_dir), call_failed(c, e);
    x.curves = curves;
    char *folder = xstrdup(d->run.log_path ? d->run.log_path : ""), *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
    char *state = slash ? states_before(folder, o->step, &x.from) : NULL;
    j.resume = state;
    j.point = compare_point, j.self = &x;
    compute_as(&d->run, &j);
    call_say(c, "%s, seed %lld, from %s%s\n", d->row, (long long)d->run.seed, state ? state : "its start",
             state ? "" : ": no state of it is left before this step (keep_states)");
    train_outcome now = replay_train(&j, e);
    int code = say_outcome(c, &d->run, &x, now, e);
    free(state);
    free(folder);
    free((char *)j.job.cache_dir);
    return code;
}

static int replay(const invocation *c, void *options)
{
    replay_call *o = options;
    err e = {0};
    arena a = {0};
    read_detail d;
    const char *ini = strstr(c->word[0], ".ini");
    if (ini && (!ini[4] || ini[4] == '/')) return replay_ini(c, o);
    if (o->set.n || o->seed >= 0)
        return fail(&e, "-s and --seed: expected an INI; a run has its own"), call_usage(c, &e);
    int code = replay_begin(c, &o->what);
    if (code) return code;
    reader *r = reader_open(&c->p.db, &e);
    int64_t id = r ? reader_find_run(r, c->word[0], &e) : -1;
    if (id < 0 || reader_run(r, id, &a, &d, &e))
        code = call_failed(c, &e);
    else if (d.run.recorded || d.run.foreign)
        fail(&e, "%s was not trained here; `ablate verify` trains a recorded run again", c->word[0]),
            code = call_failed(c, &e);
    else
        code = replay_run(c, &o->what, r, &d, &a, &e);
    reader_close(r);
    arena_free(&a);
    return code;
}

#define AT(field) offsetof(replay_call, field)
static const replay_call defaults = {.seed = -1};
static const option options[] = {
    {"--step", "N", "the update to show, from 1", OPTION_COUNT, AT(what.step), 1, 1e9, true},
    {"--until", "N", "the last update to show [--step]", OPTION_COUNT, AT(what.until), 1, 1e9},
    {"--gdb", NULL, "run under gdb, if it is installed", OPTION_FLAG, AT(what.gdb)},
    {"--profile", NULL, "print the time per operation on standard error", OPTION_FLAG, AT(what.profile)},
    OPTION_PLUGIN_PATH,
    {"-s", "KEY=VALUE", "for an INI: override a setting of its [base]", OPTION_LIST, AT(set), .choices = CHOICES_KEYS},
    {"--seed", "N", "for an INI: the run's seed [its first]", OPTION_COUNT, AT(seed), 0, 4294967295.0},
    OPTION_DATABASE,
    {0}};
const command replay_command = {
    .name = "replay",
    .part = FOR_RESULTS,
    .does = "train some steps of a run again, or of an INI's row, with plugins' ab_print, or under gdb",
    .about = "Continues from the newest state before the step in the run's folder (keep_states), else from the start,\n"
             "with the run's threads and instruction set. Writes no files. Exit code 1: a point of a curve\n"
             "has other digits. A row of an INI is trained from its start, without a database.",
    .arguments = "RUN | SPEC.ini[/ROW]",
    .least = 1,
    .most = 1,
    .missing = "expected a run (its number, EXPERIMENT/ROW or EXPERIMENT/ROW@SEED), or an INI and perhaps a row",
    .choices = CHOICES_RUNS,
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .run = replay,
    .example = "ablate replay quick/base@1 --step 200"};
