/* load.c - opening the model in a file, and the plugins that it was trained with.
 *
 * A model file is data: it never decides which code is loaded. Of a plugin it gives the name and the sha256 of the
 * shared object; the plugin itself is looked for by that name in the program's own folder and in folders that the user
 * has added (--plugin-path). Paths of plugins inside the file are where the training run had them, and are shown only. */
#include "train/checkpoint.h"
#include "train/train.h"
#include <stdlib.h>
#include <string.h>

static ab_kind kind_of(const char *key) /* 0: the key names no plugin */
{
    const char *name = config_plugin_kind(key);
    for (ab_kind k = AB_ATTENTION; name && k <= AB_TASK; k++)
        if (same(plugin_kind_name(k), name)) return k;
    return 0;
}

void train_describe_plugins(const settings *set, checkpoint_meta *meta)
{
    settings out = {0};
    arena a = {0};
    str json = {0};
    for (size_t i = 0; i < set->n; i++) {
        err ignored = {0};
        ab_kind kind = kind_of(set->at[i].key);
        const plugin *p = kind && !same(set->at[i].value, "same") ? plugin_find(kind, set->at[i].value, &ignored) : NULL;
        if (p) settings_put(&out, set->at[i].key, arena_printf(&a, "%s %s", p->desc.name, p->sha256), &a);
    }
    config_to_json(&out, NULL, NULL, &json);
    meta_put(meta, "plugins", str_text(&json));
    str_free(&json);
    arena_free(&a);
}

/* A name without folders and .so: what is left is never taken for a path. */
static char *plain_name(const char *text, size_t n, arena *a)
{
    char *name = arena_strndup(a, text, n), *slash = strrchr(name, '/');
    if (slash) name = slash + 1;
    while (has_suffix(name, ".so")) name[strlen(name) - 3] = 0;
    return name;
}

/* The name that a plugin is looked for by: the recorded one ("NAME SHA256"), else, in files of older versions, that of the
 * setting. *sha: the recorded hash, or NULL. */
static const char *recorded_name(const settings *recorded, const setting *s, const char **sha, arena *a)
{
    const char *entry = settings_get(recorded, s->key), *blank = entry ? strrchr(entry, ' ') : NULL;
    *sha = blank ? blank + 1 : NULL;
    return blank ? plain_name(entry, (size_t)(blank - entry), a) : plain_name(s->value, strlen(s->value), a);
}

/* Puts into the setting the path of the plugin at hand with the recorded name; of several, the one with the recorded hash. A
 * task may be missing: only `parse` asks it. */
static int find_own(const char *path, const settings *recorded, setting *s, ab_kind kind, arena *a, err *e)
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
        return fail(e, "%s: was trained with %s = %s, and no plugin of that name is at hand; give its folder with --plugin-path FOLDER "
                    "(a path inside a model file is not followed)",
                    path, s->key, s->value);
    if (found && sha && !same(found->sha256, sha))
        log_line(LOG_WARN, "%s: %s '%s' is not the one that the model was trained with: %s has sha256 %.12s, expected %.12s", path,
                 plugin_kind_name(kind), name, found->path, found->sha256, sha);
    s->value = found ? arena_strdup(a, found->path) : name;
    return 0;
}

/* Replaces what the file says of plugins by the paths of those at hand. */
static int find_plugins(const char *path, const checkpoint_meta *meta, settings *set, arena *a, err *e)
{
    settings recorded = {0};
    const char *json = meta_text(meta, "plugins");
    if (json && config_from_json(json, &recorded, a, e)) return fail_in(e, "%s: ", path);
    for (const ab_param *p = config_params; p->name; p++) {
        if (!kind_of(p->name) || same(p->name, "attention")) continue;
        const char *value = settings_get(set, p->name);
        if (!value) value = param_default(p, a);
        if (same(value, "same")) value = settings_get(set, "attention");
        settings_put(set, p->name, value ? value : "scaled_dot", a);
    }
    settings_put(set, "attention", "scaled_dot", a); /* it only stands in for the three places, which are set by now */
    settings_put(set, "plugin_path", "", a);
    for (size_t i = 0; i < set->n; i++) {
        ab_kind kind = kind_of(set->at[i].key);
        if (kind && find_own(path, &recorded, &set->at[i], kind, a, e)) return -1;
    }
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
    if (!bad && !meta_text(&meta, "config"))
        bad = fail(e, "%s: has no settings inside: not a checkpoint of ablate", path);
    if (!bad)
        bad = config_from_json(meta_text(&meta, "config"), &set, &a, e) || find_plugins(path, &meta, &set, &a, e) ||
              meta_bytes(&meta, "vocab.src", &bytes, e);
    if (!bad) bad = !(*src = *tgt = vocab_read(bytes.s, bytes.n, e));
    if (!bad && meta_text(&meta, "vocab.tgt"))
        bad = meta_bytes(&meta, "vocab.tgt", &bytes, e) || !(*tgt = vocab_read(bytes.s, bytes.n, e));
    if (!bad) bad = model_open(m, &set, vocab_size(*src), vocab_size(*tgt), compute, b, e);
    if (!bad && checkpoint_read(path, &m->params, NULL, 0, e)) {
        model_free(m);
        bad = -1;
    }
    if (bad) {
        if (*tgt != *src) vocab_free(*tgt);
        vocab_free(*src);
        *src = *tgt = NULL;
    }
    meta_free(&meta);
    arena_free(&a);
    str_free(&bytes);
    return bad ? -1 : 0;
}
