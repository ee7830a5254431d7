/* cpu_floor.c - upper limits of one core of this machine for each of its instruction sets: multiply-adds in registers,
 * and bytes from memory. They are the floors in docs/performance.md.
 *
 *     bench_cpu_floor [seconds per line]
 *
 * One line per case, the best of all repeats; a multiply-add is two operations. Run it on an idle machine.
 */
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

/* Prints the best rate of `work`, given its operations per call. */
static void report(const char *name, const char *unit, double operations, void (*work)(void *), void *with,
                   double seconds)
{
    double best = 1e30, until = seconds_now() + seconds;
    do {
        double start = seconds_now();
        work(with);
        double took = seconds_now() - start;
        if (took < best) best = took;
    } while (seconds_now() < until);
    printf("%-52s %8.1f %s\n", name, operations / best * 1e-9, unit);
    fflush(stdout);
}

/* ---- multiply-adds in registers, in enough chains to hide the unit's latency ---- */

enum { CHAINS = 12, TURNS = 1000000 };
#define EVERY_CHAIN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define KEEP(i)        __asm__ volatile("" : "+x"(x##i)); /* keeps x##i alive, so that the compiler omits no turn */
/* Defines NAME for the set TARGET: chains of VECTOR that start at SPLAT(i); each turn does x = NEXT(x). */
#define CHAINS_OF(NAME, TARGET, VECTOR, SPLAT, NEXT)                                                                   \
    __attribute__((target(TARGET))) static void NAME(void *unused)                                                     \
    {                                                                                                                  \
        const VECTOR a = SPLAT(0.999f), b = SPLAT(1e-7f);                                                              \
        VECTOR x0 = a, x1 = b, x2 = a, x3 = b, x4 = a, x5 = b, x6 = a, x7 = b, x8 = a, x9 = b, x10 = a, x11 = b;       \
        (void)unused;                                                                                                  \
        for (long n = 0; n < TURNS; n++) {                                                                             \
            EVERY_CHAIN(NEXT)                                                                                          \
            EVERY_CHAIN(KEEP)                                                                                          \
        }                                                                                                              \
    }
#ifdef __x86_64__
#define SSE(i)  x##i = _mm_add_ps(_mm_mul_ps(x##i, a), b);
#define AVX2(i) x##i = _mm256_fmadd_ps(x##i, a, b);
#define AVX3(i) x##i = _mm512_fmadd_ps(x##i, a, b);
#define BF16(i) x##i = _mm512_dpbf16_ps(x##i, (__m512bh)a, (__m512bh)b);
CHAINS_OF(multiply_sse, "sse2", __m128, _mm_set1_ps, SSE)
CHAINS_OF(multiply_avx2, "avx2,fma", __m256, _mm256_set1_ps, AVX2)
CHAINS_OF(multiply_avx512, "avx512f", __m512, _mm512_set1_ps, AVX3)
CHAINS_OF(multiply_bf16, "avx512f,avx512bf16", __m512, _mm512_set1_ps, BF16)
static void registers(double seconds)
{
    const double turns = 2.0 * CHAINS * TURNS;
    report("generic: fp32 in registers (SSE2)", "GFLOP/s", 4 * turns, multiply_sse, NULL, seconds);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        report("avx2: fp32 in registers", "GFLOP/s", 8 * turns, multiply_avx2, NULL, seconds);
    if (__builtin_cpu_supports("avx512f"))
        report("avx512: fp32 in registers", "GFLOP/s", 16 * turns, multiply_avx512, NULL, seconds);
    if (__builtin_cpu_supports("avx512bf16"))
        report("avx512_bf16: bf16 in registers (vdpbf16ps)", "GFLOP/s", 32 * turns, multiply_bf16, NULL, seconds);
}
#else
static void registers(double seconds) { (void)seconds; }
#endif

/* ---- bytes from memory ---- */

enum { MANY = 1 << 26 }; /* floats: 256 MiB, more than a cache */
typedef struct {
    float *from, *to, sum;
} stream;
static void add_up(void *with)
{
    stream *s = with;
    float sum[64] = {0}; /* chains enough to hide the latency */
    for (size_t i = 0; i < MANY; i += 64)
        for (size_t j = 0; j < 64; j++) sum[j] += s->from[i + j];
    for (size_t j = 0; j < 64; j++) s->sum += sum[j];
}
static void scale(void *with)
{
    stream *s = with;
    for (size_t i = 0; i < MANY; i++) s->to[i] = 0.5f * s->from[i];
}
static float *numbers(size_t n)
{
    float *x = aligned_alloc(2 << 20, n * sizeof *x);
    if (!x) exit(1);
    madvise(x, n * sizeof *x, MADV_HUGEPAGE);
    for (size_t i = 0; i < n; i++) x[i] = (float)(i % 97) * 0.01f;
    return x;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 2;
    registers(seconds);
    stream s = {.from = numbers(MANY), .to = numbers(MANY)};
    report("memory read by one core", "GB/s", 4.0 * MANY, add_up, &s, seconds);
    report("memory read and written by one core", "GB/s", 8.0 * MANY, scale, &s, seconds);
    int used = s.sum + s.to[1] > 0;
    free(s.from), free(s.to);
    return !used;
}
