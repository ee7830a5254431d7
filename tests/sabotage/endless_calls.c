/* A plugin whose list of the attentions that it calls does not end with NULL. */
#include "ab_plugin.h"

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    return ab_output(c, ab_attend(c, ab_query(c, x), ab_key(c, mem), ab_value(c, mem), 1));
}

static const union {
    const char *names[1];
    uint64_t word[8];
} table = {.word = {1, 2, 3, 4, 5, 6, 7, 8}};
static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_SELF, .forward = forward};
AB_PLUGIN(char, params, &self, .name = "endless_calls", .doc = "a list without an end", .calls = table.names);
