/* test_norm_product.c - in decoding, a product and the NORM of its result in one launch give the bits of two calls. */
#include "tensor/cuda/product.h"
#include "shim_test.h"

static const view none = {.param = -1};

static void move(view *v)
{
    if (v->data) v->data = gpu_copy_of(v->data, bytes_of_view(v));
}

/* Runs on copies on the device: s = LINEAR, then NORM of x + s, as two calls or as one. Writes out: y, z, stats.
 * Returns the number of launches. */
static int64_t run_product_and_norm(const call *linear, const call *norm, bool joined, view out[3])
{
    call l = *linear, n = *norm;
    err e = {{0}};
    n.in[1].data = out[0].data; /* NaN */
    for (int i = 0; i < 3; i++) move(&l.in[i]), move(&n.out[i]);
    for (int i = 0; i < 4; i++) move(&n.in[i]);
    l.out[0].data = n.in[1].data;
    if (joined) n.product = &l;
#ifdef GPU_ON_CPU
    int64_t before = gpu_done.launches;
#endif
    int rc = (!joined && cuda_LINEAR(&l, &e)) || cuda_NORM(&n, &e);
    CHECK_THAT(!rc, "a product and the norm of its result: %s", e.text);
    for (int i = 0; i < 3; i++)
        if (out[i].data) gpu_copy_out(out[i].data, n.out[i].data, bytes_of_view(&out[i]));
#ifdef GPU_ON_CPU
    int64_t launches = gpu_done.launches - before;
#else
    int64_t launches = 0;
#endif
    for (int i = 0; i < 3; i++) gpu_release(l.in[i].data), gpu_release(n.out[i].data);
    for (int i = 0; i < 4; i++) gpu_release(n.in[i].data);
    return launches;
}

typedef struct {
    dtype type;
    int64_t rows, k, width;
    bool bias, z, relu, joined;
} product_and_norm;

static void test_product_and_norm(const product_and_norm *c)
{
    char what[128];
    snprintf(what, sizeof what, "a product [%lld,%lld] to %lld %s and its norm", (long long)c->rows, (long long)c->k,
             (long long)c->width, dtype_name(c->type));
    view x = randoms(tensor(c->type, 1, 1, c->rows, c->width)), gain = randoms(tensor(F32, 1, 1, 1, c->width)),
         b = c->bias ? randoms(tensor(F32, 1, 1, 1, c->width)) : none;
    call linear = {.op = OP_LINEAR,
                   .n_in = 3,
                   .n_out = 1,
                   .in = {randoms(tensor(c->type, 1, 1, c->rows, c->k)), randoms(tensor(F32, 1, 1, c->k, c->width)), b},
                   .out = {x},
                   .a = {.LINEAR = {.relu = c->relu}},
                   .batch_invariant = true};
    call norm = {.op = OP_NORM,
                 .n_in = 4,
                 .n_out = 3,
                 .in = {x, x, gain, gain},
                 .a = {.NORM = {.p = 0.1, .eps = 1e-6, .has_sublayer = 1}},
                 .batch_invariant = true};
    view out[2][3];
    int64_t launches[2];
    for (int joined = 0; joined < 2; joined++) {
        out[joined][0] = like(&x), out[joined][1] = c->z ? like(&x) : none,
        out[joined][2] = tensor(F32, 1, 1, c->rows, 2);
        for (int i = 0; i < 3; i++) norm.out[i] = out[joined][i];
        for (int i = 0; i < 3; i++)
            if (out[joined][i].data) memset(out[joined][i].data, 0xff, bytes_of_view(&out[joined][i]));
        launches[joined] = run_product_and_norm(&linear, &norm, joined, out[joined]);
    }
    for (int i = 0; i < 3; i++)
        if (out[0][i].data) check_same_bits(what, out[1][i].data, out[0][i].data, bytes_of_view(&out[0][i]));
#ifdef GPU_ON_CPU
    CHECK_THAT(launches[0] - launches[1] == c->joined, "%s: %lld launches, %lld as two calls", what,
               (long long)launches[1], (long long)launches[0]);
#else
    (void)launches;
#endif
    for (int joined = 0; joined < 2; joined++)
        for (int i = 0; i < 3; i++) free(out[joined][i].data);
    free(x.data), free(gain.data), free(b.data), free(linear.in[0].data), free(linear.in[1].data);
}

int main(void)
{
    static const product_and_norm cases[] = {
        {BF16, 1, 64, 64, true, true, false, true},     {BF16, 16, 128, 128, false, false, false, true},
        {BF16, 37, 48, 192, true, false, false, true},  {BF16, 40, 512, 512, true, true, false, true},
        {BF16, 19, 320, 448, true, false, false, true}, {BF16, 33, 256, 256, true, false, false, true},
        {BF16, 9, 64, 576, true, false, false, false},  {BF16, 9, 72, 128, true, false, false, false},
        {BF16, 9, 64, 72, true, false, false, false},   {BF16, 9, 128, 64, true, false, false, false},
        {BF16, 9, 64, 64, true, false, true, false},    {F32, 9, 64, 64, true, false, false, false},
    };
    err e = {{0}};
    start();
    /* the kernel for product and norm gives the bits of our own product kernel, so that one multiplies here */
    setenv("ABLATE_PRODUCT", "own", 1);
    CHECK_THAT(!product_open(&e), "%s", e.text);
    for (size_t i = 0; i < LENGTH(cases); i++) test_product_and_norm(&cases[i]);
    product_close();
    return finish();
}
