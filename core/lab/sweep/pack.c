/* pack.c - ablate run --workers auto: trains as many runs at a time as cores, memory and GPU memory allow. */
#include "lab/launch/care.h"
#include "lab/sweep/sweep.h"
#include <sched.h>

/* The share of free memory that runs may use: estimates have errors, and others use the machine too. */
static const double SHARE = 0.9;

int64_t pack_cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

/* Lowers *n to the number of runs of `each` bytes that fit in `room`. If `each` or `room` is 0 (unknown), *n stays. */
static void fit(int64_t *n, double each, double room, const char *of, str *why)
{
    if (!(each > 0 && room > 0)) return;
    double most = SHARE * room / each;
    str_addf(why, ", %.1f GB%s free, up to %.1f per run", room / 1e9, of, each / 1e9);
    if (most < (double)*n) *n = most < 1 ? 1 : (int64_t)most;
}

/* Returns how many runs fit on the GPUs: as many ranks on each as its memory holds, one if that is unknown. */
static int64_t on_gpus(const pack_needs *x, str *why)
{
    int64_t each = INT32_MAX;
    CLEANUP(str_free) str text = {0};
    fit(&each, x->gpu_memory, x->gpu_free, " of GPU memory", &text);
    if (each == INT32_MAX) each = 1; /* unknown memory: one rank on each GPU */
    int64_t n = x->gpus * each / x->ranks;
    str_addf(why, "%d GPU%s%s; ", x->gpus, x->gpus == 1 ? "" : "s", str_text(&text));
    return n > 0 ? n : 1;
}

int64_t pack_workers(const pack_needs *x, str *why)
{
    int64_t busy = (x->threads > 0 ? x->threads : 1) * x->ranks, by_cores = pack_cores() / busy,
            n = x->gpus ? on_gpus(x, why) : INT32_MAX;
    if (by_cores < 1) by_cores = 1;
    if (by_cores < n) n = by_cores;
    str_addf(why, "%lld core%s, %lld thread%s each", (long long)pack_cores(), pack_cores() == 1 ? "" : "s",
             (long long)busy, busy == 1 ? "" : "s");
    fit(&n, x->memory * (double)x->ranks, care_free_memory(), "", why);
    return n < LAUNCH_MOST_WORKERS ? n : LAUNCH_MOST_WORKERS;
}
