/* embedding_back.cu - gradients of tables whose rows were chosen by ids: EMBEDDING_BACK and EMBED_TOKENS_BACK. */
#include "tensor/cuda/vec8.h"
#include "tensor/cuda/ops.h"
#include "tensor/cuda/services.h"
#include "tensor/cuda/threads.h"

namespace
{
/* ---- positions sorted by id, one byte of the id per pass, the lowest byte first ----
 *
 * A block has a tile of the positions, and a thread one value of the byte. The thread counts its value in the tile;
 * when the counts of all tiles have been summed, it scans the tile again and writes its positions to their places: in
 * order, without atomics. */

enum { TILE = 256, BYTES = 256 };

/* Loads a tile's keys and their bytes, four bytes in 64 bits; past the end a value that no thread has. */
DEVICE void load_tile(const int32_t *key, bool raw, int64_t T, int64_t n_table, int shift, int32_t *keys, uint2 *bytes)
{
    int64_t first = (int64_t)blockIdx.x * TILE;
    for (int i = (int)threadIdx.x; i < TILE / 4; i += BYTES) {
        unsigned byte[4];
        UNROLL for (int j = 0; j < 4; j++)
        {
            int64_t at = first + 4 * i + j;
            int32_t k = at < T ? key[at] : 0;
            if (raw && (k < 0 || k >= n_table)) k = (int32_t)n_table;
            if (keys) keys[4 * i + j] = k;
            byte[j] = at < T ? (unsigned)(k >> shift & 255) : 0xffffu;
        }
        bytes[i].x = byte[0] | byte[1] << 16, bytes[i].y = byte[2] | byte[3] << 16;
    }
    __syncthreads();
}
DEVICE unsigned byte_of(uint2 four, int j) { return (j & 2 ? four.y : four.x) >> 16 * (j & 1) & 0xffffu; }

__global__ void count(const int32_t *key, bool raw, int64_t T, int64_t n_table, int shift, int32_t *counts)
{
    __shared__ uint2 bytes[TILE / 4];
    load_tile(key, raw, T, n_table, shift, nullptr, bytes);
    int mine = 0;
    for (int i = 0; i < TILE / 4; i++) UNROLL for (int j = 0; j < 4; j++) mine += byte_of(bytes[i], j) == threadIdx.x;
    counts[(int64_t)threadIdx.x * gridDim.x + blockIdx.x] = mine;
}
/* Replaces every count by the sum of the counts before it. One block. */
__global__ void sum_up(int32_t *counts, int64_t n)
{
    enum { ALL = 1024, EACH = 8 };
    __shared__ int32_t warp_total[ALL / 32];
    int lane = my_lane(), warp = (int)threadIdx.x / 32;
    int32_t before = 0; /* sum of all earlier rounds */
    for (int64_t round = 0; round < n; round += ALL * EACH) {
        int64_t first = round + (int64_t)threadIdx.x * EACH;
        int32_t own[EACH], sum = 0, all = 0;
        UNROLL for (int j = 0; j < EACH; j++) own[j] = first + j < n ? counts[first + j] : 0;
        UNROLL for (int j = 0; j < EACH; j++) sum += own[j];
        for (int o = 1; o < 32; o *= 2) {
            int32_t left = __shfl_sync(0xffffffffu, sum, lane - o);
            if (lane >= o) sum += left;
        }
        if (lane == 31) warp_total[warp] = sum;
        __syncthreads();
        for (int w = 0; w < ALL / 32; w++) {
            if (w == warp) sum += all;
            all += warp_total[w];
        }
        sum += before;
        UNROLL for (int j = EACH - 1; j >= 0; j--)
        {
            sum -= own[j];
            if (first + j < n) counts[first + j] = sum;
        }
        before += all;
        __syncthreads();
    }
}
__global__ void put(const int32_t *key, const int32_t *order, bool raw, int64_t T, int64_t n_table, int shift,
                    const int32_t *counts, int32_t *new_key, int32_t *new_order)
{
    __shared__ int32_t keys[TILE];
    __shared__ uint2 bytes[TILE / 4];
    load_tile(key, raw, T, n_table, shift, keys, bytes);
    int32_t first = (int32_t)(blockIdx.x * TILE), at = counts[(int64_t)threadIdx.x * gridDim.x + blockIdx.x];
    for (int i = 0; i < TILE; i += 4) {
        uint2 four = bytes[i / 4];
        UNROLL for (int j = 0; j < 4; j++)
        {
            if (byte_of(four, j) != threadIdx.x) continue;
            new_key[at] = keys[i + j];
            new_order[at++] = raw ? first + i + j : order[first + i + j];
        }
    }
}
/* ---- sums of rows of one id ----
 *
 * A block sums a chunk of the sorted positions. An id with all positions in one chunk is complete. For the others each
 * chunk stores its part: [chunk][0] if the id continues from the previous chunk, [chunk][1] if it begins here. The
 * block of the chunk in which it begins then adds the parts. */

enum { CHUNK = 32, AHEAD = 8 };
struct runs {
    float *table, *part;
    const void *dy;
    const int32_t *order, *key;
    int64_t T, n_table, d;
    float by;
    bool onto;
};
template <int V> DEVICE void add_to_table(const runs &r, int32_t id, int64_t column, const lanes<float, V> &sum)
{
    float *y = r.table + id * r.d + column;
    lanes<float, V> x = {};
    if (r.onto) x = *(const lanes<float, V> *)y;
    UNROLL for (int j = 0; j < V; j++) x.v[j] += r.by * sum.v[j];
    put_lanes(y, x);
}
template <class T, int V> __global__ void embedding_back(runs r)
{
    __shared__ int32_t order[CHUNK], key[CHUNK + 2]; /* key: also has the keys before and behind the chunk */
    int64_t width = (int64_t)blockDim.x * V, tiles = (r.d + width - 1) / width, chunk = blockIdx.x / tiles;
    int64_t first = chunk * CHUNK, column = blockIdx.x % tiles * width + (int64_t)threadIdx.x * V;
    int n = r.T - first < CHUNK ? (int)(r.T - first) : (int)CHUNK;
    for (int i = (int)threadIdx.x; i < CHUNK + 2; i += (int)blockDim.x) {
        int64_t p = first + i - 1;
        key[i] = p >= 0 && p < r.T ? r.key[p] : -1;
        if (i < CHUNK && i < n) order[i] = r.order[first + i];
    }
    __syncthreads();
    if (column >= r.d) return;
    lanes<float, V> sum = {};
    bool from_before = key[0] == key[1];
    for (int i = 0; i < n; i += AHEAD) {
        lanes<T, V> x[AHEAD];
        UNROLL for (int a = 0; a < AHEAD; a++) if (i + a < n) x[a] =
            *(const lanes<T, V> *)((const T *)r.dy + order[i + a] * r.d + column);
        UNROLL for (int a = 0; a < AHEAD; a++)
        {
            int at = i + a + 1; /* index in key */
            if (i + a >= n || key[at] >= r.n_table) break;
            UNROLL for (int j = 0; j < V; j++) sum.v[j] += load(&x[a].v[j]);
            bool goes_on = key[at + 1] == key[at];
            if (goes_on && at < n) continue;
            if (!from_before && !goes_on)
                add_to_table<V>(r, key[at], column, sum);
            else
                put_lanes(r.part + (2 * chunk + !from_before) * r.d + column, sum);
            sum = {};
            from_before = false;
        }
    }
}
template <int V> __global__ void embedding_back_parts(runs r)
{
    int64_t width = (int64_t)blockDim.x * V, tiles = (r.d + width - 1) / width, chunk = blockIdx.x / tiles;
    int64_t end = (chunk + 1) * CHUNK, column = blockIdx.x % tiles * width + (int64_t)threadIdx.x * V;
    if (end >= r.T || column >= r.d) return;
    int32_t id = r.key[end];
    bool began = chunk > 0 && r.key[chunk * CHUNK - 1] == id;
    if (id >= r.n_table || r.key[end - 1] != id || began) return; /* no id begins here and continues */
    int64_t last = (first_above(r.key, end, r.T, id) - 1) / CHUNK;
    lanes<float, V> sum = *(const lanes<float, V> *)(r.part + (2 * chunk + 1) * r.d + column);
    UNROLL for (int64_t c = chunk + 1; c <= last; c++)
    {
        lanes<float, V> x = *(const lanes<float, V> *)(r.part + 2 * c * r.d + column);
        UNROLL for (int j = 0; j < V; j++) sum.v[j] += x.v[j];
    }
    add_to_table<V>(r, id, column, sum);
}

template <class T, int V> int sum_runs(const runs &r)
{
    enum { MOST = 128 };
    int64_t threads = (r.d / V + 31) / 32 * 32;
    if (threads > MOST) threads = MOST;
    int64_t tiles = (r.d + threads * V - 1) / (threads * V), blocks = (r.T + CHUNK - 1) / CHUNK * tiles;
    if (LAUNCH((embedding_back<T, V>), dim3((unsigned)blocks), dim3((unsigned)threads), 0, r)) return -1;
    return LAUNCH(embedding_back_parts<V>, dim3((unsigned)blocks), dim3((unsigned)threads), 0, r);
}
} // namespace

