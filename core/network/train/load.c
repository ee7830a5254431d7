/* load.c - opens the model in a file, with the plugins that it was trained with.
 *
 * A model file is data: it never decides which code is loaded. It has each plugin's name and the sha256 of its shared
 * object. The plugin is looked up by name in the program's folder and in those of --plugin-path. Paths in the file are
 * the training run's and are only displayed. */
#include "network/train/checkpoint.h"
#include "text/tokens/ngrams.h"
#include "network/train/train.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* Removes folders and suffix from a name, so that it is never read as a path. */
static char *plain_name(const char *text, size_t n, arena *a)
{
    char *name = arena_strndup(a, text, n), *slash = strrchr(name, '/');
    if (slash) name = slash + 1;
    while (plugin_suffix(name)) *strrchr(name, '.') = 0;
    return name;
}

/* The name of the plugin to look up: the recorded name, or in files of older versions the setting's. *sha: the recorded
 * hash, or NULL. */
static const char *recorded_name(const cJSON *recorded, const setting *s, const char **sha, arena *a)
{
    const cJSON *entry = cJSON_GetObjectItemCaseSensitive(recorded, s->key);
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "name"));
    *sha = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "sha256"));
    if (!name) name = s->value;
    return plain_name(name, strlen(name), a);
}

/* Plugins whose hash differs from the recorded one. */
typedef struct {
    str names, how; /* names, as in "attention 'scaled_dot', norm 'layer_norm'"; how: the last plugin's two hashes */
    int n;
} others;

static void report_others(const char *path, others *x)
{
    const char *of =
        x->n == 1 ? "is not the one the model was trained with" : "are not those the model was trained with";
    if (x->n)
        log_line(LOG_WARN, "%s: %s %s: %s%s", path, str_text(&x->names), of,
                 x->n == 1 ? "" : "their sha256 differ; of the last one, ", str_text(&x->how));
    str_free(&x->names);
    str_free(&x->how);
}

/* Sets the setting to the path of the available plugin with the recorded name, preferably a plugin with the recorded
 * hash. A task may be missing: only `parse` needs it. */
static int find_own(const char *path, const cJSON *recorded, setting *s, ab_kind kind, others *differ, arena *a, err *e)
{
    const char *sha, *name = recorded_name(recorded, s, &sha, a);
    const plugin *found = NULL;
    size_t n;
    const plugin *const *all = plugin_list(&n);
    for (size_t i = 0; i < n; i++) {
        if (all[i]->desc.kind != kind || !same(all[i]->desc.name, name)) continue;
        if (!found || same(all[i]->sha256, sha)) found = all[i];
    }
    if (!found && kind != AB_TASK)
        return fail(e,
                    "%s: was trained with %s = %s, but no plugin of that name is available; give its folder with "
                    "--plugin-path FOLDER (paths in a model file are not followed)",
                    path, s->key, s->value);
    if (found && sha && !same(found->sha256, sha)) {
        char *who = xprintf("%s '%s'", plugin_kind_name(kind), name);
        if (!strstr(str_text(&differ->names), who)) { /* several layers or roles may use this plugin */
            str_addf(&differ->names, "%s%s", differ->n++ ? ", " : "", who);
            str_clear(&differ->how);
            str_addf(&differ->how, "%s has sha256 %.12s, expected %.12s", found->path, found->sha256, sha);
        }
        free(who);
    }
    s->value = found ? arena_strdup(a, found->path) : name;
    return 0;
}

