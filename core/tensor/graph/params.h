/* params.h - learned values: three flat vectors (values, gradients, optimizer slots) with one table of names. Behind
 * the learned values lie the buffers (ab_buffer), which have neither gradients nor slots.
 *
 * Ownership: a `params` owns its names and buffers; all tapes of a model share it, and it outlives them. */
#ifndef ABLATE_PARAMS_H
#define ABLATE_PARAMS_H
#include "base/base.h"
#include "tensor/graph/op.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct backend backend;

enum { PARAM_ALIGN = 16 }; /* every parameter starts at a multiple of this many elements */
enum { MOST_SLOTS = 8 };
typedef struct { /* a parameter's part of one flat buffer */
    int64_t dim[4];
    size_t at, count; /* first element, number of elements */
} extent;
typedef struct {
    char *name; /* "dec.0.self.qkv.w" */
    int64_t dim[4];
    size_t at, count; /* first element in the flat buffers, number of elements */
    ab_parameter_kind kind;
    int n_parts;
    int64_t part[3];         /* columns of matrices side by side (queries, keys, values); n_parts 0 or 1: one matrix */
    int64_t heads;           /* heads side by side in each matrix's outputs; 0 or 1: no heads */
    int64_t fan_in;          /* inputs of a matrix made by attn_linear_weights; 0 for other parameters */
    int group;               /* group of optimizer settings: model/groups.h */
    extent slot[MOST_SLOTS]; /* count 0: the parameter has no such slot */
    double scale;            /* > 0: uniform in [-scale, scale]; < 0: normal, sd -scale; 0: `fill` */
    double fill;             /* value if scale is 0 (1 for layer-norm gains) */
    bool buffer;             /* has no gradient: its part of `grad` has the buffer's next value */
    bool sets;               /* a buffer that a step of training sets */
} param;
typedef struct params {
    param *p;
    size_t n, cap;
    size_t total;       /* elements of a flat vector, including alignment gaps */
    size_t learned;     /* elements before the first buffer, which the optimizer updates; known after params_order */
    dtype type;         /* F32, or F64 in conformance checks */
    void *value, *grad; /* [total]; NULL until params_alloc */
    void *slot[MOST_SLOTS]; /* [slot_total] each; NULL if the optimizer has fewer */
    size_t slot_total[MOST_SLOTS];
    uint32_t n_slots;              /* slots whose extents are known */
    void *shadow;                  /* [total] BF16 copy of the values for products, on devices; else NULL */
    uint64_t version;              /* incremented when values change, so that packed copies are refreshed */
    bool frozen;                   /* a new name is an error, not a new parameter */
    bool int8;                     /* products with these values run in int8: decoding on the CPU, F32 */
    const struct backend *backend; /* owner of the vectors' memory; NULL: the host */
    uint64_t shadow_version;       /* version of the values in `shadow` */
    void *packed;                  /* copies that the backend keeps for products (backend.release_params) */
} params;
param *params_find(const params *s, const char *name);
/* Appends a parameter. asked_in: the plugin function that asks for it, which determines its kind. Call params_order
 * after the last one: it moves buffers behind the others. */
param *params_add(params *s, const char *name, const int64_t dim[4], double scale, double fill, ab_hook asked_in);
/* Assigns places in the flat vectors by group, from group 0, then to buffers. Call it before memory is allocated. */
void params_order(params *s, int n_groups);
/* Sets the slots' extents: `shape` changes dim from the parameter's shape to the slot's (an axis of 0: no slot). shape
 * NULL: same shapes. */
typedef void (*slot_shape)(void *self, const param *p, uint32_t slot, int64_t dim[4]);
void params_shape_slots(params *s, uint32_t n_slots, slot_shape shape, void *self);
extent param_extent(const param *p, uint32_t which);              /* 0: values, 1 ..: slots */
size_t params_bytes(const params *s, uint32_t which, dtype type); /* bytes of a whole vector */
/* Allocates all vectors, in the backend's own memory if it has one, and sets the initial values. Slots have the shapes
 * from params_shape_slots, by default those of their parameters. */
void params_alloc(params *s, dtype type, uint32_t n_slots, uint64_t seed, const backend *b);
/* Allocates only the values, as zeros: no gradients, no slots. For callers that read the values from a file and do not
 * train. */
void params_alloc_values(params *s, dtype type, const backend *b);
/* Vector `which` (0: values, 1 ..: slots) for the host to read and change: the vector or a copy. params_host_done
 * returns it and writes it back if changed. NULL and e if the device failed. */
void *params_host(params *s, uint32_t which, err *e);
void params_host_done(params *s, uint32_t which, void *v, bool changed);
/* Sets the buffers that training changes to from / of: `from` [total], in the same memory as the values, is the sum
 * over `of` parts of a batch. -1 and e if a device failed. */
int params_set_buffers(params *s, const void *from, int64_t of, err *e);
int64_t params_count(const params *s);  /* learned numbers, without alignment gaps and buffers */
size_t params_learned(const params *s); /* parameters that are not buffers */
void params_free(params *s);
#ifdef __cplusplus
}
#endif
#endif
