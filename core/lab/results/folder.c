/* folder.c - the folder of a database's runs: checkpoints, models, outputs and logs. */
#include "base/cleanup.h"
#include "lab/results/db.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool one_file(const char *a, const char *b)
{
    struct stat s, t;
    return same(a, b) || (a && b && !stat(a, &s) && !stat(b, &t) && s.st_dev == t.st_dev && s.st_ino == t.st_ino);
}

char *db_runs_folder(const db_options *o)
{
    const char *path = o->path;
    if (one_file(path, o->usual)) return path_join(o->root, "runs");
    AUTOFREE char *here = path[0] == '/' ? xstrdup("") : getcwd(NULL, 0);
    return xprintf("%s%s%s.runs", here, *here ? "/" : "", path);
}

char *db_own_folder(const db_options *o)
{
    AUTOFREE char *first = path_join(o->root, "results.db"), *shared = path_join(o->root, "runs"),
                  *folder = db_runs_folder(o);
    bool others = same(folder, shared) && file_exists(first) && !one_file(o->path, first);
    return others ? NULL : realpath(folder, NULL);
}
