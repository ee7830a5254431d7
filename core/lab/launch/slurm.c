/* slurm.c - runs in Slurm: a sweep's array jobs (away.h), each below the cluster's MaxArraySize. Files in the spool:
 * job.sh and job-K.sh, the batch scripts of parts 0 and K; job, the ids that sbatch printed, "17,18", and the number
 * of tasks per part; task-A_B.txt, the output of task B of job A; refused.txt, sbatch's last standard error. */
#include "lab/launch/away.h"
#include <stdlib.h>
#include <string.h>

/* ---- submitting ---- */

/* Reads a number from `scontrol show config`; `otherwise` if it is absent. */
static size_t limit_of(const char *config, const char *key, size_t otherwise)
{
    const char *at = config ? strstr(config, key) : NULL;
    long long n = 0;
    return at && sscanf(at + strlen(key), " = %lld", &n) == 1 && n > 0 ? (size_t)n : otherwise;
}

/* Returns how many runs the cluster accepts now: MaxJobCount counts all users' tasks. Sets j->part. */
static size_t room_for(launcher *l, away_job *j)
{
    enum { ARRAY = 1001, JOBS = 10000 }; /* Slurm's own defaults */
    AUTOFREE char *queue = output_of((const char *const[]){"squeue", "-h", "-r", "-o", "%i", NULL});
    if (!l->slurm_most) {
        AUTOFREE char *config = output_of((const char *const[]){"scontrol", "show", "config", NULL});
        l->slurm_array = limit_of(config, "\nMaxArraySize", ARRAY);
        l->slurm_most = limit_of(config, "\nMaxJobCount", JOBS);
    }
    size_t jobs = l->slurm_most - 1;
    for (const char *at = queue; at && (at = strchr(at, '\n')) && jobs > 1; at++) jobs--;
    if (!jobs) jobs = 1; /* sbatch then reports why it accepts none */
    j->part = l->slurm_array < 2 ? 1 : l->slurm_array - 1 < jobs ? l->slurm_array - 1 : jobs;
    return jobs * (size_t)(l->o->per_task > 0 ? l->o->per_task : 1);
}

static char *script_of(const away_job *j, size_t part)
{
    return part ? xprintf("%s/job-%zu.sh", j->spool, part) : path_join(j->spool, "job.sh");
}

/* Writes the batch script of `tasks` tasks from `first` on, which starts `ablate slurm-task` (task.c). */
static int write_script(const launcher *l, const away_job *j, size_t first, size_t tasks, const char *path, err *e)
{
    CLEANUP(str_free) str s = {0};
    if (j->ranks > 1 && j->per_task > 1)
        return fail(e,
                    "found %d runs per task and a run with ranks = %d, expected one run per task for runs with ranks",
                    j->per_task, j->ranks);
    if (strchr(l->o->program, '\'') || strchr(j->spool, '\''))
        return fail(e, "%s: paths for Slurm cannot contain quotes", j->spool);
    str_addf(&s, "#!/bin/sh\n#SBATCH --job-name=ablate-%s\n#SBATCH --array=0-%zu\n", l->o->experiment, tasks - 1);
    str_add(&s, "#SBATCH --requeue\n#SBATCH --open-mode=append\n#SBATCH --signal=B:USR1@120\n");
    str_addf(&s, "#SBATCH --output=%s/task-%%A_%%a.txt\n", j->spool);
    if (j->ranks > 1) str_addf(&s, "#SBATCH --ntasks=%d\n", j->ranks); /* one rank per Slurm task */
    str_add(&s, "case $SLURM_ARRAY_TASK_ID in '' | *[!0-9]* | ?????????*)\n"
                "    echo 'SLURM_ARRAY_TASK_ID: expected a number below 1e8'; exit 1 ;;\nesac\n");
    str_addf(&s, "exec '%s' slurm-task '%s' \"$((SLURM_ARRAY_TASK_ID + %zu))\" %d\n", l->o->program, j->spool, first,
             j->per_task);
    return file_write(path, s.s, s.n, e);
}

/* Adds the job's id to j->id. */
static int sbatch(launcher *l, away_job *j, const char *script, err *e)
{
    enum { MOST = 64 };
    AUTOFREE char *said = path_join(j->spool, "refused.txt");
    const char *args[MOST] = {"sh", "-c", "to=$1; shift; exec \"$@\" 2>\"$to\"", "sh", said, "sbatch", "--parsable"};
    AUTOFREE char *given = xstrdup(l->o->slurm);
    char *save = NULL;
    int n = 7;
    for (char *w = strtok_r(given, " \t", &save); w && n < MOST - 2; w = strtok_r(NULL, " \t", &save)) args[n++] = w;
    args[n++] = script;
    args[n] = NULL;
    AUTOFREE char *out = output_of(args);
    CLEANUP(str_free) str words = {0};
    err none = {0};
    if (!out) file_read(said, &words, &none);
    if (!out) return fail(e, "sbatch did not accept the job: %s", trim(words.n ? words.s : none.text));
    AUTOFREE char *before = j->id;
    j->id = xprintf("%s%s%.*s", before ? before : "", before ? "," : "", (int)strcspn(out, ";\n"), out);
    return 0;
}

char *slurm_task(const away_job *j, size_t i)
{
    size_t task = i / (size_t)j->per_task;
    const char *at = j->id;
    for (size_t k = task / j->part; k && at; k--) at = (at = strchr(at, ',')) ? at + 1 : NULL;
    return xprintf("%.*s_%zu", at ? (int)strcspn(at, ",") : 0, at ? at : "", task % j->part);
}

