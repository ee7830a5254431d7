/* test_layers.c - GRU, CONV and their gradients by cuDNN against the layers' definition (layer_reference.h): without a
 * GPU by a stand-in (fake_rnn.c, fake_graph.c), which is as strict as the library's documentation; on a GPU by cuDNN
 * itself. Rows without a sentence are NaN on the way in. */
#ifndef HAVE_CUDNN
#include <stdio.h>
int main(void)
{
    puts("skipped: this was built without cudnn.h");
    return 77;
}
#else
#include "tensor/cuda/cudnn/dnn.h"
#include "tensor/cuda/cudnn/dnn_attend.h"
#include "tensor/cuda/views.h"
#include "layer_reference.h"
#include "shim_test.h"
#include <sys/wait.h>
#include <unistd.h>

/* ---- the definition as kernels: rows and, where cuDNN has them in the rows' type, parameters through fp32 ---- */

static float *floats_of(const view *v, dtype as)
{
    float *f = xmalloc((size_t)size_of(v) * sizeof *f + 1);
    for (int64_t i = 0; i < size_of(v); i++)
        f[i] = as == BF16 ? float_of_bf16(bf16_of_float((float)get(v, i))) : (float)get(v, i);
    return f;
}
static void put_floats(const view *to, float *f)
{
    view v = *to;
    for (int64_t i = 0; i < size_of(&v); i++) set(&v, i, (double)f[i]);
    free(f);
}
static float *room_for(const view *v) { return xmalloc((size_t)size_of(v) * sizeof(float) + 1); }
static layer_shape shape_of(const view *x, int64_t d, const view *offset)
{
    return (layer_shape){rows_of(x), width_of(x), d, size_of(offset) - 1, offset->data};
}

static int reference_of_gru(const call *k, err *e)
{
    (void)e;
    bool back = k->op == OP_GRU_BACK;
    float *x = floats_of(&k->in[0], F32), *dy = back ? floats_of(&k->in[5], F32) : NULL;
    layer_shape s = shape_of(&k->in[0], width_of(&k->in[3]) / 3, &k->in[4]);
    gru_layer l = {k->in[1].data, k->in[2].data, k->in[3].data, (int)k->a.i[0]};
    float *out[MAX_OUT];
    for (int i = 0; i < k->n_out; i++) out[i] = room_for(&k->out[i]);
    if (back)
        reference_gru_back(&s, &l, x, dy, out[0], out[1], out[2], out[3]);
    else
        reference_gru(&s, &l, x, out[0]);
    for (int i = 0; i < k->n_out; i++) put_floats(&k->out[i], out[i]);
    free(x), free(dy);
    return 0;
}

static int reference_of_conv(const call *k, err *e)
{
    (void)e;
    bool back = k->op == OP_CONV_BACK;
    float *x = floats_of(&k->in[0], F32), *w = floats_of(&k->in[1], k->in[0].type),
          *dy = back ? floats_of(&k->in[3], F32) : NULL;
    layer_shape s = shape_of(&k->in[0], width_of(&k->in[1]), &k->in[2]);
    conv_layer l = {w, k->a.i[0], k->a.i[1]};
    float *out[MAX_OUT];
    for (int i = 0; i < k->n_out; i++) out[i] = room_for(&k->out[i]);
    if (back)
        reference_conv_back(&s, &l, x, dy, out[0], out[1]);
    else
        reference_conv(&s, &l, x, out[0]);
    for (int i = 0; i < k->n_out; i++) put_floats(&k->out[i], out[i]);
    free(x), free(w), free(dy);
    return 0;
}

/* ---- batches ---- */

enum { MOST_SENTENCES = 10, DUMMIES = 4 };
typedef struct {
    const char *name;
    int64_t longest; /* as the host says it: no less than the longest */
    int sentences;
    int32_t length[MOST_SENTENCES];
} batch;
static const batch batches[] = {{"mixed lengths", 8, 8, {3, 1, 0, 7, 2, 5, 0, 0}},
                                {"one sentence", 6, 1, {6}},
                                {"sentences of one row", 4, 5, {1, 1, 1, 1, 1}},
                                {"empty sentences alone", 4, 3, {0, 0, 0}},
                                {"no sentence", 4, 0, {0}}};

