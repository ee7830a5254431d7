/* attend_score.h - the kernels of attention with a score program, for any program F: the interpreter (score_tile.h), or
 * a generated one. For attend_score.cu and NVRTC.
 *
 * As in attend.cu and attend_back.cu, a warp has a tile: 16 queries against tiles of 16 keys, or 16 keys against tiles
 * of 16 queries. So a lane has as many pairs as the program processes at once. The program runs over the scores in
 * place. The owner of the queries sums a leaf's gradient: it processes the sentences of a chunk one after another and
 * adds to its own sums, which a second launch adds in order.
 *
 * Tiles of keys hidden from every query of a tile are skipped, unless a query sees no other key (its largest score
 * shows that). Weights are as exact as if all tiles were computed. */
#ifndef ABLATE_CUDA_ATTEND_SCORE_H
#define ABLATE_CUDA_ATTEND_SCORE_H
#include "tensor/cuda/score_tile.h"

enum { SCORE_WARPS = 2 };
#define SCORE_THREADS(W) (32 * ((W) > 1 ? (W) : SCORE_WARPS))
#define EVERY            0xffffffffu
#define EACH_PAIR(e)     UNROLL for (int e = 0; e < SCORE_AT_ONCE; e++)

/* ---- pairs ---- */

/* Position of a program's pair e in its tile. */
DEVICE int row_of_pair(int e) { return (int)(threadIdx.x & 31) / 4 + 8 * (e % 4 / 2); }
DEVICE int column_of_pair(int e) { return 8 * (e / 4) + 2 * (int)(threadIdx.x & 3) + e % 2; }

/* Rows are queries starting at `query`, columns are keys starting at `key`; turned: the reverse. */
DEVICE score_pairs pairs_at(int sentence, int head, int query, int queries, int key, int keys, bool turned)
{
    score_pairs p;
    p.sentence = sentence, p.head = head;
    EACH_PAIR(e)
    {
        int row = row_of_pair(e), column = column_of_pair(e);
        p.query[e] = min(query + (turned ? column : row), queries - 1);
        p.key[e] = min(key + (turned ? row : column), keys - 1);
    }
    return p;
}

/* ---- sums over a warp's tile, each owned by one thread ---- */

/* to[ids[i]] += x[i], i < n, in order, with eight loads in flight. */
DEVICE void add_by_id(float *to, const int32_t *ids, const float *x, int n)
{
    for (int from = 0; from < n; from += 8) {
        int id[8];
        float sum[8];
        UNROLL for (int i = 0; i < 8; i++)
        {
            id[i] = from + i < n ? ids[from + i] : -1;
            sum[i] = id[i] >= 0 ? to[id[i]] : 0;
        }
        UNROLL for (int i = 0; i < 8; i++)
        {
            UNROLL for (int j = 0; j < i; j++) if (id[j] == id[i]) sum[i] = sum[j];
            sum[i] += from + i < n ? x[from + i] : 0;
        }
        UNROLL for (int i = 0; i < 8; i++) if (id[i] >= 0) to[id[i]] = sum[i];
    }
}
/* Adds the pairs x, with queries from `query` and keys from `key`, by id to n rows, row r at `to` + r * step. */
DEVICE void add_pairs_by_id(float *to, int64_t step, const gpu_score &f, const float (&x)[SCORE_AT_ONCE], int query,
                            int n, int key, int keys)
{
    __shared__ float stage[SCORE_WARPS][GPU_SCORE_TILE][17];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    __syncwarp();
    EACH_PAIR(e) stage[warp][row_of_pair(e)][column_of_pair(e)] = x[e];
    __syncwarp();
    if (lane < n)
        add_by_id(to + lane * step, f.ids + (query + lane) * f.ids_row + key, stage[warp][lane],
                  min((int)GPU_SCORE_TILE, keys - key));
}

/* Sums over the eight lanes g that have numbers of a column. */
DEVICE float column_sum(float x)
{
    for (int o = 4; o < 32; o *= 2) x += __shfl_xor_sync(EVERY, x, o);
    return x;
}

