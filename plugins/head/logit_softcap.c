/* logit_softcap.c - logits that never exceed a bound. */
#include "ab_plugin.h"

typedef struct {
    double cap;
} config;

static ab_t logits(ab_ctx *c, const void *cfg, ab_t x)
{
    const config *o = cfg;
    return ab_mul_scalar(c, ab_map(c, ab_mul_scalar(c, ab_logits(c, x), 1 / o->cap), AB_TANH), o->cap);
}

static const ab_head_plugin self = {.logits = logits};
static const ab_option options[] = {
    {"cap", AB_REAL, offsetof(config, cap), 30, 1e-3, 1e6, NULL, "bound of the logits' absolute value"}, {0}};
AB_PLUGIN(config, options, &self, .name = "logit_softcap", .doc = "cap tanh(x E^T / cap)",
          .paper = "Gemma team 2024 (Gemma 2), section 2");
