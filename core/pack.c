/* pack.c - ablate run --workers auto: as many runs at a time as the machine's cores and memory hold. */
#include "device/device.h"
#include "launch/launch.h"
#include "prepare.h"
#include <sched.h>
#include <string.h>

/* Cores that this process may use. */
static int64_t cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

/* Bytes that can be had without swapping; 0: not known. */
static double free_memory(void)
{
    char line[128];
    double kilobytes = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lf", &kilobytes) == 1) break;
    if (f) fclose(f);
    return kilobytes * 1024;
}

int64_t pack_workers(const char *device, int64_t threads, double memory_each, str *why)
{
    int gpus = device_count(device);
    int64_t by_cores = cores() / (threads > 0 ? threads : 1), n;
    double room = 0.9 * free_memory();
    if (gpus) {
        str_addf(why, "one for each of %d GPU%s", gpus, gpus == 1 ? "" : "s");
        return gpus < LAUNCH_MOST_WORKERS ? gpus : LAUNCH_MOST_WORKERS;
    }
    n = by_cores > 0 ? by_cores : 1;
    str_addf(why, "%lld core%s, %lld thread%s each", (long long)cores(), cores() == 1 ? "" : "s", (long long)threads, threads == 1 ? "" : "s");
    if (memory_each > 0 && room > 0) {
        double fit = room / memory_each;
        str_addf(why, ", %.1f GB free of which a run takes up to %.1f", room / 0.9e9, memory_each / 1e9);
        if (fit < (double)n) n = fit < 1 ? 1 : (int64_t)fit;
    }
    return n < LAUNCH_MOST_WORKERS ? n : LAUNCH_MOST_WORKERS;
}