/* Adds the gradient d of leaf k, which is 0 at missing pairs, to the sums of `part`. */
DEVICE void add_leaf(const gpu_score &f, int k, int part, int head, int tile, const float (&d)[SCORE_AT_ONCE],
                     int query, int n, int key, int keys)
{
    const gpu_score_leaf &l = f.leaf[k];
    int lane = threadIdx.x & 31;
    float *to = l.sum + part * l.part + head * l.sum_head + (l.of_query ? query : tile) * l.line;
    if (l.gathered) {
        add_pairs_by_id(to, l.line, f, d, query, n, key, keys);
    } else if (l.of_query && l.key) {
        EACH_PAIR(e)
        if (row_of_pair(e) < n && key + column_of_pair(e) < keys)
            to[row_of_pair(e) * l.line + key + column_of_pair(e)] += d[e];
    } else if (l.of_query) {
        UNROLL for (int r = 0; r < 2; r++)
        {
            float sum = four_sum(d[2 * r] + d[2 * r + 1] + d[4 + 2 * r] + d[5 + 2 * r]);
            if (lane % 4 == 0 && lane / 4 + 8 * r < n) to[(lane / 4 + 8 * r) * l.line] += sum;
        }
    } else if (l.key) {
        UNROLL for (int j = 0; j < 2; j++) UNROLL for (int i = 0; i < 2; i++)
        {
            float sum = column_sum(d[4 * j + i] + d[4 * j + 2 + i]);
            int column = key + 8 * j + 2 * lane + i;
            if (lane < 4 && column < keys) to[column] += sum;
        }
    } else {
        float sum = 0;
        EACH_PAIR(e) sum += d[e];
        sum = warp_sum(sum);
        if (lane == 0) to[0] += sum;
    }
}

/* By a whole warp: does the program hide all these pairs? */
template <class F> DEVICE bool all_hidden(const F &program, const gpu_score &f, const score_pairs &p)
{
    float x[SCORE_AT_ONCE];
    int seen = 0;
    program.hiding(f, p, x);
    EACH_PAIR(e) seen |= !(x[e] <= GPU_HIDDEN);
    return !__any_sync(EVERY, seen);
}

/* ---- forward ---- */

struct score_tile { /* a warp's queries */
    const gpu_attention &a;
    const gpu_score &f;
    philox_key dice;
    attend_place at;
    int head, from, row; /* from: the warp's first column of the head; row: the tile's first row */
};

/* Bit e: pair e, with keys starting at `key`, is kept. By a whole warp. */
DEVICE unsigned kept_pairs(const score_tile &m, int key, int keys)
{
    if (!m.a.drop.least) return ~0u;
    int lane = threadIdx.x & 31;
    unsigned keep = keep32<2>(m.a, m.dice, m.row + lane / 2, m.head, key, min((int)GPU_SCORE_TILE, keys - key)),
             bits = 0;
    EACH_PAIR(e) bits |= (__shfl_sync(EVERY, keep, 2 * row_of_pair(e)) >> column_of_pair(e) & 1) << e;
    return bits;
}
/* Bit e: the query of pair e sees its key. */
DEVICE unsigned seen_pairs(const score_tile &m, int key, int keys)
{
    unsigned seen = 0;
    EACH_PAIR(e)
    {
        int query = m.at.first + row_of_pair(e), at = key + column_of_pair(e);
        seen |= (unsigned)(row_of_pair(e) < m.at.n && at < keys && (!m.a.causal || at <= query)) << e;
    }
    return seen;
}
/* The sinks of the lane's queries; LOWEST where there is none. */
DEVICE void load_sinks(const score_tile &m, float (&sink)[2])
{
    UNROLL for (int r = 0; r < 2; r++)
    {
        int query = min(m.at.first + (int)(threadIdx.x & 31) / 4 + 8 * r, m.at.own.n - 1);
        bool there = m.f.sink >= 0 && m.at.sentence < m.a.sentences;
        sink[r] = there ? sink_of(m.f, m.at.sentence, m.head, query) : LOWEST;
    }
}
DEVICE score_pairs pairs_of(const score_tile &m, int key)
{
    return pairs_at(m.at.sentence, m.head, m.at.first, m.at.own.n, key, m.at.other.n, false);
}

