/* generic.h - what the kernels of the generic operations share: ranges of threads, conversions, views as rows
 * and bytes. */
#ifndef ABLATE_CPU_GENERIC_H
#define ABLATE_CPU_GENERIC_H
#include "cpu/fused.h"

/* ---- work split over threads ---- */

typedef void (*range_fn)(const void *job, int64_t from, int64_t to);
/* Calls f on parts of [0, n) that together cover it, each but the last a multiple of `grain` long: one part
 * when `work` (in about the time of one element) is not worth waking the other threads or when a parallel
 * region is under way. */
void over_range(int64_t n, int64_t grain, int64_t work, range_fn f, const void *job);

/* ---- views ---- */

static inline int64_t count_of(const view *v) { return v->dim[0] * v->dim[1] * v->dim[2] * v->dim[3]; }
static inline size_t bytes_of(const view *v) { return (size_t)count_of(v) * dtype_size(v->type); }
static inline bool is_real(const view *v) { return v->type == F32 || v->type == F64; }
/* Elements from one index of each axis to the next, 0 for an axis of length 1. */
void strides_of(const view *v, int64_t stride[4]);
/* The call's operation has no kernel for the type of its output or an input: says which; returns -1. */
int wrong_type(const call *k, err *e);

/* ---- copies ---- */

/* n numbers of one type written as another. NULL when there is no such conversion (I32 becomes numbers only
 * by TO_FLOAT). */
typedef void (*convert_fn)(void *to, const void *from, int64_t n);
convert_fn converter(dtype to, dtype from);
/* A flat copy by all threads; the same storage twice is left alone. */
void copy_flat(void *to, const void *from, int64_t n, convert_fn f, size_t to_size, size_t from_size);
/* to[i] = from at the given steps [bytes] of each axis, elements of `size` bytes (2, 4 or 8). `to` is
 * contiguous. */
void copy_strided(void *to, const void *from, const int64_t dim[4], const int64_t step[4], size_t size);

/* MAP (or MAP_BACK: x, f(x), dy) on n numbers of F32 or F64 that lie side by side. */
void map_numbers(dtype type, int64_t fn, bool back, void *y, const void *const x[3], int64_t n);

/* ids in 0 .. n-1, or an error that names the first that is not. */
int check_ids(const call *k, const view *ids, int64_t n, err *e);
/* y[i] = row ids[i] of x, which has `rows` rows. */
int rows_by_id(const call *k, const view *x, const view *ids, int64_t rows, const view *y, err *e);
#endif
