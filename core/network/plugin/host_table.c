/* host_table.c - the table of functions that plugins call: checks arguments, then calls host.h's functions. */
#include "network/plugin/plugin.h"
#include "network/plugin/attention_context.h"
#include <string.h>

ab_ctx *host_at(ab_ctx *c, const char *file, int line)
{
    c->file = file;
    c->line = line;
    return c;
}

bool host_dims4(ab_ctx *c, const char *what, int rank, const int64_t *dims, int64_t out[4])
{
    if (rank < 1 || rank > 4) {
        tape_fail(c, "%s: %d axes, expected 1 to 4", what, rank);
        return false;
    }
    for (int i = 0; i < 4; i++) out[i] = i < 4 - rank ? 1 : dims[i - (4 - rank)];
    for (int i = 0; i < 4; i++)
        if (out[i] < 1) {
            tape_fail(c, "%s: found an axis of length %lld, expected at least 1", what, (long long)out[i]);
            return false;
        }
    return true;
}
int64_t host_dim(ab_ctx *c, ab_t x, int axis)
{
    if (!tape_owns(c, x)) return 1;
    axis = from_end(axis);
    return x.id && axis >= -4 && axis < 0 ? tape_at(c, x)->dim[4 + axis] : 1;
}

/* ---- which hooks may call a function (the tags of ab_plugin.h) ---- */

#define BIT(h) (1u << (h))
enum {
    ANY_HOOKS = ~0u >> 1,
    UPDATE_HOOKS = BIT(AB_IN_UPDATE),
    FORWARD_HOOKS = BIT(AB_IN_FORWARD),
    ATTENTION_HOOKS =
        FORWARD_HOOKS | BIT(AB_IN_STEP) | BIT(AB_IN_ROTATE) | BIT(AB_IN_BIAS) | BIT(AB_IN_SCORES) | BIT(AB_IN_VALUES),
    BLOCK_HOOKS = BIT(AB_IN_BLOCK),
    LAYER_HOOKS = BLOCK_HOOKS | BIT(AB_IN_FINISH),
    LOSSES_HOOKS = BIT(AB_IN_LOSSES),
    HEAD_HOOKS = BIT(AB_IN_LOGITS) | LOSSES_HOOKS,
    SENTENCE_HOOKS = ATTENTION_HOOKS | BIT(AB_IN_FEED_FORWARD) | BLOCK_HOOKS,
    MODEL_HOOKS = (BIT(AB_HOOK_COUNT) - 1) & ~(BIT(AB_IN_HOST) | BIT(AB_IN_REFERENCE) | BIT(AB_IN_GRAD) | UPDATE_HOOKS),
};
/* May the current hook call ab_NAME? If not, returns false and an error that lists the hooks that may. */
static bool may_call(ab_ctx *c, const char *name, unsigned hooks)
{
#define HOOK_DOC(NAME, owner, doc) doc,
    static const char *const names[AB_HOOK_COUNT] = {"no plugin's function", AB_HOOKS(HOOK_DOC)};
    bool mixes = hooks != SENTENCE_HOOKS || BIT(c->hook) & ATTENTION_HOOKS || (c->attn && c->attn->mixes_tokens);
    if (hooks & BIT(c->hook) && mixes) return true;
    if (!strcmp(name, "project")) name = "query, ab_key or ab_value";
    if (!strcmp(name, "noise")) name = "uniform or ab_normal";
    char list[512] = "";
    for (int h = 1; h < AB_HOOK_COUNT; h++)
        if (hooks & BIT(h)) strcat(strcat(list, *list ? ", " : ""), names[h]);
    if (hooks & BIT(c->hook))
        tape_fail(c,
                  "ab_%s in a feed-forward or block: rows then depend on other tokens of their sentence; claim "
                  "AB_MIXES_TOKENS (AB_PLUGIN(..., .claims = AB_MIXES_TOKENS))",
                  name);
    else
        tape_fail(c, "ab_%s was called in %s; it may be called in %s%s", name, names[c->hook], list,
                  c->hook == AB_IN_REFERENCE || c->hook == AB_IN_GRAD
                      ? ". An operation must get everything through its inputs and attr"
                      : "");
    return false;
}
const ab_info *host_info(ab_ctx *c)
{
    static const ab_info nowhere = {.heads = 1, .d_k = 1, .d_v = 1, .d_model = 1, .n_layers = 1};
    return may_call(c, "info", MODEL_HOOKS) ? &c->attn->info : &nowhere;
}
ab_t host_fail(ab_ctx *c, const char *message) { return tape_fail(c, "%s", message); }

