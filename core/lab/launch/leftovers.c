/* leftovers.c - removes checkpoints that a run no longer needs. Its model.safetensors stays. */
#include "base/below.h"
#include "lab/launch/internal.h"
#include <dirent.h>
#include <unistd.h>

static const char state[] = "state.safetensors"; /* the file that a run resumes from */

static bool is_leftover(const char *name)
{
    return has_prefix(name, "step-") || has_prefix(name, "best-") || same(name, state) || has_suffix(name, ".tmp");
}

/* Removes the state last, and only if all others are gone: after an interruption it shows that checkpoints remain. */
void leftovers_remove(const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *x;
    bool all = true;
    if (!d) return;
    while ((x = readdir(d))) {
        if (!is_leftover(x->d_name) || same(x->d_name, state)) continue;
        AUTOFREE char *path = path_join(folder, x->d_name);
        if (unlink(path)) all = false;
    }
    closedir(d);
    AUTOFREE char *path = path_join(folder, state);
    if (all) unlink(path);
}

static bool has_leftovers(const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *x;
    bool found = false;
    while (d && !found && (x = readdir(d))) found = is_leftover(x->d_name);
    if (d) closedir(d);
    return found;
}

/* Searches every folder, not only those with a state, because earlier versions removed the state in any order. */
int launch_clean(db *d, const launch_options *o, err *e)
{
    AUTOFREE char *all = path_join(o->folder, o->experiment);
    DIR *in = opendir(all);
    struct dirent *x;
    int rc = 0;
    while (in && rc >= 0 && (x = readdir(in))) {
        char hash[13];
        long long seed, generation;
        int64_t now = 0;
        enum db_status status = DB_QUEUED;
        if (sscanf(x->d_name, "%12[0-9a-f]-s%lld-g%lld", hash, &seed, &generation) != 3) continue;
        AUTOFREE char *folder = path_join(all, x->d_name);
        rc = path_is_below(all, folder) && has_leftovers(folder)
                 ? db_run_of(d, o->experiment, hash, seed, &status, &now, e)
                 : 0;
        if (rc == 1 && ((status == DB_DONE && generation == now) || generation < now)) leftovers_remove(folder);
    }
    if (in) closedir(in);
    return rc < 0 ? -1 : 0;
}