extern "C" int gpu_rows_by_id(const int32_t *ids, int64_t T, int64_t n_table, gpu_order *out)
{
    int64_t tiles = (T + TILE - 1) / TILE, all = 4 * T + BYTES * tiles;
    if (T >= (int64_t)1 << 31 || n_table >= ((int64_t)1 << 31) - 1)
        return gpu_refuse("more than 2147483646 ids or table rows");
    int32_t *counts = (int32_t *)gpu_scratch(SCRATCH_IDS, (size_t)all * sizeof(int32_t));
    int32_t *key[2] = {counts + BYTES * tiles, counts + BYTES * tiles + T}, *order[2] = {key[1] + T, key[1] + 2 * T};
    const int32_t *from_key = ids, *from_order = nullptr;
    int now = 0;
    for (int shift = 0; T > 0 && (shift == 0 || n_table >> shift); shift += 8, now = 1 - now) {
        bool raw = shift == 0;
        dim3 grid((unsigned)tiles);
        if (LAUNCH(count, grid, BYTES, 0, from_key, raw, T, n_table, shift, counts) ||
            LAUNCH(sum_up, 1, 1024, 0, counts, BYTES * tiles) ||
            LAUNCH(put, grid, BYTES, 0, from_key, from_order, raw, T, n_table, shift, counts, key[now], order[now]))
            return -1;
        from_key = key[now], from_order = order[now];
    }
    out->order = from_order, out->key = from_key;
    return gpu_launched();
}

