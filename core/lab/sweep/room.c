/* room.c - is there room on the disk and in memory for what a sweep has still to train? */
#include "lab/launch/care.h"
#include "lab/sweep/sweep.h"

static void no_room(double needs, double has, const char *of, const char *what, err *e)
{
    fail(e,
         "found %.3g GB of %s free, expected %.3g GB%s: no run was started. Free some, train less at a time, or start "
         "all the same with --ignore-room",
         has / 1e9, of, needs / 1e9, what);
}

int check_room(const sweep_costs *x, const spec *s, const db_frozen *f, size_t n, const reruns *again, db *d,
               launch_options *l, err *e)
{
    double disk = 0, memory = 0, at_once = l->workers > 0 ? l->workers : 1;
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
    if (has > 0 && has < disk && launch_clean(d, l, e)) return -1; /* checkpoints of done runs go first */
    has = care_free_disk(l->folder);
    if (has > 0 && has < disk) return no_room(disk, has, "disk", "", e), -1;
    if (l->slurm || l->command) return 0; /* other machines' memory */
    l->memory_each = memory * (l->ranks > 1 ? l->ranks : 1);
    if (at_once > (double)runs) at_once = (double)runs;
    has = care_free_memory();
    if (has > 0 && has < at_once * l->memory_each)
        return no_room(at_once * l->memory_each, has, "memory", at_once > 1 ? " for the runs at a time" : "", e), -1;
    return 0;
}
