/* rotate.c - ROTATE: rotary positions of packed rows, in one pass over them. */
#include "tensor/cpu/fused.h"
#include "tensor/cpu/generic.h"
#include "tensor/cpu/vectors.h"

typedef struct {
    const int32_t *offset; /* [sentences + 1] */
    int64_t sentences, rows, width, col, heads, d;
    bool adjoint;
} rotation;

#define OF_EACH_TYPE "tensor/cpu/rotate.inc"
#include "tensor/cpu/each_type.h"

int cpu_ROTATE(const call *k, err *e)
{
    const attr *a = &k->a;
    rotation r = {k->i.ROTATE.offsets.data,
                  k->i.ROTATE.offsets.dim[3] - 1,
                  rows_of(&k->i.ROTATE.rows),
                  width_of(&k->i.ROTATE.rows),
                  a->ROTATE.column,
                  a->ROTATE.heads,
                  a->ROTATE.width,
                  a->ROTATE.adjoint != 0};
    for (int64_t b = 0; b < r.sentences; b++) {
        int64_t length = r.offset[b + 1] - r.offset[b];
        if (r.offset[b] < 0 || length < 0 || r.offset[b + 1] > r.rows || length > k->i.ROTATE.cosine.dim[2])
            return fail(e,
                        "rotate: sentence %lld has rows %d to %d of %lld, but there are angles for %lld "
                        "positions",
                        (long long)b, r.offset[b], r.offset[b + 1], (long long)r.rows,
                        (long long)k->i.ROTATE.cosine.dim[2]);
    }
    if (k->i.ROTATE.rows.type != k->o.ROTATE.y.type) return wrong_type(k, e);
    BY_TYPE(k->i.ROTATE.rows.type, rotate, &r, k->i.ROTATE.rows.data, k->i.ROTATE.cosine.data, k->i.ROTATE.sine.data,
            k->o.ROTATE.y.data);
    return 0;
}
