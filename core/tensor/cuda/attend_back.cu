/* attend_back.cu - attention backward: the probabilities are computed again from the log-sum-exp of each row (Dao et
 * al. 2022).
 *
 * With P the probabilities, D dropout's factors, M = P D: dv = M' dy; dM = dy v'; dS = P (dM D - delta) with delta =
 * rowsum(dy y); dq = scale dS k; dk = scale dS' q. No sum crosses blocks.
 *
 * A sentence of at most ATTEND_WHOLE queries and keys takes one block per head: it computes the scores once, for dk and
 * dv, and leaves dS in shared memory, from which dq is summed. That saves two of seven products, half of the
 * exponentials and of dropout's draws, and most reads of y. In a longer sentence the owner of a tile of queries loops
 * over the keys and computes dq, the owner of a tile of keys loops over the queries and computes dk and dv. Both run in
 * one block or in adjacent ones, so that they find the sentence's rows in the cache.
 *
 * The choice is made per sentence (in the table of tiles), not per tape: nearly every corpus has a few longer
 * sentences, and one launch does both kinds. So a sentence's bits do not depend on other sentences.
 */
#include "tensor/cuda/attend_tile.h"

/* Rows of a warp's own tile, and of the tiles of keys and of queries that it loops over. */
enum { OWN = ATTEND_TILE, KEYS = 32, QUERIES = 16, WARPS = 2 };

/* Converts an entry of a table of both sides to its tile of queries, or of keys. Dummy rows see no other rows. */
DEVICE attend_place seen_by_queries(attend_place at, int sentences)
{
    if (at.sentence == sentences) at.other.n = 0;
    return at;
}
DEVICE attend_place seen_by_keys(attend_place at, int sentences)
{
    span queries = at.own;
    at.own = at.other, at.other = queries;
    if (at.sentence == sentences) at.other.n = 0;
    at.n = min((int)OWN, at.own.n - at.first);
    return at;
}

/* ---- the tile of a warp (W == 1) or of a block (W > 1: each warp has D columns from `from` on) ---- */

/* sum += dy y over a lane's columns of a row (eight of every 32); nothing unless `there`. */
template <int D, class T> DEVICE void add_row_delta(float &sum, const T *dy, const T *y, bool there, int width)
{
    UNROLL for (int column = 8 * (int)(threadIdx.x & 3); column < D; column += 32)
    {
        float a[8], b[8];
        get8<true>(dy + column, there && column < width ? 8 : 0, a);
        get8<true>(y + column, there && column < width ? 8 : 0, b);
        UNROLL for (int i = 0; i < 8; i++) sum += a[i] * b[i];
    }
}

/* Sums of dy y over the columns of rows g and g + 8, for the owner of queries. */
template <class T, int D>
DEVICE void delta_of_own(float (&delta)[1][4], const gpu_attention &a, int64_t row, int column, int n, int width)
{
    UNROLL for (int r = 0; r < 2; r++)
    {
        int own = (int)(threadIdx.x & 31) / 4 + 8 * r;
        add_row_delta<D>(delta[0][r], at_row<const T>(a.dy, row + own, column), at_row<const T>(a.y, row + own, column),
                         own < n, width);
        delta[0][r] = four_sum(delta[0][r]);
    }
}

/* dp += v dy' over columns, as add_scores, and delta[0][j] += dy y of row 8 j + g; bf16 rows of dy are read once. */
template <int D>
DEVICE void add_dp_and_delta(float (&dp)[QUERIES / 8][4], float (&delta)[1][4], const left_rows<bf16, D> &v,
                             const bf16 *dy, int dy_stride, const bf16 *y, int y_stride, int n, int width)
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
                mma_16816(dp[j], v.a[2 * c + i], pair);
            }
        }
        delta[0][j] = four_sum(delta[0][j]);
    }
}
template <int D>
DEVICE void add_dp_and_delta(float (&dp)[QUERIES / 8][4], float (&delta)[1][4], const left_rows<float, D> &v,
                             const float *dy, int dy_stride, const float *y, int y_stride, int n, int width)
{
    add_scores<D>(dp, v, dy, dy_stride, n, width);
    UNROLL for (int j = 0; j < QUERIES / 8; j++)
    {
        int row = 8 * j + (int)(threadIdx.x & 31) / 4;
        add_row_delta<D>(delta[0][j], dy + row * dy_stride, y + row * y_stride, row < n, width);
        delta[0][j] = four_sum(delta[0][j]);
    }
}

