/* product.c - packed copies of learned matrices, for products of few rows and for int8. */
#include "tensor/cpu/product.h"
#include <stdlib.h>

enum { FEW_ROWS = 300 }; /* with this many rows, packing for one call costs less than a percent */

/* A packed copy of a learned matrix for one kind of product, in the list that starts at params->packed. */
typedef struct {
    packed_copy copy;
    const void *set; /* the instruction set that packed it */
    int32_t index;
    gemm_way way;
    bool transposed;
    int64_t n, k;
    uint64_t version; /* the owner's version when the copy was packed */
    const float *data;
} kept;

static kept *copy_of(const gemm *g, params *owner, int32_t index)
{
    static const char set;
    for (kept *c = owner->packed; c; c = (kept *)c->copy.next)
        if (c->set == &set && c->index == index && c->way == g->way && c->transposed == g->transposed && c->n == g->n &&
            c->k == g->k)
            return c;
    kept *c = xmalloc(sizeof *c);
    *c = (kept){{owner->packed, cpu_backend.alloc(gemm_packed_size(g->way, g->k, g->n))},
                &set,
                index,
                g->way,
                g->transposed,
                g->n,
                g->k,
                0,
                NULL};
    owner->packed = c;
    return c;
}

void product_rows(gemm *g, params *owner, int32_t index)
{
    if (!g->m) return;
    if ((g->m < FEW_ROWS || gemm_is_int8(g->way)) && owner && index >= 0) {
#pragma omp critical(kept_products)
        {
            kept *c = copy_of(g, owner, index);
            if (c->data != g->w || c->version != owner->version)
                gemm_pack(g->way, g->k, g->n, g->w, g->transposed, c->copy.packed);
            c->data = g->w, c->version = owner->version;
            g->packed = c->copy.packed;
        }
    }
    gemm_rows(g);
}
