/* lend.c - lends cores that no waiting run needs to the running runs, as threads (--workers auto): equally many to each
 * run, the remainder to the runs with the longest time left. A run's numbers do not depend on its threads, but the time
 * of its updates does: tokens per second are measured only while the run has no lent threads. */
#include "lab/launch/internal.h"
#include <math.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* If all remaining runs fit at the same time, they share all cores from their start. */
int launch_threads(const launch_options *o, int at_once)
{
    long cores = o->cores > 0 ? o->cores : sysconf(_SC_NPROCESSORS_ONLN);
    size_t over = o->done + o->failed + o->skipped, left = o->n > over ? o->n - over : 1;
    if (o->cores > 0 && left < (size_t)at_once) at_once = (int)left;
    long each = cores / at_once > 0 ? cores / at_once : 1;
    bool own = o->threads > 0 && (o->cores < 1 || o->threads > each);
    return own ? o->threads : (int)each;
}

static int longer(const void *a, const void *b)
{
    double x = progress_left(*(worker *const *)a), y = progress_left(*(worker *const *)b);
    x = isnan(x) ? INFINITY : x, y = isnan(y) ? INFINITY : y;
    return (x < y) - (x > y);
}

void launch_lend(launcher *l)
{
    worker *on[LAUNCH_MAX];
    int n = 0;
    for (int i = 0; i < l->n_workers; i++)
        if (l->w[i].pid && l->w[i].jobs > 0 && !l->w[i].ended) on[n++] = &l->w[i];
    if (l->o->cores < 1 || !n || n == l->lent_among) return;
    l->lent_among = n;
    qsort(on, (size_t)n, sizeof *on, longer);
    for (int i = 0; i < n; i++) {
        int threads = l->o->cores / n + (i < l->o->cores % n);
        if (threads < l->threads) threads = l->threads;
        if (threads == (on[i]->lent ? on[i]->lent : l->threads)) continue;
        CLEANUP(str_free) str line = {0};
        event_threads_line(&line, threads);
        if (send(on[i]->jobs, line.s, line.n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)line.n) {
            on[i]->lent = threads;
            progress_line(&l->p, "threads %s s%lld  now %d: no run waits for these cores", on[i]->claim.name,
                          (long long)on[i]->claim.seed, threads);
        }
    }
}
