/* plugins.c - a run's plugins as JSON; its results depend on them and on its settings. */
#include "network/model/model.h"

ab_kind model_plugin_kind(const char *key)
{
    const char *name = config_plugin_kind(key);
    for (ab_kind k = 1; name && k < AB_KIND_COUNT; k++) /* `attention` sets all three roles */
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

static void place_plugin(const char *key, const char *called, const plugin *p, const char *comma, str *out)
{
    str_addf(out, "%s\"%s%s%s\":{\"name\":", comma, key, called ? " calls " : "", called ? called : "");
    json_string(out, p->desc.name);
    str_addf(out, ",\"sha256\":\"%s\",\"file\":", p->sha256);
    json_string(out, p->path);
    str_addc(out, '}');
}

int model_plugins_json(const settings *set, str *out, err *e)
{
    const char *comma = "";
    str_addc(out, '{');
    for (size_t i = 0; i < set->n; i++) {
        const setting *s = &set->at[i];
        ab_kind kind = model_plugin_kind(s->key);
        if (!kind || same(s->value, "same")) continue;
        const plugin *p = plugin_find(kind, s->value, e);
        if (!p) return fail_in(e, "%s: ", s->key);
        place_plugin(s->key, NULL, p, comma, out);
        comma = ",";
        for (const char *const *c = p->desc.calls; c && *c; c++) {
            const plugin *called = plugin_find(AB_ATTENTION, *c, e);
            if (!called) return fail_in(e, "%s, which '%s' calls: ", *c, p->desc.name);
            place_plugin(s->key, *c, called, comma, out);
        }
    }
    str_addc(out, '}');
    return 0;
}