template <class T, int D, int W>
DEVICE void back_queries(const gpu_attention &a, philox_key dice, int head, const attend_place &at, int from)
{
    int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    int d_k = a.d_k - from, d_v = a.d_v - from, k_column = head * a.d_k + from, v_column = head * a.d_v + from;
    int k_stride = (int)a.k.stride, v_stride = (int)a.v.stride;
    int row = at.own.first + at.first;

    left_rows<T, D> q(at_row<const T>(a.q, row, k_column), (int)a.q.stride, at.n, d_k);
    left_rows<T, D> dy(at_row<const T>(a.dy, row, v_column), (int)a.dy.stride, at.n, d_v);
    float delta[1][4] = {}, lse[2], dq[D / 8][4] = {};
    delta_of_own<T, D>(delta, a, row, v_column, at.n, d_v);
    add_warps<W>(delta);
    UNROLL for (int r = 0; r < 2; r++) lse[r] =
        g + 8 * r < at.n ? a.lse[(int64_t)(row + g + 8 * r) * a.heads + head] * LOG2_E : 0;

    int keys = a.causal ? min(at.other.n, at.first + at.n) : at.other.n;
    for (int key = 0; key < keys; key += KEYS) {
        int first = at.other.first + key;
        FRESH(first);
        const T *k = at_row<const T>(a.k, first, k_column), *v = at_row<const T>(a.v, first, v_column);
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
    give<D>(dq, 1, 1, at_row<T>(a.dq, row, k_column), (int)a.dq.stride, at.n, d_k);
}

template <class T> struct __align__(16) whole_sentence
{                                         /* in shared memory */
    T ds[ATTEND_WHOLE][ATTEND_WHOLE + 8]; /* [queries][keys], padded to avoid bank conflicts */
    float delta[ATTEND_WHOLE], lse[ATTEND_WHOLE];
    attend_place at; /* the entry of the table that the block computes; sentence < 0: none is left */
    int next;        /* number of the next entry; in shared memory, because registers are scarce */
};

template <class T> DEVICE void take_next(const gpu_attention &a, whole_sentence<T> &m)
{
    if (m.next < *a.tiles)
        m.at = place_in(a.tiles, m.next);
    else
        m.at.sentence = -1;
    m.next += (int)gridDim.y;
}

/* Computes dk and dv of a tile of keys. WHOLE: of a short sentence, with delta, lse and ds in shared memory. */
template <class T, int D, int W, bool WHOLE>
DEVICE void back_keys(const gpu_attention &a, philox_key dice, int head, const attend_place &at, int from,
                      whole_sentence<T> *whole)
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
        const T *q = at_row<const T>(a.q, first, head * a.d_k + from);
        const T *dy = at_row<const T>(a.dy, first, head * a.d_v + from),
                *y = at_row<const T>(a.y, first, head * a.d_v + from);
        unsigned my_keep = a.drop.least ? keep32<2>(a, dice, first + lane / 2, head, at.first, at.n) : ~0u;
        /* [keys][queries]: transposed */
        float s[QUERIES / 8][4] = {}, dp[QUERIES / 8][4] = {}, delta[1][4] = {}, my_lse = 0;
        FRESH(row); /* k and v are loaded again for each tile, because there are too few registers */
        left_rows<T, D> k(at_row<const T>(a.k, row, head * a.d_k + from), (int)a.k.stride, at.n, d_k);
        add_scores<D>(s, k, q, q_stride, n, d_k);
        FRESH(row);
        left_rows<T, D> v(at_row<const T>(a.v, row, head * a.d_v + from), (int)a.v.stride, at.n, d_v);
        if (WHOLE)
            add_scores<D>(dp, v, dy, dy_stride, n, d_v);
        else
            add_dp_and_delta<D>(dp, delta, v, dy, dy_stride, y, y_stride, n, d_v);
        add_warps<W>(s);
        add_warps<W>(dp);
        if (!WHOLE) {
            add_warps<W>(delta);
            /* each of the first lanes loads one query's lse (for my_keep a query has two lanes) */
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
                if (WHOLE && from == 0) store(&whole->ds[query + at_query][key], *ds);
            }
        }
        add_product<D>(dv, s, dy, dy_stride, n, d_v);
        add_product<D>(dk, dp, q, q_stride, n, d_k);
    }
    FRESH(row);
    give<D>(dk, 1, 1, at_row<T>(a.dk, row, head * a.d_k + from), (int)a.dk.stride, at.n, d_k);
    give<D>(dv, 1, 1, at_row<T>(a.dv, row, head * a.d_v + from), (int)a.dv.stride, at.n, d_v);
}

/* Writes delta and lse of the tile of queries at `query`. */
template <class T, int D, int W>
DEVICE void prepare_queries(const gpu_attention &a, int head, const attend_place &at, int query, int from,
                            whole_sentence<T> &m)
{
    int lane = threadIdx.x & 31, row = at.own.first + query, n = at.own.n - query;
    float delta[1][4] = {};
    delta_of_own<T, D>(delta, a, row, head * a.d_v + from, n, a.d_v - from);
    add_warps<W>(delta);
    if (from) return;
    if (lane % 4 == 0) m.delta[query + lane / 4] = delta[0][0], m.delta[query + lane / 4 + 8] = delta[0][1];
    if (lane < OWN) m.lse[query + lane] = lane < n ? a.lse[(int64_t)(row + lane) * a.heads + head] * LOG2_E : 0;
}