/* Computes the scores of keys starting at `key`, pair e at s[e / 4][e % 4]. */
template <int D, int W, class T, class F>
DEVICE void score_keys(float (&s)[2][4], const score_tile &m, const F &program, const left_rows<T, D> &q, int key,
                       int keys)
{
    const T *k = at_row<const T>(m.a.k, m.at.other.first + key, m.head * m.a.d_k + m.from);
    float x[SCORE_AT_ONCE];
    EACH_PAIR(e) s[e / 4][e % 4] = 0;
    add_scores<D>(s, q, k, (int)m.a.k.stride, keys - key, m.a.d_k - m.from);
    add_warps<W>(s);
    EACH_PAIR(e) x[e] = __fmul_rn(s[e / 4][e % 4], m.a.scale);
    program.forward(m.f, pairs_of(m, key), x);
    EACH_PAIR(e) s[e / 4][e % 4] = x[e];
}

/* Sums the weights of the keys by id, after the softmax sums are known. */
template <int D, int W, class T, class F>
DEVICE void count_keys(const score_tile &m, const F &program, const left_rows<T, D> &q, int keys, const float (&top)[2],
                       const float (&by)[2])
{
    int64_t head = (int64_t)m.at.sentence * m.a.heads + m.head;
    float *to = m.f.counts + head * m.f.counts_head + m.at.first * m.f.counts_row;
    for (int key = 0; key < keys; key += GPU_SCORE_TILE) {
        float s[2][4], p[SCORE_AT_ONCE];
        score_keys<D, W>(s, m, program, q, key, keys);
        unsigned there = kept_pairs(m, key, keys) & seen_pairs(m, key, keys);
        EACH_PAIR(e)
        {
            int r = e % 4 / 2;
            float weight = m.f.plain ? s[e / 4][e % 4] : exp2f(s[e / 4][e % 4] * LOG2_E - top[r]);
            p[e] = there >> e & 1 ? weight * by[r] : 0;
        }
        if (m.from == 0) add_pairs_by_id(to, m.f.counts_row, m.f, p, m.at.first, m.at.n, key, keys);
    }
}

template <class T, int D, int W, class F> DEVICE void score_queries(const score_tile &m, const F &program)
{
    const gpu_attention &a = m.a;
    const gpu_score &f = m.f;
    const attend_place &at = m.at;
    int g = (int)(threadIdx.x & 31) / 4, head = m.head;
    int keys = a.causal ? min(at.other.n, at.first + at.n) : at.other.n;
    left_rows<T, D> q(at_row<const T>(a.q, m.row, head * a.d_k + m.from), (int)a.q.stride, at.n, a.d_k - m.from);
    float y[D / 8][4], by[2], sink[2];
    running w;
    load_sinks(m, sink);
    for (bool skip = f.hides != 0;; skip = false) {
        UNROLL for (int j = 0; j < D / 8; j++) UNROLL for (int i = 0; i < 4; i++) y[j][i] = 0;
        w = {{LOWEST, LOWEST}, {0, 0}};
        UNROLL for (int r = 0; r < 2; r++)
        {
            if (f.plain) w.top[r] = 0, w.sum[r] = 1;
            if (sink[r] > LOWEST && keys > 0) w.top[r] = sink[r] * LOG2_E, w.sum[r] = 1;
        }
        for (int key = 0; key < keys; key += GPU_SCORE_TILE) {
            float s[2][4], worth[2] = {1, 1};
            if (skip && all_hidden(program, f, pairs_of(m, key))) continue;
            score_keys<D, W>(s, m, program, q, key, keys);
            unsigned keep = kept_pairs(m, key, keys), seen = seen_pairs(m, key, keys);
            if (f.plain)
                keep &= seen;
            else
                soften(s, w, worth, LOG2_E, [&](int r, int j, int i) { return seen >> (4 * j + 2 * r + i) & 1; });
            EACH_PAIR(e) if (!(keep >> e & 1)) s[e / 4][e % 4] = 0;
            UNROLL for (int j = 0; j < D / 8; j++) UNROLL for (int i = 0; i < 4; i++) y[j][i] *= worth[i / 2];
            add_product<D>(y, s, at_row<const T>(a.v, at.other.first + key, head * a.d_v + m.from), (int)a.v.stride,
                           keys - key, a.d_v - m.from);
        }
        int hidden = (g < at.n && w.top[0] <= GPU_HIDDEN / 2) || (g + 8 < at.n && w.top[1] <= GPU_HIDDEN / 2);
        if (!skip || !__any_sync(EVERY, hidden)) break;
    }
    finish(w, by, a, m.row, head, at.n, m.from == 0);
    give<D>(y, by[0], by[1], at_row<T>(a.y, m.row, head * a.d_v + m.from), (int)a.y.stride, at.n, a.d_v - m.from);
    if (f.counts) count_keys<D, W>(m, program, q, keys, w.top, by);
}

