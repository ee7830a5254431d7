/* changed.c - detects whether the plugin file of a run has changed since its training. */
#include "lab/report/changed.h"
#include "network/settings/plugin_files.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <sys/stat.h>

typedef struct {
    char *file;
    char sha256[65]; /* "": the file cannot be read */
} hashed;

struct changed {
    hashed *at;
    size_t n, cap;
    char *last; /* cache of one answer: most runs of an experiment have equal plugins */
    bool last_answer;
};

changed *changed_new(void) { return xcalloc(1, sizeof(changed)); }

void changed_free(changed *c)
{
    for (size_t i = 0; i < c->n; i++) free(c->at[i].file);
    free(c->at);
    free(c->last);
    free(c);
}

/* Is it a regular file of moderate size? A stranger's database could name any file. */
static bool is_plugin_file(const char *file)
{
    enum { MOST_BYTES = 1 << 28 };
    struct stat info;
    return !stat(file, &info) && S_ISREG(info.st_mode) && info.st_size <= MOST_BYTES;
}

static const char *hash_of(changed *c, const char *file)
{
    err ignored = {0};
    for (size_t i = 0; i < c->n; i++)
        if (same(c->at[i].file, file)) return c->at[i].sha256;
    c->at = grow(c->at, &c->cap, c->n + 1, sizeof *c->at);
    hashed *h = &c->at[c->n++];
    *h = (hashed){.file = xstrdup(file)};
    if (!is_plugin_file(file) || plugin_hash(file, h->sha256, &ignored)) h->sha256[0] = 0;
    return h->sha256;
}

static const char *file_in(const cJSON *all, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(all, key), "file"));
}

bool changed_since(changed *c, const char *plugins_json, const char *loaded)
{
    if (!plugins_json) return false;
    char *both = xprintf("%s%s", plugins_json, loaded ? loaded : "");
    if (same(c->last, both)) {
        free(both);
        return c->last_answer;
    }
    cJSON *all = cJSON_Parse(plugins_json), *now = loaded ? cJSON_Parse(loaded) : NULL;
    const cJSON *one;
    bool differs = false;
    cJSON_ArrayForEach(one, all)
    {
        const char *file = file_in(now, one->string),
                   *then = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "sha256"));
        if (!file) file = file_in(all, one->string);
        const char *hash = file && then ? hash_of(c, file) : "";
        differs |= *hash && !same(hash, then);
    }
    cJSON_Delete(all);
    cJSON_Delete(now);
    free(c->last);
    c->last = both;
    return c->last_answer = differs;
}
