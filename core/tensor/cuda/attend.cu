/* attend.cu - scaled dot-product attention on packed rows (Vaswani et al. 2017, section 3.2), forward.
 *
 * Keys are gone through in tiles of 32 with a running maximum and sum (Milakov & Gimelshein 2018; Dao et al. 2022), so
 * a sentence may have any length. On bf16 rows a warp has 16 queries of one head, by tensor cores (attend_tile.h); on
 * F32 rows a block has 32, by plain multiplications (attend_plain.h).
 */
#include "tensor/cuda/attend_plain.h"

enum { QUERIES = ATTEND_TILE, KEYS = 32, WARPS = 2 };

/* ---- bf16 ---- */

/* Rows g and g + 8 of the tile, as far as the keys have been seen. */
struct running {
    float top[2], sum[2];
};

/* The scores of one tile of keys become probabilities, not yet divided by their sum; returns what the sums so far are
 * worth. */
__device__ __forceinline__ void soften(float (&s)[KEYS / 8][4], running &w, float (&worth)[2], const gpu_attention &a,
                                       int query, int key, int keys)
{
    const float log2_e = 1.44269504f;
    int t = threadIdx.x & 3;
    float scale = a.scale * log2_e;
    UNROLL for (int r = 0; r < 2; r++)
    {
        int seen = a.causal ? min(keys, query + 8 * r + 1) : keys;
        float top = w.top[r], sum = 0;
        UNROLL for (int j = 0; j < KEYS / 8; j++) UNROLL for (int i = 0; i < 2; i++)
        {
            float *x = &s[j][2 * r + i];
            *x = key + 8 * j + 2 * t + i < seen ? *x * scale : LOWEST;
            top = fmaxf(top, *x);
        }
        top = four_max(top);
        UNROLL for (int j = 0; j < KEYS / 8; j++) UNROLL for (int i = 0; i < 2; i++)
        {
            float *x = &s[j][2 * r + i];
            *x = exp2f(*x - top);
            sum += *x;
        }
        worth[r] = exp2f(w.top[r] - top);
        w.top[r] = top;
        w.sum[r] = w.sum[r] * worth[r] + four_sum(sum);
    }
}

/* A warp's 16 queries; W > 1: a block's, each warp with D of the columns from `from` on. */
template <int D, int W>
__device__ __forceinline__ void attend_tile(const gpu_attention &a, philox_key dice, int head, const attend_place &at,
                                            int from)
{
    int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3, d_k = a.d_k - from, d_v = a.d_v - from;
    int64_t row = at.own.first + at.first, first_key = at.other.first;
    int k_stride = (int)a.k.stride, v_stride = (int)a.v.stride;
    const bf16 *k = at_row<const bf16>(a.k, first_key, head * a.d_k + from);
    const bf16 *v = at_row<const bf16>(a.v, first_key, head * a.d_v + from);
    unsigned q[D / 16][4];
    take_left<D>(q, at_row<const bf16>(a.q, row, head * a.d_k + from), (int)a.q.stride, at.n, d_k);
    float y[D / 8][4] = {};
    running w = {{LOWEST, LOWEST}, {0, 0}};
    int keys = a.causal ? min(at.other.n, at.first + at.n) : at.other.n;
    for (int key = 0; key < keys; key += KEYS, k += KEYS * k_stride, v += KEYS * v_stride) {
        float s[KEYS / 8][4] = {}, worth[2];
        add_scores<D>(s, q, k, k_stride, keys - key, d_k);
        add_warps<W>(s);
        soften(s, w, worth, a, at.first + g, key, keys);
        if (key) { UNROLL for (int j = 0; j < D / 8; j++) UNROLL for (int i = 0; i < 4; i++) y[j][i] *= worth[i / 2]; }
        if (a.drop.least) {
            unsigned keep = keep32<2>(a, dice, row + lane / 2, head, key, min((int)KEYS, keys - key));
            UNROLL for (int r = 0; r < 2; r++)
            {
                unsigned bits = __shfl_sync(0xffffffffu, keep, 2 * g + 16 * r) >> 2 * t;
                UNROLL for (int j = 0; j < KEYS / 8; j++)
                    UNROLL for (int i = 0; i < 2; i++) if (!(bits >> (8 * j + i) & 1)) s[j][2 * r + i] = 0;
            }
        }
        add_product<D>(y, s, v, v_stride, keys - key, d_v);
    }
    float by[2];
    UNROLL for (int r = 0; r < 2; r++)
    {
        const float ln_2 = 0.693147181f;
        by[r] = w.sum[r] > 0 ? a.drop.scale / w.sum[r] : 0;
        if (t == 0 && from == 0 && g + 8 * r < at.n)
            a.lse[(row + g + 8 * r) * a.heads + head] = w.sum[r] > 0 ? w.top[r] * ln_2 + logf(w.sum[r]) : 0;
    }
    give<D>(y, by[0], by[1], at_row<bf16>(a.y, row, head * a.d_v + from), (int)a.y.stride, at.n, d_v);
}