/* first_tile: the first tile of a warp (W > 1: of a block). tiles_of_grid: tiles that the grid computes at once. */
template <int W> DEVICE int first_tile(int heads)
{
    return W > 1 ? (int)blockIdx.x / heads : (int)blockIdx.x / heads * SCORE_WARPS + (int)(threadIdx.x >> 5);
}
template <int W> DEVICE int tiles_of_grid(int heads) { return (int)gridDim.x / heads * (W > 1 ? 1 : SCORE_WARPS); }

template <class T, int D, int W, class F>
__global__ void __launch_bounds__(SCORE_THREADS(W), 1)
    score_forward(const __grid_constant__ gpu_attention a, const __grid_constant__ gpu_score f,
                  const gpu_counter *counter)
{
    DYN_SMEM(float4, shared);
    F program(shared);
    score_tile m = {a, f, {}, {}, (int)blockIdx.x % a.heads, W > 1 ? (int)(threadIdx.x >> 5) * D : 0, 0};
    if (a.drop.least) m.dice = key_of(counter, a.drop.place);
    for (int i = first_tile<W>(a.heads); i < *a.tiles; i += tiles_of_grid<W>(a.heads)) {
        m.at = place_in(a.tiles, i);
        m.row = m.at.own.first + m.at.first;
        score_queries<T, D, W>(m, program);
    }
}

/* ---- backward ---- */

/* x: the part of the gradient of each pair's weight that comes through the sums by id; 0 if there are none. */
DEVICE void load_dz(const gpu_score &f, int heads, const score_pairs &p, float (&x)[SCORE_AT_ONCE])
{
    const float *dz = f.dz + ((int64_t)p.sentence * heads + p.head) * f.counts_head;
    EACH_PAIR(e) x[e] = f.dz ? dz[p.query[e] * f.counts_row + f.ids[p.query[e] * f.ids_row + p.key[e]]] : 0;
}

/* Updates the running maximum and sum of the scores that queries g and g + 8 see. */
DEVICE void add_to_sums(const float (&x)[SCORE_AT_ONCE], unsigned seen, float (&top)[2], float (&sum)[2])
{
    UNROLL for (int r = 0; r < 2; r++)
    {
        float high = top[r], part = 0;
        EACH_PAIR(e) if (e % 4 / 2 == r && seen >> e & 1) high = fmaxf(high, x[e]);
        high = four_max(high);
        EACH_PAIR(e) if (e % 4 / 2 == r && seen >> e & 1) part += exp2f((x[e] - high) * LOG2_E);
        sum[r] = sum[r] * exp2f((top[r] - high) * LOG2_E) + four_sum(part);
        top[r] = high;
    }
}

/* Computes dq of a tile of queries, and the gradients of leaves for `chunk` or the sentence. If a query's log-sum-exp
 * has lost all digits, loops over the keys twice: the first time for the log-sum-exp's two terms, `lse` (the largest
 * score) and `rest`, which the owners of keys read, too. */
