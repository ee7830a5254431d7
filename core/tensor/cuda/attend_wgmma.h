/* attend_wgmma.h - scaled dot-product attention for long sentences on compute capability 9.0, forward: bf16 rows, heads
 * of D = 64 or 128 columns. Compiled by NVRTC only (attend_wgmma.cu): it needs sm_90a, a target that the module does
 * not have.
 *
 * A block has 128 queries of one head. Two warp groups of 64 queries compute products and softmax, 16 rows per warp as
 * in attend.cu. One more warp lets TMA copy tiles of 64 keys and their values into a ring of slots in shared memory, as
 * far ahead as the ring has slots (the method of FlashAttention-3, Shah et al. 2024, without its overlap of products
 * with the softmax inside a warp group). A slot is full when its bytes have arrived, and empty when all multiplying
 * warps have left it. TMA does not know sentences: the last tile also holds rows of other sentences, whose values are
 * cleared, because a weight of 0 times NaN is NaN.
 */
#ifndef ABLATE_CUDA_ATTEND_WGMMA_H
#define ABLATE_CUDA_ATTEND_WGMMA_H
#include "tensor/cuda/attend_tile.h"
#include "tensor/cuda/hopper.h"

enum {
    KEYS = ATTEND_WGMMA_KEYS,
    SLOTS = ATTEND_WGMMA_SLOTS,
    WORKERS = ATTEND_WGMMA_QUERIES / 16, /* warps that multiply */
    PANEL = KEYS * HOPPER_ROW            /* bytes of 64 columns of a tile; a slot has D / 64 of them */
};

struct wgmma_ring { /* a warp in the ring has passed `used` tiles and has cleared rows in `cleared` of them */
    unsigned slots, barriers, bytes, used, cleared;
    GPU_MEMBER unsigned slot() const { return slots + used % SLOTS * bytes; }
    GPU_MEMBER unsigned full() const { return barriers + 8 * (used % SLOTS); }
    GPU_MEMBER unsigned empty() const { return full() + 8 * SLOTS; }
    GPU_MEMBER unsigned landed() const { return barriers + 16 * SLOTS; }
    GPU_MEMBER unsigned round() const { return used / SLOTS & 1; }
};

/* ---- the warp that loads ---- */

/* Clears the tile's rows from `n` on. By a whole warp. */
template <int D> DEVICE void clear_rows(unsigned tile, int n)
{
    for (int i = (int)(threadIdx.x & 31); i < (KEYS - n) * D / 8; i += 32) {
        int panel = i / ((KEYS - n) * 8), part = i % ((KEYS - n) * 8);
        shared_clear(tile + (unsigned)(panel * PANEL + n * HOPPER_ROW + 16 * part));
    }
    fence_async();
    __syncwarp();
}

template <int D>
DEVICE void load_tiles(const gpu_tensor_map &k, const gpu_tensor_map &v, const attend_place &at, int head, int keys,
                       wgmma_ring &ring)
{
    bool first_lane = (threadIdx.x & 31) == 0;
    for (int key = 0; key < keys; key += KEYS) {
        for (int of_values = 0; of_values < 2; of_values++, ring.used++) {
            bool ends = of_values && keys - key < KEYS;
            unsigned barrier = ends ? ring.landed() : ring.full();
            barrier_wait(ring.empty(), ring.round() ^ 1);
            if (first_lane) {
                barrier_arrive_expecting(barrier, D / HOPPER_COLUMNS * PANEL);
                for (int i = 0; i < D / HOPPER_COLUMNS; i++)
                    tile_load(ring.slot() + (unsigned)(i * PANEL), of_values ? v : k, head * D + i * HOPPER_COLUMNS,
                              at.other.first + key, barrier);
            }
            if (!ends) continue;
            barrier_wait(barrier, ring.cleared++ & 1);
            clear_rows<D>(ring.slot(), keys - key);
            if (first_lane) barrier_arrive(ring.full());
        }
    }
}

/* ---- the warps that multiply ---- */

DEVICE void leave_slot(wgmma_ring &ring)
{
    if ((threadIdx.x & 31) == 0) barrier_arrive(ring.empty());
    ring.used++;
}

