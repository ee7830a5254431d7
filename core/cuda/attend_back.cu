/* attend_back.cu - attention backward: the probabilities are computed again from the log-sum-exp of each row (Dao et al. 2022).
 *
 * With P the probabilities, D dropout's factors, M = P D: dv = M' dy; dM = dy v'; dS = P (dM D - delta) with delta = rowsum(dy y);
 * dq = scale dS k; dk = scale dS' q. No sum crosses blocks: who owns a tile of queries goes through the keys and has dq, who
 * owns a tile of keys goes through the queries and has dk and dv. Both are in one launch, side by side, so that they find the
 * sentence's rows in the cache.
 */
#include "cuda/attend_plain.h"

/* Rows of tiles: a warp's own, and those it goes through of either side. */
enum { OWN = 16, KEYS = 32, QUERIES = 16, WARPS = 2 };
#define LOG2_E 1.44269504f

/* ---- bf16: a warp's tile; W > 1: a block's, each warp with D of the columns from `from` on ---- */

/* Sums over columns of dy y: of the rows g and g + 8, for the owner of queries. */
template <int D>
__device__ __forceinline__ void delta_of_own(float (&delta)[1][4], const unsigned (&dy)[D / 16][4], const gpu_columns &y, int64_t row,
                                             int column, int n, int width)
{
    unsigned own[D / 16][4];
    take_left<D>(own, at_row<const bf16>(y, row, column), (int)y.stride, n, width);
    UNROLL for (int c = 0; c < D / 16; c++) UNROLL for (int i = 0; i < 4; i++) {
        delta[0][i % 2] += low_of(dy[c][i]) * low_of(own[c][i]);
        delta[0][i % 2] += high_of(dy[c][i]) * high_of(own[c][i]);
    }
    UNROLL for (int r = 0; r < 2; r++) delta[0][r] = four_sum(delta[0][r]);
}

/* dp += v dy' over columns, as add_scores, and in delta[0][j] what is above of row 8 j + g, for the owner of keys. */
template <int D>
__device__ __forceinline__ void add_dp_and_delta(float (&dp)[QUERIES / 8][4], float (&delta)[1][4], const unsigned (&v)[D / 16][4],
                                                 const bf16 *dy, int dy_stride, const bf16 *y, int y_stride, int n, int width)
{
    int lane = threadIdx.x & 31;
    FRESH(lane);
    FRESH(dy_stride);
    FRESH(y_stride);
    int g = lane >> 2, t = lane & 3;
    UNROLL for (int j = 0; j < QUERIES / 8; j++) {
        UNROLL for (int c = 0; c < D / 32; c++) {
            int row = 8 * j + g, column = 32 * c + 8 * t;
            bool there = row < n && column < width;
            unsigned a[4], b[4];
            take_words(a, dy + row * dy_stride + column, there);
            take_words(b, y + row * y_stride + column, there);
            UNROLL for (int i = 0; i < 4; i++) {
                delta[0][j] += low_of(a[i]) * low_of(b[i]);
                delta[0][j] += high_of(a[i]) * high_of(b[i]);
            }
            UNROLL for (int i = 0; i < 2; i++) {
                unsigned pair[2] = {a[2 * i], a[2 * i + 1]};
                mma_16816(dp[j], v[2 * c + i], pair);
            }
        }
        delta[0][j] = four_sum(delta[0][j]);
    }
}