template <class T, int D, int W, class F>
DEVICE void score_back_queries(const score_tile &m, const F &program, int chunk, int tile)
{
    const gpu_attention &a = m.a;
    const gpu_score &f = m.f;
    const attend_place &at = m.at;
    int lane = threadIdx.x & 31, g = lane >> 2, head = m.head;
    int d_k = a.d_k - m.from, d_v = a.d_v - m.from, k_column = head * a.d_k + m.from, v_column = head * a.d_v + m.from;
    left_rows<T, D> q(at_row<const T>(a.q, m.row, k_column), (int)a.q.stride, at.n, d_k);
    left_rows<T, D> dy(at_row<const T>(a.dy, m.row, v_column), (int)a.dy.stride, at.n, d_v);
    int keys = a.causal ? min(at.other.n, at.first + at.n) : at.other.n;
    float lse[2], rest[2] = {}, delta[2], dq[D / 8][4] = {}, top[2] = {LOWEST, LOWEST}, sum[2] = {};
    UNROLL for (int r = 0; r < 2; r++)
    {
        int64_t row = (int64_t)(m.row + g + 8 * r) * a.heads + head;
        bool there = g + 8 * r < at.n && keys > 0;
        lse[r] = there ? a.lse[row] : 0, delta[r] = there ? f.delta[row] : 0;
    }
    bool low = __any_sync(EVERY, fminf(lse[0], lse[1]) <= GPU_HIDDEN / 2);
    for (bool summing = low;; summing = false) {
        for (int key = 0; key < keys; key += GPU_SCORE_TILE) {
            score_pairs p = pairs_of(m, key);
            if (f.hides && !low && all_hidden(program, f, p)) continue;
            const T *k = at_row<const T>(a.k, at.other.first + key, k_column),
                    *v = at_row<const T>(a.v, at.other.first + key, v_column);
            unsigned seen = seen_pairs(m, key, keys);
            float s[2][4] = {}, dp[2][4] = {}, x[SCORE_AT_ONCE], score[SCORE_AT_ONCE], d[SCORE_AT_ONCE],
                  dz[SCORE_AT_ONCE];
            add_scores<D>(s, q, k, (int)a.k.stride, keys - key, d_k);
            add_warps<W>(s);
            EACH_PAIR(e) score[e] = x[e] = __fmul_rn(s[e / 4][e % 4], a.scale);
            program.forward(f, p, score);
            if (summing) {
                add_to_sums(score, seen, top, sum);
                continue;
            }
            unsigned keep = kept_pairs(m, key, keys);
            add_scores<D>(dp, dy, v, (int)a.v.stride, keys - key, d_v);
            add_warps<W>(dp);
            load_dz(f, a.heads, p, dz);
            EACH_PAIR(e)
            {
                int r = e % 4 / 2;
                float up = keep >> e & 1 ? (dp[e / 4][e % 4] + dz[e]) * a.drop.scale : 0;
                d[e] = f.plain ? up : __fmul_rn(exp2f((score[e] - lse[r] - rest[r]) * LOG2_E), up - delta[r]);
                if (!(seen >> e & 1)) d[e] = 0;
            }
            program.backward(f, p, x, d, f.chunks && m.from == 0, [&](int leaf, float(&dl)[SCORE_AT_ONCE]) {
                EACH_PAIR(e) dl[e] = seen >> e & 1 ? dl[e] : 0;
                add_leaf(f, leaf, f.leaf[leaf].of_sentence ? at.sentence : chunk, head, tile, dl, at.first, at.n, key,
                         keys);
            });
            EACH_PAIR(e) s[e / 4][e % 4] = seen >> e & 1 ? d[e] * a.scale : 0;
            add_product<D>(dq, s, k, (int)a.k.stride, keys - key, d_k);
        }
        if (!summing) break;
        UNROLL for (int r = 0; r < 2; r++)
        {
            if (!(lse[r] <= GPU_HIDDEN / 2)) continue;
            float *to = f.terms + 2 * ((int64_t)(m.row + g + 8 * r) * a.heads + head);
            lse[r] = top[r], rest[r] = logf(sum[r]);
            if (m.from == 0 && (lane & 3) == 0) to[0] = lse[r], to[1] = rest[r];
        }
    }
    give<D>(dq, 1, 1, at_row<T>(a.dq, m.row, k_column), (int)a.dq.stride, at.n, d_k);
    if (f.sink < 0 || !f.chunks || m.from || !f.leaf[f.sink].sum || at.sentence == a.sentences) return;
    float sink[2], d[SCORE_AT_ONCE];
    load_sinks(m, sink);
    EACH_PAIR(e) /* a number per query, as if at its first key: the sink's weight times -delta */
    {
        int r = e % 4 / 2;
        bool one = column_of_pair(e) == 0 && row_of_pair(e) < at.n;
        d[e] = one ? -exp2f((sink[r] - lse[r] - rest[r]) * LOG2_E) * delta[r] : 0;
    }
    add_leaf(f, f.sink, f.leaf[f.sink].of_sentence ? at.sentence : chunk, head, tile, d, at.first, at.n, 0, 1);
}

