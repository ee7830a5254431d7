/* floor.c - peak rates of all threads with this instruction set: multiply-adds in registers, bytes read from memory.
 * `--profile` compares operations with them; bench_cpu_floor prints the same for one core and every set. */
#include "tensor/cpu/floor.h"
#include "tensor/cpu/fused.h"
#include "tensor/cpu/vectors.h"

enum { CHAINS = 12, VECTORS = 8, TURNS = 100000, TRIES = 5, BYTES = 128 << 20 };
#if defined(__x86_64__)
#define KEEP(x) __asm__ volatile("" : "+x"(x)) /* keeps the compiler from dropping an iteration */
#elif defined(__aarch64__)
#define KEEP(x) __asm__ volatile("" : "+w"(x))
#else
#define KEEP(x) (void)(x)
#endif

/* Runs enough chains to hide a multiply-add's latency. */
static void multiply_add(void)
{
    const reals_f32 a = all_f32(0.999f), b = all_f32(1e-7f);
    reals_f32 x[CHAINS];
    EACH(i, CHAINS) x[i] = all_f32(1);
    for (int t = 0; t < TURNS; t++) EACH(i, CHAINS)
        {
            x[i] = x[i] * a + b;
            KEEP(x[i]);
        }
}

static void read_all(const float *from, int64_t n)
{
    reals_f32 sum[VECTORS];
    EACH(i, VECTORS) sum[i] = (reals_f32){0};
    for (int64_t j = 0; j + VECTORS * lanes_f32 <= n; j += VECTORS * lanes_f32)
        EACH(i, VECTORS) sum[i] += load_f32(from + j + i * lanes_f32);
    EACH(i, VECTORS) KEEP(sum[i]);
}

void cpu_floors(double *flops, double *bytes)
{
    float *x = bytes ? cpu_backend.alloc(BYTES) : NULL;
    double least[2] = {1e30, 1e30}, start = 0;
    int threads = 1, kinds = bytes ? 2 : 1, tries = bytes ? TRIES : 1;
#pragma omp parallel
    {
        int64_t from, to;
        my_part(BYTES / (int64_t)sizeof *x, &from, &to);
        if (bytes)
            memset(x + from, 0,
                   (size_t)(to - from) *
                       sizeof *x); /* each thread touches its part first, so that it lies in near memory */
        for (int try = 0; try < tries; try++)
            for (int what = 0; what < kinds; what++) {
#pragma omp barrier
#pragma omp master
                start = ticks(), threads = omp_get_num_threads();
#pragma omp barrier
                if (what)
                    read_all(x + from, to - from);
                else
                    multiply_add();
#pragma omp barrier
#pragma omp master
                if (ticks() - start < least[what]) least[what] = ticks() - start;
            }
    }
    *flops = 2.0 * CHAINS * TURNS * lanes_f32 * threads / least[0];
    if (!bytes) return;
    *bytes = BYTES / least[1];
    cpu_backend.release(x);
}
