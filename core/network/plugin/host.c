/* host.c - the table of functions that plugins call: it maps the ABI onto the tape and the attention context. */
#include "network/plugin/plugin.h"
#include "network/plugin/attention_context.h"
#include "network/plugin/host.h"
#include <stdlib.h>
#include <string.h>

static ab_ctx *h_at(ab_ctx *c, const char *file, int line)
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
            tape_fail(c, "%s: an axis of length %lld", what, (long long)out[i]);
            return false;
        }
    return true;
}
bool host_owns_all(ab_ctx *c, const ab_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!tape_owns(c, x[i])) return false;
    return true;
}

static int64_t h_dim(ab_ctx *c, ab_t x, int axis)
{
    if (!tape_owns(c, x)) return 1;
    axis = from_end(axis);
    return x.id && axis >= -4 && axis < 0 ? tape_at(c, x)->dim[4 + axis] : 1;
}

/* ---- where functions may be called (the tags of ab_plugin.h) ---- */

bool host_may_call(ab_ctx *c, const char *function, unsigned hooks)
{
#define HOOK_DOC(NAME, owner, doc) doc,
    static const char *const names[AB_HOOK_COUNT] = {"no plugin's function", AB_HOOKS(HOOK_DOC)};
    if (hooks & BIT(c->hook)) return true;
    char list[512] = "";
    for (int h = 1; h < AB_HOOK_COUNT; h++)
        if (hooks & BIT(h)) strcat(strcat(list, *list ? ", " : ""), names[h]);
    tape_fail(c, "%s was called in %s; it may be called in %s%s", function, names[c->hook], list,
              c->hook == AB_IN_REFERENCE || c->hook == AB_IN_GRAD
                  ? ". An operation must get everything through its inputs and attr"
                  : "");
    return false;
}
static const ab_info *h_info(ab_ctx *c)
{
    static const ab_info nowhere = {.heads = 1, .d_k = 1, .d_v = 1, .d_model = 1, .n_layers = 1};
    return host_may_call(c, "ab_info", MODEL_HOOKS) ? &c->attn->info : &nowhere;
}
static ab_t h_fail(ab_ctx *c, const char *message) { return tape_fail(c, "%s", message); }

/* ---- operations and updates ---- */

static ab_t h_call(ab_ctx *c, const ab_op *op, const ab_t *in, const void *attr_, size_t n)
{
    for (int i = 0; op && i < op->n_in; i++) OWN(in[i]);
    return t_call(c, op, in, attr_, n);
}
static void h_assign(ab_ctx *c, ab_t to, ab_t value)
{
    if (!tape_owns(c, to) || !tape_owns(c, value) || !host_may_call(c, "ab_assign", UPDATE_HOOKS)) return;
    if (c->sums == SUMS_MADE)
        tape_fail(c, "ab_assign: measure sets no values; update does");
    else
        t_assign(c, to, value);
}
static ab_t h_qr(ab_ctx *c, ab_t a)
{
    OWN(a);
    ONLY_IN(c, "ab_qr", UPDATE_HOOKS);
    return t_qr(c, a);
}
static ab_t h_measured(ab_ctx *c, int64_t i)
{
    ONLY_IN(c, "ab_measured", UPDATE_HOOKS);
    if (c->sums != SUMS_READ)
        return tape_fail(c, "ab_measured: there are sums in update only, and only if the optimizer has measure");
    if (i < 0 || i >= c->n_sums)
        return tape_fail(c, "ab_measured: number %lld, but measure returns %d", (long long)i, c->n_sums);
    ab_t x =
        t_state(c, arena_printf(&c->memory, "measured%lld", (long long)i), c->compute == F64 ? F64 : F32, 1, 1, 1, 1);
    tape_at(c, x)->phase = PHASE_SETUP;
    return x;
}

static const ab_parameter *h_parameter(ab_ctx *c)
{
    static const ab_parameter nothing = {.name = "", .kind = AB_WEIGHT, .dim = {1, 1, 1, 1}, .n_parts = 1, .part = {1}};
    if (!host_may_call(c, "ab_this_parameter", UPDATE_HOOKS)) return &nothing;
    if (c->updated) return c->updated;
    tape_fail(c, "ab_this_parameter: an update with AB_ELEMENTWISE sees tiles of all parameters, not a single one");
    return &nothing;
}

