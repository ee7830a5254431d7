/* host_layer.c - host functions for layers, described in ab_plugin.h: learned values, norms, a block's sublayers,
 * attention; checks the tags of all of them. */
#include "network/plugin/attention_context.h"
#include "network/plugin/host.h"

/* ---- learned values, buffers, norms ---- */

ab_t host_param(ab_ctx *c, const char *name, int rank, const int64_t *dims, double scale)
{
    int64_t d[4];
    ONLY_IN(c, "ab_weight", MODEL_HOOKS);
    return host_dims4(c, "ab_weight", rank, dims, d) ? attn_param(c, name, d, scale, 0) : (ab_t){0};
}
ab_t host_linear(ab_ctx *c, ab_t x, const char *name, int64_t width, int bias)
{
    OWN(x);
    ONLY_IN(c, "ab_linear", MODEL_HOOKS);
    if (width < 1) return tape_fail(c, "ab_linear: width %lld", (long long)width);
    return attn_linear(c, x, name, width, width, bias, 0);
}
ab_t host_param_full(ab_ctx *c, const char *name, int rank, const int64_t *dims, double value)
{
    int64_t d[4];
    ONLY_IN(c, "ab_weight_full", MODEL_HOOKS);
    return host_dims4(c, "ab_weight_full", rank, dims, d) ? attn_param(c, name, d, 0, value) : (ab_t){0};
}
ab_t host_buffer(ab_ctx *c, const char *name, int rank, const int64_t *dims, double value)
{
    int64_t d[4];
    ONLY_IN(c, "ab_buffer", MODEL_HOOKS);
    if (!host_dims4(c, "ab_buffer", rank, dims, d) || (c->attn && !attn_claim(c, name))) return (ab_t){0};
    return t_buffer(c, attn_full_name(c, name), d, value);
}
void host_set_buffer(ab_ctx *c, ab_t buffer, ab_t value)
{
    if (host_owns_all(c, (ab_t[]){buffer, value}, 2) && host_may_call(c, "ab_set_buffer", MODEL_HOOKS))
        t_set_buffer(c, buffer, value);
}
ab_t host_linear_relu(ab_ctx *c, ab_t x, const char *name, int64_t width, int bias)
{
    OWN(x);
    ONLY_IN(c, "ab_linear_relu", MODEL_HOOKS);
    if (width < 1) return tape_fail(c, "ab_linear_relu: width %lld", (long long)width);
    return attn_linear(c, x, name, width, width, bias, 1);
}
ab_t host_layer_norm(ab_ctx *c, ab_t x, ab_t gain, ab_t bias, double eps)
{
    OWN(x, gain, bias);
    ONLY_IN(c, "ab_layer_norm", MODEL_HOOKS);
    return t_norm(c, x, (ab_t){0}, gain, bias, 0, eps);
}
ab_t host_add_layer_norm(ab_ctx *c, ab_t x, ab_t s, ab_t gain, ab_t bias, double eps)
{
    OWN(x, s, gain, bias);
    ONLY_IN(c, "ab_add_layer_norm", MODEL_HOOKS);
    return s.id ? t_norm(c, x, s, gain, bias, c->attn->residual_dropout, eps) : s;
}

/* ---- a layer's parts ---- */

ab_t host_self_attention(ab_ctx *c, ab_t x)
{
    OWN(x);
    ONLY_IN(c, "ab_self_attention", BIT(AB_IN_BLOCK));
    return x.id ? c->attn->layer->attention(c, x, false) : x;
}
ab_t host_cross_attention(ab_ctx *c, ab_t x)
{
    OWN(x);
    ONLY_IN(c, "ab_cross_attention", BIT(AB_IN_BLOCK));
    if (!c->attn->info.cross)
        return tape_fail(c, "ab_cross_attention: this layer reads no encoder (ab_info(c)->cross is 0)");
    return x.id ? c->attn->layer->attention(c, x, true) : x;
}
ab_t host_feed_forward(ab_ctx *c, ab_t x, const char *name)
{
    OWN(x);
    ONLY_IN(c, "ab_feed_forward", BIT(AB_IN_BLOCK));
    if (!c->attn->info.feed_forward)
        return tape_fail(c, "ab_feed_forward: layers have no feed-forward (ab_info(c)->feed_forward is 0)");
    return x.id ? c->attn->layer->feed_forward(c, x, name) : x;
}
ab_t host_normalize(ab_ctx *c, ab_t x, const char *name)
{
    OWN(x);
    ONLY_IN(c, "ab_normalize", BLOCK_HOOKS);
    return x.id ? c->attn->layer->norm(c, x, NULL, name) : x;
}
ab_t host_add_normalize(ab_ctx *c, ab_t x, ab_t s, const char *name)
{
    OWN(x, s);
    ONLY_IN(c, "ab_add_normalize", BLOCK_HOOKS);
    return x.id && s.id ? c->attn->layer->norm(c, x, &s, name) : (ab_t){0};
}
ab_t host_add_dropout(ab_ctx *c, ab_t x, ab_t s)
{
    OWN(x, s);
    ONLY_IN(c, "ab_add_dropout", BLOCK_HOOKS);
    return x.id && s.id ? t_dropout_add(c, x, s, c->attn->residual_dropout) : (ab_t){0};
}

