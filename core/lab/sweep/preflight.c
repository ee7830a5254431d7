/* preflight.c - checks a sweep before anything is written: device, threads, workers, data and costs. */
#include "base/sandbox.h"
#include "lab/sweep/sweep.h"
#include "tensor/device/device.h"
#include <string.h>
#include <unistd.h>

int most_ranks(const spec *s)
{
    int64_t most = 1, n;
    for (size_t i = 0; i < s->n_rows; i++) {
        const char *text = s->rows[i].run ? settings_get(&s->rows[i].settings, "ranks") : NULL;
        if (text && parse_int(text, &n) && n > most) most = n;
    }
    return (int)most;
}

int read_machine(const spec *s, sweep_options *o, err *e)
{
    const spec_row *base = NULL;
    for (size_t i = 0; i < s->n_rows; i++)
        if (s->rows[i].is_base) base = &s->rows[i];
    if (!base) return 0;
    for (size_t i = 0; i < s->n_rows; i++)
        for (int k = 0; k < 2; k++) {
            const char *key = k ? "threads" : "device", *own = settings_get(&s->rows[i].settings, key);
            if (!same(own, settings_get(&base->settings, key)))
                return fail(
                    e, "row %s: %s = %s: device and threads apply to the whole sweep; set them in [base] or with --%s",
                    s->rows[i].name, key, own, key);
        }
    if (!o->device) {
        snprintf(o->own_device, sizeof o->own_device, "%s", settings_get(&base->settings, "device"));
        o->device = o->own_device;
        if (!o->dry_run && device_check(o->device, e)) return fail_in(e, "[base] ");
    }
    if (!o->threads) parse_int(settings_get(&base->settings, "threads"), &o->threads); /* 0: all cores */
    if (!o->threads && same(o->at_a_time, "auto")) o->threads = 1;
    return 0;
}

int check_data(const sweep_costs *x, const sweep_call *c, err *e)
{
    if (!x->n && x->n_refused) return fail(e, "no row can be trained; the first: %s", x->refused[0].why);
    if (!x->missing) return 0;
    return fail(e, "%s%s", x->missing, c->p->data_default ? " (the default folder: $ABLATE_DATA is not set)" : "");
}

static bool packs(const sweep_options *o) { return same(o->at_a_time, "auto"); }

int sweep_check(sweep_options *o, err *e)
{
    if (o->device && device_check(o->device, e)) return -1;
    if (!same(o->launcher, "local") && !same(o->launcher, "slurm") && !strpbrk(o->launcher, " {/")) /* a typing error */
        return fail(e, "--launcher %s: expected local, slurm, or a command with a blank or {} in it", o->launcher);
    if (o->detach && same(o->launcher, "local"))
        return fail(e, "--detach needs --launcher slurm or COMMAND: workers on this machine end with `ablate run`");
    if ((o->slurm_args || o->per_task) && !same(o->launcher, "slurm"))
        return fail(e, "--%s needs --launcher slurm", o->slurm_args ? "slurm-args" : "runs-per-task");
    if (o->fail_fast && !same(o->launcher, "local"))
        return fail(e, "--fail-fast needs --launcher local: %s gets all runs at once", o->launcher);
    if (o->sandbox && sandbox_missing()) return fail(e, "--sandbox: %s", sandbox_missing());
    if (!o->at_a_time || packs(o)) return 0;
    if (parse_int(o->at_a_time, &o->workers) && o->workers >= 1 && o->workers <= LAUNCH_MOST_WORKERS) return 0;
    return fail(e, "--workers %s: expected a number from 1 to %d, or auto", o->at_a_time, LAUNCH_MOST_WORKERS);
}

void pack(sweep_options *o, const spec *s, const sweep_costs *x, bool talk)
{
    if (!packs(o)) return;
    CLEANUP(str_free) str why = {0};
    pack_needs needs = {.threads = o->threads,
                        .ranks = most_ranks(s),
                        .gpus = x->n ? x->gpus : device_count(o->device),
                        .gpu_free = x->gpu_free};
    for (size_t i = 0; i < x->n; i++) {
        if (x->rows[i].memory > needs.memory) needs.memory = x->rows[i].memory;
        if (x->rows[i].gpu_memory > needs.gpu_memory) needs.gpu_memory = x->rows[i].gpu_memory;
    }
    o->workers = pack_workers(&needs, &why);
    if (talk)
        fprintf(stderr, "%lld run%s at a time: %s\n", (long long)o->workers, o->workers == 1 ? "" : "s",
                str_text(&why));
}

