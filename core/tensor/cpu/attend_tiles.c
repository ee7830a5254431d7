/* attend_tiles.c - attention of one (sentence, head) on bf16 rows with AMX tiles.
 *
 * Everything is padded to whole blocks of 32 rows and 32 columns, so there is one shape of product. Scores
 * are computed transposed, [keys][32 queries]: a vector is one key for sixteen queries, so the softmax over
 * keys needs no sums across lanes, and the log-sum-exp and dropout's decisions are one lane a query.
 */
#include "tensor/cpu/attend.h"
#include "tensor/cpu/tiles.h"

#ifdef HAVE_TILES
#include "base/vmath.h"

/* c [m,n] (+)= a b, where m, n, k are m_blocks, n_blocks, k_blocks times SIDE. lda, ldc: numbers from row to row. */
static void multiply(int64_t m_blocks, int64_t n_blocks, int64_t k_blocks, const uint16_t *a, int64_t lda,
                     const uint16_t *b, float *c, int64_t ldc, bool add)
{
    size_t a_row = (size_t)lda * sizeof *a;
    for (int64_t m = 0; m < m_blocks; m++, a += SIDE * lda, c += SIDE * ldc)
        for (int64_t n = 0; n < n_blocks; n++) {
            if (add)
                tiles_load(c + n * SIDE, ldc);
            else
                tiles_zero();
            TILES_MULTIPLY(a, a_row, SIDE, b + n * 2 * TILE, n_blocks * 2 * TILE, k_blocks)
            tiles_store(c + n * SIDE, ldc);
        }
}

/* ---- rows into plain matrices and into right factors ---- */

static source source_of(const columns *x, int64_t first, int64_t rows, int64_t h, int64_t width)
{
    return (source){(const uint16_t *)x->data + first * x->stride + h * width, x->stride, rows, width};
}
/* Copies rows, padded with zeros, to [padded rows, padded width]. */
static void load_plain(const source *x, uint16_t *to)
{
    for (int64_t r = 0; r < padded(x->rows); r++)
        for (int64_t j = 0; j < x->width; j += SIDE, to += SIDE) _mm512_storeu_si512(to, row_block(x, r, j));
}
/* Copies rows as a right factor [rows, width]: a pair is two neighbouring rows of one column. */
static void load_pairs(const source *x, uint16_t *to)
{
    for (int64_t r = 0; r < x->rows; r += SIDE)
        for (int64_t j = 0; j < x->width; j += SIDE, to += 2 * TILE)
            for (int i = 0; i < SIDE / 2; i++) {
                __m512i low, high;
                row_pairs(x, r + 2 * i, j, &low, &high);
                store_pairs(to + i * SIDE, low, high);
            }
}
/* Copies SIDE rows, transposed, as a right factor [width, SIDE]: a pair is two neighbours in a row. */
static void load_turned(const source *x, uint16_t *to)
{
    for (int64_t j = 0; j < x->width; j += SIDE)
        for (int half = 0; half < 2; half++, to += TILE) {
            __m512i t[16];
            for (int i = 0; i < 16; i++) t[i] = row_block(x, half * 16 + i, j);
            turn_words(t);
            for (int i = 0; i < 16; i++) _mm512_storeu_si512(to + i * SIDE, t[i]);
        }
}
/* Writes an f32 matrix [n rows, padded width] to bf16 rows, each row times by[row] (NULL: 1). */
static void give(const float *from, const float *by, const columns *x, int64_t first, int64_t n, int64_t h,
                 int64_t width)
{
    for (int64_t r = 0; r < n; r++, from += padded(width)) {
        uint16_t *to = (uint16_t *)x->data + (first + r) * x->stride + h * width;
        float f = by ? by[r] : 1;
        for (int64_t j = 0; j < width; j += lanes_f32) store_some_bf16(to + j, load_f32(from + j) * f, width - j);
    }
}

/* ---- softmax over keys, one query a lane ---- */

