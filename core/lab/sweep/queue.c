/* queue.c - selects and orders the frozen runs to train, and reports on the others. */
#include "lab/sweep/sweep.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Adds a word with the quotes that a shell needs. */
static void add_word(str *out, const char *word)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    bool bare = *word && !word[strspn(word, safe)];
    if (out->n) str_addc(out, ' ');
    if (!bare) str_addc(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            str_add(out, "'\\''");
        else
            str_addc(out, *word);
    }
    if (!bare) str_addc(out, '\'');
}

void resume_command(const sweep_call *c, str *out)
{
    add_word(out, is_folder("./ablate") || access("./ablate", X_OK) ? c->p->program : "./ablate");
    str_add(out, " run");
    for (int i = 1; i < c->argc; i++)
        if (same(c->argv[i], "--rerun"))
            i++;
        else if (!has_prefix(c->argv[i], "--rerun="))
            add_word(out, c->argv[i]);
}

/* Returns how long the rows' runs take: seconds, or updates if an estimate is missing; [rows], the caller frees. */
static double *lengths_of(const spec *s, const sweep_costs *x)
{
    double *length = xcalloc(s->n_rows + 1, sizeof *length);
    size_t known = 0, asked = 0;
    for (size_t i = 0; x && i < x->n; i++) {
        length[x->rows[i].row] = x->rows[i].seconds + x->rows[i].beside;
        known += x->rows[i].seconds > 0 && x->rows[i].beside >= 0;
    }
    for (size_t i = 0; i < s->n_rows; i++) asked += s->rows[i].run;
    for (size_t i = 0; i < s->n_rows && known < asked; i++) length[i] = (double)s->rows[i].config.steps;
    return length;
}

typedef struct {
    int64_t id;
    size_t at; /* index in the order of seeds, then of rows */
    int64_t seed;
    bool huge;
    double length;
} queued;

static int earlier(const void *p, const void *q)
{
    const queued *a = p, *b = q;
    if (a->huge != b->huge) return b->huge - a->huge;
    if (a->seed == b->seed && a->length != b->length) return a->length < b->length ? 1 : -1;
    return (a->at > b->at) - (a->at < b->at);
}

void choose_runs(const spec *s, const sweep_costs *x, const db_frozen *f, size_t n, int64_t *ids, launch_options *l)
{
    enum { FIFTH = 5 }; /* a run with more than 1/FIFTH of all work is huge */
    bool several = l->workers > 1 || l->gpus > 1;
    AUTOFREE queued *q = xcalloc(n + 1, sizeof *q);
    AUTOFREE double *length = lengths_of(s, x);
    double all = 0;
    l->runs = ids;
    for (size_t i = 0; i < n; i++) {
        if (!s->rows[f[i].row].run) continue;
        q[l->n++] = (queued){.id = f[i].id, .at = i, .seed = f[i].seed, .length = several ? length[f[i].row] : 0};
        all += several ? length[f[i].row] : 0;
        l->done += f[i].status == DB_DONE;
        l->failed += f[i].status == DB_FAILED;
        l->skipped += f[i].status == DB_SKIPPED;
    }
    for (size_t i = 0; i < l->n; i++) q[i].huge = q[i].length * FIFTH > all && all > 0;
    qsort(q, l->n, sizeof *q, earlier);
    for (size_t i = 0; i < l->n; i++) ids[i] = q[i].id;
}

void show_gaps(const db_counts *n)
{
    if (n->of[DB_FAILED])
        fprintf(stderr, "%zu failed (see `ablate watch RUN --log`): repeat with `--rerun failed` to train them again\n",
                n->of[DB_FAILED]);
    if (n->of[DB_KILLED]) fprintf(stderr, "%zu killed: the same command resumes them\n", n->of[DB_KILLED]);
    if (n->of[DB_RUNNING])
        fprintf(stderr, "%zu are running in another process and will appear in the table\n", n->of[DB_RUNNING]);
    if (n->of[DB_QUEUED]) fprintf(stderr, "%zu not trained yet: run the same command again\n", n->of[DB_QUEUED]);
    if (n->gone)
        fprintf(stderr, "%zu are no longer in the experiment: another process ran another spec or removed these runs\n",
                n->gone);
}

static bool is_in(const int64_t *ids, size_t n, int64_t id)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id) return true;
    return false;
}

/* Does --rerun ask for a run that is done or failed? */
static bool is_asked(int rerun, const db_frozen *run)
{
    return rerun == RERUN_ALL || (rerun == RERUN_FAILED && run->status == DB_FAILED) ||
           (rerun == RERUN_CHANGED && run->changed);
}

bool is_left(const reruns *r, const db_frozen *run)
{
    if (run->status != DB_DONE && run->status != DB_FAILED) return run->status != DB_SKIPPED;
    return is_asked(r->rerun, run) && !is_in(r->before.id, r->before.n, run->id);
}

int queue_again(db *d, const spec *s, reruns *r, const db_frozen *f, size_t n, launch_options *l, bool talk, err *e)
{
    bool redo = r->rerun == RERUN_CHANGED, all = r->rerun == RERUN_ALL;
    AUTOFREE int64_t *again = xcalloc(n + 1, sizeof *again);
    size_t n_again = 0, n_changed = 0, anew = 0, queued = 0, known = r->before.n;
    for (size_t i = 0; i < n; i++) {
        if (!s->rows[f[i].row].run) continue;
        n_changed += f[i].changed, anew += f[i].anew;
        if (is_in(r->before.id, known, f[i].id)) continue;
        r->before.id = grow(r->before.id, &r->before.cap, r->before.n + 1, sizeof *r->before.id);
        r->before.id[r->before.n++] = f[i].id;
        if (r->rerun < 0 || (redo && !f[i].changed)) continue;
        again[n_again++] = f[i].id;
        l->done -= f[i].status == DB_DONE && is_asked(r->rerun, &f[i]);
        l->failed -= f[i].status == DB_FAILED;
    }
    int bad = n_again ? db_requeue(d, again, n_again, redo || all ? DB_RERUN_ALL : DB_RERUN_FAILED, &queued, e) : 0;
    if (talk && !redo && !all && n_changed)
        fprintf(stderr, "%zu run%s trained with a plugin that has changed since: --rerun changed trains %s again\n",
                n_changed, n_changed == 1 ? " was" : "s were", n_changed == 1 ? "it" : "them");
    if (talk && anew)
        fprintf(stderr, "%zu unfinished run%s started with a plugin that has changed since: %s from step 0\n", anew,
                anew == 1 ? " was" : "s were", anew == 1 ? "it restarts" : "they restart");
    size_t older = 0;
    if (talk && !db_older_count(d, s->name, &older, NULL) && older)
        fprintf(stderr,
                "%zu older run%s with other settings stay%s in the database but out of the table: `ablate ls %s "
                "--older`\n",
                older, older == 1 ? "" : "s", older == 1 ? "s" : "", s->name);
    return bad;
}