template <int D, int W>
__device__ __forceinline__ void back_queries(const gpu_attention &a, philox_key dice, int head, int slot, int from)
{
    int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    attend_place at = place_of(a, false, slot, OWN);
    if (at.n <= 0) return;
    int d_k = a.d_k - from, d_v = a.d_v - from, k_column = head * a.d_k + from, v_column = head * a.d_v + from;
    int k_stride = (int)a.k.stride, v_stride = (int)a.v.stride;
    int row = at.own.first + at.first;

    unsigned q[D / 16][4], dy[D / 16][4];
    take_left<D>(q, at_row<const bf16>(a.q, row, k_column), (int)a.q.stride, at.n, d_k);
    take_left<D>(dy, at_row<const bf16>(a.dy, row, v_column), (int)a.dy.stride, at.n, d_v);
    float delta[1][4] = {}, lse[2], dq[D / 8][4] = {};
    delta_of_own<D>(delta, dy, a.y, row, v_column, at.n, d_v);
    add_warps<W>(delta);
    UNROLL for (int r = 0; r < 2; r++) lse[r] = g + 8 * r < at.n ? a.lse[(int64_t)(row + g + 8 * r) * a.heads + head] * LOG2_E : 0;

    int keys = a.causal ? min(at.other.n, at.first + at.n) : at.other.n;
    for (int key = 0; key < keys; key += KEYS) {
        int first = at.other.first + key;
        FRESH(first);
        const bf16 *k = at_row<const bf16>(a.k, first, k_column), *v = at_row<const bf16>(a.v, first, v_column);
        unsigned keep = a.drop.least ? keep32<2>(a, dice, row + lane / 2, head, key, min((int)KEYS, keys - key)) : ~0u;
        float s[KEYS / 8][4] = {}, dp[KEYS / 8][4] = {};
        add_scores<D>(s, q, k, k_stride, keys - key, d_k);
        add_scores<D>(dp, dy, v, v_stride, keys - key, d_v);
        add_warps<W>(s);
        add_warps<W>(dp);
        UNROLL for (int r = 0; r < 2; r++) {
            int seen = a.causal ? min(keys, at.first + g + 8 * r + 1) : keys;
            unsigned bits = __shfl_sync(0xffffffffu, keep, 2 * g + 16 * r) >> 2 * t;
            UNROLL for (int j = 0; j < KEYS / 8; j++) UNROLL for (int i = 0; i < 2; i++) {
                float *x = &s[j][2 * r + i], p = exp2f(*x * (a.scale * LOG2_E) - lse[r]);
                float dm = bits >> (8 * j + i) & 1 ? dp[j][2 * r + i] * a.drop.scale : 0;
                *x = key + 8 * j + 2 * t + i < seen ? p * (dm - delta[0][r]) * a.scale : 0;
            }
        }
        add_product<D>(dq, s, k, k_stride, keys - key, d_k);
    }
    FRESH(row);
    give<D>(dq, 1, 1, at_row<bf16>(a.dq, row, k_column), (int)a.dq.stride, at.n, d_k);
}

template <int D, int W>
__device__ __forceinline__ void back_keys(const gpu_attention &a, philox_key dice, int head, int slot, int from)
{
    int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    attend_place at = place_of(a, true, slot, OWN);
    if (at.n <= 0) return;
    int d_k = a.d_k - from, d_v = a.d_v - from;
    int row = at.own.first + at.first;

    unsigned k[D / 16][4], v[D / 16][4];
    take_left<D>(k, at_row<const bf16>(a.k, row, head * a.d_k + from), (int)a.k.stride, at.n, d_k);
    take_left<D>(v, at_row<const bf16>(a.v, row, head * a.d_v + from), (int)a.v.stride, at.n, d_v);
    float dk[D / 8][4] = {}, dv[D / 8][4] = {};
    int q_stride = (int)a.q.stride, dy_stride = (int)a.dy.stride, y_stride = (int)a.y.stride;
    for (int query = a.causal ? at.first : 0; query < at.other.n; query += QUERIES) {
        int first = at.other.first + query, n = at.other.n - query;
        FRESH(first);
        FRESH(head);
        const bf16 *q = at_row<const bf16>(a.q, first, head * a.d_k + from);
        const bf16 *dy = at_row<const bf16>(a.dy, first, head * a.d_v + from), *y = at_row<const bf16>(a.y, first, head * a.d_v + from);
        unsigned my_keep = a.drop.least ? keep32<2>(a, dice, first + lane / 2, head, at.first, at.n) : ~0u;
        float s[QUERIES / 8][4] = {}, dp[QUERIES / 8][4] = {}, delta[1][4] = {}; /* [keys][queries]: turned round */
        add_scores<D>(s, k, q, q_stride, n, d_k);
        add_dp_and_delta<D>(dp, delta, v, dy, dy_stride, y, y_stride, n, d_v);
        add_warps<W>(s);
        add_warps<W>(dp);
        add_warps<W>(delta);
        /* lane: the query (two lanes for my_keep) */
        float my_lse = lane < min((int)QUERIES, n) ? a.lse[(int64_t)(first + lane) * a.heads + head] * LOG2_E : 0;
        UNROLL for (int j = 0; j < QUERIES / 8; j++) UNROLL for (int i = 0; i < 2; i++) {
            int at_query = 8 * j + 2 * t + i;
            float lse = __shfl_sync(0xffffffffu, my_lse, at_query), d = __shfl_sync(0xffffffffu, delta[0][j], 4 * (2 * t + i));
            unsigned keep = __shfl_sync(0xffffffffu, my_keep, 2 * at_query);
            UNROLL for (int r = 0; r < 2; r++) {
                int key = at.first + g + 8 * r;
                bool seen = at_query < n && g + 8 * r < at.n && (!a.causal || key <= query + at_query);
                float *x = &s[j][2 * r + i], *ds = &dp[j][2 * r + i], p = seen ? exp2f(*x * (a.scale * LOG2_E) - lse) : 0;
                float by = keep >> (g + 8 * r) & 1 ? a.drop.scale : 0;
                *x = p * by;
                *ds = p * (*ds * by - d) * a.scale;
            }
        }
        add_product<D>(dv, s, dy, dy_stride, n, d_v);
        add_product<D>(dk, dp, q, q_stride, n, d_k);
    }
    FRESH(row);
    give<D>(dk, 1, 1, at_row<bf16>(a.dk, row, head * a.d_k + from), (int)a.dk.stride, at.n, d_k);
    give<D>(dv, 1, 1, at_row<bf16>(a.dv, row, head * a.d_v + from), (int)a.dv.stride, at.n, d_v);
}

