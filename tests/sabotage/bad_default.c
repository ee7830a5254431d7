/* A parameter whose default is outside of its own range. */
#include "ab_plugin.h"

typedef struct {
    int64_t reach;
} config;
static const ab_option params[] = {
    {"reach", AB_INT, offsetof(config, reach), 16, 1, 8, 0, "farthest distance [tokens]"}, {0}};
static const ab_position_plugin self = {.claims = AB_RELATIVE};
AB_PLUGIN(config, params, &self, .name = "bad_default", .doc = "its default is out of range");
