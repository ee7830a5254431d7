/* Leaks memory at every call. */
#include "ab_plugin.h"
#include <stdlib.h>

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    static void *last;
    const ab_info *in = ab_info(c);
    void **mine = malloc(40);
    if (mine) *mine = last, last = mine;
    ab_t h = ab_map(c, ab_linear(c, x, "1", in->d_ff, 1), AB_TANH);
    return ab_linear(c, h, "2", in->d_model, 1);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "keeps_memory", .doc = "keeps memory");
