/* cpu_floor.c - what one core of this machine can do at most: multiply-adds in registers, and oneDNN's products for gradients of
 * weights, whose speed depends on how far apart the rows lie. docs/performance.md takes its floors from here.
 *
 *     bench_cpu_floor [seconds a line]
 *
 * One line a case, the best of all repeats, in GFLOP/s (a multiply-add is two operations). Run it with one thread
 * (OMP_NUM_THREADS=1) on an idle machine: the figures are then a core's.
 */
#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The best rate of `work`, which does so many operations a call. */
static void report(const char *name, double operations, void (*work)(void *), void *with, double seconds)
{
    double best = 1e30, until = seconds_now() + seconds;
    do {
        double start = seconds_now();
        work(with);
        double took = seconds_now() - start;
        if (took < best) best = took;
    } while (seconds_now() < until);
    printf("%-58s %8.1f GFLOP/s\n", name, operations / best * 1e-9);
    fflush(stdout);
}

/* ---- multiply-adds in registers: as many chains as hide the unit's latency ---- */

enum { CHAINS = 12, TURNS = 1000000 };
#define EVERY_CHAIN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define START(i) __m512 x##i = _mm512_set1_ps((float)i);
#define KEEP(i) __asm__ volatile("" : "+v"(x##i)); /* so that no turn is left out */
#ifdef __x86_64__
__attribute__((target("avx512f"))) static void multiply_fp32(void *unused)
{
#define TURN(i) x##i = _mm512_fmadd_ps(x##i, a, b);
    const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(1e-7f);
    (void)unused;
    EVERY_CHAIN(START)
    for (long n = 0; n < TURNS; n++) {
        EVERY_CHAIN(TURN)
        EVERY_CHAIN(KEEP)
    }
#undef TURN
}
__attribute__((target("avx512f,avx512bf16"))) static void multiply_bf16(void *unused)
{
#define TURN(i) x##i = _mm512_dpbf16_ps(x##i, a, a);
    const __m512bh a = (__m512bh)_mm512_set1_epi16(0x3f00);
    (void)unused;
    EVERY_CHAIN(START)
    for (long n = 0; n < TURNS; n++) {
        EVERY_CHAIN(TURN)
        EVERY_CHAIN(KEEP)
    }
#undef TURN
}
static void registers(double seconds)
{
    if (__builtin_cpu_supports("avx512f"))
        report("fp32 multiply-adds in registers (AVX-512)", 2.0 * 16 * CHAINS * TURNS, multiply_fp32, NULL, seconds);
    else
        puts("no AVX-512: nothing is said about registers");
    if (__builtin_cpu_supports("avx512bf16"))
        report("bf16 multiply-adds in registers (AVX-512 BF16)", 2.0 * 32 * CHAINS * TURNS, multiply_bf16, NULL, seconds);
}
#else
static void registers(double seconds) { (void)seconds; }
#endif

/* ---- dW [k,n] = x' dy of base's wide layers ---- */

enum { ROWS = 3900, NARROW = 512, WIDE = 2048, APART = 16 };
typedef struct {
    int64_t k, n, row_x, row_dy;
    float *x, *dy, *dw;
} gradient;

static void multiply(void *with)
{
    const gradient *g = with;
    dnnl_sgemm('T', 'N', g->k, g->n, ROWS, 1, g->x, g->row_x, g->dy, g->row_dy, 0, g->dw, g->n);
}
static float *numbers(size_t n)
{
    size_t bytes = (n * sizeof(float) + (2 << 20) - 1) / (2 << 20) * (2 << 20);
    float *x = aligned_alloc(2 << 20, bytes);
    if (!x) exit(1);
    madvise(x, bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < n; i++) x[i] = (float)(i % 97) * 0.01f;
    return x;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 2;
    registers(seconds);
    float *x = numbers((size_t)ROWS * (WIDE + APART)), *dy = numbers((size_t)ROWS * (WIDE + APART)), *dw = numbers((size_t)WIDE * NARROW);
    for (int wide_x = 0; wide_x < 2; wide_x++)
        for (int apart = 0; apart <= APART; apart += APART) {
            gradient g = {.k = wide_x ? WIDE : NARROW, .n = wide_x ? NARROW : WIDE, .x = x, .dy = dy, .dw = dw};
            g.row_x = wide_x ? WIDE + apart : NARROW, g.row_dy = wide_x ? NARROW : WIDE + apart;
            char name[100];
            snprintf(name, sizeof name, "fp32 dW %lld x %lld of %d rows, wide rows %d bytes apart", (long long)g.k, (long long)g.n, ROWS,
                     (int)sizeof(float) * (WIDE + apart));
            report(name, 2.0 * ROWS * WIDE * NARROW, multiply, &g, seconds);
        }
    free(x), free(dy), free(dw);
    return 0;
}
