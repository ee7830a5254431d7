/* cpu.c - the backend's table. */
#include "cpu/cpu.h"
#include <stdlib.h>

static void *cpu_alloc(size_t bytes)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes ? bytes : 64))
        broken("out of memory: %zu bytes wanted for tensors", bytes);
    return p;
}

#define CPU_ENTRY(name) [OP_##name] = cpu_##name,
const backend cpu_backend = {.name = "cpu",
                             .kernels = {CPU_KERNELS(CPU_ENTRY)},
                             .alloc = cpu_alloc,
                             .release = free,
                             .run_tiled = cpu_run_tiled,
                             .let_go = cpu_forget,
                             .sum_squares = cpu_sum_squares,
                             .accumulate = cpu_accumulate};
