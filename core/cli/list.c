/* list.c - ablate list: lists plugins, devices, keys of an INI, corpora. */
#include "tensor/device/device.h"
#include "cli/results.h"

typedef struct {
    bool json;
} list_options;

static int list(const invocation *c, void *options)
{
    const list_options *o = options;
    const char *what = c->word[0], *name = c->n_words > 1 ? c->word[1] : NULL;
    bool plugins = same(what, "plugins"), devices = same(what, "devices"), keys = same(what, "keys"),
         corpora = same(what, "corpora");
    if (!plugins && !devices && !keys && !corpora)
        return call_usage(c, "found %s, expected plugins, devices, keys or corpora", what);
    if (name && !plugins) return call_usage(c, "%s takes no name: found %s", what, name);
    if (o->json && keys) return call_usage(c, "--json: keys are printed as Markdown only");
    if (plugins) return plugins_list(c, name, o->json);
    if (corpora) return corpora_list(c->p.data_dir, o->json);
    if (devices) return o->json ? devices_json(stdout) : devices_print(stdout);
    config_reference(stdout, run_schemas());
    return 0;
}

static const option options[] = {OPTION_JSON(offsetof(list_options, json)), OPTION_PLUGIN_PATH, {0}};
const command list_command = {
    .name = "list",
    .part = FOR_PLUGINS,
    .does = "list plugins and their parameters, devices for runs, keys of an INI, or known corpora",
    .about = "keys prints every INI key with its default and range, as Markdown (docs/ini.md).",
    .arguments = "plugins [KIND | KIND/NAME | FILE.so] | devices | keys | corpora",
    .missing = "expected plugins, devices, keys or corpora",
    .choices = CHOICES_PLUGINS,
    .one_of = "plugins|devices|keys|corpora",
    .options = options,
    .size = sizeof(list_options),
    .run = list,
    .example = "ablate list plugins attention/restricted"};
