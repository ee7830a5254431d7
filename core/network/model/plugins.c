/* plugins.c - the plugins that a run's settings name, as JSON with their hashes. */
#include "network/model/model.h"
#include "base/cleanup.h"

ab_kind model_plugin_kind(const char *key)
{
    const char *name = config_plugin_kind(key);
    for (ab_kind k = 1; name && k < AB_KIND_COUNT; k++) /* `attention` names three roles' plugins: no single kind */
        if (same(plugin_kind_name(k), name)) return same(key, "attention") ? 0 : k;
    return 0;
}

int model_open_plugins(const settings *set, err *e)
{
    for (size_t i = 0; i < set->n; i++) {
        ab_kind kind = plugin_is_path(set->at[i].value) ? model_plugin_kind(set->at[i].key) : 0;
        if (kind && !plugin_open(kind, set->at[i].value, e)) return fail_in(e, "%s: ", set->at[i].key);
    }
    return 0;
}

static void write_plugin(const char *key, const plugin *p, str *out)
{
    json_open(out, key, '{');
    json_key_text(out, "name", p->desc.name);
    json_key_text(out, "sha256", p->sha256);
    json_key_text(out, "file", p->path);
    str_addc(out, '}');
}

int model_plugins_json(const settings *set, str *out, err *e)
{
    str_addc(out, '{');
    for (size_t i = 0; i < set->n; i++) {
        const setting *s = &set->at[i];
        ab_kind kind = model_plugin_kind(s->key);
        if (!kind || same(s->value, "same")) continue;
        const plugin *p = plugin_find(kind, s->value, e);
        if (!p) return fail_in(e, "%s: ", s->key);
        write_plugin(s->key, p, out);
        for (const char *const *c = p->desc.calls; c && *c; c++) {
            const plugin *called = plugin_find(AB_ATTENTION, *c, e);
            if (!called) return fail_in(e, "%s, which '%s' calls: ", *c, p->desc.name);
            AUTOFREE char *key = xprintf("%s calls %s", s->key, *c);
            write_plugin(key, called, out);
        }
    }
    str_addc(out, '}');
    return 0;
}
