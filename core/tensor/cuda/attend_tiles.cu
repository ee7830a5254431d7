/* attend_tiles.cu - the tiles of a batch's sentences, listed for the attention kernels (attend_tile.h).
 *
 * A block lists the tiles of THREADS sentences. It finds the start of its part of the table by counting the tiles of
 * all earlier sentences, a few reads per thread, instead of waiting for other blocks.
 */
#include "tensor/cuda/attend_tile.h"

namespace
{
enum { THREADS = 256 };
struct tables {
    gpu_tile_shape of[ATTEND_TABLES];
    int32_t *to[ATTEND_TABLES];
};
} // namespace

/* Rows of sentence b on the other side. Dummy rows see no rows, but a table of both sides lists the dummies of both. */
DEVICE span other_of(const gpu_tile_shape &s, int b)
{
    return s.both || b < s.sentences ? span_of(s.other, s.sentences, s.other_rows, b) : span{0, 0};
}
DEVICE bool is_whole(const gpu_tile_shape &s, int b, int longest) { return b < s.sentences && longest <= s.whole; }
DEVICE int tiles_of(const gpu_tile_shape &s, int b)
{
    int own = span_of(s.own, s.sentences, s.own_rows, b).n, longest = s.both ? max(own, other_of(s, b).n) : own;
    return is_whole(s, b, longest) ? longest > 0 : (longest + s.rows - 1) / s.rows;
}

/* Tile i of sentence b. */
DEVICE attend_place place_of(const gpu_tile_shape &s, int b, int i)
{
    attend_place p = {span_of(s.own, s.sentences, s.own_rows, b), other_of(s, b), i * s.rows, 0, b, 0};
    p.whole = is_whole(s, b, max(p.own.n, p.other.n));
    p.n = min(s.rows, p.own.n - p.first);
    return p;
}

__global__ void __launch_bounds__(THREADS) list_tiles(const __grid_constant__ tables all)
{
    __shared__ int start[THREADS + 1], own_sum[THREADS / 32], sum_before[THREADS / 32];
    const gpu_tile_shape &s = all.of[blockIdx.y];
    attend_place *to = (attend_place *)all.to[blockIdx.y] + 1;
    int me = (int)threadIdx.x, lane = me & 31, warp = me >> 5, first = (int)blockIdx.x * THREADS;
    if (first > s.sentences) return;
    int before = 0, sum = first + me <= s.sentences ? tiles_of(s, first + me) : 0;
    for (int b = me; b < first; b += THREADS) before += tiles_of(s, b);
    for (int o = 1; o < 32; o *= 2) {
        before += __shfl_xor_sync(0xffffffffu, before, o);
        int left = __shfl_sync(0xffffffffu, sum, lane - o);
        if (lane >= o) sum += left;
    }
    if (lane == 31) own_sum[warp] = sum, sum_before[warp] = before;
    __syncthreads();
    int at = 0;
    for (int w = 0; w < THREADS / 32; w++) {
        if (w < warp) sum += own_sum[w];
        at += sum_before[w];
    }
    start[me + 1] = sum;
    if (!me) start[0] = 0;
    __syncthreads();
    for (int i = me; i < start[THREADS]; i += THREADS) {
        int b = 0; /* the last sentence whose tiles start at i or before */
        for (int step = THREADS / 2; step; step /= 2)
            if (start[b + step] <= i) b += step;
        to[at + i] = place_of(s, first + b, i - start[b]);
    }
    if (!me && first + THREADS > s.sentences) all.to[blockIdx.y][0] = at + start[THREADS];
}

extern "C" size_t gpu_tile_bytes(const gpu_tile_shape *s)
{
    int64_t rows = (int64_t)s->own_rows + (s->both ? s->other_rows : 0), most = rows / s->rows + s->sentences + 1;
    return (size_t)(1 + (most < rows ? most : rows)) * sizeof(attend_place);
}

extern "C" int gpu_list_tiles(int n, const gpu_tile_shape *s, int32_t *const *to)
{
    for (int first = 0; first < n; first += ATTEND_TABLES) {
        tables all = {};
        int some = n - first < ATTEND_TABLES ? n - first : (int)ATTEND_TABLES, sentences = 0;
        for (int i = 0; i < some; i++) {
            all.of[i] = s[first + i], all.to[i] = to[first + i];
            if (all.of[i].sentences > sentences) sentences = all.of[i].sentences;
        }
        if (LAUNCH(list_tiles, dim3((unsigned)(sentences / THREADS + 1), (unsigned)some), dim3(THREADS), 0, all))
            return -1;
    }
    return gpu_launched();
}