/* table[v] = (onto ? table[v] : 0) + by * sum of the rows i of dy with ids[i] == v, in a fixed order; ids out of range
 * are ignored. sorted: the rows in the order of their ids, then the sorted ids; without data: sorts here. */
static int sum_rows_by_id(const view *table, bool onto, const view *dy, const view *ids, const view *sorted, double by)
{
    int64_t T = rows_of(dy), n_table = rows_of(table), d = width_of(table);
    float *y = data_of(table);
    if (n_table <= 0 || d <= 0) return gpu_launched();
    if (!onto) gpu_zero(y, bytes_of(table));
    if (T <= 0) return gpu_launched();
    const int32_t *given = sorted ? (const int32_t *)sorted->data : nullptr;
    gpu_order o = {given, given ? given + T : nullptr};
    if (!given && gpu_rows_by_id(data_of(ids), T, n_table, &o)) return -1;
    float *part = (float *)gpu_scratch(SCRATCH_SUMS, (size_t)((T + CHUNK - 1) / CHUNK * 2 * d) * sizeof *part);
    runs r = {y, part, dy->data, o.order, o.key, T, n_table, d, (float)by, onto};
    bool fours = d % 4 == 0 && aligned16(y, dy->data);
    if (dy->type == BF16) return fours ? sum_runs<bf16, 4>(r) : sum_runs<bf16, 1>(r);
    return fours ? sum_runs<float, 4>(r) : sum_runs<float, 1>(r);
}

int cuda_EMBEDDING_BACK(const call *k, err *e)
{
    const view *dy = &k->i.EMBEDDING_BACK.dy, *ids = &k->i.EMBEDDING_BACK.ids, *y = &k->o.EMBEDDING_BACK.y;
    if (y->type != F32 || dy->type != F32 || ids->type != I32) return no_kernel(k, e);
    return launched(sum_rows_by_id(y, false, dy, ids, nullptr, 1), e);
}

int cuda_EMBED_TOKENS_BACK(const call *k, err *e)
{
    const view *base = &k->i.EMBED_TOKENS_BACK.base, *dy = &k->i.EMBED_TOKENS_BACK.dy,
               *ids = &k->i.EMBED_TOKENS_BACK.ids, *sorted = &k->i.EMBED_TOKENS_BACK.sorted,
               *y = &k->o.EMBED_TOKENS_BACK.y;
    if (want_types(k, "frii", "f", e)) return -1;
    if (base->data && base->data != y->data) gpu_copy(y->data, base->data, bytes_of(y));
    return launched(sum_rows_by_id(y, base->data != nullptr, dy, ids, sorted, k->a.EMBED_TOKENS.scale), e);
}
