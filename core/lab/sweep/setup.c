/* setup.c - prepares every command: services for plugins, plugin folders, the plugins' parameters, paths. */
#include "lab/sweep/setup.h"
#include "text/metric/bleu.h"
#include "text/metric/f1.h"
#include "network/plugin/plugin.h"
#include <stdlib.h>

static int host_bleu(const char *const *hyp, const char *const *ref, int64_t n, const char *tok, int lowercase,
                     ab_bleu *out, char *message, size_t n_message)
{
    static double *stats; /* valid until the next call, as ab_bleu promises */
    bleu_options o;
    bleu_score score;
    err e = {0};
    stats = xrealloc(stats, ((size_t)n + 1) * BLEU_STATS * sizeof *stats);
    if (bleu_options_parse(&o, tok, lowercase, NULL, &e) ||
        bleu_corpus(&o, hyp, &ref, 1, (size_t)n, &score, stats, &e)) {
        snprintf(message, n_message, "%s", e.text);
        return -1;
    }
    *out = (ab_bleu){.value = score.score, .stats = stats};
    snprintf(out->signature, sizeof out->signature, "%s", score.signature);
    return 0;
}

void run_setup(void)
{
    plugin_set_services(&(plugin_services){host_bleu, read_lines_service, free_lines_service, f1_service});
    /* relative to the program's folder, for a build or an installation; source: a build's link to the checkout */
    static const char *const plugins[] = {"plugins", "../lib/ablate/plugins"};
    static const char *const includes[] = {"../core/api", "source/core/api", "../include"};
    AUTOFREE char *folder = file_of_program(plugins, LENGTH(plugins)),
                  *include = file_of_program(includes, LENGTH(includes));
    AUTOFREE char *header = include ? realpath(include, NULL) : NULL;
    if (folder) plugin_add_folder(folder);
    if (header) plugin_set_include(header);
}

static plugin_schema schema_of(const plugin *p)
{
    return (plugin_schema){plugin_kind_name(p->desc.kind), p->desc.name, p->desc.params, p->desc.calls};
}

static const plugin_schema *open_path(void *user, const char *kind, const char *path, err *e)
{
    (void)user;
    const plugin *p = plugin_load(path, e);
    if (!p) return NULL;
    if (!same(plugin_kind_name(p->desc.kind), kind)) {
        fail(e, "%s is a plugin of kind %s, expected %s", path, plugin_kind_name(p->desc.kind), kind);
        return NULL;
    }
    plugin_schema *s = xmalloc(sizeof *s); /* never freed, like the plugin */
    *s = schema_of(p);
    return s;
}

const plugin_schemas *run_schemas(void)
{
    static plugin_schemas all;
    size_t n;
    const plugin *const *list = plugin_list(&n);
    plugin_schema *s = xcalloc(n + 1, sizeof *s);
    for (size_t i = 0; i < n; i++) s[i] = schema_of(list[i]);
    free((void *)all.list);
    all = (plugin_schemas){.list = s, .n = n, .open = open_path};
    return &all;
}
