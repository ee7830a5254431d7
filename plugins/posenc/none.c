/* No positions: order reaches the model only through the decoder's causal mask. Haviv et al. 2022. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;
static const ab_option params[] = {{0}};
static const ab_position_plugin self = {.claims = AB_RELATIVE};
AB_PLUGIN(config, params, &self, .name = "none", .doc = "no positional encoding", .paper = "Haviv et al. 2022",
          .version = "1.0");