ab_t host_project(ab_ctx *c, ab_t x, ab_projection what)
{
    OWN(x);
    ONLY_IN(c, "ab_query, ab_key or ab_value", ATTENTION_HOOKS);
    return attn_project(c, x, what);
}
ab_t host_scores(ab_ctx *c, ab_t q, ab_t k, double scale)
{
    OWN(q, k);
    ONLY_IN(c, "ab_scores", ATTENTION_HOOKS);
    return attn_scores(c, q, k, scale);
}
ab_t host_mask(ab_ctx *c, ab_t s)
{
    OWN(s);
    ONLY_IN(c, "ab_mask", ATTENTION_HOOKS);
    return attn_mask(c, s);
}
ab_t host_window(ab_ctx *c, ab_t s, ab_t from, ab_t to)
{
    OWN(s, from, to);
    ONLY_IN(c, "ab_window", ATTENTION_HOOKS);
    return attn_window(c, s, from, to);
}
ab_t host_key_blocks(ab_ctx *c, ab_t s, ab_t allowed, int64_t size)
{
    OWN(s, allowed);
    ONLY_IN(c, "ab_key_blocks", ATTENTION_HOOKS);
    return attn_key_blocks(c, s, allowed, size);
}
ab_t host_position(ab_ctx *c, ab_t s, ab_t q, ab_t k)
{
    OWN(s, q, k);
    ONLY_IN(c, "ab_position", ATTENTION_HOOKS);
    return attn_position(c, s, q, k);
}
ab_t host_weighted_sum(ab_ctx *c, ab_t p, ab_t v)
{
    OWN(p, v);
    ONLY_IN(c, "ab_weighted_sum", ATTENTION_HOOKS);
    return attn_weighted_sum(c, p, v);
}
ab_t host_attend(ab_ctx *c, ab_t q, ab_t k, ab_t v, double scale)
{
    OWN(q, k, v);
    ONLY_IN(c, "ab_attend", ATTENTION_HOOKS);
    return attn_attend(c, q, k, v, scale);
}
ab_t host_causal_kv_sum(ab_ctx *c, ab_t q, ab_t k, ab_t v)
{
    OWN(q, k, v);
    ONLY_IN(c, "ab_causal_kv_sum", ATTENTION_HOOKS);
    return attn_causal_kv_sum(c, q, k, v);
}
ab_t host_output(ab_ctx *c, ab_t y)
{
    OWN(y);
    ONLY_IN(c, "ab_output", ATTENTION_HOOKS);
    return attn_output(c, y);
}
ab_t host_heads(ab_ctx *c, ab_t rows, int64_t heads)
{
    OWN(rows);
    ONLY_IN(c, "ab_heads", ATTENTION_HOOKS);
    return attn_heads(c, rows, heads);
}
ab_t host_rotate(ab_ctx *c, ab_t x)
{
    OWN(x);
    ONLY_IN(c, "ab_rotate", ATTENTION_HOOKS);
    return attn_rotate(c, x);
}
ab_t host_remember(ab_ctx *c, ab_t x)
{
    OWN(x);
    ONLY_IN(c, "ab_remember", ATTENTION_HOOKS);
    return attn_remember(c, x);
}
ab_t host_merge(ab_ctx *c, ab_t y)
{
    OWN(y);
    ONLY_IN(c, "ab_merge", ATTENTION_HOOKS);
    return attn_merge(c, y);
}
/* Checks that a feed-forward or block claims to see sentences. */
static bool sees_sentences(ab_ctx *c, const char *function)
{
    if (!host_may_call(c, function, SENTENCE_HOOKS)) return false;
    if (BIT(c->hook) & ATTENTION_HOOKS || c->attn->mixes_tokens) return true;
    tape_fail(c,
              "%s in a feed-forward or block: rows then depend on other tokens of their sentence; claim "
              "AB_MIXES_TOKENS (AB_PLUGIN(..., .claims = AB_MIXES_TOKENS))",
              function);
    return false;
}
#define IN_SENTENCES(c, function)                                                                                      \
    if (!sees_sentences(c, function)) return (ab_t)                                                                    \
        {                                                                                                              \
            0                                                                                                          \
        }
