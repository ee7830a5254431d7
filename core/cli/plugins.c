/* plugins.c - ablate list plugins: lists the loaded plugins with parameters and descriptions. */
#include "network/model/fusion.h"
#include "network/plugin/plugin.h"
#include "cli/results.h"
#include <string.h>

static const char *type_name(ab_type t)
{
    switch (t) {
    case AB_INT: return "integer";
    case AB_REAL: return "number";
    case AB_BOOL: return "boolean";
    case AB_CHOICE: return "choice";
    default: return "text";
    }
}

static void plugin_json(const plugin *p, str *out)
{
    json_line(out);
    str_addc(out, '{');
    json_key_text(out, "kind", plugin_kind_name(p->desc.kind));
    json_key_text(out, "name", p->desc.name);
    json_key_text(out, "about", p->desc.doc);
    json_key_text(out, "paper", p->desc.paper);
    json_key_text(out, "file", p->path);
    json_key_text(out, "sha256", p->sha256);
    json_open(out, "parameters", '[');
    CLEANUP(arena_free) arena a = {0};
    for (const ab_option *q = p->desc.params; q && q->name; q++) {
        json_open(out, NULL, '{');
        json_key_text(out, "name", q->name);
        json_key_text(out, "type", type_name(q->type));
        json_key_text(out, "default", param_default(q, &a));
        json_key_text(out, "choices", q->type == AB_CHOICE ? q->choices : NULL);
        json_key_text(out, "about", q->doc);
        str_addc(out, '}');
    }
    str_add(out, "]}");
}

/* Prints a plugin. With `json`, adds it to that list instead. */
static void print(const plugin *p, bool parameters, str *json)
{
    err e = {0};
    CLEANUP(str_free) str why = {0};
    if (json) {
        plugin_json(p, json);
        return;
    }
    plugin_print(p, stdout, parameters);
    bool attends = p->desc.kind == AB_ATTENTION || p->desc.kind == AB_POSITION;
    const char *step = NULL, *how = parameters && attends ? plugin_fusion(p->desc.name, &step, &why, &e) : NULL;
    if (how && step)
        printf("    attention of a model that uses it, on the CPU: %s; in decoding steps: %s\n", how, step);
    if (how && why.n) printf("    composed, because %s\n", str_text(&why));
}

int plugins_list(const invocation *c, const char *kind, bool json)
{
    err e = {0};
    str list = {0};
    size_t n, shown = 0;
    const plugin *const *all = plugin_list(&n);
    const char *slash = kind ? strchr(kind, '/') : NULL;
    bool file = kind && plugin_suffix(kind);
    if (file) {
        const plugin *one = plugin_load(kind, &e);
        if (!one) return call_failed(c, &e), 2;
        print(one, true, json ? &list : NULL), shown++;
    }
    for (ab_kind k = 1; k < AB_KIND_COUNT && !file; k++)
        for (size_t i = 0; i < n; i++) {
            const ab_plugin *d = &all[i]->desc;
            if (d->kind != k) continue;
            AUTOFREE char *full = xprintf("%s/%s", plugin_kind_name(k), d->name);
            if (!kind || (slash ? same(full, kind) : same(plugin_kind_name(k), kind)))
                print(all[i], kind != NULL, json ? &list : NULL), shown++;
        }
    if (json && shown) json_print_lines(&list);
    if (shown) return 0;
    CLEANUP(str_free) str kinds = {0};
    for (ab_kind k = 1; k < AB_KIND_COUNT; k++) str_addf(&kinds, "%s%s", k == 1 ? "" : ", ", plugin_kind_name(k));
    fail(&e, "no plugin '%s'; kinds are %s", kind ? kind : "", str_text(&kinds));
    return call_failed(c, &e), 2;
}
