/* isa.h - instruction sets: one program has the kernels of all sets and chooses one at run time.
 *
 * cpu.c, isa.c and machine.c are compiled once, for any machine. Every other file of this folder is compiled once per
 * set (sets.cmake; avx512 and avx512_bf16 share identical objects) with the compiler's macros for it (__AVX2__,
 * __AVX512F__ ...); table.c lists the functions of a set.
 * Functions shared between files compiled once and kernels must not be `inline` unless they are static.
 */
#ifndef ABLATE_CPU_ISA_H
#define ABLATE_CPU_ISA_H
#include "tensor/cpu/cpu.h"

typedef struct {
    kernel kernels[OP_COUNT];
    int (*run_tiled)(ab_ctx *c, const tiling *t, const run_options *o);
    double (*sum_squares)(const void *v, int64_t n, dtype type);
    void (*accumulate)(void *sum, const void *v, int64_t n, dtype type);
    void (*floors)(double *flops, double *bytes);
    bool has_tiles; /* compiled with AMX */
} cpu_table_t;
#endif
