/* A parameter without a description. */
#include "ab_plugin.h"

typedef struct {
    int64_t reach;
} config;
static const ab_option params[] = {{"reach", AB_INT, offsetof(config, reach), 4, 1, 8, 0, NULL}, {0}};
static const ab_position_plugin self = {.claims = AB_RELATIVE};
AB_PLUGIN(config, params, &self, .name = "missing_parameter_doc", .doc = "its parameter has no doc");
