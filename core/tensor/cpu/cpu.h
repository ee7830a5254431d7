/* cpu.h - the CPU backend: one kernel per operation, cpu_NAME, as specified in op.h.
 *
 * Threads: OpenMP. Every kernel splits its work into contiguous ranges by omp_get_max_threads() and sums in a fixed
 * order.
 */
#ifndef ABLATE_CPU_H
#define ABLATE_CPU_H
#include "tensor/graph/tape.h"

extern const backend cpu_backend;

/* ---- instruction sets: every kernel exists once per set; one set is in use (isa.h) ---- */

/* The sets of x86-64, lowest first: X(NAME, name, the set of sets.cmake whose kernels run). For each set isa.c has a
 * function name_lacks. */
#define CPU_SETS(X)                                                                                                    \
    X(AVX2, avx2, avx2)                                                                                                \
    X(AVX512, avx512, avx512)                                                                                          \
    X(AVX512_BF16, avx512_bf16, avx512_bf16)                                                                           \
    X(AMX, amx, avx512_bf16) /* these kernels use tiles if cpu_isa() is ISA_AMX */
#define CPU_SET(NAME, name, kernels) ISA_##NAME,
enum { ISA_GENERIC, CPU_SETS(CPU_SET) ISA_COUNT };
#undef CPU_SET
/* Selects the set of that name; NULL: the one in the environment variable ABLATE_ISA, else the highest supported one.
 * Returns -1 and e if there is no such set or this machine does not support it. No kernel may be running. */
int cpu_use(const char *isa, err *e);
int cpu_isa(void);                   /* the set in use; calls cpu_use(NULL) if none was selected */
const char *cpu_isa_name(int isa);   /* "avx2"; NULL: this processor family has no such set */
const char *cpu_isa_lacks(int isa);  /* why this machine does not support the set; NULL: it does */
const char *cpu_isa_slower(int isa); /* why this higher set is used only on request; NULL: used by default */

/* Does the set in use multiply bf16 in hardware (AMX or AVX512-bf16)? Used by `precision = auto`. */
bool cpu_has_bf16(void);
/* Does this processor have vpdpbusd for the vectors of the set in use? int8 products use it (gemm.h). */
bool cpu_has_vnni(void);
void cpu_forbid_vnni(bool forbid); /* for tests: behave as without VNNI */
void cpu_threads(int n);           /* n: 0 means all; call it before the first kernel */
const char *cpu_description(void); /* "Intel(R) Xeon(R) ..., 2 threads, avx512_bf16"; static storage */
/* Frees the packed copies of weights of `s`; called by params_free for values of this backend. */
void cpu_release_params(params *s);
typedef struct packed_copy { /* head of each packed copy (product.c), a list from params.packed */
    struct packed_copy *next;
    void *packed;
} packed_copy;

#define CPU_DECLARE(name, in, out, where, place, attributes, doc) CPU_##where(int cpu_##name(const call *k, err *e);)
OPS(CPU_DECLARE)
#define CPU_ENTRY(name, in, out, where, place, attributes, doc) CPU_##where([OP_##name] = cpu_##name, )

/* Operations on whole flat vectors (tiled.c; backend.h). */
int cpu_run_tiled(ab_ctx *c, const tiling *t, const run_options *o);
double cpu_sum_squares(const void *v, int64_t n, dtype type);
void cpu_accumulate(void *sum, const void *v, int64_t n, dtype type);
#endif
