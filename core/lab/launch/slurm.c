/* slurm.c - runs in Slurm: one array job per sweep (away.h). Files in the spool: job.sh, the batch script; job, the
 * job's id as printed by sbatch; task-A.txt, the output of task A. */
#include "lab/launch/away.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- submitting ---- */

/* The batch script, which starts `ablate slurm-task` (task.c). */
static int write_script(const launcher *l, const away_job *j, const char *path, err *e)
{
    str s = {0};
    size_t tasks = (j->n + (size_t)j->per_task - 1) / (size_t)j->per_task;
    str_addf(&s, "#!/bin/sh\n#SBATCH --job-name=ablate-%s\n#SBATCH --array=0-%zu\n", l->o->experiment, tasks - 1);
    str_add(&s, "#SBATCH --requeue\n#SBATCH --open-mode=append\n#SBATCH --signal=B:USR1@120\n");
    str_addf(&s, "#SBATCH --output=%s/task-%%a.txt\n", j->spool);
    if (j->ranks > 1) str_addf(&s, "#SBATCH --ntasks=%d\n", j->ranks); /* mpirun, inside, starts one on each */
    str_addf(&s, "exec '%s' slurm-task '%s' \"$SLURM_ARRAY_TASK_ID\" %d\n", l->o->program, j->spool, j->per_task);
    if (j->ranks > 1 && j->per_task > 1) {
        str_free(&s);
        return fail(e,
                    "found %d runs per task and a run with ranks = %d, expected one run per task for runs with ranks",
                    j->per_task, j->ranks);
    }
    int bad = strchr(l->o->program, '\'') || strchr(j->spool, '\'')
                  ? fail(e, "%s: paths for Slurm cannot contain quotes", j->spool)
                  : file_write(path, s.s, s.n, e);
    str_free(&s);
    return bad;
}

static int sbatch(launcher *l, away_job *j, const char *script, err *e)
{
    enum { MOST = 64 };
    const char *args[MOST] = {"sbatch", "--parsable"};
    char *given = xstrdup(l->o->slurm), *save = NULL;
    int n = 2;
    for (char *w = strtok_r(given, " \t", &save); w && n < MOST - 2; w = strtok_r(NULL, " \t", &save)) args[n++] = w;
    args[n++] = script;
    args[n] = NULL;
    char *out = output_of(args);
    free(given);
    if (!out)
        return fail(e, "sbatch did not accept the job: run `sbatch %s %s` to see its message; is Slurm installed here?",
                    l->o->slurm, script);
    snprintf(j->id, sizeof j->id, "%.*s", (int)strcspn(out, ";\n"), out);
    free(out);
    char *path = path_join(j->spool, "job");
    int bad = file_write(path, j->id, strlen(j->id), e);
    free(path);
    return bad;
}

static int submit(launcher *l, away_job *j, err *e)
{
    char *script = path_join(j->spool, "job.sh");
    int bad = write_script(l, j, script, e) || sbatch(l, j, script, e);
    free(script);
    if (bad) return -1;
    progress_line(&l->p, "Slurm job %s: %zu run%s in %zu task%s", j->id, j->n, j->n == 1 ? "" : "s",
                  (j->n + (size_t)j->per_task - 1) / (size_t)j->per_task, j->n > (size_t)j->per_task ? "s" : "");
    return 0;
}

static int read_job(away_job *j, err *e)
{
    str id = {0}, text = {0};
    char *job = path_join(j->spool, "job"), *script = path_join(j->spool, "job.sh");
    int rc = !file_exists(job) ? 0 : file_read(job, &id, e) ? -1 : 1;
    err none = {0};
    snprintf(j->id, sizeof j->id, "%s", str_text(&id));
    if (*j->id == '-')
        rc = fail(e, "%s: found \"%s\", expected the id of a job", job, j->id); /* an option of scancel */
    char *last = rc > 0 && !file_read(script, &text, &none) ? strrchr(trim(text.s), ' ') : NULL;
    int64_t per = 1;
    if (last && parse_int(last + 1, &per) && per > 0) j->per_task = (int)per;
    str_free(&text);
    str_free(&id);
    free(job);
    free(script);
    return rc;
}

/* ---- asking ---- */

/* squeue's list of the job's unfinished tasks: "17_3 RUNNING", one per line. NULL: squeue failed. */
static char *queue_of(const away_job *j)
{
    return output_of((const char *const[]){"squeue", "-h", "-r", "-j", j->id, "-o", "%i %T", NULL});
}

/* The rest of a task's line in such a list; NULL: not listed. */
static const char *in_queue(const char *queue, const char *task)
{
    size_t n = strlen(task);
    for (const char *at = queue; (at = strstr(at, task)); at += n)
        if ((at == queue || at[-1] == '\n') && at[n] == ' ') return at + n + 1;
    return NULL;
}

static bool is_queued(const char *queue, const away_job *j, size_t i)
{
    char *task = xprintf("%s_%zu", j->id, i / (size_t)j->per_task);
    bool there = in_queue(queue, task) != NULL;
    free(task);
    return there;
}

/* ---- ablate ls ---- */

/* "17,18" of tasks "17_0", "17_3", "18_0". */
static void jobs_of(const char *const *task, size_t n, str *out)
{
    const char *last = "";
    for (size_t i = 0; i < n; i++) {
        size_t length = strcspn(task[i], "_");
        if (strncmp(last, task[i], length + 1)) str_addf(out, "%s%.*s", out->n ? "," : "", (int)length, task[i]);
        last = task[i];
    }
}

void slurm_states(const char *const *task, char (*state)[SLURM_STATE], size_t n)
{
    str jobs = {0};
    jobs_of(task, n, &jobs);
    char *queue = n ? output_of((const char *const[]){"timeout", "5", "squeue", "-h", "-r", "-j", str_text(&jobs), "-o",
                                                      "%i %T", NULL})
                    : NULL;
    for (size_t i = 0; i < n; i++) {
        const char *at = queue ? in_queue(queue, task[i]) : NULL;
        snprintf(state[i], SLURM_STATE, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
    }
    str_free(&jobs);
    free(queue);
}

/* A task unknown to Slurm without a recorded end was cancelled, or its machine failed for good. */
static int look_for_lost(launcher *l, away_job *j, err *e)
{
    char *queue = queue_of(j);
    int bad = 0;
    for (size_t i = 0; i < j->n && !bad; i++) {
        away_run *a = &j->run[i];
        int code, sig;
        if (a->over || (queue && is_queued(queue, j, i)) || away_ended(j, i, &code, &sig)) {
            a->missing = 0;
            continue;
        }
        if (++a->missing < AWAY_GRACE) continue; /* squeue briefly omits a job while it is requeued */
        snprintf(a->w.error, sizeof a->w.error,
                 "Slurm no longer has its task %s_%zu: it was cancelled, or its machine failed", j->id,
                 i / (size_t)j->per_task);
        bad = away_end(l, j, i, -1, SIGKILL, e);
    }
    free(queue);
    return bad;
}

static void cancel(away_job *j) { free(output_of((const char *const[]){"scancel", j->id, NULL})); }

const away_engine slurm_engine = {
    .name = "slurm", .ask = 5, .submit = submit, .read = read_job, .look = look_for_lost, .cancel = cancel};
