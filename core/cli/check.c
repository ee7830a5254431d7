/* check.c - ablate check: the conformance checks of plugins. */
#include "network/check/check.h"
#include "cli/options.h"
#include "tensor/device/device.h"
#include <stdlib.h>

typedef struct {
    const char *device;
    bool json;
    text_list set;
} check_options;

static int check(const invocation *c, void *options)
{
    const check_options *o = options;
    err e = {0};
    if (o->device) {
        const backend *on = device_open(o->device, &e);
        if (!on) return call_failed(c, &e), 2;
        check_use_device(on);
    }
    for (size_t i = 0; i < o->set.n; i++)
        if (check_set(o->set.at[i], &e)) return call_usage(c, &e);
    check_print_json(o->json);
    return check_plugins(c->word, c->n_words);
}

static const option options[] = {
    {"--device", "DEVICE", "also compare with this device, such as cuda", OPTION_TEXT, offsetof(check_options, device)},
    {"-s", "PLUGIN.KEY=VALUE", "a parameter of the checked plugin", OPTION_LIST, offsetof(check_options, set)},
    {"--json", NULL, "print JSON (docs/json.md)", OPTION_FLAG, offsetof(check_options, json)},
    {"--plugin-path", "FOLDERS", "additional plugin folders, separated by colons", OPTION_PLUGINS},
    {0}};
const command check_command = {.name = "check",
                               .part = FOR_PLUGINS,
                               .does = "run the conformance checks on plugins, by name or file",
                               .about = "Without a name: all loaded plugins. Exit code 1: a check failed.",
                               .arguments = "[KIND/NAME | NAME | FILE.so]...",
                               .most = -1,
                               .words = WORDS_PLUGINS,
                               .options = options,
                               .size = sizeof(check_options),
                               .run = check,
                               .example = "ablate check attention/restricted"};
