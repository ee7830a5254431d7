/* No positions: order reaches the model only through the decoder's causal mask. Haviv et al. 2022. */
#include "ab_plugin.h"

static const ab_position_plugin self = {.claims = AB_RELATIVE};
AB_PLUGIN(char, NULL, &self, .name = "none", .doc = "no positional encoding", .paper = "Haviv et al. 2022",
          .version = "1.0");
