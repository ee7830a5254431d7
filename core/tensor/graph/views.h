/* views.h - helpers on a call's views, for kernels of both backends. */
#ifndef ABLATE_VIEWS_H
#define ABLATE_VIEWS_H
#include "tensor/graph/backend.h"
#include <string.h>

static inline int64_t count_of(const view *v) { return v->dim[0] * v->dim[1] * v->dim[2] * v->dim[3]; }
static inline size_t bytes_of(const view *v) { return (size_t)count_of(v) * dtype_size(v->type); }
static inline int64_t rows_of(const view *v) { return v->dim[0] * v->dim[1] * v->dim[2]; }
static inline int64_t width_of(const view *v) { return v->dim[3]; }

/* Stride of each axis in elements, 0 for an axis of length 1. */
static inline void strides_of(const view *v, int64_t stride[4])
{
    int64_t s = 1;
    for (int i = 3; i >= 0; i--) {
        stride[i] = v->dim[i] == 1 ? 0 : s;
        s *= v->dim[i];
    }
}

/* Reports that this backend ("the CPU") has no kernel for the type of the output or an input; returns -1. */
static inline int no_kernel_on(const char *where, const call *k, err *e)
{
    char in[96] = "";
    for (int i = 0; i < k->n_in && i < 4; i++) {
        size_t used = strlen(in);
        if (k->in[i].data) snprintf(in + used, sizeof in - used, "%s%s", used ? ", " : "", dtype_name(k->in[i].type));
    }
    return fail(e, "%s has no kernel from %s to %s", where, in, dtype_name(k->out[0].type));
}
#endif