ab_host host_table = {
    .size = sizeof(ab_host),
    .minor = AB_ABI_MINOR,
    .at = h_at,
    .dim = h_dim,
    .info = h_info,
    .fail = h_fail,
    .add = host_add,
    .sub = host_sub,
    .mul = host_mul,
    .div = host_div,
    .minimum = host_minimum,
    .maximum = host_maximum,
    .where = host_where,
    .less_than = host_less_than,
    .mul_scalar = host_mul_scalar,
    .add_scalar = host_add_scalar,
    .map = host_map,
    .gelu = host_gelu,
    .silu = host_silu,
    .softplus = host_softplus,
    .dropout = host_dropout,
    .sum = host_sum,
    .cumsum = host_cumsum,
    .softmax = host_softmax,
    .matmul = host_matmul,
    .reshape = host_reshape,
    .transpose = host_transpose,
    .slice = host_slice,
    .concat = host_concat,
    .detach = host_detach,
    .full = host_full,
    .rotate_half = host_rotate_half,
    .embedding = host_embedding,
    .to_float = host_to_float,
    .outer = host_outer,
    .relative_position = host_relative_position,
    .clipped_relative_position = host_clipped_relative_position,
    .gather = host_gather,
    .scatter_add = host_scatter_add,
    .consts = host_consts,
    .table = host_computed_table,
    .param = host_param,
    .param_full = host_param_full,
    .linear = host_linear,
    .linear_relu = host_linear_relu,
    .layer_norm = host_layer_norm,
    .add_layer_norm = host_add_layer_norm,
    .self_attention = host_self_attention,
    .cross_attention = host_cross_attention,
    .feed_forward = host_feed_forward,
    .normalize = host_normalize,
    .add_normalize = host_add_normalize,
    .add_dropout = host_add_dropout,
    .call = h_call,
    .assign = h_assign,
    .project = host_project,
    .scores = host_scores,
    .mask = host_mask,
    .position = host_position,
    .weighted_sum = host_weighted_sum,
    .attend = host_attend,
    .causal_kv_sum = host_causal_kv_sum,
    .output = host_output,
    .heads = host_heads,
    .rotate = host_rotate,
    .remember = host_remember,
    .merge = host_merge,
    .pad = host_pad,
    .pack = host_pack,
    .scan = host_scan,
    .qpos = host_qpos,
    .kpos = host_kpos,
    .klen = host_klen,
    .gru = host_gru,
    .conv = host_conv,
    .max = host_max,
    .top_k = host_top_k,
    .sort = host_sort,
    .to_ids = host_to_ids,
    .one_hot = host_one_hot,
    .scatter_rows = host_scatter_rows,
    .noise = host_noise,
    .tokens = host_tokens,
    .row_mask = host_row_mask,
    .add_loss = host_add_loss,
    .log = host_log,
    .share = host_share,
    .shared = host_shared,
    .parameter = h_parameter,
    .window = host_window,
    .running_sum = host_running_sum,
    .fp32 = host_fp32,
    .shift = host_shift,
    .depthwise_conv = host_depthwise_conv,
    .call_attention = host_call_attention,
    .logits = host_logits,
    .token_vectors = host_token_vectors,
    .cross_entropy = host_cross_entropy,
    .ahead = host_ahead,
    .delta_scan = host_delta_scan,
    .buffer = host_buffer,
    .set_buffer = host_set_buffer,
    .qr = h_qr,
    .measured = h_measured,
    .softmax_sink = host_softmax_sink,
    .entmax = host_entmax,
    .print = host_print,
    .unit_length = host_unit_length,
    .long_conv = host_long_conv,
    .teacher = host_teacher,
    .key_blocks = host_key_blocks,
    .lstm = host_lstm,
};

void plugin_set_services(const plugin_services *s)
{
    host_table.bleu = s->bleu;
    host_table.read_lines = s->read_lines;
    host_table.free_lines = s->free_lines;
    host_table.f1 = s->f1;
}