/* Writes `job` when sbatch has accepted all parts: until then a dead host's runs are queued again (away.c). Runs of
 * parts that sbatch refuses stay queued. */
static int submit_array(launcher *l, away_job *j, err *e)
{
    size_t tasks = (j->n + (size_t)j->per_task - 1) / (size_t)j->per_task, first = 0;
    int bad = 0;
    for (; first < tasks && !bad; first += bad ? 0 : j->part) {
        AUTOFREE char *script = script_of(j, first / j->part);
        size_t n = tasks - first < j->part ? tasks - first : j->part;
        bad = write_script(l, j, first, n, script, e) || sbatch(l, j, script, e);
    }
    if (bad && !j->id) return -1;
    if (bad) {
        progress_line(&l->p, "%s: %zu of %zu tasks were submitted; the same command submits the others", e->text, first,
                      tasks);
        *e = (err){0};
        if (away_give_back(l, j, first * (size_t)j->per_task, e)) return -1;
        tasks = first;
    }
    progress_line(&l->p, "Slurm job %s: %zu run%s in %zu task%s", j->id, j->n, j->n == 1 ? "" : "s", tasks,
                  tasks == 1 ? "" : "s");
    AUTOFREE char *path = path_join(j->spool, "job"), *text = xprintf("%s %zu", j->id, j->part);
    return file_write(path, text, strlen(text), e);
}

static int read_job(away_job *j, err *e)
{
    CLEANUP(str_free) str id = {0}, text = {0};
    AUTOFREE char *job = path_join(j->spool, "job"), *script = script_of(j, 0);
    int rc = !file_exists(job) ? 0 : file_read(job, &id, e) ? -1 : 1;
    err none = {0};
    char *part = strchr(str_text(&id), ' ');
    int64_t per = 1, n = 0;
    j->part = part && parse_int(part + 1, &n) && n > 0 ? (size_t)n : SIZE_MAX;
    j->id = xprintf("%.*s", (int)strcspn(str_text(&id), " \n"), str_text(&id));
    if (rc > 0 && (!*j->id || j->id[strspn(j->id, "0123456789,")])) /* anything else could be an option of scancel */
        rc = fail(e, "%s: found \"%s\", expected the id of a job", job, j->id);
    char *last = rc > 0 && !file_read(script, &text, &none) ? strrchr(trim(text.s), ' ') : NULL;
    if (last && parse_int(last + 1, &per) && per > 0) j->per_task = (int)per;
    return rc;
}

/* ---- asking ---- */

/* Returns the rest of a task's line in squeue's list, "17_3 RUNNING"; NULL: not listed. */
static const char *in_queue(const char *queue, const char *task)
{
    size_t n = strlen(task);
    for (const char *at = queue; (at = strstr(at, task)); at += n)
        if ((at == queue || at[-1] == '\n') && at[n] == ' ') return at + n + 1;
    return NULL;
}

static bool is_queued(const char *queue, const away_job *j, size_t i)
{
    AUTOFREE char *task = slurm_task(j, i);
    return in_queue(queue, task) != NULL;
}

/* ---- ablate ls ---- */

/* Writes "17,18" for tasks "17_0", "17_3", "18_0". */
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
    CLEANUP(str_free) str jobs = {0};
    jobs_of(task, n, &jobs);
    AUTOFREE char *queue = n ? output_of((const char *const[]){"timeout", "5", "squeue", "-h", "-r", "-j",
                                                               str_text(&jobs), "-o", "%i %T", NULL})
                             : NULL;
    for (size_t i = 0; i < n; i++) {
        const char *at = queue ? in_queue(queue, task[i]) : NULL;
        snprintf(state[i], SLURM_STATE, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
    }
}

/* Ends runs whose task Slurm no longer lists and that recorded no end: it was cancelled, or its machine failed. */
static int find_lost(launcher *l, away_job *j, err *e)
{
    AUTOFREE char *queue = output_of((const char *const[]){"squeue", "-h", "-r", "-j", j->id, "-o", "%i %T", NULL});
    int bad = 0;
    for (size_t i = 0; i < j->n && !bad; i++) {
        away_run *a = &j->run[i];
        int code, sig;
        if (a->over || (queue && is_queued(queue, j, i)) || away_ended(j, i, &code, &sig)) {
            a->missing = 0;
            continue;
        }
        if (++a->missing < AWAY_GRACE) continue; /* squeue briefly omits a job while it is requeued */
        AUTOFREE char *task = slurm_task(j, i);
        snprintf(a->w.error, sizeof a->w.error,
                 "Slurm no longer has its task %s: it was cancelled, or its machine failed", task);
        bad = away_end(l, j, i, -1, SIGKILL, e);
    }
    return bad;
}

static void cancel(away_job *j)
{
    AUTOFREE char *ids = xstrdup(j->id);
    char *save = NULL;
    for (char *id = strtok_r(ids, ",", &save); id; id = strtok_r(NULL, ",", &save))
        free(output_of((const char *const[]){"scancel", id, NULL}));
}

const away_engine slurm_engine = {.name = "slurm",
                                  .ask = 5,
                                  .room = room_for,
                                  .submit = submit_array,
                                  .read = read_job,
                                  .look = find_lost,
                                  .cancel = cancel};
