/* attend.cu - scaled dot-product attention on packed rows (Vaswani et al. 2017, section 3.2), forward.
 *
 * Loops over keys in tiles of 32 with a running maximum and sum (Milakov & Gimelshein 2018; Dao et al. 2022), so a
 * sentence may have any length. A warp has 16 queries of one head (attend_tile.h). */
#include "tensor/cuda/attend_tile.h"

enum { QUERIES = ATTEND_TILE, KEYS = 32, WARPS = 2 };

/* Computes the 16 queries of a warp (W == 1) or of a block (W > 1: each warp has D columns from `from` on). */
template <class T, int D, int W>
DEVICE void attend_tile(const gpu_attention &a, philox_key dice, int head, const attend_place &at, int from)
{
    int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3, d_k = a.d_k - from, d_v = a.d_v - from;
    int64_t row = at.own.first + at.first, first_key = at.other.first;
    int k_stride = (int)a.k.stride, v_stride = (int)a.v.stride;
    const T *k = at_row<const T>(a.k, first_key, head * a.d_k + from);
    const T *v = at_row<const T>(a.v, first_key, head * a.d_v + from);
    left_rows<T, D> q(at_row<const T>(a.q, row, head * a.d_k + from), (int)a.q.stride, at.n, d_k);
    float y[D / 8][4] = {};
    running w = {{LOWEST, LOWEST}, {0, 0}};
    int keys = a.causal ? min(at.other.n, at.first + at.n) : at.other.n;
    for (int key = 0; key < keys; key += KEYS, k += KEYS * k_stride, v += KEYS * v_stride) {
        float s[KEYS / 8][4] = {}, worth[2];
        add_scores<D>(s, q, k, k_stride, keys - key, d_k);
        add_warps<W>(s);
        soften(s, w, worth, a.scale * LOG2_E, [&](int r, int j, int i) {
            return key + 8 * j + 2 * t + i < (a.causal ? min(keys, at.first + g + 8 * r + 1) : keys);
        });
        if (key) { UNROLL for (int j = 0; j < D / 8; j++) UNROLL for (int i = 0; i < 4; i++) y[j][i] *= worth[i / 2]; }
        if (a.drop.least) drop_weights(s, a, dice, row, head, key, keys);
        add_product<D>(y, s, v, v_stride, keys - key, d_v);
    }
    float by[2];
    finish(w, by, a, row, head, at.n, from == 0);
    give<D>(y, by[0], by[1], at_row<T>(a.y, row, head * a.d_v + from), (int)a.y.stride, at.n, d_v);
}

/* The launch bounds allow the most warps per multiprocessor without spilled registers. */
template <class T, int D, int W>
__global__ void __launch_bounds__(32 * (W > 1 ? W : WARPS), (D == 32   ? 20
                                                             : D == 64 ? 16
                                                                       : 8) /
                                                                (W > 1 ? W : WARPS))
    attend_forward(gpu_attention a, const gpu_counter *counter)
{
    constexpr int TILES = W > 1 ? 1 : WARPS;
    int warp = threadIdx.x >> 5;
    for (int i = (int)blockIdx.y * TILES + (W > 1 ? 0 : warp); i < *a.tiles; i += (int)gridDim.y * TILES) {
        philox_key dice = {}; /* read again for each tile, so that it needs no registers in between */
        if (a.drop.least) dice = key_of(counter, a.drop.place);
        attend_tile<T, D, W>(a, dice, (int)blockIdx.x, place_in(a.tiles, i), W > 1 ? warp * D : 0);
    }
}

template <class T, int D, int W> static int run(const gpu_attention *a)
{
    int64_t tiles = side_at_once(a, a->rows, QUERIES), blocks = W > 1 ? tiles : (tiles + WARPS - 1) / WARPS;
    return LAUNCH((attend_forward<T, D, W>), tile_grid(a->heads, blocks), dim3(32 * (W > 1 ? W : WARPS)), 0, *a,
                  gpu_counters());
}

template <class T> static int run_width(const gpu_attention *a)
{
    int width = a->d_k > a->d_v ? a->d_k : a->d_v;
    return width <= 32    ? run<T, 32, 1>(a)
           : width <= 64  ? run<T, 64, 1>(a)
           : width <= 128 ? run<T, 128, 1>(a)
           : width <= 256 ? run<T, 128, 2>(a)
                          : run<T, 128, 4>(a);
}

extern "C" int gpu_ATTEND(const gpu_attention *a)
{
    if (!a->rows || !a->heads) return 0;
    if (!rows_fit(a)) return gpu_attend_packed(a, 0, NULL);
    return a->type == F32 ? run_width<float>(a) : run_width<bf16>(a);
}