/* The bounds are as many warps a multiprocessor as fit without spilled registers. */
template <int D, int W>
__global__ void __launch_bounds__(32 * (W > 1 ? W : WARPS), W > 1 ? 8 / W : 12 / WARPS)
back_bf16(gpu_attention a, const gpu_counter *counter)
{
    int warp = threadIdx.x >> 5, head = (int)(blockIdx.x % (unsigned)a.heads), i = (int)(blockIdx.x / (unsigned)a.heads);
    if (W == 1) i = i * WARPS + warp;
    philox_key dice = {};
    if (a.drop.least) dice = key_of(counter, a.drop.place);
    if (i % 2)
        back_keys<D, W>(a, dice, head, i / 2, W > 1 ? warp * D : 0);
    else
        back_queries<D, W>(a, dice, head, i / 2, W > 1 ? warp * D : 0);
}

/* Slots of both sides, of whichever has more. */
static int64_t slots_of_both(const gpu_attention *a, int tile)
{
    return 2 * slots_of(a->rows > a->keys ? a->rows : a->keys, a->sentences, tile);
}

template <int D, int W> static int run_bf16(const gpu_attention *a)
{
    int64_t slots = slots_of_both(a, OWN), blocks = W > 1 ? slots : (slots + WARPS - 1) / WARPS;
    return LAUNCH((back_bf16<D, W>), dim3((unsigned)(blocks * a->heads)), dim3(32 * (W > 1 ? W : WARPS)), 0, *a, gpu_counters());
}

/* ---- F32: a block's tile and CHUNK columns ---- */

/* lse and delta of rows row .. row + n - 1 to shared memory. */
__device__ __forceinline__ void plain_deltas(const gpu_attention &a, int64_t row, int n, int head, plain_memory &m)
{
    int i = threadIdx.x / 8, j = threadIdx.x % 8;
    plain_rows y = rows_from(a.y, row, head * a.d_v, n), dy = rows_from(a.dy, row, head * a.d_v, n);
    for (int r = 2 * i; r < 2 * i + 2; r++) {
        float sum = 0;
        if (r < n)
            for (int c = j; c < a.d_v; c += 8) sum += y.x[r * y.stride + c] * dy.x[r * dy.stride + c];
        sum = eight_sum(sum);
        if (j == 0) m.delta[r] = sum, m.lse[r] = r < n ? a.lse[(row + r) * a.heads + head] : 0;
    }
}

__device__ __forceinline__ void plain_queries(const gpu_attention &a, philox_key dice, int head, int slot, int from, plain_memory &m)
{
    int i = threadIdx.x / 8, j = threadIdx.x % 8, k_column = head * a.d_k, v_column = head * a.d_v;
    attend_place at = place_of(a, false, slot, PLAIN);
    if (at.n <= 0 || from >= a.d_k) return;
    int64_t row = at.own.first + at.first;
    plain_rows q = rows_from(a.q, row, k_column, at.n), dy = rows_from(a.dy, row, v_column, at.n);
    plain_deltas(a, row, at.n, head, m);
    float dq[2][8] = {}, one[2] = {1, 1};
    int keys = a.causal ? min(at.other.n, at.first + at.n) : at.other.n;
    for (int key = 0; key < keys; key += PLAIN) {
        plain_rows k = rows_from(a.k, at.other.first + key, k_column, keys - key);
        plain_rows v = rows_from(a.v, at.other.first + key, v_column, keys - key);
        float s[2][4], dp[2][4];
        plain_scores(s, q, k, a.d_k, m);
        plain_scores(dp, dy, v, a.d_v, m);
        if (a.drop.least) plain_keep(a, dice, row, head, key, min((int)PLAIN, keys - key), m);
        plain_chunk(k, from, a.d_k, m);
        __syncthreads();
        UNROLL for (int r = 0; r < 2; r++) UNROLL for (int c = 0; c < 4; c++) {
            int query = 2 * i + r, other = j + 8 * c;
            bool seen = key + other < keys && (!a.causal || key + other <= at.first + query);
            float by = !a.drop.least || m.keep[query] >> other & 1 ? a.drop.scale : 0, p = expf(s[r][c] * a.scale - m.lse[query]);
            m.ds[query][other] = seen ? p * (dp[r][c] * by - m.delta[query]) * a.scale : 0;
        }
        __syncwarp(); /* a warp's rows are its own */
        plain_add(dq, m.ds, m);
    }
    plain_give(dq, one, at_row<float>(a.dq, row, k_column), (int)a.dq.stride, at.n, from, a.d_k);
}

