/* check.c - ablate check: the conformance checks of plugins. */
#include "network/check/check.h"
#include "network/check/coordinates.h"
#include "base/sandbox.h"
#include "cli/options.h"
#include "network/plugin/plugin.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *device;
    bool json, coordinates, no_sandbox;
    text_list set;
} check_options;

/* Prints how much each number changed at each width, and the slope of log(change) over log(width): 0 is flat. */
static int print_coordinates(const char *title, const settings *set, err *e)
{
    coordinate found[MOST_COORDINATES];
    size_t n = coordinates_measure(set, found, e);
    if (!n) return -1;
    printf("%s\n%-16s updates", title, "number");
    for (int w = 0; w < COORDINATE_WIDTHS; w++) printf("%9lld", (long long)coordinate_widths[w]);
    printf("   slope\n");
    for (size_t i = 0; i < n; i++)
        for (int s = 1; s < COORDINATE_STEPS; s++) {
            printf("%-16s %7lld", s == 1 ? found[i].name : "", (long long)coordinate_steps[s]);
            for (int w = 0; w < COORDINATE_WIDTHS; w++) printf("%9.3g", found[i].changed[s][w]);
            printf("%8.2f\n", coordinate_slope(found[i].changed[s]));
        }
    return 0;
}

typedef struct {
    const invocation *c;
    const check_options *o;
} coordinates_call;

static int check_coordinates(void *self)
{
    const coordinates_call *call = self;
    const check_options *o = call->o;
    CLEANUP(arena_free) arena a = {0};
    err e = {0};
    settings set = {0}, mup = {0};
    settings_set(&mup, "parametrization", "mup", &a);
    settings_set(&mup, "base_d_model", arena_printf(&a, "%lld", (long long)coordinate_widths[0]), &a);
    for (size_t i = 0; i < o->set.n && !e.text[0]; i++) {
        char *key = arena_strdup(&a, o->set.at[i]), *value = strchr(key, '=');
        if (!value) fail(&e, "-s %s: expected KEY=VALUE", key);
        if (!value) break;
        *value++ = 0;
        if (config_plugin_kind(key) && plugin_is_path(value)) plugin_load(value, &e);
        settings_set(&set, key, value, &a);
        settings_set(&mup, key, value, &a);
    }
    int bad = e.text[0] ||
              print_coordinates("parametrization = standard: change of each number, by d_model", &set, &e) ||
              (puts(""), print_coordinates("parametrization = mup: change of each number, by d_model", &mup, &e));
    return bad ? call_failed(call->c, &e) : 0;
}

/* Builds plugins in advance, because they are opened in sandboxed child processes, where no compiler starts. */
static void prepare(const invocation *c, const check_options *o)
{
    err later = {0}; /* the error is reported when the plugin is opened */
    for (size_t i = 0; i < o->set.n && o->coordinates; i++) {
        const char *value = strchr(o->set.at[i], '=');
        if (value && plugin_suffix(value)) free(plugin_prepare(value + 1, &later));
    }
    if (o->no_sandbox || c->verbosity < 0) return;
    if (sandbox_missing())
        fprintf(stderr, "checked without a sandbox: %s\n", sandbox_missing());
    else
        fprintf(stderr, "%s\n", sandbox_words((char[256]){0}));
}

static int check(const invocation *c, void *options)
{
    const check_options *o = options;
    err e = {0};
    check_room room = {.device = o->device, .no_sandbox = o->no_sandbox};
    prepare(c, o);
    if (o->coordinates) {
        int code = check_shut_in(check_coordinates, &(coordinates_call){c, o}, &room, &e);
        return code < 0 ? call_failed(c, &e) : code;
    }
    for (size_t i = 0; i < o->set.n; i++)
        if (check_set(o->set.at[i], &e)) return call_usage(c, "%s", e.text);
    return check_plugins(c->word, c->n_words, &room, o->json);
}

static const option options[] = {
    {"--device", "DEVICE", "also compare with this device, such as cuda", OPTION_TEXT, offsetof(check_options, device)},
    {"-s", "PLUGIN.KEY=VALUE", "a parameter of the plugin", OPTION_LIST, offsetof(check_options, set)},
    {"--coordinates", NULL,
     "print how much the numbers of a small model change in 5 updates, by d_model and parametrization; -s KEY=VALUE "
     "sets a key of the model's INI",
     OPTION_FLAG, offsetof(check_options, coordinates)},
    {"--no-sandbox", NULL, "let the plugin write files and reach the network", OPTION_FLAG,
     offsetof(check_options, no_sandbox)},
    OPTION_JSON(offsetof(check_options, json)),
    OPTION_PLUGIN_PATH,
    {0}};
const command check_command = {
    .name = "check",
    .part = FOR_PLUGINS,
    .does = "run the conformance checks on plugins, by name or file",
    .about = "Without a name: all loaded plugins. Exit code 1: a check failed. Each plugin may use 120 s of processor "
             "time per check, 1 hour in all, and 16 GiB of memory. It cannot start processes.",
    .arguments = "[KIND/NAME | NAME | FILE]...",
    .choices = CHOICES_PLUGINS,
    .options = options,
    .size = sizeof(check_options),
    .run = check,
    .example = "ablate check attention/restricted"};
