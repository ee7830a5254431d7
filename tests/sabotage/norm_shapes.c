/* Scales by the norm, parameter by parameter. */
#define FLAGS 0
#include "global_norm.h"
AB_PLUGIN(config, params, &self, .name = "norm_shapes", .doc = "gradients of length 1, by parameter");