static view offsets_of(const batch *b)
{
    view off = tensor(I32, 1, 1, 1, b->sentences + 1);
    int64_t at = 0;
    for (int i = 0; i <= b->sentences; i++) {
        set(&off, i, (double)at);
        at += i < b->sentences ? b->length[i] : 0;
    }
    return off;
}
static int64_t used_by(const view *off) { return (int64_t)get(off, size_of(off) - 1); }

/* Rows of the sentences, then dummies: NaN. */
static view rows_for(dtype type, const view *off, int64_t rows, int64_t width)
{
    view v = randoms_in(tensor(type, 1, 1, rows, width), -1, 1);
    int64_t used = used_by(off) * width;
    memset((char *)v.data + (size_t)used * dtype_size(type), 0xff, (size_t)(rows * width - used) * dtype_size(type));
    return v;
}
static view parameter(int64_t rows, int64_t cols) { return randoms_in(tensor(F32, 1, 1, rows, cols), -0.6, 0.6); }

/* ---- the four operations ---- */

typedef struct {
    dtype type;
    int64_t n, d;
    bool backwards;         /* of a GRU */
    int64_t before, behind; /* of a convolution */
} layer;

static call gru_call_of(const layer *l, const batch *b, int64_t rows, bool back)
{
    int64_t n = l->n, d = l->d;
    view off = offsets_of(b);
    call k = {.op = back ? OP_GRU_BACK : OP_GRU,
              .n_in = back ? 6 : 5,
              .n_out = back ? 4 : 1,
              .a = {.i = {l->backwards, b->longest}}};
    k.in[0] = rows_for(l->type, &off, rows, n), k.in[1] = parameter(n, 3 * d), k.in[2] = parameter(1, 3 * d);
    k.in[3] = parameter(d, 3 * d), k.in[4] = off;
    k.out[0] = tensor(l->type, 1, 1, rows, back ? n : d);
    if (!back) return k;
    k.in[5] = rows_for(l->type, &off, rows, d);
    k.out[1] = tensor(F32, 1, 1, n, 3 * d), k.out[2] = tensor(F32, 1, 1, 1, 3 * d),
    k.out[3] = tensor(F32, 1, 1, d, 3 * d);
    return k;
}

static call conv_call_of(const layer *l, const batch *b, int64_t rows, bool back)
{
    int64_t n = l->n, d = l->d, window = l->before + 1 + l->behind;
    view off = offsets_of(b);
    call k = {.op = back ? OP_CONV_BACK : OP_CONV,
              .n_in = back ? 4 : 3,
              .n_out = back ? 2 : 1,
              .a = {.i = {l->before, l->behind, b->longest}}};
    k.in[0] = rows_for(l->type, &off, rows, n), k.in[1] = parameter(window * n, d), k.in[2] = off;
    k.out[0] = tensor(l->type, 1, 1, rows, back ? n : d);
    if (!back) return k;
    k.in[3] = rows_for(l->type, &off, rows, d);
    k.out[1] = tensor(F32, 1, 1, window * n, d);
    return k;
}

static void check_layer(const layer *l, const batch *b, bool conv)
{
    view off = offsets_of(b);
    for (int back = 0; back < 2; back++) {
        char name[200];
        call k = (conv ? conv_call_of : gru_call_of)(l, b, used_by(&off) + DUMMIES, back);
        snprintf(name, sizeof name, "%s%s, %s, %s, [%lld to %lld]", conv ? "CONV" : "GRU", back ? "_BACK" : "", b->name,
                 dtype_name(l->type), (long long)l->n, (long long)l->d);
        size_t used = strlen(name);
        if (conv)
            snprintf(name + used, sizeof name - used, ", %lld before, %lld behind", (long long)l->before,
                     (long long)l->behind);
        else
            snprintf(name + used, sizeof name - used, ", %s", l->backwards ? "backwards" : "forwards");
        check_call(name, conv ? reference_of_conv : reference_of_gru,
                   conv   ? back ? cuda_CONV_BACK : cuda_CONV
                   : back ? cuda_GRU_BACK
                          : cuda_GRU,
                   &k, 2e-5);
        release_views(&k);
    }
    free(off.data);
}

