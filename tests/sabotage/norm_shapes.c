/* Nothing is wrong here: divides by the norm of the model's gradient, summed parameter by parameter. */
#define FLAGS 0
#include "global_norm.h"
AB_PLUGIN(config, params, &self, .name = "norm_shapes", .doc = "gradients of length 1, by parameter");
