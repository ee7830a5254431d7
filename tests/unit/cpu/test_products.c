/* test_products.c - a row's product has the same bits whatever the numbers of rows and threads, packed or not, at every
 * instruction set of this machine; and instruction sets agree with each other. */
#include "fused_case.h"
#include <omp.h>

enum { ROWS = 70, MOST = 300 };
static const int64_t shapes[][2] = {{1, 1},    {7, 33},   {24, 40},   {131, 65},
                                    {401, 69}, {800, 31}, {1024, 40}, {5, 2101}}; /* k, n */

typedef struct { /* the factors of a product, and calls that compute the product and its gradients */
    view x, w, b, dy;
    call forward, dx, dw;
} example;

static example new_example(dtype type, int64_t k, int64_t n, bool transposed)
{
    example c = {.x = random_view(type, MOST, k, 1),
                 .w = random_view(F32, transposed ? n : k, transposed ? k : n, 2),
                 .b = random_view(F32, 1, n, 3),
                 .dy = random_view(type, MOST, n, 4)};
    c.w.param = 0;
    c.forward = (call){.op = OP_LINEAR,
                       .n_in = 3,
                       .n_out = 1,
                       .in = {c.x, c.w, c.b},
                       .a.LINEAR = {.transposed = transposed, .relu = 1}};
    c.dx = (call){.op = OP_LINEAR_DX,
                  .n_in = 3,
                  .n_out = 1,
                  .in = {c.dy, c.w},
                  .a.LINEAR = {.transposed = transposed},
                  .training = true};
    c.dw = (call){.op = OP_LINEAR_DW,
                  .n_in = 2,
                  .n_out = 1,
                  .in = {c.x, c.dy},
                  .a.LINEAR = {.transposed = transposed},
                  .training = true};
    return c;
}

/* Computes all rows of the product. */
static view product_of(const example *c, dtype type, int64_t rows, params *kept)
{
    view y = new_view(type, rows, c->b.dim[3]);
    call k = c->forward;
    k.in[0].dim[2] = rows, k.out[0] = y, k.params = kept;
    RUN(LINEAR, k);
    return y;
}

typedef struct {
    float *y; /* [rows, n] */
    int64_t n, took;
} took_blocks;

static void take_block(void *self, const float *block, int64_t row, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    took_blocks *t = self;
    for (int64_t i = i0; i < i1; i++)
        memcpy(t->y + i * t->n + j0, block + (i - i0) * row, (size_t)(j1 - j0) * sizeof *block);
#pragma omp atomic
    t->took += (i1 - i0) * (j1 - j0);
}

/* A reader gets either the whole product, and y stays unchanged, or nothing, and y has the product. */
static void check_reader(const example *c, int64_t rows, int threads, params *kept, const view *all)
{
    int64_t n = c->b.dim[3];
    view y = new_view(F32, rows, n), taken = new_view(F32, rows, n);
    took_blocks t = {taken.data, n, 0};
    column_reader reader = {0, take_block, &t};
    call k = c->forward;
    memset(y.data, 0xff, (size_t)(rows * n) * sizeof(float));
    k.in[0].dim[2] = rows, k.out[0] = y, k.params = kept, k.reader = &reader;
    RUN(LINEAR, k);
    CHECK(threads == 1 ? t.took == rows * n : !t.took || t.took == rows * n);
    CHECK(!memcmp(t.took ? taken.data : y.data, all->data, (size_t)(rows * n) * sizeof(float)));
    uint32_t last = ((const uint32_t *)y.data)[rows * n - 1];
    CHECK((last == UINT32_MAX) == (t.took > 0));
    free_views((view[]){y, taken}, 2);
}

static void check_few_rows(const example *c, dtype type, const view *all)
{
    params store = {.version = 1};
    size_t row = (size_t)c->b.dim[3] * dtype_size(type);
    for (int threads = 1; threads <= 2; threads++) {
        omp_set_num_threads(threads);
        for (int64_t rows = 1; rows <= ROWS; rows += rows < 17 ? 1 : 6)
            for (int kept = 0; kept < 2; kept++) {
                view y = product_of(c, type, rows, kept ? &store : NULL);
                CHECK(!memcmp(y.data, all->data, (size_t)rows * row));
                free(y.data);
                if (kept && type == F32) check_reader(c, rows, threads, &store, all);
            }
    }
    cpu_release_params(&store);
}

static view gradient_of(const example *c, bool of_weights, dtype type, int threads)
{
    view y = of_weights ? new_view(F32, c->w.dim[2], c->w.dim[3]) : new_view(type, MOST, c->x.dim[3]);
    call k = of_weights ? c->dw : c->dx;
    k.out[0] = y;
    omp_set_num_threads(threads);
    if (of_weights)
        RUN(LINEAR_DW, k);
    else
        RUN(LINEAR_DX, k);
    return y;
}

/* Must two instruction sets agree? On floats, if both have fused multiply-adds; on bf16, if both multiply bf16 as
 * floats. */
static bool agree(int a, int b, dtype type)
{
    if (type == F32) return a != ISA_GENERIC && b != ISA_GENERIC;
    return a < ISA_AVX512_BF16 && b < ISA_AVX512_BF16;
}

static void check_shape(dtype type, int64_t k, int64_t n, bool transposed)
{
    example c = new_example(type, k, n, transposed);
    view before[3] = {{0}};
    int last = -1;
    for (int isa = 0; cpu_isa_name(isa); isa++) {
        err e = {""};
        if (cpu_isa_lacks(isa)) continue;
        CHECK_INT(cpu_use(cpu_isa_name(isa), &e), 0);
        omp_set_num_threads(1);
        view now[3] = {product_of(&c, type, MOST, NULL), gradient_of(&c, false, type, 1),
                       gradient_of(&c, true, type, 1)};
        check_few_rows(&c, type, &now[0]);
        view dx = gradient_of(&c, false, type, 2), dw = gradient_of(&c, true, type, 3);
        CHECK_SAME_BITS(dx, now[1]);
        CHECK_SAME_BITS(dw, now[2]);
        free_views((view[]){dx, dw}, 2);
        for (int i = 0; i < 3 && last >= 0; i++) {
            if (!agree(last, isa, type)) continue;
            if (memcmp(now[i].data, before[i].data, (size_t)count(&now[i]) * dtype_size(now[i].type)))
                printf("%s, k %d, n %d: output %d of %s differs from %s\n", dtype_name(type), (int)k, (int)n, i,
                       cpu_isa_name(isa), cpu_isa_name(last));
            CHECK_SAME_BITS(now[i], before[i]);
        }
        free_views(before, 3);
        memcpy(before, now, sizeof before);
        last = isa;
    }
    free_views(before, 3);
    free_views((view[]){c.x, c.w, c.b, c.dy}, 4);
}

int main(void)
{
    for (size_t i = 0; i < LENGTH(shapes); i++)
        for (int flags = 0; flags < 4; flags++)
            check_shape(flags & 1 ? BF16 : F32, shapes[i][0], shapes[i][1], flags & 2);
    return test_end();
}
