/* devices.c - ablate devices, ablate reference: lists the devices for runs, and every INI key. */
#include "tensor/device/device.h"
#include "cli/options.h"

typedef struct {
    bool json;
} devices_options;

static int devices(const invocation *c, void *options)
{
    (void)c;
    return ((const devices_options *)options)->json ? devices_json(stdout) : devices_print(stdout);
}

static const option options[] = {
    {"--json", NULL, "print JSON (docs/json.md)", OPTION_FLAG, offsetof(devices_options, json)}, {0}};
const command devices_command = {.name = "devices",
                                 .part = FOR_SPEED,
                                 .does = "show the hardware for runs: processor, instruction set, GPUs",
                                 .options = options,
                                 .size = sizeof(devices_options),
                                 .run = devices,
                                 .example = "ablate devices"};

static int reference(const invocation *c, void *options)
{
    (void)c, (void)options;
    config_reference(stdout, run_schemas());
    return 0;
}
const command reference_command = {.name = "reference",
                                   .part = FOR_PLUGINS,
                                   .does = "print every INI key with its default and range, as Markdown",
                                   .run = reference,
                                   .example = "ablate reference > docs/ini.md"};