/* Computes dq of the tile of queries at `query` from ds. */
template <class T, int D>
DEVICE void write_dq(const gpu_attention &a, int head, const attend_place &at, int query, int from,
                     const whole_sentence<T> &m)
{
    int lane = threadIdx.x & 31, n = min((int)OWN, at.own.n - query),
        keys = a.causal ? min(at.other.n, query + n) : at.other.n;
    int d_k = a.d_k - from, k_column = head * a.d_k + from;
    const T *k = at_row<const T>(a.k, at.other.first, k_column);
    float dq[D / 8][4] = {};
    for (int key = 0; key < keys; key += OWN) {
        float ds[OWN / 8][4];
        UNROLL for (int j = 0; j < OWN / 8; j++) UNROLL for (int r = 0; r < 2; r++)
        {
            typedef lanes<T, 2> two;
            two x = *(const two *)&m.ds[query + lane / 4 + 8 * r][key + 8 * j + 2 * (lane % 4)];
            ds[j][2 * r] = load(&x.v[0]), ds[j][2 * r + 1] = load(&x.v[1]);
        }
        add_product<D>(dq, ds, k + key * (int)a.k.stride, (int)a.k.stride, keys - key, d_k);
    }
    give<D>(dq, 1, 1, at_row<T>(a.dq, at.own.first + query, k_column), (int)a.dq.stride, n, d_k);
}

/* Computes a short sentence. W == 1: the block's warps alternate tiles. Rereads m.at: registers are scarce. */
template <class T, int D, int W>
DEVICE void back_sentence(const gpu_attention &a, philox_key dice, int head, int from, whole_sentence<T> &m)
{
    constexpr int ALL = W > 1 ? OWN : WARPS * OWN;
    int mine = W > 1 ? 0 : (int)(threadIdx.x >> 5) * OWN;
    for (int query = mine; query < m.at.own.n; query += ALL) prepare_queries<T, D, W>(a, head, m.at, query, from, m);
    __syncthreads();
    for (int key = mine; key < m.at.other.n; key += ALL) {
        attend_place keys = {m.at.other, m.at.own, key, min((int)OWN, m.at.other.n - key), 0, 1};
        back_keys<T, D, W, true>(a, dice, head, keys, from, &m);
    }
    __syncthreads();
    for (int query = mine; query < m.at.own.n; query += ALL) write_dq<T, D>(a, head, m.at, query, from, m);
}

/* The launch bounds allow the most warps per multiprocessor without spilled registers. */
template <class T, int D, int W>
__global__ void __launch_bounds__(32 * (W > 1 ? W : WARPS), W > 1 ? 8 / W : 12 / WARPS)
    attend_backward(gpu_attention a, const gpu_counter *counter)
{
    int warp = threadIdx.x >> 5, head = (int)blockIdx.x, from = W > 1 ? warp * D : 0;
    philox_key dice = {};
    if (a.drop.least) dice = key_of(counter, a.drop.place);
    __shared__ whole_sentence<T> m;
    if (!threadIdx.x) m.next = (int)blockIdx.y;
    for (;;) {
        FRESH(head);
        __syncthreads(); /* wait until all threads have finished the previous entry */
        if (!threadIdx.x) take_next(a, m);
        __syncthreads();
        if (m.at.sentence < 0) return;
        if (m.at.whole) {
            back_sentence<T, D, W>(a, dice, head, from, m);
            continue;
        }
        attend_place queries = seen_by_queries(m.at, a.sentences), keys = seen_by_keys(m.at, a.sentences);
        if ((W > 1 || warp == 0) && queries.n > 0) back_queries<T, D, W>(a, dice, head, queries, from);
        if ((W > 1 || warp == 1) && keys.n > 0) back_keys<T, D, W, false>(a, dice, head, keys, from, nullptr);
    }
}

template <class T, int D, int W> static int run(const gpu_attention *a)
{
    /* usual: a block for every OWN rows; a sentence of up to ATTEND_WHOLE rows needs only one block */
    int64_t rows = a->rows > a->keys ? a->rows : a->keys, blocks = tiles_at_once(a, rows, OWN, rows / OWN);
    return LAUNCH((attend_backward<T, D, W>), tile_grid(a->heads, blocks), dim3(32 * (W > 1 ? W : WARPS)), 0, *a,
                  gpu_counters());
}

template <class T> static int run_width(const gpu_attention *a)
{
    int width = a->d_k > a->d_v ? a->d_k : a->d_v;
    return width <= 32    ? run<T, 32, 1>(a)
           : width <= 64  ? run<T, 64, 1>(a)
           : width <= 128 ? run<T, 64, 2>(a)
           : width <= 256 ? run<T, 64, 4>(a)
                          : run<T, 64, 8>(a);
}

extern "C" int gpu_ATTEND_BACK(const gpu_attention *a)
{
    if ((!a->rows && !a->keys) || !a->heads) return 0;
    if (!rows_fit(a)) return gpu_attend_packed(a, 1, NULL);
    return a->type == F32 ? run_width<float>(a) : run_width<bf16>(a);
}
