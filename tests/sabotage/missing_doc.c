/* A plugin without a description. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;
static const ab_option params[] = {{0}};
static const ab_position_plugin self = {.claims = AB_RELATIVE};
AB_PLUGIN(config, params, &self, .name = "missing_doc");