/* ---- operations and updates ---- */

ab_t host_call(ab_ctx *c, const ab_op *op, const ab_t *in, const void *attr_, size_t n)
{
    for (int i = 0; op && i < op->n_in; i++)
        if (!tape_owns(c, in[i])) return (ab_t){0};
    return t_call(c, op, in, attr_, n);
}
void host_assign(ab_ctx *c, ab_t to, ab_t value)
{
    if (c->sums == SUMS_MADE)
        tape_fail(c, "ab_assign: called in measure, expected in update");
    else
        t_assign(c, to, value);
}
ab_t host_measured(ab_ctx *c, int64_t i)
{
    if (c->sums != SUMS_READ)
        return tape_fail(c, "ab_measured: expected a call from update, of an optimizer with measure");
    if (i < 0 || i >= c->n_sums)
        return tape_fail(c, "ab_measured: number %lld, but measure returns %d", (long long)i, c->n_sums);
    ab_t x =
        t_state(c, arena_printf(&c->memory, "measured%lld", (long long)i), c->compute == F64 ? F64 : F32, 1, 1, 1, 1);
    tape_at(c, x)->phase = PHASE_SETUP;
    return x;
}

ab_t host_second_gradient(ab_ctx *c)
{
    return c->second.id ? c->second
                        : tape_fail(c, "ab_second_gradient: expected a call from update, of an optimizer with shift");
}

const ab_parameter *host_this_parameter(ab_ctx *c)
{
    static const ab_parameter nothing = {.name = "", .kind = AB_WEIGHT, .dim = {1, 1, 1, 1}, .n_parts = 1, .part = {1}};
    if (!may_call(c, "this_parameter", UPDATE_HOOKS)) return &nothing;
    if (c->updated) return c->updated;
    tape_fail(c, "ab_this_parameter: an update with AB_ELEMENTWISE sees tiles of all parameters, not a single one");
    return &nothing;
}

/* ---- the table: calls with checked ids and tag ---- */

static bool may_pass(ab_ctx *c, ...) { return c; }
static bool fails_at_first(ab_ctx *c, ab_t *x)
{
    if (x) *x = (ab_t){0};
    return c;
}
/* clang-format off */
#define OWN(c, x)                   _Generic(x, ab_t: tape_owns, ab_t *: fails_at_first, default: may_pass)(c, x)
#define OWN_0(c)                    true
#define OWN_1(c, x)                 OWN(c, x)
#define OWN_2(c, x, ...)            (OWN(c, x) & OWN_1(c, __VA_ARGS__))
#define OWN_3(c, x, ...)            (OWN(c, x) & OWN_2(c, __VA_ARGS__))
#define OWN_4(c, x, ...)            (OWN(c, x) & OWN_3(c, __VA_ARGS__))
#define OWN_5(c, x, ...)            (OWN(c, x) & OWN_4(c, __VA_ARGS__))
#define OWN_6(c, x, ...)            (OWN(c, x) & OWN_5(c, __VA_ARGS__))
#define OWN_OF(a, b, c, d, e, f, g, own, ...) own
#define OWN_ALL(...)                OWN_OF(__VA_ARGS__, OWN_6, OWN_5, OWN_4, OWN_3, OWN_2, OWN_1, OWN_0, )(__VA_ARGS__)
#define FAILED_ab_t                 return (ab_t){0}
#define FAILED_void                 return
#define RETURN_ab_t                 return
#define RETURN_void
/* clang-format on */
#define CHECKED(result, name, parameters, arguments, tag, since)                                                       \
    static result checked_##name parameters                                                                            \
    {                                                                                                                  \
        if (!(OWN_ALL arguments) || !may_call(c, #name, tag##_HOOKS)) FAILED_##result;                                 \
        RETURN_##result host_##name arguments;                                                                         \
    }
#define NONE(...)
AB_HOST(CHECKED, NONE, NONE)

#define ROW(result, name, ...)           .name = checked_##name,
#define UNCHECKED_ROW(result, name, ...) .name = host_##name,
ab_host host_table = {.size = sizeof(ab_host), .minor = AB_ABI_MINOR, AB_HOST(ROW, UNCHECKED_ROW, NONE)};

void plugin_set_services(const plugin_services *s)
{
#define SET(result, name, ...) host_table.name = s->name;
    AB_HOST(NONE, NONE, SET)
}