static const double BUSY = 1.25; /* print a note if a second of the processor takes this many on the clock */

/* Returns the threads with which an estimate's times were measured. */
static int64_t threads_timed(int64_t threads) { return threads > 0 ? threads : sysconf(_SC_NPROCESSORS_ONLN); }

/* Prints the summary, then the rows, then the INI; only the INI goes to standard output. */
int dry_run(const spec *s, sweep_options *o, const sweep_call *c, err *e)
{
    sweep_costs x;
    err lack = {0};
    CLEANUP(str_free) str text = {0};
    AUTOFREE size_t *n_runs = xcalloc(s->n_rows + 1, sizeof *n_runs);
    size_t rows = 0;
    estimate_sweep(c, &x);
    size_t asked = 0, left = 0;
    pack(o, s, &x, c->verbosity >= 0);
    int bad = x.n ? 0 : check_data(&x, c, e);
    for (size_t i = 0; i < s->n_rows; i++) rows += s->rows[i].run;
    for (size_t i = 0; i < x.n; i++)
        n_runs[x.rows[i].row] = x.rows[i].left, left += x.rows[i].left, asked += spec_seeds(s, &s->rows[x.rows[i].row]);
    if (!bad && x.unknown && !x.n)
        str_addf(&text, "%s: %zu rows; no estimate: %s\n", s->name, s->n_rows, x.unknown);
    else if (!bad) {
        str_addf(&text, "%s: %zu row%s", s->name, s->n_rows, s->n_rows == 1 ? "" : "s");
        if (rows < s->n_rows) str_addf(&text, ", %zu to train", rows);
        str_add(&text, s->analysis.until.most ? ", at most " : ", ");
        spec_seeds_text(s, s->analysis.until.most ? (size_t)s->analysis.until.most : s->n_row_seeds, &text);
        str_add(&text, ", ");
        if (left < asked) str_addf(&text, "%zu of %zu run%s done, ", asked - left, asked, asked == 1 ? " is" : "s are");
        estimate_line(&x, n_runs, true, o->workers, threads_timed(o->threads), &text);
        str_addc(&text, '\n');
        str_add(&text, str_text(&x.notes));
        if (x.missing) str_addf(&text, "the data are not here; their published sizes were used: %s\n", x.missing);
        str_addc(&text, '\n');
        estimate_table(&x, s, &text);
        if (x.unknown) str_addf(&text, "no estimate: %s\n", x.unknown);
        room_lacks(&x, s, o, &text, &lack);
        if (x.busy > BUSY)
            str_addf(&text,
                     "other processes work on this machine: 1 s of processor time took %.1f s; the times are for an "
                     "idle machine\n",
                     x.busy);
        str_addc(&text, '\n');
    }
    if (c->verbosity >= 0) fputs(str_text(&text), stderr);
    spec_print(s, stdout);
    fflush(stdout);
    estimate_free(&x);
    return bad ? 1 : 0;
}

void print_preflight(const sweep_costs *x, const spec *s, const db_frozen *f, size_t n, const reruns *again,
                     const launch_options *l, const sweep_call *c)
{
    AUTOFREE size_t *n_runs = xcalloc(s->n_rows + 1, sizeof *n_runs);
    size_t queued = 0;
    CLEANUP(str_free) str text = {0};
    for (size_t i = 0; i < n; i++)
        if (s->rows[f[i].row].run && is_left(again, &f[i])) n_runs[f[i].row]++, queued++;
    if (queued && x->n) {
        estimate_line(x, n_runs, false, l->workers, threads_timed(l->threads), &text);
        fprintf(stderr, "%s; results go to %s, files to %s/\n", str_text(&text), c->p->db.path, l->folder);
    }
}