/* The chunk's next sentence after b: every f.chunks-th up to the last that has queries. Chunk 0 has the dummy rows. */
DEVICE int next_sentence(const gpu_attention &a, const gpu_score &f, int chunk, int b)
{
    int next = b + f.chunks;
    if (next < a.sentences && a.q_off[next] < a.q_off[a.sentences]) return next;
    return chunk == 0 && b < a.sentences ? a.sentences : a.sentences + 1;
}

/* With leaf gradients, a warp processes one tile of queries of every sentence of a chunk. Without, it processes a
 * single tile, and the grid has a warp for every possible tile, because there are too few registers for a loop. */
template <class T, int D, int W, class F>
__global__ void __launch_bounds__(SCORE_THREADS(W), 1)
    score_back_q(const __grid_constant__ gpu_attention a, const __grid_constant__ gpu_score f,
                 const gpu_counter *counter)
{
    DYN_SMEM(float4, shared);
    F program(shared);
    int i = first_tile<W>(a.heads);
    score_tile m = {a, f, {}, {}, (int)blockIdx.x % a.heads, W > 1 ? (int)(threadIdx.x >> 5) * D : 0, 0};
    if (a.drop.least) m.dice = key_of(counter, a.drop.place);
    if (!f.chunks) {
        if (i >= *a.tiles) return;
        m.at = place_in(a.tiles, i);
        m.row = m.at.own.first + m.at.first;
        score_back_queries<T, D, W>(m, program, 0, 0);
        return;
    }
    int chunk = i / f.tiles, tile = i % f.tiles;
    if (chunk >= f.chunks) return;
    for (int b = next_sentence(a, f, chunk, chunk - f.chunks); b <= a.sentences; b = next_sentence(a, f, chunk, b)) {
        m.at.sentence = b;
        m.at.own = span_of(a.q_off, a.sentences, a.rows, b);
        m.at.other = b < a.sentences ? span_of(a.k_off, a.sentences, 0, b) : span{0, 0};
        for (m.at.first = tile * GPU_SCORE_TILE; m.at.first < m.at.own.n; m.at.first += f.tiles * GPU_SCORE_TILE) {
            m.at.n = min((int)GPU_SCORE_TILE, m.at.own.n - m.at.first);
            m.row = m.at.own.first + m.at.first;
            score_back_queries<T, D, W>(m, program, chunk, tile);
        }
    }
}

