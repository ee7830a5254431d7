/* norm_product.cu - in decoding, NORM of a residual sum together with the product that computes its second term: one
 * launch instead of two, with the bits of our own kernels (product.cu, norm.cu).
 *
 * A block has 16 rows and reads all weights, each warp 64 of their columns (attend_tile.h). So weights must be few:
 * [width, width] at most, with a width of up to 512, as in attention's last product. In the feed-forward part and in
 * wider models the library multiplies. The product's rows go through shared memory, where warps normalise them one by
 * one. */
#include "tensor/cuda/attend_tile.h"
#include "tensor/cuda/norm.h"
#include "tensor/cuda/product.h"

enum {
    ROWS = 16,
    COLUMNS = 64,
    GAP = 8 /* GAP: between rows in shared memory, to avoid bank conflicts */,
    WIDEST = 512
};

/* Writes the product's n rows from `first` on to s [ROWS, width + GAP]. */
DEVICE void multiply_rows(const product &p, int64_t first, int n, bf16 *s)
{
    int lane = (int)threadIdx.x % 32, g = lane / 4, t = lane % 4, left = (int)threadIdx.x / 32 * COLUMNS;
    const bf16 *a = (const bf16 *)p.a + first * p.row_a, *b = (const bf16 *)p.b + left;
    float sum[COLUMNS / 8][4] = {};
    UNROLL_BY(4) for (int k = 0; k < (int)p.k; k += 16)
    {
        unsigned of_a[4];
        UNROLL for (int i = 0; i < 4; i++)
        {
            int row = g + 8 * (i % 2);
            of_a[i] = row < n ? *(const unsigned *)(a + row * p.row_a + k + 2 * t + 8 * (i / 2)) : 0;
        }
        add_rows<COLUMNS>(sum, of_a, lane, b, (int)p.row_b, k, (int)p.k, COLUMNS);
    }
    UNROLL for (int i = 0; i < 4; i++)
    {
        int column = left + 8 * (2 * t + i % 2); /* in the column order of add_rows */
        float v[8], bias[8] = {};
        if (p.bias) load8((const bf16 *)p.bias + column, bias);
        UNROLL for (int j = 0; j < 8; j++) v[j] = sum[j][i] + bias[j];
        store8(s + (g + i / 2 * 8) * (p.n + GAP) + column, v);
    }
}

template <int PER> __global__ void __launch_bounds__(128 * PER) norm_product(norm_call<bf16> a, product p)
{
    DYN_SMEM(bf16, s);
    int64_t first = (int64_t)blockIdx.x * ROWS;
    int n = a.rows - first < ROWS ? (int)(a.rows - first) : (int)ROWS;
    multiply_rows(p, first, n, s);
    __syncthreads();
    for (int row = (int)threadIdx.x / 32; row < n; row += (int)blockDim.x / 32)
        norm_row<PER, true, false>(a, first + row, s + row * (a.width + GAP));
}

int norm_of_product(const call *k, err *e)
{
    const view *x = &k->product->i.LINEAR.x, *w = &k->product->i.LINEAR.w, *b = &k->product->i.LINEAR.b;
    const attr *how = &k->product->a;
    int64_t width = width_of(&k->i.NORM.x), rows = rows_of(x);
    norm_call<bf16> a = norm_of_call<bf16>(k);
    bool fits = product_may_fuse() && x->type == BF16 && k->i.NORM.x.type == BF16 && !how->LINEAR.transposed &&
                !how->LINEAR.relu && !how->LINEAR.padding && rows > 0 && width_of(w) == width && width % COLUMNS == 0 &&
                width <= WIDEST && width_of(x) % 16 == 0 && width_of(x) <= width &&
                aligned16(x->data, a.x, a.y, a.z, a.gain, a.bias);
    if (!fits) return 1;
    product p = {};
    p.m = rows, p.n = width, p.k = width_of(x), p.a = x->data, p.row_a = p.k, p.row_b = width;
    if (!(p.b = cuda_as_bf16(k->product, INPUT(LINEAR, w), e))) return -1;
    if (b->data && !(p.bias = cuda_as_bf16(k->product, INPUT(LINEAR, b), e))) return -1;
    if (!aligned16(p.b, p.bias)) return 1;
    dim3 grid((unsigned)((rows + ROWS - 1) / ROWS)), block((unsigned)(width / COLUMNS * 32));
    size_t shared = (size_t)(ROWS * (width + GAP)) * sizeof(bf16);
    product_count_own();
    return launched(width <= 256 ? LAUNCH(norm_product<1>, grid, block, shared, a, p)
                                 : LAUNCH(norm_product<2>, grid, block, shared, a, p),
                    e);
}
