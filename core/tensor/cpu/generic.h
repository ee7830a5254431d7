/* generic.h - shared by the kernels of generic operations: ranges of threads, conversions, copies. */
#ifndef ABLATE_CPU_GENERIC_H
#define ABLATE_CPU_GENERIC_H
#include "tensor/cpu/fused.h"

/* ---- work split over threads ---- */

typedef void (*range_fn)(const void *job, int64_t from, int64_t to);
/* Calls f on parts that cover [0, n), each except the last a multiple of `grain` long. Uses a single part if `work`
 * (about the time of one element) is too little for several threads, or inside a parallel region. */
void over_range(int64_t n, int64_t grain, int64_t work, range_fn f, const void *job);

/* ---- views ---- */

static inline bool is_real(const view *v) { return v->type == F32 || v->type == F64; }
static inline int wrong_type(const call *k, err *e) { return no_kernel_on("the CPU", k, e); }

/* Selects the f32 or f64 instance of a template's function for v's numbers. */
#define OF_TYPE(v, name) ((v)->type == F64 ? name##_f64 : name##_f32)

/* ---- copies ---- */

/* Converts n numbers to another type. NULL if there is no such conversion (I32 is converted only by TO_FLOAT). */
typedef void (*convert_fn)(void *to, const void *from, int64_t n);
convert_fn converter(dtype to, dtype from);
/* A flat copy by all threads; does nothing if both are the same storage. */
void copy_flat(void *to, const void *from, int64_t n, convert_fn f, size_t to_size, size_t from_size);
/* Copies elements of `size` bytes (2, 4 or 8) with steps [bytes] per axis to contiguous storage. */
void copy_strided(void *to, const void *from, const int64_t dim[4], const int64_t step[4], size_t size);

/* Computes MAP (or, if `back`, MAP_BACK: x, f(x), dy) on n contiguous numbers of F32 or F64. */
void map_numbers(dtype type, int64_t fn, bool back, void *y, const void *const x[3], int64_t n);

/* Checks that ids are in 0 .. n-1; the error names the first that is not. */
int check_ids(const view *ids, int64_t n, err *e);
/* y[i] = row ids[i] of x; x has `rows` rows. */
int rows_by_id(const call *k, const view *x, const view *ids, int64_t rows, const view *y, err *e);
#endif