/* Computes dk and dv of a tile of keys. */
template <class T, int D, int W, class F>
DEVICE void score_back_keys(const gpu_attention &a, const gpu_score &f, const F &program, philox_key dice, int head,
                            const attend_place &at, int from)
{
    int lane = threadIdx.x & 31, d_k = a.d_k - from, d_v = a.d_v - from, k_column = head * a.d_k + from,
        v_column = head * a.d_v + from;
    int row = at.own.first + at.first;
    left_rows<T, D> k(at_row<const T>(a.k, row, k_column), (int)a.k.stride, at.n, d_k);
    left_rows<T, D> v(at_row<const T>(a.v, row, v_column), (int)a.v.stride, at.n, d_v);
    float dk[D / 8][4] = {}, dv[D / 8][4] = {};
    for (int query = a.causal ? at.first : 0; query < at.other.n; query += GPU_SCORE_TILE) {
        int first = at.other.first + query, n = at.other.n - query;
        score_pairs p = pairs_at(at.sentence, head, query, at.other.n, at.first, at.own.n, true);
        float lse[4], rest[4] = {}, delta[4]; /* for the columns 2 t + i of each half */
        bool low = false;
        UNROLL for (int c = 0; c < 4; c++)
        {
            int column = column_of_pair(4 * (c / 2) + c % 2);
            int64_t place = (int64_t)(first + column) * a.heads + head;
            lse[c] = column < n ? a.lse[place] : 0, delta[c] = column < n ? f.delta[place] : 0;
            if (!(lse[c] <= GPU_HIDDEN / 2)) continue;
            low = true;
            lse[c] = f.terms[2 * place], rest[c] = f.terms[2 * place + 1];
        }
        if (f.hides && !__any_sync(EVERY, low) && all_hidden(program, f, p)) continue;
        const T *q = at_row<const T>(a.q, first, k_column), *dy = at_row<const T>(a.dy, first, v_column);
        unsigned my_keep = a.drop.least ? keep32<2>(a, dice, first + lane / 2, head, at.first, at.n) : ~0u;
        float s[2][4] = {}, dp[2][4] = {};
        add_scores<D>(s, k, q, (int)a.q.stride, n, d_k);
        add_scores<D>(dp, v, dy, (int)a.dy.stride, n, d_v);
        add_warps<W>(s);
        add_warps<W>(dp);
        float x[SCORE_AT_ONCE], score[SCORE_AT_ONCE], d[SCORE_AT_ONCE], dz[SCORE_AT_ONCE];
        unsigned seen = 0;
        load_dz(f, a.heads, p, dz);
        EACH_PAIR(e) score[e] = x[e] = __fmul_rn(s[e / 4][e % 4], a.scale);
        program.forward(f, p, score);
        EACH_PAIR(e)
        {
            int r = row_of_pair(e), column = column_of_pair(e), c = 2 * (e / 4) + e % 2;
            unsigned keep = __shfl_sync(EVERY, my_keep, 2 * column);
            bool there = column < n && r < at.n && (!a.causal || at.first + r <= query + column);
            float by = keep >> r & 1 ? a.drop.scale : 0, up = (dp[e / 4][e % 4] + dz[e]) * by,
                  weight = f.plain ? score[e] : exp2f((score[e] - lse[c] - rest[c]) * LOG2_E);
            s[e / 4][e % 4] = there ? weight * by : 0;
            d[e] = !there ? 0 : f.plain ? up : __fmul_rn(weight, up - delta[c]);
            seen |= (unsigned)there << e;
        }
        program.backward(f, p, x, d, false, [](int, float(&)[SCORE_AT_ONCE]) {});
        EACH_PAIR(e) dp[e / 4][e % 4] = seen >> e & 1 ? d[e] * a.scale : 0;
        add_product<D>(dv, s, dy, (int)a.dy.stride, n, d_v);
        add_product<D>(dk, dp, q, (int)a.q.stride, n, d_k);
    }
    give<D>(dk, 1, 1, at_row<T>(a.dk, row, k_column), (int)a.dk.stride, at.n, d_k);
    give<D>(dv, 1, 1, at_row<T>(a.dv, row, v_column), (int)a.dv.stride, at.n, d_v);
}

template <class T, int D, int W, class F>
__global__ void __launch_bounds__(SCORE_THREADS(W), 1)
    score_back_k(const __grid_constant__ gpu_attention a, const __grid_constant__ gpu_score f,
                 const gpu_counter *counter)
{
    DYN_SMEM(float4, shared);
    F program(shared);
    philox_key dice = {};
    if (a.drop.least) dice = key_of(counter, a.drop.place);
    for (int i = first_tile<W>(a.heads); i < *a.key_tiles; i += tiles_of_grid<W>(a.heads))
        score_back_keys<T, D, W>(a, f, program, dice, (int)blockIdx.x % a.heads, place_in(a.key_tiles, i),
                                 W > 1 ? (int)(threadIdx.x >> 5) * D : 0);
}
#endif
