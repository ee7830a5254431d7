/* run_file.c - runs' files by names that do not change with the folder: EXPERIMENT/CONFIGURATION-sSEED-gN/FILE. */
#include "network/settings/config.h"
#include "base/cleanup.h"

/* Is `name` the folder of a run with this seed (-1: any), such as "0123456789ab-s1-g0"? */
static bool is_run_folder(const char *name, size_t n, int64_t seed)
{
    static const char hex[] = "0123456789abcdef", digits[] = "0123456789";
    enum { HASH = 12 };
    if (n < HASH + 6 || strspn(name, hex) != HASH || strncmp(name + HASH, "-s", 2)) return false;
    const char *number = name + HASH + 2, *end = number + strspn(number, digits);
    if (end == number || strncmp(end, "-g", 2) || (seed >= 0 && strtoll(number, NULL, 10) != seed)) return false;
    size_t most = n - (size_t)(end + 2 - name);
    return most && strspn(end + 2, digits) == most;
}

const char *run_file_name(const char *path, int64_t seed)
{
    const char *part[3], *at = path + strlen(path);
    for (int i = 2; i >= 0; i--) {
        while (at > path && at[-1] != '/') at--;
        part[i] = at;
        if (at > path) at--;
    }
    bool whole = part[1] - part[0] > 1 && *part[0] != '.' && *part[2] && *part[2] != '.';
    return whole && is_run_folder(part[1], (size_t)(part[2] - part[1] - 1), seed) ? part[0] : NULL;
}

bool config_names_run(const char *key) { return same(key, "start_from") || same(key, "teacher"); }

const char *config_unmoved(const char *key, const char *value)
{
    const char *name = config_names_run(key) ? run_file_name(value, -1) : NULL;
    return name ? name : value;
}

const char *run_file_below(const char *runs, const char *value, arena *a)
{
    const char *name = run_file_name(value, -1);
    return name && (name == value || !file_exists(value)) ? arena_printf(a, "%s/%s", runs, name) : value;
}

void config_find_runs(config *c, const char *runs, const char *folder, arena *a)
{
    AUTOFREE char *experiment = path_folder(folder ? folder : ""), *above = path_folder(experiment);
    c->start_from = run_file_below(runs ? runs : above, c->start_from, a);
    c->teacher = run_file_below(runs ? runs : above, c->teacher, a);
}
