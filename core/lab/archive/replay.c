/* replay.c - repeats updates of a run from the nearest saved state, and compares them with its stored curves. */
#include "lab/archive/replay.h"
#include "lab/archive/artifact.h"
#include "network/train/states.h"
#include "tensor/cpu/cpu.h"
#include <math.h>
#include <stdlib.h>

int replay_job_of(const places *p, const replay_options *o, const char *config, replay_job *j, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    settings set = {0};
    int bad = config_from_json(config, &set, &a, e);
    const char *steps = bad ? NULL : settings_get(&set, "steps"), *ranks = bad ? NULL : settings_get(&set, "ranks"),
               *start = bad ? NULL : settings_get(&set, "start_step");
    if (!bad && steps && o->until > strtoll(steps, NULL, 10))
        bad = fail(e, "step %lld: the run has only %s steps", (long long)o->until, steps);
    if (!bad && start && o->step <= strtoll(start, NULL, 10))
        bad = fail(e, "step %lld: the run starts after step %s of another run", (long long)o->step, start);
    if (!bad && ranks && !same(ranks, "1"))
        bad = fail(e, "the run has %s ranks, which do not fit into one process", ranks);
    *j = (replay_job){.job = {.config = config,
                              .data_dir = p->data_dir,
                              .cache_dir = path_join(p->root, "runs/cache"),
                              .runs = db_runs_folder(&p->db),
                              .device = "auto",
                              .fd = -1,
                              .profile = o->profile},
                      .until = o->until,
                      .show_from = o->step,
                      .show = stdout};
    return bad;
}

void replay_job_free(replay_job *j)
{
    free((char *)j->job.cache_dir);
    free((char *)j->job.runs);
}

/* ---- a recorded run ---- */

typedef struct {
    const read_curve *curves;
    size_t n;
    int64_t from; /* updates already done in the state */
    size_t points, differ;
} replayed;

static void compare_point(void *self, const char *metric, int64_t step, double value)
{
    replayed *x = self;
    if (step <= x->from) return; /* stored in the state, not computed again */
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
    j->job.seed = run->seed;
    if (!how.cpu) return;
    j->job.device = "cpu", j->job.threads = how.threads;
    if (how.isa[0] && cpu_use(how.isa, NULL))
        fprintf(stderr, "this processor does not support %s: digits may differ\n", how.isa);
}

static int print_outcome(const read_run *run, const replayed *x, train_outcome now, const err *e)
{
    bool same_end = now == TRAIN_DIVERGED && run->error && same(run->error, e->text);
    if (now == TRAIN_FAILED || (now == TRAIN_DIVERGED && !same_end)) return -1;
    if (same_end) printf("%s, as recorded\n", e->text);
    if (!x->points)
        printf(
            "curves: the run has no point between these steps (points are at every 50th, and where dev is measured)\n");
    else
        printf("curves: %zu of %zu points are as recorded, bit for bit\n", x->points - x->differ, x->points);
    return x->differ ? 1 : 0;
}

static int replay_run(const replay_options *o, const places *p, reader *r, const read_detail *d, arena *a, bool quiet,
                      err *e)
{
    replay_job j;
    replayed x = {0};
    read_curve *curves = NULL;
    if (replay_job_of(p, o, d->config_json, &j, e) || reader_curves(r, d->run.id, NULL, a, &curves, &x.n, e))
        return replay_job_free(&j), -1;
    x.curves = curves;
    AUTOFREE char *folder = d->run.log_path ? path_folder(d->run.log_path) : NULL,
                  *state = folder ? states_before(folder, o->step, &x.from) : NULL;
    j.resume = state;
    j.point = compare_point, j.self = &x;
    compute_as(&d->run, &j);
    if (!quiet)
        fprintf(stderr, "%s, seed %lld, from %s%s\n", d->row, (long long)d->run.seed, state ? state : "its start",
                state ? "" : ": no saved state before this step is left (keep_states)");
    train_outcome now = replay_train(&j, e);
    int code = print_outcome(&d->run, &x, now, e);
    replay_job_free(&j);
    return code;
}

int replay(const replay_options *o, const char *name, const places *p, bool quiet, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_detail d;
    int code = -1;
    CLEANUP(reader_end) reader *r = reader_open(&p->db, e);
    int64_t id = r ? reader_find_run(r, name, e) : -1;
    if (id >= 0 && !reader_run(r, id, &a, &d, e))
        code = d.run.recorded || d.run.foreign
                   ? fail(e, "%s was not trained here; `ablate verify` trains a recorded run again", name)
                   : replay_run(o, p, r, &d, &a, quiet, e);
    return code;
}
