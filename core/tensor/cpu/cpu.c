/* cpu.c - the backend's table. */
#include "tensor/cpu/cpu.h"
#include <stdlib.h>
#include <sys/mman.h>

/* Asks for huge pages for tensors of several megabytes, so that rows far apart need fewer address translations. */
static void *cpu_alloc(size_t bytes)
{
    enum { LINE = 64, HUGE_PAGE = 2 << 20 };
    bool large = bytes >= 2 * HUGE_PAGE;
    void *p = NULL;
    if (posix_memalign(&p, large ? HUGE_PAGE : LINE, bytes ? bytes : LINE)) out_of_memory(bytes);
    if (large) (void)madvise(p, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    return p;
}

void cpu_release_params(params *s)
{
    for (packed_copy *c = s->packed, *next; c; c = next) {
        next = c->next;
        free(c->packed);
        free(c);
    }
    s->packed = NULL;
}

/* AMX tiles run no score programs. With AMX, calls for one map each are faster than a program that sums the maps. */
static bool takes_maps(dtype rows) { return rows != BF16 || cpu_isa() != ISA_AMX; }

const backend cpu_backend = {.name = "cpu",
                             .kernels = {OPS(CPU_ENTRY)},
                             .takes_tables = true,
                             .takes_weights = true,
                             .takes_sinks = true,
                             .takes_maps = takes_maps,
                             .alloc = cpu_alloc,
                             .release = free,
                             .run_tiled = cpu_run_tiled,
                             .release_params = cpu_release_params,
                             .sum_squares = cpu_sum_squares,
                             .accumulate = cpu_accumulate};
