/* attend_back.cu - attention backward: the probabilities are computed again from the log-sum-exp of each row (Dao et
 * al. 2022).
 *
 * With P the probabilities, D dropout's factors, M = P D: dv = M' dy; dM = dy v'; dS = P (dM D - delta) with delta =
 * rowsum(dy y); dq = scale dS k; dk = scale dS' q. No sum crosses blocks.
 *
 * A sentence of at most ATTEND_WHOLE queries and keys is one block's, per head: the scores are computed once, for dk
 * and dv, and leave dS in shared memory, from which dq is summed. That saves two of seven products, half of the
 * exponentials and of dropout's draws, and most reads of y. In a longer sentence, who owns a tile of queries goes
 * through the keys and has dq, who owns a tile of keys goes through the queries and has dk and dv: both in one block or
 * side by side, so that they find the sentence's rows in the cache.
 *
 * Each sentence decides for itself (the table of tiles says so), not the tape by its longest: nearly every corpus has a
 * few longer sentences, and one launch does both kinds. So a sentence's bits are its own, too.
 */
#include "tensor/cuda/attend_plain.h"

/* Rows of tiles: a warp's own, and those it goes through of either side. */
enum { OWN = ATTEND_TILE, KEYS = 32, QUERIES = 16, WARPS = 2 };
#define LOG2_E 1.44269504f

/* A place in a table of both sides, as either side has it: the dummies of one see nothing of the other. */
__device__ __forceinline__ attend_place seen_by_queries(attend_place at, int sentences)
{
    if (at.sentence == sentences) at.other.n = 0;
    return at;
}
__device__ __forceinline__ attend_place seen_by_keys(attend_place at, int sentences, int tile)
{
    span queries = at.own;
    at.own = at.other, at.other = queries;
    if (at.sentence == sentences) at.other.n = 0;
    at.n = min(tile, at.own.n - at.first);
    return at;
}

/* ---- bf16: a warp's tile; W > 1: a block's, each warp with D of the columns from `from` on ---- */

/* Sums over columns of dy y: of the rows g and g + 8, for the owner of queries. */
template <int D>
__device__ __forceinline__ void delta_of_own(float (&delta)[1][4], const unsigned (&dy)[D / 16][4],
                                             const gpu_columns &y, int64_t row, int column, int n, int width)
{
    unsigned own[D / 16][4];
    take_left<D>(own, at_row<const bf16>(y, row, column), (int)y.stride, n, width);
    UNROLL for (int c = 0; c < D / 16; c++) UNROLL for (int i = 0; i < 4; i++)
    {
        delta[0][i % 2] += low_of(dy[c][i]) * low_of(own[c][i]);
        delta[0][i % 2] += high_of(dy[c][i]) * high_of(own[c][i]);
    }
    UNROLL for (int r = 0; r < 2; r++) delta[0][r] = four_sum(delta[0][r]);
}

/* dp += v dy' over columns, as add_scores, and in delta[0][j] what is above of row 8 j + g, for the owner of keys. */
template <int D>
__device__ __forceinline__ void add_dp_and_delta(float (&dp)[QUERIES / 8][4], float (&delta)[1][4],
                                                 const unsigned (&v)[D / 16][4], const bf16 *dy, int dy_stride,
                                                 const bf16 *y, int y_stride, int n, int width)
{
    int lane = threadIdx.x & 31;
    FRESH(lane);
    FRESH(dy_stride);
    FRESH(y_stride);
    int g = lane >> 2, t = lane & 3;
    UNROLL for (int j = 0; j < QUERIES / 8; j++)
    {
        UNROLL for (int c = 0; c < D / 32; c++)
        {
            int row = 8 * j + g, column = 32 * c + 8 * t;
            bool there = row < n && column < width;
            unsigned a[4], b[4];
            take_words(a, dy + row * dy_stride + column, there);
            take_words(b, y + row * y_stride + column, there);
            UNROLL for (int i = 0; i < 4; i++)
            {
                delta[0][j] += low_of(a[i]) * low_of(b[i]);
                delta[0][j] += high_of(a[i]) * high_of(b[i]);
            }
            UNROLL for (int i = 0; i < 2; i++)
            {
                unsigned pair[2] = {a[2 * i], a[2 * i + 1]};
                mma_16816(dp[j], v[2 * c + i], pair);
            }
        }
        delta[0][j] = four_sum(delta[0][j]);
    }
}

