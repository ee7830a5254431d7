#include "lab/launch/care.h"
#include <math.h>
#include <sys/statvfs.h>

/* ---- room ---- */

static double left(double bytes)
{
    double rest = bytes - environment_real("ABLATE_KEEP_FREE", 0);
    return bytes <= 0 ? 0 : rest > 1 ? rest : 1; /* 1, because 0 means not known */
}

double care_free_disk(const char *folder)
{
    struct statvfs fs;
    return statvfs(folder, &fs) ? 0 : left((double)fs.f_bavail * (double)fs.f_frsize + 1);
}

double care_free_memory(void)
{
    char line[128];
    double kilobytes = 0;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lf", &kilobytes) == 1) break;
    if (f) fclose(f);
    return left(kilobytes * 1024);
}

/* ---- curves ---- */

void care_see(care_curve *c, int64_t step, double dev_ppl)
{
    if (!c->n++) c->first = c->best = dev_ppl, c->best_step = step;
    if (dev_ppl < c->best) c->best = dev_ppl, c->best_step = step;
    c->last = dev_ppl, c->step = step;
}

const char *care_trouble(const care_curve *c, int64_t total, char out[128])
{
    if (!c->n) return NULL;
    if (!isfinite(c->last))
        snprintf(out, 128, "its dev perplexity at step %lld is not finite", (long long)c->step);
    else if (c->last > 1.5 * c->best)
        snprintf(out, 128, "dev PPL %.4g at step %lld, after %.4g at step %lld", c->last, (long long)c->step, c->best,
                 (long long)c->best_step);
    else if (c->n >= 4 && total > 0 && 4 * c->step >= total && c->best > 0.95 * c->first)
        snprintf(out, 128, "dev PPL fell by less than 5 %%: %.4g at first, %.4g at best, up to step %lld of %lld",
                 c->first, c->best, (long long)c->step, (long long)total);
    else
        return NULL;
    return out;
}
