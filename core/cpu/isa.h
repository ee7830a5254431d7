/* isa.h - instruction sets: one program holds the kernels of them all and chooses when it runs.
 *
 * cpu.c, isa.c and machine.c are compiled once, for any machine. Every other file of this folder is compiled once per set
 * (sets.cmake) and sees the compiler's macros for it (__AVX2__, __AVX512F__ ...); table.c lists what a set offers. Nothing in the
 * files compiled once may be `inline` and shared with kernels unless it is static.
 */
#ifndef ABLATE_CPU_ISA_H
#define ABLATE_CPU_ISA_H
#include "cpu/cpu.h"

typedef struct {
    kernel kernels[OP_COUNT];
    int (*run_tiled)(ab_ctx *c, const tiling *t, const run_options *o);
    void (*drop_graph)(const params *s);
    double (*sum_squares)(const void *v, int64_t n, dtype type);
    void (*accumulate)(void *sum, const void *v, int64_t n, dtype type);
    void (*floors)(double *flops, double *bytes);
} cpu_table_t;
#endif
