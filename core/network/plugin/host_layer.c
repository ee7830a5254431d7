/* host_layer.c - host functions for learned values, norms and a block's sublayers (ab_host.h). */
#include "network/plugin/attention_context.h"

/* ---- learned values, buffers, norms ---- */

ab_t host_weight(ab_ctx *c, const char *name, int rank, const int64_t *dims, double scale)
{
    int64_t d[4];
    return host_dims4(c, "ab_weight", rank, dims, d) ? attn_param(c, name, d, scale, 0) : (ab_t){0};
}
ab_t host_linear(ab_ctx *c, ab_t x, const char *name, int64_t width, int bias)
{
    if (width < 1) return tape_fail(c, "ab_linear: found width %lld, expected at least 1", (long long)width);
    return attn_linear(c, x, name, width, width, bias, 0);
}
ab_t host_weight_full(ab_ctx *c, const char *name, int rank, const int64_t *dims, double value)
{
    int64_t d[4];
    return host_dims4(c, "ab_weight_full", rank, dims, d) ? attn_param(c, name, d, 0, value) : (ab_t){0};
}
ab_t host_buffer(ab_ctx *c, const char *name, int rank, const int64_t *dims, double value)
{
    int64_t d[4];
    if (!host_dims4(c, "ab_buffer", rank, dims, d) || (c->attn && !attn_claim(c, name))) return (ab_t){0};
    return t_buffer(c, attn_full_name(c, name), d, value);
}
ab_t host_linear_relu(ab_ctx *c, ab_t x, const char *name, int64_t width, int bias)
{
    if (width < 1) return tape_fail(c, "ab_linear_relu: found width %lld, expected at least 1", (long long)width);
    return attn_linear(c, x, name, width, width, bias, 1);
}
ab_t host_layer_norm(ab_ctx *c, ab_t x, ab_t gain, ab_t bias, double eps)
{
    return t_norm(c, x, (ab_t){0}, gain, bias, 0, eps);
}
ab_t host_add_layer_norm(ab_ctx *c, ab_t x, ab_t s, ab_t gain, ab_t bias, double eps)
{
    return s.id ? t_norm(c, x, s, gain, bias, c->attn->residual_dropout, eps) : s;
}

/* ---- a layer's sublayers ---- */

ab_t host_self_attention(ab_ctx *c, ab_t x) { return x.id ? c->attn->layer->attention(c, x, false) : x; }
ab_t host_cross_attention(ab_ctx *c, ab_t x)
{
    if (!c->attn->info.cross)
        return tape_fail(c, "ab_cross_attention: this layer reads no encoder (ab_info(c)->cross is 0)");
    return x.id ? c->attn->layer->attention(c, x, true) : x;
}
ab_t host_feed_forward(ab_ctx *c, ab_t x, const char *name)
{
    if (!c->attn->info.feed_forward)
        return tape_fail(c, "ab_feed_forward: layers have no feed-forward (ab_info(c)->feed_forward is 0)");
    return x.id ? c->attn->layer->feed_forward(c, x, name) : x;
}
ab_t host_normalize(ab_ctx *c, ab_t x, const char *name) { return x.id ? c->attn->layer->norm(c, x, NULL, name) : x; }
ab_t host_add_normalize(ab_ctx *c, ab_t x, ab_t s, const char *name)
{
    return x.id && s.id ? c->attn->layer->norm(c, x, &s, name) : (ab_t){0};
}
ab_t host_add_dropout(ab_ctx *c, ab_t x, ab_t s)
{
    return x.id && s.id ? t_dropout_add(c, x, s, c->attn->residual_dropout) : (ab_t){0};
}

ab_t host_call_attention(ab_ctx *c, const char *name, ab_t x, ab_t mem)
{
    if (!x.id || !mem.id) return (ab_t){0};
    if (!c->attn->layer) return tape_fail(c, "ab_call_attention: there is no layer around this call");
    return c->attn->layer->call(c, name, x, mem);
}
ab_t host_qpos(ab_ctx *c) { return c->attn->qpos; }
ab_t host_kpos(ab_ctx *c) { return c->attn->kpos; }