ab_t host_pad(ab_ctx *c, ab_t rows)
{
    OWN(rows);
    IN_SENTENCES(c, "ab_pad");
    return attn_pad(c, rows);
}
ab_t host_pack(ab_ctx *c, ab_t x)
{
    OWN(x);
    IN_SENTENCES(c, "ab_pack");
    return attn_pack(c, x);
}
ab_t host_scan(ab_ctx *c, ab_step f, const void *cfg, ab_t x, int64_t d, int back)
{
    OWN(x);
    IN_SENTENCES(c, "ab_scan");
    return attn_scan(c, f, cfg, x, d, back);
}
ab_t host_running_sum(ab_ctx *c, ab_t a)
{
    OWN(a);
    IN_SENTENCES(c, "ab_running_sum");
    return attn_running_sum(c, a);
}
ab_t host_delta_scan(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t beta, ab_t log_decay)
{
    OWN(q, k, v, beta, log_decay);
    ONLY_IN(c, "ab_delta_scan", ATTENTION_HOOKS);
    return attn_delta_scan(c, q, k, v, beta, log_decay);
}
ab_t host_gru(ab_ctx *c, ab_t x, const char *in, const char *u, int64_t d, int backwards)
{
    OWN(x);
    IN_SENTENCES(c, "ab_gru");
    if (d < 1) return tape_fail(c, "ab_gru: %lld units, expected 1 or more", (long long)d);
    return attn_gru(c, x, in, u, d, backwards);
}
ab_t host_lstm(ab_ctx *c, ab_t x, const char *in, const char *u, int64_t d, int backwards)
{
    OWN(x);
    IN_SENTENCES(c, "ab_lstm");
    if (d < 1) return tape_fail(c, "ab_lstm: %lld units, expected 1 or more", (long long)d);
    return attn_lstm(c, x, in, u, d, backwards);
}
ab_t host_conv(ab_ctx *c, ab_t x, const char *name, int64_t width, int64_t before, int64_t behind)
{
    OWN(x);
    IN_SENTENCES(c, "ab_conv");
    if (width < 1 || before < 0 || behind < 0)
        return tape_fail(c, "ab_conv: width %lld over %lld positions before and %lld after", (long long)width,
                         (long long)before, (long long)behind);
    return attn_conv(c, x, name, width, before, behind);
}
ab_t host_shift(ab_ctx *c, ab_t rows, int64_t by)
{
    OWN(rows);
    IN_SENTENCES(c, "ab_shift");
    return attn_shift(c, rows, by);
}
ab_t host_depthwise_conv(ab_ctx *c, ab_t rows, const char *name, int64_t before, int64_t behind)
{
    OWN(rows);
    IN_SENTENCES(c, "ab_depthwise_conv");
    if (before < 0 || behind < 0)
        return tape_fail(c, "ab_depthwise_conv: %lld positions before and %lld after", (long long)before,
                         (long long)behind);
    return attn_depthwise_conv(c, rows, name, before, behind);
}
ab_t host_long_conv(ab_ctx *c, ab_t rows, ab_t past, ab_t future)
{
    OWN(rows, past, future);
    ONLY_IN(c, "ab_long_conv", ATTENTION_HOOKS);
    return attn_long_conv(c, rows, past, future);
}
ab_t host_call_attention(ab_ctx *c, const char *name, ab_t x, ab_t mem)
{
    OWN(x, mem);
    ONLY_IN(c, "ab_call_attention", BIT(AB_IN_FORWARD));
    if (!x.id || !mem.id) return (ab_t){0};
    if (!c->attn->layer) return tape_fail(c, "ab_call_attention: there is no layer around this call");
    return c->attn->layer->call(c, name, x, mem);
}
ab_t host_qpos(ab_ctx *c)
{
    ONLY_IN(c, "ab_qpos", ATTENTION_HOOKS);
    return c->attn->qpos;
}
ab_t host_kpos(ab_ctx *c)
{
    ONLY_IN(c, "ab_kpos", ATTENTION_HOOKS);
    return c->attn->kpos;
}
ab_t host_klen(ab_ctx *c)
{
    ONLY_IN(c, "ab_klen", ATTENTION_HOOKS);
    return attn_klen(c);
}