static int find_plugins(const char *path, const checkpoint_meta *meta, settings *set, arena *a, err *e)
{
    for (const ab_option *p = config_params; p->name; p++) {
        if (!model_plugin_kind(p->name)) continue;
        const char *value = settings_get(set, p->name);
        if (!value) value = param_default(p, a);
        if (same(value, "same")) value = settings_get(set, "attention");
        settings_set(set, p->name, value ? value : "scaled_dot", a);
    }
    settings_set(set, "attention", "scaled_dot", a); /* ignored, because the three roles are set */
    settings_set(set, "plugin_path", "", a);
    const char *json = meta_text(meta, "plugins");
    cJSON *recorded = json ? cJSON_Parse(json) : NULL;
    others differ = {0};
    int bad = json && !recorded ? fail(e, "%s: its entry \"plugins\" is not JSON", path) : 0;
    for (size_t i = 0; i < set->n && !bad; i++) {
        ab_kind kind = model_plugin_kind(set->at[i].key);
        if (kind) bad = find_own(path, recorded, &set->at[i], kind, &differ, a, e);
    }
    report_others(path, &differ);
    cJSON_Delete(recorded);
    return bad;
}

int train_same_plugins(const char *path, const char *then, const char *now, err *e)
{
    static const char *const parts[] = {"name", "sha256"};
    cJSON *was = then ? cJSON_Parse(then) : NULL, *is = cJSON_Parse(now);
    const cJSON *x;
    int bad = 0;
    cJSON_ArrayForEach(x, is) for (size_t i = 0; i < LENGTH(parts) && !bad; i++)
    {
        const cJSON *old = cJSON_GetObjectItemCaseSensitive(was, x->string);
        const char *a = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(old, parts[i])),
                   *b = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(x, parts[i]));
        if (a && !same(a, b))
            bad = fail(e,
                       "%s: was made with another %s (%s %.12s, now %.12s), so training cannot resume; --rerun all "
                       "starts again",
                       path, x->string, parts[i], a, b);
    }
    cJSON_Delete(was);
    cJSON_Delete(is);
    return bad;
}

static void set_ngrams(model *m, const vocab *src)
{
    int32_t *id, *token;
    if (!m->cfg.char_ngrams) return;
    int64_t n = ngrams_of(src, m->cfg.char_ngrams, &id, &token, &m->memory);
    model_set_ngrams(m, id, token, n);
}

int train_open_model(model *m, const settings *set, const vocab *src, const vocab *tgt, dtype compute, const backend *b,
                     err *e)
{
    if (model_open(m, set, src ? vocab_size(src) : 0, vocab_size(tgt), compute, b, e)) return -1;
    set_ngrams(m, src);
    return 0;
}

int train_load(const char *path, model *m, dtype compute, const backend *b, vocab **src, vocab **tgt, err *e)
{
    checkpoint_meta meta = {0};
    arena a = {0};
    settings set = {0};
    str bytes = {0};
    *src = *tgt = NULL;
    int bad = checkpoint_read_meta(path, &meta, e);
    bool alone = !bad && !meta_text(&meta, "vocab.src") && meta_text(&meta, "vocab.tgt"); /* a decoder */
    if (!bad && !meta_text(&meta, "config"))
        bad = fail(e, "%s: contains no settings, so it is not a checkpoint of ablate", path);
    if (!bad)
        bad = config_from_json(meta_text(&meta, "config"), &set, &a, e) || find_plugins(path, &meta, &set, &a, e) ||
              (!alone && meta_bytes(&meta, "vocab.src", &bytes, e));
    if (!bad && !alone) bad = !(*src = *tgt = vocab_read(bytes.s, bytes.n, e));
    if (!bad && meta_text(&meta, "vocab.tgt"))
        bad = meta_bytes(&meta, "vocab.tgt", &bytes, e) || !(*tgt = vocab_read(bytes.s, bytes.n, e));
    if (!bad) bad = model_open_to_read(m, &set, *src ? vocab_size(*src) : 0, vocab_size(*tgt), compute, b, e);
    if (!bad) set_ngrams(m, *src);
    if (!bad && checkpoint_read(path, &m->params, NULL, 0, e)) {
        model_free(m);
        bad = -1;
    }
    if (bad) {
        vocabs_free(*src, *tgt);
        *src = *tgt = NULL;
    }
    meta_free(&meta);
    arena_free(&a);
    str_free(&bytes);
    return bad ? -1 : 0;
}