template <int D>
DEVICE void attend_rows(const gpu_attention &a, philox_key dice, const attend_place &at, int head, int keys,
                        wgmma_ring &ring)
{
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    int first = at.first + 16 * warp, n = at.n - 16 * warp, of_group = 64 * (warp / 4); /* n may be 0 or negative */
    int64_t row = at.own.first + first;
    unsigned q[D / 16][4];
    UNROLL for (int c = 0; c < D / 16; c++) UNROLL for (int i = 0; i < 4; i++)
    {
        int r = g + 8 * (i % 2);
        const bf16 *from = at_row<const bf16>(a.q, row + r, head * D + 16 * c + 2 * t + i / 2 * 8);
        q[c][i] = r < n ? *(const unsigned *)from : 0;
    }
    float y[D / 64][8][4] = {}, by[2];
    running w = {{LOWEST, LOWEST}, {0, 0}};
    for (int key = 0; key < keys; key += KEYS) {
        /* does any of the group's 64 queries see the key? */
        bool sees_any = of_group < at.n && !(a.causal && key > at.first + of_group + 63);
        float s[8][4], worth[2];
        barrier_wait(ring.full(), ring.round());
        if (sees_any) {
            wgmma_fence();
            UNROLL for (int c = 0; c < D / 16; c++)
                wgmma<0>(s, q[c], matrix_at(ring.slot() + (unsigned)(c / 4 * PANEL + c % 4 * 32)), c > 0);
            wgmma_commit();
            wgmma_wait(s);
        }
        leave_slot(ring);
        if (sees_any) {
            soften(s, w, worth, a.scale * LOG2_E, [&](int r, int j, int i) {
                return key + 8 * j + 2 * t + i < (a.causal ? min(keys, first + g + 8 * r + 1) : keys);
            });
            UNROLL for (int h = 0; h < D / 64; h++) UNROLL for (int j = 0; j < 8; j++)
                UNROLL for (int i = 0; i < 4; i++) y[h][j][i] *= worth[i / 2];
            if (a.drop.least) drop_weights(s, a, dice, row, head, key, keys);
        }
        barrier_wait(ring.full(), ring.round());
        if (sees_any) {
            unsigned p[KEYS / 16][4];
            UNROLL for (int m = 0; m < KEYS / 16; m++) UNROLL for (int i = 0; i < 4; i++) p[m][i] =
                bf16_pair(s[2 * m + i / 2][i % 2 * 2], s[2 * m + i / 2][i % 2 * 2 + 1]);
            wgmma_fence();
            UNROLL for (int m = 0; m < KEYS / 16; m++) UNROLL for (int h = 0; h < D / 64; h++)
                wgmma<1>(y[h], p[m], matrix_at(ring.slot() + (unsigned)(h * PANEL + m * 16 * HOPPER_ROW)), 1);
            wgmma_commit();
            UNROLL for (int h = 0; h < D / 64; h++) wgmma_wait(y[h]);
        }
        leave_slot(ring);
    }
    finish(w, by, a, row, head, n, true);
    /* four bytes per store suffice: results are few compared with the keys of a long sentence */
    UNROLL for (int r = 0; r < 2; r++) UNROLL for (int h = 0; h < D / 64; h++) UNROLL for (int j = 0; j < 8; j++)
    {
        bf16 *to = at_row<bf16>(a.y, row + g + 8 * r, head * D + 64 * h + 8 * j + 2 * t);
        if (g + 8 * r < n) *(unsigned *)to = bf16_pair(y[h][j][2 * r] * by[r], y[h][j][2 * r + 1] * by[r]);
    }
}

/* Calls do_tile(entry, number of keys that the tile sees) for each tile of the block. */
template <class F> DEVICE void each_tile(const gpu_attention &a, F do_tile)
{
    for (int i = (int)blockIdx.x / a.heads; i < *a.tiles; i += (int)gridDim.x / a.heads) {
        attend_place at = place_in(a.tiles, i);
        do_tile(at, a.causal ? min(at.other.n, at.first + at.n) : at.other.n);
    }
}

template <int D>
__global__ void __launch_bounds__(ATTEND_WGMMA_THREADS, 1)
    attend_wgmma(const __grid_constant__ gpu_attention a, const __grid_constant__ gpu_tensor_map k,
                 const __grid_constant__ gpu_tensor_map v, const gpu_counter *counter)
{
    DYN_SMEM(char, memory);
    unsigned start = (shared_address(memory) + HOPPER_EIGHT - 1) / HOPPER_EIGHT * HOPPER_EIGHT;
    constexpr unsigned BYTES = D / HOPPER_COLUMNS * PANEL;
    wgmma_ring ring = {start, start + SLOTS * BYTES, BYTES, 0, 0};
    int head = (int)blockIdx.x % a.heads;
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < SLOTS; i++)
            barrier_start(ring.full() + 8 * i, 1), barrier_start(ring.empty() + 8 * i, WORKERS);
        barrier_start(ring.landed(), 1);
        fence_async();
    }
    __syncthreads();
    if ((int)threadIdx.x / 32 >= WORKERS) {
        registers_leave<24>(); /* by whole warp groups */
        if ((int)threadIdx.x / 32 == WORKERS)
            each_tile(a, [&](const attend_place &at, int keys) { load_tiles<D>(k, v, at, head, keys, ring); });
    } else {
        registers_take<240>();
        philox_key dice = {};
        if (a.drop.least) dice = key_of(counter, a.drop.place);
        each_tile(a, [&](const attend_place &at, int keys) { attend_rows<D>(a, dice, at, head, keys, ring); });
    }
}
#endif