static void test_layers(void)
{
    static const int64_t widths[][2] = {{5, 7}, {16, 24}, {40, 33}, {1, 1}};
    static const int64_t windows[][2] = {{0, 0}, {1, 1}, {2, 0}, {0, 3}, {3, 1}};
    for (size_t w = 0; w < LENGTH(widths); w++)
        for (size_t i = 0; i < LENGTH(batches); i++)
            for (int t = 0; t < 2; t++) {
                layer l = {.type = t ? BF16 : F32, .n = widths[w][0], .d = widths[w][1]};
                for (int backwards = 0; backwards < 2; backwards++) {
                    l.backwards = backwards;
                    check_layer(&l, &batches[i], false);
                }
                for (size_t v = 0; v < LENGTH(windows); v++) {
                    l.before = windows[v][0], l.behind = windows[v][1];
                    check_layer(&l, &batches[i], true);
                }
            }
}

/* ---- a graph serves other batches of its shape ---- */

static void put_on_device(const call *k, const call *device)
{
    for (int i = 0; i < k->n_in; i++) gpu_copy_in(device->in[i].data, k->in[i].data, bytes_of_view(&k->in[i]));
}

static void check_other_batch(const char *name, const layer *l, kernel reference, kernel gpu, bool conv, bool back)
{
    static const batch one = {"", 8, 5, {8, 1, 3, 0, 2}}, two = {"", 8, 5, {0, 5, 1, 6, 1}};
    enum { ROWS = 15 };
    err e = {{0}};
    call a = (conv ? conv_call_of : gru_call_of)(l, &one, ROWS, back),
         b = (conv ? conv_call_of : gru_call_of)(l, &two, ROWS, back), g = a;
    for (int i = 0; i < g.n_in; i++) g.in[i].data = gpu_alloc(bytes_of_view(&g.in[i]));
    for (int i = 0; i < g.n_out; i++) g.out[i].data = gpu_alloc(bytes_of_view(&g.out[i]));
    put_on_device(&a, &g);
    CHECK_THAT(!gpu(&g, &e), "%s: %s", name, e.text);
    gpu_capture();
    CHECK_THAT(!gpu(&g, &e), "%s: %s", name, e.text);
    void *graph = gpu_captured();
    put_on_device(&b, &g);
    CHECK_THAT(graph && !gpu_replay(graph), "%s: there is no graph", name);
    reference(&b, &e);
    for (int i = 0; i < b.n_out; i++) {
        view found = tensor(b.out[i].type, b.out[i].dim[0], b.out[i].dim[1], b.out[i].dim[2], b.out[i].dim[3]);
        gpu_copy_out(found.data, g.out[i].data, bytes_of_view(&found));
        check_views(name, &found, &b.out[i], 2e-5);
        free(found.data);
    }
    gpu_graph_free(graph);
    for (int i = 0; i < g.n_in; i++) gpu_release(g.in[i].data);
    for (int i = 0; i < g.n_out; i++) gpu_release(g.out[i].data);
    release_views(&a), release_views(&b);
}

static void test_other_batches(void)
{
    for (int t = 0; t < 2; t++)
        for (int backwards = 0; backwards < 2; backwards++) {
            layer l = {
                .type = t ? BF16 : F32, .n = 6, .d = 8, .backwards = backwards, .before = 1 + backwards, .behind = 1};
            check_other_batch("a graph of GRU on another batch", &l, reference_of_gru, cuda_GRU, false, false);
            check_other_batch("a graph of GRU_BACK on another batch", &l, reference_of_gru, cuda_GRU_BACK, false, true);
            check_other_batch("a graph of CONV on another batch", &l, reference_of_conv, cuda_CONV, true, false);
            check_other_batch("a graph of CONV_BACK on another batch", &l, reference_of_conv, cuda_CONV_BACK, true,
                              true);
        }
}

/* ---- refusals, and life without the library ---- */

static void refused(kernel gpu, call k, const char *words)
{
    err e = {{0}};
    CHECK_REFUSED(gpu(&k, &e), &e, words);
}

