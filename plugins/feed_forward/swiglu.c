/* (silu(x W) * (x V)) W2: gated.h. */
#include "gated.h"

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x) { return gated(c, cfg, x, ab_silu(c, gate_of(c, cfg, x))); }

static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "swiglu", .doc = "linear map gated by another one through SiLU",
          .paper = "Shazeer 2020, GLU Variants Improve Transformer, eq. 6");
