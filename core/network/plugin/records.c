/* records.c - tokens and masks of the rows of a plugin's call, and the call's side effects: auxiliary losses, logged
 * numbers, values for later layers. */
#include "network/plugin/attention_context.h"
#include <ctype.h>
#include <string.h>

/* ---- the tokens of the rows ---- */

ab_t host_tokens(ab_ctx *c)
{
    if (c->attn && c->attn->tokens.id) return c->attn->tokens;
    return tape_fail(c, "ab_tokens: the tokens of these rows are not known");
}

/* 1 for tokens, 0 for padding rows, whose id no token has. */
ab_t host_row_mask(ab_ctx *c)
{
    ab_t ids = host_tokens(c);
    if (!ids.id) return ids;
    int64_t n = node_count(tape_at(c, ids));
    ab_t rows = t_reshape(c, t_to_float(c, ids), (int64_t[4]){1, 1, n, 1});
    return t_binary(c, OP_LESS_THAN, one_number(c, AB_ID_PAD), rows);
}

ab_t attn_noise(ab_ctx *c, bool normal, const int64_t dim[4])
{
    if (c->training) return t_random(c, dim, normal);
    return t_broadcast_to(c, one_number(c, normal ? 0 : 0.5), dim);
}

/* ---- losses and numbers for the log ---- */

/* A name becomes part of a curve's name. */
static bool good_name(const char *s)
{
    if (!s || !*s) return false;
    for (; *s; s++)
        if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s) && *s != '_') return false;
    return true;
}

void attn_record(ab_ctx *c, const char *function, const char *name, ab_t value, double weight, int most)
{
    char shape[64];
    if (!value.id) return;
    if (!good_name(name)) {
        tape_fail(c, "%s: name '%s', expected lower-case letters, digits and _", function, name ? name : "");
        return;
    }
    int64_t n = node_count(tape_at(c, value));
    bool vector = n == tape_at(c, value)->dim[3] && n >= 1 && n <= AB_LOG_MOST;
    if (n != 1 && !(most > 1 && vector)) {
        tape_fail(c,
                  most > 1 ? "%s: '%s' has shape %s, expected one number or a vector [n] of at most %d"
                           : "%s: '%s' has shape %s, expected one number",
                  function, name, shape_text(tape_at(c, value)->dim, shape), most);
        return;
    }
    if (!c->training) return;
    ab_t one = t_reshape(c, t_cast(c, value, c->compute == F64 ? F64 : F32), (int64_t[4]){1, 1, 1, n});
    if (!one.id) return;
    noted **at = &c->recorded, *r = arena_alloc(&c->memory, sizeof *r);
    while (*at) at = &(*at)->next;
    *r = (noted){.name = arena_printf(&c->memory, "%s.%s", c->attn->plugin, name), .value = one, .weight = weight};
    *at = r;
}

/* ---- values for later layers ---- */

/* The scope without the layer's number ("enc.self"), so that all layers of a stack share it. */
static const char *shared_name(ab_ctx *c, const char *name)
{
    const char *dot = strchr(c->scope, '.'), *rest = dot ? dot + 1 : "";
    int stack = dot ? (int)(dot - c->scope) : (int)strlen(c->scope);
    while (isdigit((unsigned char)*rest)) rest++;
    return arena_printf(&c->memory, "%.*s%s %s", stack, c->scope, rest, name);
}

static shared_value **find_shared(ab_ctx *c, const char *full)
{
    shared_value **at = &c->across;
    while (*at && ((*at)->by != hook_owner(c->hook) || !same((*at)->name, full))) at = &(*at)->next;
    return at;
}

void host_share(ab_ctx *c, const char *name, ab_t x)
{
    const char *full = shared_name(c, name);
    shared_value **at = find_shared(c, full);
    if (!x.id) return;
    if (!*at) {
        *at = arena_alloc(&c->memory, sizeof **at);
        **at = (shared_value){.name = full, .by = hook_owner(c->hook)};
    }
    (*at)->value = x;
}

ab_t host_shared(ab_ctx *c, const char *name)
{
    shared_value **at = find_shared(c, shared_name(c, name));
    if (*at) return (*at)->value;
    return tape_fail(c, "ab_shared: no earlier layer has shared '%s' (in %s); the first layer has ab_info(c)->layer 0",
                     name, c->scope);
}
