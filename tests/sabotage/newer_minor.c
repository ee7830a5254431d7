/* A plugin built for a later minor version of the interface. */
#include <stdint.h>
#define AB_TARGET_MINOR 1000u
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;
static const ab_option params[] = {{0}};
static const ab_position_plugin self = {.claims = AB_RELATIVE};
AB_PLUGIN(config, params, &self, .name = "newer_minor", .doc = "needs a newer host");