/* 2^x, x <= 127; 0 in lanes outside `some`, and where the result would be subnormal, which costs hundreds of cycles */
INLINE __m512 exp2_lanes(__mmask16 some, __m512 x)
{
    some = _mm512_mask_cmp_ps_mask(some, x, _mm512_set1_ps(-126), _CMP_GE_OQ);
    __m512 f = _mm512_reduce_ps(x, 0), n = _mm512_sub_ps(x, f), p = _mm512_set1_ps(1.535336188e-4f);
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.339887440e-3f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(9.618437357e-3f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(5.550332471e-2f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(2.402264791e-1f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(6.931472028e-1f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1));
    return _mm512_maskz_scalef_ps(some, p, n);
}
static const float log2_e = 1.44269504f, ln_2 = 0.693147181f;

/* Mask of the queries t .. t + 15 that may see key j. */
INLINE __mmask16 seeing(bool causal, int64_t t, int64_t j)
{
    int64_t ahead = j - t;
    return !causal || ahead <= 0 ? 0xffff : ahead >= 16 ? 0 : (__mmask16)(0xffffu << ahead);
}
/* Mask of the sixteen queries that keep key j: bits[j / 32][query], bit j % 32. */
INLINE __mmask16 kept(const uint32_t *bits, int64_t j)
{
    return _mm512_test_epi32_mask(_mm512_loadu_si512(bits + j / 32 * 16), _mm512_set1_epi32((int)(1u << j % 32)));
}

/* Packs two keys' numbers as pairs of bf16, a in the lower halves. */
INLINE __m512i pair(__m512 a, __m512 b)
{
    __m512i low = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(a)),
            high = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(b));
    return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}
/* Transposes pairs of keys [keys / 2][16 queries] to rows [16 queries][keys], `width` numbers from row to row. */
static void turn_pairs(const uint32_t *pairs, int64_t keys, uint16_t *to, int64_t width)
{
    for (int64_t j = 0; j < keys; j += SIDE, pairs += 256) {
        __m512i t[16];
        for (int i = 0; i < 16; i++) t[i] = _mm512_loadu_si512(pairs + 16 * i);
        turn_words(t);
        for (int i = 0; i < 16; i++) _mm512_storeu_si512(to + i * width + j, t[i]);
    }
}

typedef struct { /* sixteen queries from t on */
    const attend_args *a;
    int64_t t, seen, keys; /* seen: number of keys that at least one query sees; keys: seen, padded */
    const uint32_t *bits;  /* NULL: no dropout */
} lanes;

/* s [keys][SIDE]: scores. Writes lse and, as pairs, probabilities yet to be multiplied by their row's `by`. */
static void softmax_lanes(const lanes *l, const float *s, uint32_t *pairs, float *by, float *lse)
{
    const __m512 lowest = _mm512_set1_ps(-1e30f);
    __m512 scale = _mm512_set1_ps((float)l->a->scale * log2_e), top = lowest, sum = _mm512_setzero_ps();
    bool causal = l->a->causal;
    for (int64_t j = 0; j < l->seen; j++)
        top =
            _mm512_mask_max_ps(top, seeing(causal, l->t, j), top, _mm512_mul_ps(_mm512_loadu_ps(s + j * SIDE), scale));
    for (int64_t j = 0; j < l->keys; j += 2) {
        __m512 p[2];
        for (int i = 0; i < 2; i++) {
            __mmask16 see = j + i < l->seen ? seeing(causal, l->t, j + i) : 0;
            p[i] = exp2_lanes(see, _mm512_fmsub_ps(_mm512_loadu_ps(s + (j + i) * SIDE), scale, top));
            sum = _mm512_add_ps(sum, p[i]);
            if (l->bits) p[i] = _mm512_maskz_mov_ps(kept(l->bits, j + i), p[i]);
        }
        _mm512_storeu_si512(pairs + j / 2 * 16, pair(p[0], p[1]));
    }
    float total[lanes_f32], high[lanes_f32];
    _mm512_storeu_ps(total, sum);
    _mm512_storeu_ps(high, top);
    for (int i = 0; i < lanes_f32; i++) {
        by[i] = total[i] > 0 ? (float)l->a->drop.scale / total[i] : 0;
        lse[i] = total[i] > 0 ? high[i] * ln_2 + vlogf(total[i]) : 0;
    }
}

/* Softmax backward: s and g [keys][SIDE] are scores and gradients of probabilities. Writes, as bf16 [keys][SIDE], the
 * probabilities with dropout applied and the gradient of the scores; the gradient also as pairs. Overwrites s and g. */
