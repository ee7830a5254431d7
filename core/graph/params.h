/* params.h - learned values: three flat buffers (values, gradients, optimizer slots) with one table of names.
 *
 * Ownership: a `params` owns its names and buffers; every tape of a model shares it. It outlives them. */
#ifndef ABLATE_PARAMS_H
#define ABLATE_PARAMS_H
#include "api/ab_plugin.h"
#include "base/base.h"

typedef enum { F32, F64, BF16, I32 } dtype; /* the numbers are those of ab_view.dtype */
size_t dtype_size(dtype t);
const char *dtype_name(dtype t);

typedef struct backend backend;

enum { PARAM_ALIGN = 16 }; /* elements; every parameter starts at a multiple */
enum { MOST_SLOTS = 4 };
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
    int64_t part[3];         /* matrices side by side: queries, keys, values; n_parts 0 or 1: one */
    int group;               /* of the optimizer's settings: model/groups.h */
    extent slot[MOST_SLOTS]; /* count 0: it has no such slot */
    double scale;     /* > 0: uniform in [-scale, scale]; < 0: normal, sd -scale; 0: `fill` */
    double fill;      /* value when scale is 0 (1 for layer-norm gains) */
} param;
typedef struct {
    param *p;
    size_t n, cap;
    size_t total;       /* elements of a flat buffer, gaps of alignment included */
    dtype type;         /* F32, or F64 in conformance checks */
    void *value, *grad; /* [total]; NULL until params_alloc */
    void *slot[MOST_SLOTS]; /* [slot_total] each; NULL when the optimizer has fewer */
    size_t slot_total[MOST_SLOTS];
    uint32_t n_slots;       /* whose extents are known */
    void *shadow;       /* [total] BF16: the values as products take them; a device backend's own, else NULL */
    uint64_t version;   /* raised whenever values change: packed copies are refreshed */
    bool frozen;        /* a new name is an error, not a new parameter */
    bool int8;          /* rows are multiplied by these values in int8: decoding on the CPU, F32 */
    const backend *backend;  /* whose memory the vectors are in; NULL: the host's */
    uint64_t shadow_version; /* of the values that `shadow` has */
} params;
param *params_find(const params *s, const char *name);
/* Places of values in the flat buffers by group, from group 0 on, before there is memory. */
void params_order(params *s, int n_groups);
/* The slots' extents: `shape` changes dim, which holds the parameter's, to that of a slot (an axis of 0: none). NULL: all as they are. */
typedef void (*slot_shape)(void *self, const param *p, uint32_t slot, int64_t dim[4]);
void params_shape_slots(params *s, uint32_t n_slots, slot_shape shape, void *self);
extent param_extent(const param *p, uint32_t which); /* 0: values, 1 ..: slots */
size_t params_bytes(const params *s, uint32_t which, dtype type); /* of a whole vector */
/* Memory for all vectors, and the initial values. A backend with memory of its own has the vectors there. Slots have the shapes that
 * params_shape_slots gave, or without it those of their parameters. */
void params_alloc(params *s, dtype type, uint32_t n_slots, uint64_t seed, const backend *b);
/* Vector `which` (0: values, 1 ..: slots) for the host to read and change: itself, or a copy. params_host_done gives it back,
 * written back if it was changed. NULL and e when the device failed. */
void *params_host(params *s, uint32_t which, err *e);
void params_host_done(params *s, uint32_t which, void *v, bool changed);
int64_t params_count(const params *s); /* learned numbers, alignment gaps not counted */
void params_free(params *s);
#endif