/* The bounds are as many warps a multiprocessor as fit without spilled registers. */
template <int D, int W>
__global__ void __launch_bounds__(32 * (W > 1 ? W : WARPS), (D == 32   ? 20
                                                             : D == 64 ? 16
                                                                       : 8) /
                                                                (W > 1 ? W : WARPS))
    attend_bf16(gpu_attention a, const gpu_counter *counter)
{
    constexpr int TILES = W > 1 ? 1 : WARPS;
    int warp = threadIdx.x >> 5;
    for (int i = (int)blockIdx.y * TILES + (W > 1 ? 0 : warp); i < *a.tiles; i += (int)gridDim.y * TILES) {
        philox_key dice = {}; /* read for each tile: no register keeps it from one to the next */
        if (a.drop.least) dice = key_of(counter, a.drop.place);
        attend_tile<D, W>(a, dice, (int)blockIdx.x, place_in(a.tiles, i), W > 1 ? warp * D : 0);
    }
}

template <int D, int W> static int run_bf16(const gpu_attention *a)
{
    int64_t tiles = side_at_once(a, a->rows, QUERIES), blocks = W > 1 ? tiles : (tiles + WARPS - 1) / WARPS;
    return LAUNCH((attend_bf16<D, W>), tile_grid(a->heads, blocks), dim3(32 * (W > 1 ? W : WARPS)), 0, *a,
                  gpu_counters());
}

/* ---- F32 ---- */

__device__ __forceinline__ void attend_plain(const gpu_attention &a, philox_key dice, int head, const attend_place &at,
                                             int from, plain_memory &m)
{
    int i = threadIdx.x / 8, j = threadIdx.x % 8;
    int64_t row = at.own.first + at.first;
    plain_rows q = rows_from(a.q, row, head * a.d_k, at.n);
    float y[2][8] = {}, top[2] = {LOWEST, LOWEST}, sum[2] = {0, 0};
    int keys = a.causal ? min(at.other.n, at.first + at.n) : at.other.n;
    for (int key = 0; key < keys; key += PLAIN) {
        plain_rows k = rows_from(a.k, at.other.first + key, head * a.d_k, keys - key);
        plain_rows v = rows_from(a.v, at.other.first + key, head * a.d_v, keys - key);
        float s[2][4];
        plain_scores(s, q, k, a.d_k, m);
        if (a.drop.least) {
            plain_keep(a, dice, row, head, key, min((int)PLAIN, keys - key), m);
            __syncwarp(); /* a warp's rows are decided by itself */
        }
        UNROLL for (int r = 0; r < 2; r++)
        {
            int seen = a.causal ? min(keys, at.first + 2 * i + r + 1) : keys;
            unsigned keep = a.drop.least ? m.keep[2 * i + r] : ~0u;
            float high = top[r], part = 0;
            UNROLL for (int c = 0; c < 4; c++)
            {
                s[r][c] = key + j + 8 * c < seen ? s[r][c] * a.scale : LOWEST;
                high = fmaxf(high, s[r][c]);
            }
            high = eight_max(high);
            UNROLL for (int c = 0; c < 4; c++)
            {
                float p = expf(s[r][c] - high);
                part += p;
                m.p[2 * i + r][j + 8 * c] = keep >> (j + 8 * c) & 1 ? p : 0.f;
            }
            float worth = expf(top[r] - high);
            sum[r] = sum[r] * worth + eight_sum(part);
            top[r] = high;
            UNROLL for (int c = 0; c < 8; c++) y[r][c] *= worth;
        }
        plain_chunk(v, from, a.d_v, m);
        __syncthreads();
        plain_add(y, m.p, m);
    }
    float by[2];
    UNROLL for (int r = 0; r < 2; r++)
    {
        by[r] = sum[r] > 0 ? a.drop.scale / sum[r] : 0;
        if (j == 0 && from == 0 && 2 * i + r < at.n)
            a.lse[(row + 2 * i + r) * a.heads + head] = sum[r] > 0 ? top[r] + logf(sum[r]) : 0;
    }
    plain_give(y, by, at_row<float>(a.y, row, head * a.d_v), a.y.stride, at.n, from, a.d_v);
}

__global__ void __launch_bounds__(PLAIN_THREADS) attend_f32(gpu_attention a, const gpu_counter *counter)
{
    __shared__ plain_memory m;
    philox_key dice = {};
    if (a.drop.least) dice = key_of(counter, a.drop.place);
    for (int i = (int)blockIdx.y; i < *a.tiles; i += (int)gridDim.y)
        attend_plain(a, dice, (int)blockIdx.x % a.heads, place_in(a.tiles, i), (int)blockIdx.x / a.heads * CHUNK, m);
}

/* ---- launcher ---- */

extern "C" int gpu_ATTEND(const gpu_attention *a)
{
    if (!a->rows || !a->heads) return 0;
    if (a->type == F32) {
        int chunks = (a->d_v + CHUNK - 1) / CHUNK;
        return LAUNCH(attend_f32, tile_grid(a->heads * chunks, side_at_once(a, a->rows, PLAIN)), dim3(PLAIN_THREADS), 0,
                      *a, gpu_counters());
    }
    if (!rows_fit(a)) return gpu_attend_packed(a, 0, NULL);
    int width = a->d_k > a->d_v ? a->d_k : a->d_v;
    return width <= 32    ? run_bf16<32, 1>(a)
           : width <= 64  ? run_bf16<64, 1>(a)
           : width <= 128 ? run_bf16<128, 1>(a)
           : width <= 256 ? run_bf16<128, 2>(a)
                          : run_bf16<128, 4>(a);
}
