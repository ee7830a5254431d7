/* Scales by the norm, in tiles. */
#define FLAGS AB_ELEMENTWISE
#include "global_norm.h"
AB_PLUGIN(config, params, &self, .name = "norm_tiles", .doc = "gradients of length 1, in tiles");
