/* product.c - packed copies of learned matrices, for products of few rows. */
#include "tensor/cpu/product.h"
#include <stdlib.h>

enum { FEW_ROWS = 300 }; /* with this many rows, packing for one call costs less than a percent */

typedef struct {
    const params *owner;
    int32_t index;
    gemm_way way;
    bool transposed;
    int64_t n, k;
    uint64_t version; /* version of the owner's values when it was packed */
    const float *data;
    void *packed;
} kept;
static kept *copies;
static size_t n_copies, copies_cap;

static kept *copy_of(const gemm *g, const params *owner, int32_t index)
{
    for (size_t i = 0; i < n_copies; i++) {
        kept *c = &copies[i];
        if (c->owner == owner && c->index == index && c->way == g->way && c->transposed == g->transposed &&
            c->n == g->n && c->k == g->k)
            return c;
    }
    copies = grow(copies, &copies_cap, n_copies + 1, sizeof *copies);
    kept *c = &copies[n_copies++];
    *c = (kept){.owner = owner, .index = index, .way = g->way, .transposed = g->transposed, .n = g->n, .k = g->k};
    c->packed = cpu_backend.alloc(gemm_packed_size(g->way, g->k, g->n));
    return c;
}

void product_rows(gemm *g, const params *owner, int32_t index)
{
    if (!g->m) return;
    if ((g->m < FEW_ROWS || gemm_is_int8(g->way)) && owner && index >= 0) {
#pragma omp critical(kept_products)
        {
            kept *c = copy_of(g, owner, index);
            if (c->data != g->w || c->version != owner->version)
                gemm_pack(g->way, g->k, g->n, g->w, g->transposed, c->packed);
            c->data = g->w, c->version = owner->version;
            g->packed = c->packed;
        }
    }
    gemm_rows(g);
}

void cpu_release_params(const params *s)
{
    size_t left = 0;
    for (size_t i = 0; i < n_copies; i++) {
        if (copies[i].owner == s)
            cpu_backend.release(copies[i].packed);
        else
            copies[left++] = copies[i];
    }
    n_copies = left;
    if (left) return;
    free(copies);
    copies = NULL, copies_cap = 0;
}
