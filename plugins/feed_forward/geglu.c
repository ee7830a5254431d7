/* (gelu(x W) * (x V)) W2: gated.h. */
#include "gated.h"

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x) { return gated(c, cfg, x, ab_gelu(c, gate_of(c, cfg, x))); }

static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "geglu", .doc = "linear map gated by another one through GELU",
          .paper = "Shazeer 2020, GLU Variants Improve Transformer, eq. 6");
