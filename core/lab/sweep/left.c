/* left.c - see left.h. */
#include "lab/sweep/left.h"
#include "lab/results/read.h"
#include <stdlib.h>

struct done_runs {
    reader *r;
    arena a;
    read_experiment x;
    int rerun;
};

done_runs *done_open(const db_options *where, const char *experiment, int rerun)
{
    err none = {0}; /* without a database, no run is done */
    done_runs *d = xcalloc(1, sizeof *d);
    d->rerun = rerun;
    d->r = reader_open(where, &none);
    if (d->r && reader_experiment(d->r, experiment, READ_BRIEF, &d->a, &d->x, &none)) d->x = (read_experiment){0};
    return d;
}

void done_close(done_runs *d)
{
    reader_close(d->r);
    arena_free(&d->a);
    free(d);
}

/* Decides as launching does (queue.c): a failed run is tried again only if --rerun asks for it. */
static bool is_over(const done_runs *d, const read_run *run)
{
    if (run->recorded || d->rerun == RERUN_ALL) return false;
    return run->status == DB_DONE || run->status == DB_SKIPPED || (run->status == DB_FAILED && d->rerun == RERUN_NONE);
}

bool run_is_done(const done_runs *d, const char *hash, int64_t seed)
{
    for (size_t i = 0; i < d->x.n_rows; i++)
        for (size_t k = 0; same(d->x.rows[i].config_hash, hash) && k < d->x.rows[i].n_runs; k++)
            if (d->x.rows[i].runs[k].seed == seed) return is_over(d, &d->x.rows[i].runs[k]);
    return false;
}

void runs_count_left(const spec *s, const done_runs *d, size_t *runs)
{
    for (size_t i = 0; i < s->n_rows; i++) {
        const spec_row *row = &s->rows[i];
        size_t n = spec_seeds(s, row);
        runs[i] = row->run && row->same_as < 0 ? n : 0;
        for (size_t k = 0; runs[i] && k < n && !row->n_tunes; k++) runs[i] -= run_is_done(d, row->hash, s->seeds[k]);
    }
}