static void softmax_back_lanes(const lanes *l, const float *lse, float *s, float *g, uint16_t *p_out, uint16_t *ds_out,
                               uint32_t *pairs)
{
    __m512 scale = _mm512_set1_ps((float)l->a->scale * log2_e),
           top = _mm512_mul_ps(_mm512_loadu_ps(lse), _mm512_set1_ps(log2_e));
    __m512 dot = _mm512_setzero_ps(), by = _mm512_set1_ps((float)l->a->drop.scale);
    bool causal = l->a->causal;
    for (int64_t j = 0; j < l->keys; j++) {
        __mmask16 see = j < l->seen ? seeing(causal, l->t, j) : 0;
        __m512 p = exp2_lanes(see, _mm512_fmsub_ps(_mm512_loadu_ps(s + j * SIDE), scale, top)), used = p;
        __m512 d = _mm512_loadu_ps(g + j * SIDE);
        if (l->bits) {
            __mmask16 keep = kept(l->bits, j);
            used = _mm512_maskz_mul_ps(keep, used, by);
            d = _mm512_maskz_mul_ps(keep, d, by);
            _mm512_storeu_ps(g + j * SIDE, d);
        }
        dot = _mm512_fmadd_ps(p, d, dot);
        _mm512_storeu_ps(s + j * SIDE, p);
        _mm256_storeu_si256((__m256i *)(p_out + j * SIDE), (__m256i)_mm512_cvtneps_pbh(used));
    }
    scale = _mm512_set1_ps((float)l->a->scale);
    for (int64_t j = 0; j < l->keys; j += 2) {
        __m512 ds[2];
        for (int i = 0; i < 2; i++) {
            __m512 p = _mm512_mul_ps(_mm512_loadu_ps(s + (j + i) * SIDE), scale);
            ds[i] = _mm512_mul_ps(p, _mm512_sub_ps(_mm512_loadu_ps(g + (j + i) * SIDE), dot));
            _mm256_storeu_si256((__m256i *)(ds_out + (j + i) * SIDE), (__m256i)_mm512_cvtneps_pbh(ds[i]));
        }
        _mm512_storeu_si512(pairs + j / 2 * 16, pair(ds[0], ds[1]));
    }
}

/* Dropout's decisions for sixteen queries from query `t` of the sentence on. */
static const uint32_t *keeps(const attend_args *a, const attend_item *it, int64_t t, int64_t keys, uint32_t *bits)
{
    if (!a->drop.least) return NULL;
    dropout_bits(&a->drop, first_element(a, it->q0 + t, it->head), (uint64_t)a->heads * ATTEND_KEYS, DROPOUT_ROWS, keys,
                 bits);
    return bits;
}

/* ---- both passes ---- */

void attend_tiles(const attend_args *a, const attend_item *it)
{
    int64_t h = it->head, keys = padded(it->nk), d_k = padded(a->d_k), d_v = padded(a->d_v);
    char *at = scratch(
        (size_t)(keys * (2 * d_k + 2 * d_v + 4 * SIDE + 2 * SIDE + 2 * SIDE + 2) + SIDE * (2 * d_k + 4 * d_v + 16)) +
        1024);
    uint16_t *k = cut(&at, keys * d_k, 2), *v = cut(&at, keys * d_v, 2), *q = cut(&at, SIDE * d_k, 2),
             *p = cut(&at, SIDE * keys, 2);
    float *s = cut(&at, keys * SIDE, 4), *y = cut(&at, SIDE * d_v, 4), *by = cut(&at, SIDE, 4),
          *lse = cut(&at, SIDE, 4);
    uint32_t *pairs = cut(&at, keys / 2 * 16, 4), *bits = cut(&at, keys / 32 * 16, 4);
    source from_k = source_of(&a->k, it->k0, it->nk, h, a->d_k), from_v = source_of(&a->v, it->k0, it->nk, h, a->d_v);
    load_plain(&from_k, k);
    load_pairs(&from_v, v);
    for (int64_t t = 0; t < it->nq; t += SIDE) {
        int64_t n = it->nq - t < SIDE ? it->nq - t : SIDE, seen = visible(a, t + n - 1, it->nk), wide = blocks(seen);
        source from_q = source_of(&a->q, it->q0 + t, n, h, a->d_k);
        load_turned(&from_q, q);
        multiply(wide, 1, d_k / SIDE, k, d_k, q, s, SIDE, false);
        for (int64_t half = 0; half < SIDE && half < n; half += 16) {
            lanes l = {
                .a = a, .t = t + half, .seen = seen, .keys = wide * SIDE, .bits = keeps(a, it, t + half, seen, bits)};
            softmax_lanes(&l, s + half, pairs, by + half, lse + half);
            turn_pairs(pairs, l.keys, p + half * keys, keys);
        }
        multiply(1, d_v / SIDE, wide, p, keys, v, y, d_v, false);
        give(y, by, &a->y, it->q0 + t, n, h, a->d_v);
        for (int64_t i = 0; i < n; i++) ((float *)a->lse)[(it->q0 + t + i) * a->heads + h] = lse[i];
    }
}

