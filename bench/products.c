/* products.c - speed of products of rows with learned matrices, at the shapes of tiny, small and base.
 *
 *     bench_products [train|step|decode] [fp32|bf16] [threads] [only lines that contain this]
 *
 * One line per shape: forward, gradient of the rows, gradient of the weights in GFLOP/s, the median of several runs; in
 * fp32 also the median share of the rate of multiply-adds in registers, measured after each run, because other guests
 * of a machine change it from one moment to the next.
 * `train` has 4,000 rows and weights that change before every product, as between steps; `step` has them come from
 * memory too, as in a step, where other operations lie between two uses of an operand; `decode` has few rows and
 * constant weights, forward only. ABLATE_ISA=avx2 and the like select the kernels. bench_cpu_floor prints the limits of
 * a core.
 */
#include "tensor/cpu/cpu.h"
#include "tensor/cpu/floor.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_RUNS = 41, MOST_COPIES = 16, COLD_BYTES = 192 << 20 }; /* COLD_BYTES: more than a third-level cache holds */
#define SECONDS 0.25
static const int64_t shapes[][2] = {{128, 128},  {128, 384},  {128, 512},   {512, 128},   {256, 256},
                                    {256, 768},  {256, 1024}, {1024, 256},  {512, 512},   {512, 1536},
                                    {512, 2048}, {2048, 512}, {128, 10000}, {256, 10000}, {512, 10000}};
static const int64_t few[] = {1, 4, 12, 32, 64, 128, 256};
static params store = {.version = 1};
static bool changes; /* the weights change before every product */
static bool cold;    /* operands come from memory, not from a cache */

static view filled(dtype type, int64_t rows, int64_t width)
{
    view v = {.data = cpu_backend.alloc((size_t)(rows * width) * dtype_size(type)),
              .dim = {1, 1, rows, width},
              .type = type,
              .param = -1};
    rng r = rng_seed(1, (uint64_t)(rows * width));
    for (int64_t i = 0; i < rows * width; i++) {
        float x = (float)(rng_uniform(&r) - 0.5);
        if (type == F32)
            ((float *)v.data)[i] = x;
        else
            memcpy((uint16_t *)v.data + i, (char *)&x + 2, 2);
    }
    return v;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return x[n / 2];
}

/* Prints the median GFLOP/s of a call, alternating between its copies, and their median share of the rate in
 * registers. */
static void print_rate(kernel run, call *calls, int copies)
{
    double took[MOST_RUNS], share[MOST_RUNS], peak, until = ticks() + SECONDS, flops = call_flops(calls, &cpu_backend);
    int n = 0, turns = 1 + (int)(2e7 / flops), next = 0; /* repeats small products, which take microseconds */
    err e = {""};
    for (int i = 0; i < copies; i++) calls[i].params = &store;
    for (int i = -copies; i < MOST_RUNS && (i < 3 || ticks() < until); i++) {
        double start = ticks();
        for (int t = 0; t < turns; t++) {
            store.version += changes;
            if (run(&calls[next++ % copies], &e)) broken("%s", e.text);
        }
        if (i < 0) continue;
        took[n] = (ticks() - start) / turns;
        cpu_floors(&peak, NULL);
        share[n] = flops / took[n] / peak, n++;
    }
    printf(" %8.1f", flops / median(took, n) * 1e-9);
    if (calls->in[0].type == F32) printf(" %4.0f%%", 100 * median(share, n));
}

static void print_shape(dtype type, int64_t rows, int64_t k, int64_t n, bool gradients, const char *only)
{
    static int32_t next;
    char name[64];
    snprintf(name, sizeof name, "%lld x %lld -> %lld", (long long)rows, (long long)k, (long long)n);
    if (!strstr(name, only)) return;
    bool tied = n == 10000; /* the embedding's table is the vocabulary's weights */
    int64_t bytes = (rows * (k + n)) * (int64_t)dtype_size(type) + k * n * (int64_t)sizeof(float);
    int copies = !cold ? 1 : (int)(COLD_BYTES / bytes + 2);
    if (copies > MOST_COPIES) copies = MOST_COPIES;
    call f[MOST_COPIES], dx[MOST_COPIES], dw[MOST_COPIES];
    for (int i = 0; i < copies; i++) {
        view x = filled(type, rows, k), y = filled(type, rows, n), b = filled(F32, 1, n),
             w = filled(F32, tied ? n : k, tied ? k : n);
        w.param = next++;
        f[i] = (call){.op = OP_LINEAR,
                      .n_in = 3,
                      .n_out = 1,
                      .in = {x, w, b},
                      .out = {y},
                      .a.LINEAR = {.transposed = tied},
                      .training = gradients};
        dx[i] = (call){
            .op = OP_LINEAR_DX, .n_in = 3, .n_out = 1, .in = {y, w}, .out = {x}, .a.LINEAR = {.transposed = tied}};
        dw[i] = (call){
            .op = OP_LINEAR_DW, .n_in = 2, .n_out = 1, .in = {x, y}, .out = {w}, .a.LINEAR = {.transposed = tied}};
    }
    printf("%-24s", name);
    print_rate(cpu_LINEAR, f, copies);
    if (gradients) print_rate(cpu_LINEAR_DX, dx, copies), print_rate(cpu_LINEAR_DW, dw, copies);
    puts("");
    fflush(stdout);
    for (int i = 0; i < copies; i++) {
        for (int j = 0; j < 3; j++) cpu_backend.release(f[i].in[j].data);
        cpu_backend.release(f[i].out[0].data);
    }
}

int main(int argc, char **argv)
{
    bool train = argc < 2 || strcmp(argv[1], "decode");
    cold = argc > 1 && !strcmp(argv[1], "step");
    dtype type = argc > 2 && !strcmp(argv[2], "bf16") ? BF16 : F32;
    const char *only = argc > 4 ? argv[4] : "";
    cpu_threads(argc > 3 ? atoi(argv[3]) : 0);
    changes = train;
    printf("%s; %s, GFLOP/s\n%-24s %8s", cpu_description(), type == BF16 ? "bf16" : "fp32", "rows x k -> n", "forward");
    int column = type == BF16 ? 9 : 15; /* fp32 prints a share after the rate */
    if (train) printf("%*s%*s", column, "dx", column, "dw");
    puts("");
    for (size_t i = 0; i < LENGTH(shapes); i++)
        for (size_t j = 0; j < (train ? 1 : LENGTH(few)); j++)
            print_shape(type, train ? 4000 : few[j], shapes[i][0], shapes[i][1], train, only);
}
