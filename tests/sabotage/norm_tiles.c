/* Nothing is wrong here: divides by the norm of the model's gradient, summed tile by tile (AB_ELEMENTWISE). */
#define FLAGS AB_ELEMENTWISE
#include "global_norm.h"
AB_PLUGIN(config, params, &self, .name = "norm_tiles", .doc = "gradients of length 1, in tiles");