__device__ __forceinline__ void plain_keys(const gpu_attention &a, philox_key dice, int head, int slot, int from, plain_memory &m)
{
    int i = threadIdx.x / 8, j = threadIdx.x % 8, k_column = head * a.d_k, v_column = head * a.d_v;
    attend_place at = place_of(a, true, slot, PLAIN);
    if (at.n <= 0) return;
    int64_t row = at.own.first + at.first;
    plain_rows k = rows_from(a.k, row, k_column, at.n), v = rows_from(a.v, row, v_column, at.n);
    float dk[2][8] = {}, dv[2][8] = {}, one[2] = {1, 1};
    for (int query = a.causal ? at.first : 0; query < at.other.n; query += PLAIN) {
        int64_t first = at.other.first + query;
        int n = at.other.n - query;
        plain_rows q = rows_from(a.q, first, k_column, n), dy = rows_from(a.dy, first, v_column, n);
        if (a.drop.least) plain_keep(a, dice, first, head, at.first, at.n, m); /* the last ones are read: barriers came since */
        float s[2][4], dp[2][4];                                               /* [keys][queries]: turned round */
        plain_scores(s, k, q, a.d_k, m);
        plain_scores(dp, v, dy, a.d_v, m);
        plain_deltas(a, first, n, head, m);
        plain_chunk(dy, from, a.d_v, m);
        __syncthreads();
        UNROLL for (int r = 0; r < 2; r++) UNROLL for (int c = 0; c < 4; c++) {
            int key = 2 * i + r, other = j + 8 * c;
            bool seen = key < at.n && other < n && (!a.causal || at.first + key <= query + other);
            float by = !a.drop.least || m.keep[other] >> key & 1 ? a.drop.scale : 0;
            float p = seen ? expf(s[r][c] * a.scale - m.lse[other]) : 0;
            m.p[key][other] = p * by;
            m.ds[key][other] = p * (dp[r][c] * by - m.delta[other]) * a.scale;
        }
        __syncwarp(); /* a warp's rows are its own */
        plain_add(dv, m.p, m);
        __syncthreads();
        plain_chunk(q, from, a.d_k, m);
        __syncthreads();
        plain_add(dk, m.ds, m);
    }
    plain_give(dk, one, at_row<float>(a.dk, row, k_column), a.dk.stride, at.n, from, a.d_k);
    plain_give(dv, one, at_row<float>(a.dv, row, v_column), (int)a.dv.stride, at.n, from, a.d_v);
}

__global__ void __launch_bounds__(PLAIN_THREADS) back_f32(gpu_attention a, const gpu_counter *counter, int chunks)
{
    __shared__ plain_memory m;
    int block = (int)blockIdx.x, head = block % a.heads, from = block / a.heads % chunks * CHUNK;
    int i = block / a.heads / chunks;
    philox_key dice = {};
    if (a.drop.least) dice = key_of(counter, a.drop.place);
    if (i % 2)
        plain_keys(a, dice, head, i / 2, from, m);
    else
        plain_queries(a, dice, head, i / 2, from, m);
}

/* ---- launcher ---- */

extern "C" int gpu_attend_back(const gpu_attention *a)
{
    if ((!a->rows && !a->keys) || !a->heads) return 0;
    int width = a->d_k > a->d_v ? a->d_k : a->d_v;
    if (a->type == 0) {
        int chunks = (width + CHUNK - 1) / CHUNK;
        int64_t blocks = slots_of_both(a, PLAIN) * a->heads * chunks;
        return LAUNCH(back_f32, dim3((unsigned)blocks), dim3(PLAIN_THREADS), 0, *a, gpu_counters(), chunks);
    }
    if (!rows_fit(a)) return gpu_attend_packed(a, 1, NULL);
    return width <= 32    ? run_bf16<32, 1>(a)
           : width <= 64  ? run_bf16<64, 1>(a)
           : width <= 128 ? run_bf16<64, 2>(a)
           : width <= 256 ? run_bf16<64, 4>(a)
                          : run_bf16<64, 8>(a);
}