template <int D, int W>
__device__ __forceinline__ void back_queries(const gpu_attention &a, philox_key dice, int head, const attend_place &at,
                                             int from)
{
    int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    int d_k = a.d_k - from, d_v = a.d_v - from, k_column = head * a.d_k + from, v_column = head * a.d_v + from;
    int k_stride = (int)a.k.stride, v_stride = (int)a.v.stride;
    int row = at.own.first + at.first;

    unsigned q[D / 16][4], dy[D / 16][4];
    take_left<D>(q, at_row<const bf16>(a.q, row, k_column), (int)a.q.stride, at.n, d_k);
    take_left<D>(dy, at_row<const bf16>(a.dy, row, v_column), (int)a.dy.stride, at.n, d_v);
    float delta[1][4] = {}, lse[2], dq[D / 8][4] = {};
    delta_of_own<D>(delta, dy, a.y, row, v_column, at.n, d_v);
    add_warps<W>(delta);
    UNROLL for (int r = 0; r < 2; r++) lse[r] =
        g + 8 * r < at.n ? a.lse[(int64_t)(row + g + 8 * r) * a.heads + head] * LOG2_E : 0;

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
        UNROLL for (int r = 0; r < 2; r++)
        {
            int seen = a.causal ? min(keys, at.first + g + 8 * r + 1) : keys;
            unsigned bits = __shfl_sync(0xffffffffu, keep, 2 * g + 16 * r) >> 2 * t;
            UNROLL for (int j = 0; j < KEYS / 8; j++) UNROLL for (int i = 0; i < 2; i++)
            {
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

struct whole_sentence { /* in shared memory; rows of ds are padded to avoid bank conflicts */
    unsigned ds[ATTEND_WHOLE][ATTEND_WHOLE / 2 + 4]; /* [queries][keys] in bf16 */
    float delta[ATTEND_WHOLE], lse[ATTEND_WHOLE];
    attend_place at; /* the block's place; sentence < 0: there is none left */
    int next;        /* the number of the one after it: here, for registers are scarce */
};

__device__ __forceinline__ void take_next(const gpu_attention &a, whole_sentence &m)
{
    if (m.next < *a.tiles)
        m.at = place_in(a.tiles, m.next);
    else
        m.at.sentence = -1;
    m.next += (int)gridDim.y;
}

/* A tile of keys. whole: of a short sentence, whose delta and lse are there, and whose ds is to be. */
template <int D, int W, bool WHOLE>
__device__ __forceinline__ void back_keys(const gpu_attention &a, philox_key dice, int head, const attend_place &at,
                                          int from, whole_sentence *whole)
{
    int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    int d_k = a.d_k - from, d_v = a.d_v - from;
    int row = at.own.first + at.first;

    float dk[D / 8][4] = {}, dv[D / 8][4] = {};
    int q_stride = (int)a.q.stride, dy_stride = (int)a.dy.stride, y_stride = (int)a.y.stride;
    for (int query = a.causal ? at.first : 0; query < at.other.n; query += QUERIES) {
        int first = at.other.first + query, n = at.other.n - query;
        FRESH(first);
        FRESH(head);
        const bf16 *q = at_row<const bf16>(a.q, first, head * a.d_k + from);
        const bf16 *dy = at_row<const bf16>(a.dy, first, head * a.d_v + from),
                   *y = at_row<const bf16>(a.y, first, head * a.d_v + from);
        unsigned my_keep = a.drop.least ? keep32<2>(a, dice, first + lane / 2, head, at.first, at.n) : ~0u;
        /* [keys][queries]: turned round */
        float s[QUERIES / 8][4] = {}, dp[QUERIES / 8][4] = {}, delta[1][4] = {}, my_lse = 0;
        unsigned own[D / 16][4]; /* k, then v: loaded again for each tile, for there are no registers to keep them in */
        FRESH(row);
        take_left<D>(own, at_row<const bf16>(a.k, row, head * a.d_k + from), (int)a.k.stride, at.n, d_k);
        add_scores<D>(s, own, q, q_stride, n, d_k);
        FRESH(row);
        take_left<D>(own, at_row<const bf16>(a.v, row, head * a.d_v + from), (int)a.v.stride, at.n, d_v);
        if (WHOLE)
            add_scores<D>(dp, own, dy, dy_stride, n, d_v);
        else
            add_dp_and_delta<D>(dp, delta, own, dy, dy_stride, y, y_stride, n, d_v);
        add_warps<W>(s);
        add_warps<W>(dp);
        if (!WHOLE) {
            add_warps<W>(delta);
            /* lane: the query (two lanes for my_keep) */
            my_lse = lane < min((int)QUERIES, n) ? a.lse[(int64_t)(first + lane) * a.heads + head] * LOG2_E : 0;
        }
        UNROLL for (int j = 0; j < QUERIES / 8; j++) UNROLL for (int i = 0; i < 2; i++)
        {
            int at_query = 8 * j + 2 * t + i;
            float lse = WHOLE ? whole->lse[query + at_query] : __shfl_sync(0xffffffffu, my_lse, at_query);
            float d = WHOLE ? whole->delta[query + at_query] : __shfl_sync(0xffffffffu, delta[0][j], 4 * (2 * t + i));
            unsigned keep = __shfl_sync(0xffffffffu, my_keep, 2 * at_query);
            UNROLL for (int r = 0; r < 2; r++)
            {
                int key = at.first + g + 8 * r;
                bool seen = at_query < n && g + 8 * r < at.n && (!a.causal || key <= query + at_query);
                float *x = &s[j][2 * r + i], *ds = &dp[j][2 * r + i],
                      p = seen ? exp2f(*x * (a.scale * LOG2_E) - lse) : 0;
                float by = keep >> (g + 8 * r) & 1 ? a.drop.scale : 0;
                *x = p * by;
                *ds = p * (*ds * by - d) * a.scale;
                if (WHOLE && from == 0) ((bf16 *)whole->ds[query + at_query])[key] = to_bf16(*ds);
            }
        }
        add_product<D>(dv, s, dy, dy_stride, n, d_v);
        add_product<D>(dk, dp, q, q_stride, n, d_k);
    }
    FRESH(row);
    give<D>(dk, 1, 1, at_row<bf16>(a.dk, row, head * a.d_k + from), (int)a.dk.stride, at.n, d_k);
    give<D>(dv, 1, 1, at_row<bf16>(a.dv, row, head * a.d_v + from), (int)a.dv.stride, at.n, d_v);
}

/* delta and lse of the tile of queries at `query`. */
template <int D, int W>
__device__ __forceinline__ void prepare_queries(const gpu_attention &a, int head, const attend_place &at, int query,
                                                int from, whole_sentence &m)
{
    int lane = threadIdx.x & 31, row = at.own.first + query, n = at.own.n - query, v_column = head * a.d_v + from;
    unsigned dy[D / 16][4];
    float delta[1][4] = {};
    take_left<D>(dy, at_row<const bf16>(a.dy, row, v_column), (int)a.dy.stride, n, a.d_v - from);
    delta_of_own<D>(delta, dy, a.y, row, v_column, n, a.d_v - from);
    add_warps<W>(delta);
    if (from) return;
    if (lane % 4 == 0) m.delta[query + lane / 4] = delta[0][0], m.delta[query + lane / 4 + 8] = delta[0][1];
    if (lane < OWN) m.lse[query + lane] = lane < n ? a.lse[(int64_t)(row + lane) * a.heads + head] * LOG2_E : 0;
}

/* dq of the tile of queries at `query`, from ds. */
template <int D>
__device__ __forceinline__ void give_dq(const gpu_attention &a, int head, const attend_place &at, int query, int from,
                                        const whole_sentence &m)
{
    int lane = threadIdx.x & 31, n = min((int)OWN, at.own.n - query),
        keys = a.causal ? min(at.other.n, query + n) : at.other.n;
    int d_k = a.d_k - from, k_column = head * a.d_k + from;
    const bf16 *k = at_row<const bf16>(a.k, at.other.first, k_column);
    float dq[D / 8][4] = {};
    for (int key = 0; key < keys; key += OWN) {
        const unsigned *up = &m.ds[query + lane / 4][key / 2 + lane % 4],
                       *down = &m.ds[query + lane / 4 + 8][key / 2 + lane % 4];
        unsigned ds[4] = {up[0], down[0], up[4], down[4]};
        add_rows<D>(dq, ds, lane, k, (int)a.k.stride, key, keys, d_k);
    }
    give<D>(dq, 1, 1, at_row<bf16>(a.dq, at.own.first + query, k_column), (int)a.dq.stride, n, d_k);
}

/* A short sentence, by a whole block; W == 1: its warps take tiles in turns. m.at is read again and again: registers
 * are scarce. */
template <int D, int W>
__device__ __forceinline__ void back_sentence(const gpu_attention &a, philox_key dice, int head, int from,
                                              whole_sentence &m)
{
    constexpr int ALL = W > 1 ? OWN : WARPS * OWN;
    int mine = W > 1 ? 0 : (int)(threadIdx.x >> 5) * OWN;
    for (int query = mine; query < m.at.own.n; query += ALL) prepare_queries<D, W>(a, head, m.at, query, from, m);
    __syncthreads();
    for (int key = mine; key < m.at.other.n; key += ALL) {
        attend_place keys = {m.at.other, m.at.own, key, min((int)OWN, m.at.other.n - key), 0, 1};
        back_keys<D, W, true>(a, dice, head, keys, from, &m);
    }
    __syncthreads();
    for (int query = mine; query < m.at.own.n; query += ALL) give_dq<D>(a, head, m.at, query, from, m);
}

/* The bounds are as many warps a multiprocessor as fit without spilled registers. */
template <int D, int W>
__global__ void __launch_bounds__(32 * (W > 1 ? W : WARPS), W > 1 ? 8 / W : 12 / WARPS)
    attend_back_bf16(gpu_attention a, const gpu_counter *counter)
{
    int warp = threadIdx.x >> 5, head = (int)blockIdx.x, from = W > 1 ? warp * D : 0;
    philox_key dice = {};
    if (a.drop.least) dice = key_of(counter, a.drop.place);
    __shared__ whole_sentence m;
    if (!threadIdx.x) m.next = (int)blockIdx.y;
    for (;;) {
        FRESH(head);
        __syncthreads(); /* the place before is done */
        if (!threadIdx.x) take_next(a, m);
        __syncthreads();
        if (m.at.sentence < 0) return;
        if (m.at.whole) {
            back_sentence<D, W>(a, dice, head, from, m);
            continue;
        }
        attend_place queries = seen_by_queries(m.at, a.sentences), keys = seen_by_keys(m.at, a.sentences, OWN);
        if ((W > 1 || warp == 0) && queries.n > 0) back_queries<D, W>(a, dice, head, queries, from);
        if ((W > 1 || warp == 1) && keys.n > 0) back_keys<D, W, false>(a, dice, head, keys, from, nullptr);
    }
}

/* As many as sentences of a tile's rows make: one of up to ATTEND_WHOLE needs only one. */
static int64_t blocks_of(const gpu_attention *a, int tile)
{
    int64_t rows = a->rows > a->keys ? a->rows : a->keys;
    return tiles_at_once(a, rows, tile, rows / tile);
}

template <int D, int W> static int run_bf16(const gpu_attention *a)
{
    return LAUNCH((attend_back_bf16<D, W>), tile_grid(a->heads, blocks_of(a, OWN)), dim3(32 * (W > 1 ? W : WARPS)), 0,
                  *a, gpu_counters());
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

__device__ __forceinline__ void plain_queries(const gpu_attention &a, philox_key dice, int head, const attend_place &at,
                                              int from, plain_memory &m)
{
    int i = threadIdx.x / 8, j = threadIdx.x % 8, k_column = head * a.d_k, v_column = head * a.d_v;
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
        UNROLL for (int r = 0; r < 2; r++) UNROLL for (int c = 0; c < 4; c++)
        {
            int query = 2 * i + r, other = j + 8 * c;
            bool seen = key + other < keys && (!a.causal || key + other <= at.first + query);
            float by = !a.drop.least || m.keep[query] >> other & 1 ? a.drop.scale : 0,
                  p = expf(s[r][c] * a.scale - m.lse[query]);
            m.ds[query][other] = seen ? p * (dp[r][c] * by - m.delta[query]) * a.scale : 0;
        }
        __syncwarp(); /* a warp's rows are its own */
        plain_add(dq, m.ds, m);
    }
    plain_give(dq, one, at_row<float>(a.dq, row, k_column), (int)a.dq.stride, at.n, from, a.d_k);
}

/* m.p = P D and m.ds = dS, [keys][queries], of a tile of keys and the queries from `query`, whose dy is then in
 * m.chunk. */
__device__ __forceinline__ void plain_pairs(const gpu_attention &a, philox_key dice, int head, const attend_place &at,
                                            int query, int from, plain_memory &m)
{
    int i = threadIdx.x / 8, j = threadIdx.x % 8, k_column = head * a.d_k, v_column = head * a.d_v,
        n = at.other.n - query;
    int64_t row = at.own.first + at.first, first = at.other.first + query;
    plain_rows k = rows_from(a.k, row, k_column, at.n), v = rows_from(a.v, row, v_column, at.n);
    plain_rows q = rows_from(a.q, first, k_column, n), dy = rows_from(a.dy, first, v_column, n);
    /* the last ones are read: barriers came since */
    if (a.drop.least) plain_keep(a, dice, first, head, at.first, at.n, m);
    float s[2][4], dp[2][4]; /* turned round, too */
    plain_scores(s, k, q, a.d_k, m);
    plain_scores(dp, v, dy, a.d_v, m);
    plain_deltas(a, first, n, head, m);
    plain_chunk(dy, from, a.d_v, m);
    __syncthreads();
    UNROLL for (int r = 0; r < 2; r++) UNROLL for (int c = 0; c < 4; c++)
    {
        int key = 2 * i + r, other = j + 8 * c;
        bool seen = key < at.n && other < n && (!a.causal || at.first + key <= query + other);
        float by = !a.drop.least || m.keep[other] >> key & 1 ? a.drop.scale : 0;
        float p = seen ? expf(s[r][c] * a.scale - m.lse[other]) : 0;
        m.p[key][other] = p * by;
        m.ds[key][other] = p * (dp[r][c] * by - m.delta[other]) * a.scale;
    }
    __syncwarp(); /* a warp's rows are its own */
}
/* dv and dk of the pairs. */
__device__ __forceinline__ void plain_keys_add(float (&dk)[2][8], float (&dv)[2][8], plain_rows q, int from, int d_k,
                                               plain_memory &m)
{
    plain_add(dv, m.p, m);
    __syncthreads();
    plain_chunk(q, from, d_k, m);
    __syncthreads();
    plain_add(dk, m.ds, m);
}
__device__ __forceinline__ void plain_keys_give(const gpu_attention &a, const float (&dk)[2][8],
                                                const float (&dv)[2][8], int head, const attend_place &at, int from)
{
    int64_t row = at.own.first + at.first;
    float one[2] = {1, 1};
    plain_give(dk, one, at_row<float>(a.dk, row, head * a.d_k), (int)a.dk.stride, at.n, from, a.d_k);
    plain_give(dv, one, at_row<float>(a.dv, row, head * a.d_v), (int)a.dv.stride, at.n, from, a.d_v);
}

__device__ __forceinline__ void plain_keys(const gpu_attention &a, philox_key dice, int head, const attend_place &at,
                                           int from, plain_memory &m)
{
    float dk[2][8] = {}, dv[2][8] = {};
    if (at.n <= 0) return;
    for (int query = a.causal ? at.first : 0; query < at.other.n; query += PLAIN) {
        plain_pairs(a, dice, head, at, query, from, m);
        plain_keys_add(dk, dv, rows_from(a.q, at.other.first + query, head * a.d_k, at.other.n - query), from, a.d_k,
                       m);
    }
    plain_keys_give(a, dk, dv, head, at, from);
}

/* A short sentence: tile by tile of keys, with dq of every tile of queries under way. */
__device__ __forceinline__ void plain_sentence(const gpu_attention &a, philox_key dice, int head,
                                               const attend_place &at, int from, plain_memory &m)
{
    enum { TILES = ATTEND_WHOLE / PLAIN };
    float dq[TILES][2][8] = {}, one[2] = {1, 1};
    attend_place keys = seen_by_keys(at, a.sentences, PLAIN);
    for (; keys.first < keys.own.n; keys.first += PLAIN) {
        float dk[2][8] = {}, dv[2][8] = {};
        keys.n = min((int)PLAIN, keys.own.n - keys.first);
        UNROLL for (int tile = 0; tile < TILES; tile++)
        {
            int query = PLAIN * tile;
            if (query >= at.own.n || (a.causal && query < keys.first)) continue;
            plain_pairs(a, dice, head, keys, query, from, m);
            plain_keys_add(dk, dv, rows_from(a.q, at.own.first + query, head * a.d_k, at.own.n - query), from, a.d_k,
                           m);
            __syncthreads();
            plain_chunk(rows_from(a.k, keys.own.first + keys.first, head * a.d_k, keys.n), from, a.d_k, m);
            __syncthreads();
            plain_add_turned(dq[tile], m.ds, m);
        }
        plain_keys_give(a, dk, dv, head, keys, from);
    }
    UNROLL for (int tile = 0; tile < TILES; tile++)
    {
        int64_t row = at.own.first + PLAIN * tile;
        plain_give(dq[tile], one, at_row<float>(a.dq, row, head * a.d_k), (int)a.dq.stride, at.own.n - PLAIN * tile,
                   from, a.d_k);
    }
}

__global__ void __launch_bounds__(PLAIN_THREADS, 2) attend_back_f32(gpu_attention a, const gpu_counter *counter)
{
    __shared__ plain_memory m;
    int head = (int)blockIdx.x % a.heads, from = (int)blockIdx.x / a.heads * CHUNK;
    philox_key dice = {};
    if (a.drop.least) dice = key_of(counter, a.drop.place);
    /* No barrier between two of these: before the first one of plain_scores a warp writes only its own rows of delta,
     * lse and keep, which the other warps have read before a barrier. */
    for (int i = (int)blockIdx.y; i < *a.tiles; i += (int)gridDim.y) {
        attend_place at = place_in(a.tiles, i);
        if (at.whole) {
            plain_sentence(a, dice, head, at, from, m);
            continue;
        }
        plain_queries(a, dice, head, seen_by_queries(at, a.sentences), from, m);
        plain_keys(a, dice, head, seen_by_keys(at, a.sentences, PLAIN), from, m);
    }
}

/* ---- launcher ---- */

extern "C" int gpu_ATTEND_BACK(const gpu_attention *a)
{
    if ((!a->rows && !a->keys) || !a->heads) return 0;
    int width = a->d_k > a->d_v ? a->d_k : a->d_v;
    if (a->type == F32) {
        int chunks = (width + CHUNK - 1) / CHUNK;
        return LAUNCH(attend_back_f32, tile_grid(a->heads * chunks, blocks_of(a, PLAIN)), dim3(PLAIN_THREADS), 0, *a,
                      gpu_counters());
    }
    if (!rows_fit(a)) return gpu_attend_packed(a, 1, NULL);
    return width <= 32    ? run_bf16<32, 1>(a)
           : width <= 64  ? run_bf16<64, 1>(a)
           : width <= 128 ? run_bf16<64, 2>(a)
           : width <= 256 ? run_bf16<64, 4>(a)
                          : run_bf16<64, 8>(a);
}
