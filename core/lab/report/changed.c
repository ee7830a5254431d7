/* changed.c - detects whether the plugin file of a run has changed since its training. */
#include "lab/report/changed.h"
#include <cjson/cJSON.h>
#include <stdlib.h>

typedef struct {
    char *file;
    char sha256[65]; /* "": cannot be read */
} hashed;

struct changed {
    hashed *at;
    size_t n, cap;
    char *last; /* most runs of an experiment have the same plugins */
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

static const char *hash_of(changed *c, const char *file)
{
    err ignored = {0};
    for (size_t i = 0; i < c->n; i++)
        if (same(c->at[i].file, file)) return c->at[i].sha256;
    c->at = grow(c->at, &c->cap, c->n + 1, sizeof *c->at);
    hashed *h = &c->at[c->n++];
    *h = (hashed){.file = xstrdup(file)};
    if (!file_exists(file) || sha256_file(file, h->sha256, &ignored)) h->sha256[0] = 0;
    return h->sha256;
}

bool changed_since(changed *c, const char *plugins_json)
{
    if (!plugins_json) return false;
    if (same(c->last, plugins_json)) return c->last_answer;
    cJSON *all = cJSON_Parse(plugins_json);
    const cJSON *one;
    bool differs = false;
    cJSON_ArrayForEach(one, all)
    {
        const char *file = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "file")),
                   *then = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "sha256"));
        const char *now = file && then ? hash_of(c, file) : "";
        differs |= *now && !same(now, then);
    }
    cJSON_Delete(all);
    free(c->last);
    c->last = xstrdup(plugins_json);
    return c->last_answer = differs;
}