static void test_refusals(void)
{
    layer l = {.type = F32, .n = 3, .d = 2, .before = 1};
    call gru = gru_call_of(&l, &batches[0], 22, true), conv = conv_call_of(&l, &batches[0], 22, true), k = gru;
    k.in[0].type = F64;
    refused(cuda_GRU_BACK, k, "a layer's rows are fp64, expected fp32 or bf16");
    k = gru, k.in[1].type = BF16;
    refused(cuda_GRU_BACK, k, "a GRU's W is bf16, expected fp32");
    k = gru, k.in[1].dim[2] = 4;
    refused(cuda_GRU_BACK, k, "a GRU's W is [4,6], expected [3,6]");
    k = gru, k.in[3].dim[3] = 9;
    refused(cuda_GRU_BACK, k, "a GRU's U is [2,9], expected [3,9]");
    k = gru, k.in[5].type = BF16;
    refused(cuda_GRU_BACK, k, "a GRU's dy is bf16, expected fp32");
    k = gru, k.out[3].dim[2] = 1;
    refused(cuda_GRU_BACK, k, "a GRU's dU is [1,6], expected [2,6]");
    k = gru, k.a.i[1] = (int64_t)1 << 31;
    refused(cuda_GRU_BACK, k, "the longest sentence: 2147483648, at most 2147483647");
    k = gru, k.a.i[1] = (int64_t)1 << 29;
    refused(cuda_GRU_BACK, k, "cells of sentences: 4294967296, at most 2147483647");
    k = gru, k.in[4].type = F32;
    refused(cuda_GRU, k, "a layer's sentence offsets are not a list of int32");
    k = conv, k.in[0].type = F64;
    refused(cuda_CONV_BACK, k, "a layer's rows are fp64, expected fp32 or bf16");
    k = conv, k.a.i[1] = -1;
    refused(cuda_CONV_BACK, k, "a convolution over 1 rows before and -1 after: expected at least 0");
    k = conv, k.a.i[1] = 1;
    refused(cuda_CONV_BACK, k, "a convolution's W is [6,2], expected [9,2]");
    k = conv, k.a.i[2] = (int64_t)1 << 40;
    refused(cuda_CONV, k, "the longest sentence: 1099511627776, at most 2147483647");
    k = conv, k.out[0].dim[2] = 5;
    refused(cuda_CONV_BACK, k, "a convolution's dx is [5,3], expected [22,3]");
    release_views(&gru), release_views(&conv);
}

/* In a process of its own: whether there is a library is asked once. */
static void test_without(void)
{
    pid_t child = fork();
    if (!child) {
        err e = {{0}};
        layer l = {.type = F32, .n = 3, .d = 2};
        setenv("ABLATE_CUDNN", "none", 1);
        call k = gru_call_of(&l, &batches[0], 18, false), c = conv_call_of(&l, &batches[0], 18, true);
        bool offered = cuda_supports(OP_GRU) || cuda_supports(OP_GRU_BACK) || cuda_supports(OP_CONV) ||
                       cuda_supports(OP_CONV_BACK);
        bool right =
            !offered && cuda_supports(OP_LINEAR) && cuda_GRU(&k, &e) == -1 && strstr(e.text, "ABLATE_CUDNN=none");
        e.text[0] = 0;
        right = right && cuda_CONV_BACK(&c, &e) == -1 && strstr(e.text, "ABLATE_CUDNN=none");
        release_views(&k), release_views(&c);
        _exit(right ? 0 : 1);
    }
    int status = -1;
    CHECK_THAT(child > 0 && waitpid(child, &status, 0) == child && !status,
               "without the library: a layer was offered, or not refused in words (status %d)", status);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    test_without();
    start();
    err e = {{0}};
    if (!cuda_supports(OP_GRU)) {
        dnn_load(&e);
        printf("skipped: %s\n", e.text);
#ifdef GPU_ON_CPU
        return 1; /* the stand-in was built beside this */
#endif
        return 77;
    }
    test_layers();
    test_other_batches();
    test_refusals();
    dnn_close(); /* and all over again: nothing that is kept may name what is gone */
    check_layer(&(layer){.type = BF16, .n = 16, .d = 24, .before = 1, .behind = 1}, &batches[0], false);
    check_layer(&(layer){.type = BF16, .n = 16, .d = 24, .before = 1, .behind = 1}, &batches[0], true);
    dnn_close();
    return finish();
}
#endif
