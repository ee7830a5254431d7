/* layer_backend.h - the CPU backend with the layers that it has not, GRU and CONV, by their definition
 * (layer_reference.h); and the same as a device, with a memory of its own that is the host's after all. */
#ifndef ABLATE_TEST_LAYER_BACKEND_H
#define ABLATE_TEST_LAYER_BACKEND_H
#include "base/vmath.h"
#include "tensor/cpu/cpu.h"
#include "layer_reference.h"

/* ---- views as fp32 ---- */

static inline int64_t elements_of(const view *v) { return v->dim[0] * v->dim[1] * v->dim[2] * v->dim[3]; }

static inline float *fp32_room(const view *v) { return xcalloc((size_t)elements_of(v) + 1, sizeof(float)); }

static inline float *fp32_of(const view *v)
{
    float *x = fp32_room(v);
    for (int64_t i = 0; i < elements_of(v); i++)
        x[i] = v->type == BF16 ? from_bf16(((bf16 *)v->data)[i]) : ((float *)v->data)[i];
    return x;
}

static inline void fp32_give(const view *v, float *x) /* frees x */
{
    for (int64_t i = 0; i < elements_of(v); i++) {
        if (v->type == BF16)
            ((bf16 *)v->data)[i] = to_bf16(x[i]);
        else
            ((float *)v->data)[i] = x[i];
    }
    free(x);
}

/* ---- kernels ---- */

/* -1 when a sentence is longer than the operation says. */
static inline int layer_of(const view *x, int64_t d, const view *offset, int64_t longest, layer_shape *s, err *e)
{
    *s = (layer_shape){x->dim[2], x->dim[3], d, offset->dim[3] - 1, offset->data};
    for (int64_t b = 0; b < s->sentences; b++)
        if (s->offset[b + 1] - s->offset[b] > longest)
            return fail(e, "a sentence is longer than %lld rows", (long long)longest);
    return 0;
}

static inline gru_layer gru_of(const call *k)
{
    return (gru_layer){k->in[1].data, k->in[2].data, k->in[3].data, (int)k->a.GRU.backwards};
}
static inline int layer_gru(const call *k, err *e)
{
    layer_shape s;
    gru_layer l = gru_of(k);
    if (layer_of(&k->in[0], k->in[3].dim[2], &k->in[4], k->a.GRU.longest, &s, e)) return -1;
    float *x = fp32_of(&k->in[0]), *y = fp32_room(&k->out[0]);
    reference_gru(&s, &l, x, y);
    fp32_give(&k->out[0], y);
    free(x);
    return 0;
}
static inline int layer_gru_back(const call *k, err *e)
{
    layer_shape s;
    gru_layer l = gru_of(k);
    if (layer_of(&k->in[0], k->in[3].dim[2], &k->in[4], k->a.GRU.longest, &s, e)) return -1;
    float *x = fp32_of(&k->in[0]), *dy = fp32_of(&k->in[5]), *dx = fp32_room(&k->out[0]);
    reference_gru_back(&s, &l, x, dy, dx, k->out[1].data, k->out[2].data, k->out[3].data);
    fp32_give(&k->out[0], dx);
    free(x);
    free(dy);
    return 0;
}

static inline conv_layer conv_of(const call *k)
{
    return (conv_layer){k->in[1].data, k->a.CONV.before, k->a.CONV.after};
}
static inline int layer_conv(const call *k, err *e)
{
    layer_shape s;
    conv_layer l = conv_of(k);
    if (layer_of(&k->in[0], k->in[1].dim[3], &k->in[2], k->a.CONV.longest, &s, e)) return -1;
    float *x = fp32_of(&k->in[0]), *y = fp32_room(&k->out[0]);
    reference_conv(&s, &l, x, y);
    fp32_give(&k->out[0], y);
    free(x);
    return 0;
}
static inline int layer_conv_back(const call *k, err *e)
{
    layer_shape s;
    conv_layer l = conv_of(k);
    if (layer_of(&k->in[0], k->in[1].dim[3], &k->in[2], k->a.CONV.longest, &s, e)) return -1;
    float *x = fp32_of(&k->in[0]), *dy = fp32_of(&k->in[3]), *dx = fp32_room(&k->out[0]);
    reference_conv_back(&s, &l, x, dy, dx, k->out[1].data);
    fp32_give(&k->out[0], dx);
    free(x);
    free(dy);
    return 0;
}

/* ---- backends ---- */

static inline bool has_layers(op o) { return o == OP_GRU || o == OP_CONV; }
static inline backend with_layers(void)
{
    backend b = cpu_backend;
    b.name = "layers";
    b.kernels[OP_GRU] = layer_gru, b.kernels[OP_GRU_BACK] = layer_gru_back;
    b.kernels[OP_CONV] = layer_conv, b.kernels[OP_CONV_BACK] = layer_conv_back;
    b.supports = has_layers;
    return b;
}

static inline void copied(void *to, const void *from, size_t bytes) { memmove(to, from, bytes); }
static inline int copied_out(void *to, const void *from, size_t bytes, err *e)
{
    (void)e;
    memmove(to, from, bytes);
    return 0;
}
static inline void zeroed(void *at, size_t bytes) { memset(at, 0, bytes); }
static inline backend as_device(backend b)
{
    b.copy_in = b.copy = copied;
    b.copy_out = copied_out;
    b.zero = zeroed;
    return b;
}
#endif