void attend_tiles_back(const attend_args *a, const attend_item *it)
{
    int64_t h = it->head, keys = padded(it->nk), d_k = padded(a->d_k), d_v = padded(a->d_v);
    char *at = scratch((size_t)(keys * (8 * d_k + 6 * d_v + 16 * SIDE + 2) + SIDE * (8 * d_k + 4 * d_v + 8)) + 2048);
    uint16_t *k = cut(&at, keys * d_k, 2), *k_pairs = cut(&at, keys * d_k, 2), *v = cut(&at, keys * d_v, 2);
    float *dk = cut(&at, keys * d_k, 4), *dv = cut(&at, keys * d_v, 4), *s = cut(&at, keys * SIDE, 4),
          *g = cut(&at, keys * SIDE, 4);
    uint16_t *p = cut(&at, keys * SIDE, 2), *ds = cut(&at, keys * SIDE, 2), *ds_rows = cut(&at, keys * SIDE, 2);
    uint32_t *pairs = cut(&at, keys / 2 * 16, 4), *bits = cut(&at, keys / 32 * 16, 4);
    uint16_t *q_turned = cut(&at, SIDE * d_k, 2), *q_pairs = cut(&at, SIDE * d_k, 2),
             *dy_turned = cut(&at, SIDE * d_v, 2), *dy_pairs = cut(&at, SIDE * d_v, 2);
    float *dq = cut(&at, SIDE * d_k, 4), *lse = cut(&at, SIDE, 4);
    source from_k = source_of(&a->k, it->k0, it->nk, h, a->d_k), from_v = source_of(&a->v, it->k0, it->nk, h, a->d_v);
    load_plain(&from_k, k);
    load_pairs(&from_k, k_pairs);
    load_plain(&from_v, v);
    int64_t first_seen = it->nq ? visible(a, (it->nq < SIDE ? it->nq : SIDE) - 1, it->nk) : 0;
    bool whole = first_seen == it->nk; /* the first block of queries reaches every key */
    if (!whole) {
        memset(dk, 0, (size_t)(keys * d_k) * sizeof *dk);
        memset(dv, 0, (size_t)(keys * d_v) * sizeof *dv);
    }
    for (int64_t t = 0; t < it->nq; t += SIDE) {
        int64_t n = it->nq - t < SIDE ? it->nq - t : SIDE, seen = visible(a, t + n - 1, it->nk), wide = blocks(seen);
        source from_q = source_of(&a->q, it->q0 + t, n, h, a->d_k),
               from_dy = source_of(&a->dy, it->q0 + t, n, h, a->d_v);
        bool add = t > 0 || !whole;
        load_turned(&from_q, q_turned);
        load_pairs(&from_q, q_pairs);
        load_turned(&from_dy, dy_turned);
        load_pairs(&from_dy, dy_pairs);
        for (int64_t i = 0; i < SIDE; i++)
            lse[i] = i < n ? ((const float *)a->lse)[(it->q0 + t + i) * a->heads + h] : 1e30f;
        multiply(wide, 1, d_k / SIDE, k, d_k, q_turned, s, SIDE, false);
        multiply(wide, 1, d_v / SIDE, v, d_v, dy_turned, g, SIDE, false);
        for (int64_t half = 0; half < SIDE; half += 16) {
            lanes l = {
                .a = a, .t = t + half, .seen = seen, .keys = wide * SIDE, .bits = keeps(a, it, t + half, seen, bits)};
            softmax_back_lanes(&l, lse + half, s + half, g + half, p + half, ds + half, pairs);
            turn_pairs(pairs, l.keys, ds_rows + half * keys, keys);
        }
        multiply(wide, d_v / SIDE, 1, p, SIDE, dy_pairs, dv, d_v, add);
        multiply(wide, d_k / SIDE, 1, ds, SIDE, q_pairs, dk, d_k, add);
        multiply(1, d_k / SIDE, wide, ds_rows, keys, k_pairs, dq, d_k, false);
        give(dq, NULL, &a->dq, it->q0 + t, n, h, a->d_k);
    }
    give(dk, NULL, &a->dk, it->k0, it->nk, h, a->d_k);
    give(dv, NULL, &a->dv, it->k0, it->nk, h, a->d_v);
}
#else
void attend_tiles(const attend_args *a, const attend_item *it) { (void)a, (void)it; }
void attend_tiles_back(const attend_args *a, const attend_item *it) { (void)a, (void)it; }
#endif
