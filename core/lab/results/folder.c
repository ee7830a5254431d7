/* folder.c - the folder of a database's runs: checkpoints, models, outputs and logs. */
#include "lab/results/db.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool one_file(const char *a, const char *b)
{
    struct stat s, t;
    return same(a, b) || (a && b && !stat(a, &s) && !stat(b, &t) && s.st_dev == t.st_dev && s.st_ino == t.st_ino);
}

char *db_runs_folder(const char *path, const char *usual, const char *root)
{
    if (one_file(path, usual)) return path_join(root, "runs");
    char *here = path[0] == '/' ? xstrdup("") : getcwd(NULL, 0),
         *folder = xprintf("%s%s%s.runs", here, *here ? "/" : "", path);
    free(here);
    return folder;
}

char *db_own_folder(const char *path, const char *usual, const char *root)
{
    char *first = path_join(root, "results.db"), *shared = path_join(root, "runs"),
         *folder = db_runs_folder(path, usual, root);
    bool others = same(folder, shared) && file_exists(first) && !one_file(path, first);
    char *own = others ? NULL : realpath(folder, NULL);
    free(first);
    free(shared);
    free(folder);
    return own;
}
