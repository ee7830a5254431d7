#include "network/train/states.h"
#include "network/train/checkpoint.h"
#include "network/train/state.h"
#include <dirent.h>
#include <stdlib.h>

static bool is_state(const char *name) { return same(name, STATE_FILE) || has_prefix(name, "state-"); }

/* Reads a state's number of updates. Returns false if the file is no state. */
static bool updates_of(const char *path, int64_t *at)
{
    checkpoint_meta meta = {0};
    err none = {0};
    bool good =
        has_suffix(path, ".safetensors") && !checkpoint_read_meta(path, &meta, &none) && meta_int(&meta, "step", at);
    meta_free(&meta);
    return good;
}

static void each_state(const char *folder, void (*f)(void *self, const char *path, int64_t at), void *self)
{
    DIR *d = opendir(folder);
    for (struct dirent *x; d && (x = readdir(d));) {
        int64_t at = 0;
        char *path = path_join(folder, x->d_name);
        if (is_state(x->d_name) && updates_of(path, &at)) f(self, path, at);
        free(path);
    }
    if (d) closedir(d);
}

typedef struct {
    int64_t below, at;
    char *path;
} nearest_state;

static void keep_nearer(void *self, const char *path, int64_t at)
{
    nearest_state *n = self;
    if (at >= n->below || at <= n->at) return;
    free(n->path);
    n->path = xstrdup(path), n->at = at;
}

char *states_before(const char *folder, int64_t step, int64_t *at)
{
    nearest_state n = {.below = step};
    each_state(folder, keep_nearer, &n);
    *at = n.at;
    return n.path;
}

typedef struct {
    int64_t *at;
    size_t n, cap;
} steps_found;

static void add_step(void *self, const char *path, int64_t at)
{
    steps_found *s = self;
    (void)path;
    size_t k = 0;
    while (k < s->n && s->at[k] < at) k++;
    if (k < s->n && s->at[k] == at) return;
    s->at = grow(s->at, &s->cap, s->n + 1, sizeof *s->at);
    for (size_t i = s->n++; i > k; i--) s->at[i] = s->at[i - 1];
    s->at[k] = at;
}

void states_list(const char *folder, str *out)
{
    steps_found s = {0};
    each_state(folder, add_step, &s);
    for (size_t i = 0; i < s.n; i++) str_addf(out, "%s%lld", i ? ", " : "", (long long)s.at[i]);
    free(s.at);
}
