/* room.c - checks that disk and memory have room for the runs that a sweep still has to train. */
#include "lab/launch/care.h"
#include "lab/sweep/sweep.h"
#include <math.h>

static void no_room(const char *row, double needs, double has, const char *of, const char *what, err *e)
{
    fail(e,
         "%s%sfound %.3g GB of %s free, expected %.3g GB%s: no run was started. Free some, train fewer runs at a time, "
         "or add --ignore-room to start anyway",
         row, *row ? ": " : "", has / 1e9, of, needs / 1e9, what);
}

/* Returns the bytes that the row's concurrent runs need, 0 if they fit. *of: which memory; *has: its free bytes. */
static double lacks(const sweep_costs *x, const row_estimate *r, const sweep_options *o, double free, double ranks,
                    const char **of, double *has)
{
    double runs = fmax((double)r->left, (double)r->trials), n = o->workers > 1 ? (double)o->workers : 1,
           needs = r->memory * ranks * (n < runs ? n : runs);
    if (!(runs > 0)) return 0;
    *of = "memory", *has = free;
    if (free > 0 && needs > free) return needs;
    *of = "GPU memory", *has = x->gpu_free;
    return x->gpus && x->gpu_free > 0 && r->gpu_memory > x->gpu_free ? r->gpu_memory : 0;
}

bool room_lacks(const sweep_costs *x, const spec *s, const sweep_options *o, str *rows, err *e)
{
    double has, needs, free = care_free_memory(), ranks = most_ranks(s);
    const char *of;
    bool any = false;
    for (size_t i = 0; i < x->n && same(o->launcher, "local"); i++) { /* other launchers train on other machines */
        const char *name = s->rows[x->rows[i].row].name;
        if (!((needs = lacks(x, &x->rows[i], o, free, ranks, &of, &has)) > 0)) continue;
        if (!any) no_room(name, needs, has, of, o->workers > 1 ? " for the concurrent runs" : "", e);
        str_addf(rows, "no room for %s: it needs %.3g GB of %s, %.3g GB are free\n", name, needs / 1e9, of, has / 1e9);
        any = true;
    }
    return any;
}

int check_room(const sweep_costs *x, const spec *s, const db_frozen *f, size_t n, const reruns *again, db *d,
               launch_options *l, err *e)
{
    double disk = 0, memory = 0;
    size_t runs = 0;
    for (size_t i = 0; i < n; i++) {
        bool waits = is_left(again, &f[i]);
        for (size_t k = 0; k < x->n && waits && s->rows[f[i].row].run; k++) {
            const row_estimate *row = &x->rows[k];
            if (row->row != f[i].row) continue;
            disk += row->disk, runs++;
            if (row->disk > l->disk_each) l->disk_each = row->disk;
            if (row->memory > memory) memory = row->memory;
        }
    }
    if (!runs || make_folders(l->folder, e)) return runs ? -1 : 0;
    double has = care_free_disk(l->folder);
    if (has > 0 && has < disk && launch_clean(d, l, e)) return -1; /* removes done runs' checkpoints first */
    has = care_free_disk(l->folder);
    if (has > 0 && has < disk) return no_room("", disk, has, "disk", "", e), -1;
    if (l->slurm || l->command) return 0; /* on other machines */
    l->memory_each = memory * (l->ranks > 1 ? l->ranks : 1);
    return 0;
}
