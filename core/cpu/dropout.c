/* dropout.c - which elements are kept (Philox, Salmon et al. 2011), and DROPOUT itself.
 *
 * One counter gives four words, that is eight decisions of 16 bits; eight counters are computed side by side.
 */
#include "cpu/fused.h"
#include "cpu/simd.h"

dropout dropout_of(const call *k, int64_t place)
{
    double p = k->training ? k->a.f[0] : 0;
    return (dropout){.key = {(uint32_t)k->seed, (uint32_t)(k->seed >> 32)},
                     .place = (uint32_t)place,
                     .step = (uint32_t)k->step,
                     .least = (uint32_t)(p * 65536),
                     .scale = p > 0 ? 1 / (1 - p) : 1};
}

enum { COUNTERS = 8, DECISIONS = 8 * COUNTERS }; /* computed side by side */

#if defined(__AVX512F__) && defined(__AVX512BW__)
/* Byte i: the eight decisions of counter i of eight. A lane of 64 bits holds one counter's word in its lower
 * half; the upper half may hold anything, for products of 32 bits do not look at it. */
static inline uint64_t decide(const dropout *d, __m512i counters)
{
    const __m512i m0 = _mm512_set1_epi64(0xD2511F53), m1 = _mm512_set1_epi64(0xCD9E8D57);
    const __m512i order =
        _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7); /* so that the unpacking below ends in order */
    __m512i c0 = _mm512_permutexvar_epi64(order, counters), c1 = _mm512_srli_epi64(c0, 32);
    __m512i c2 = _mm512_set1_epi64(d->place), c3 = _mm512_set1_epi64(d->step);
    uint32_t k0 = d->key[0], k1 = d->key[1];
    for (int i = 0; i < PHILOX_ROUNDS; i++) {
        __m512i p0 = _mm512_mul_epu32(c0, m0), p1 = _mm512_mul_epu32(c2, m1);
        c0 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p1, 32), c1, _mm512_set1_epi64(k0), 0x96);
        c2 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p0, 32), c3, _mm512_set1_epi64(k1), 0x96);
        c1 = p1;
        c3 = p0;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    __m512i w01 = _mm512_mask_shuffle_epi32(c0, 0xAAAA, c1, _MM_PERM_CCAA);
    __m512i w23 = _mm512_mask_shuffle_epi32(c2, 0xAAAA, c3, _MM_PERM_CCAA);
    const __m512i least = _mm512_set1_epi16((short)d->least);
    uint64_t low = _mm512_cmpge_epu16_mask(_mm512_unpacklo_epi64(w01, w23), least);
    uint64_t high = _mm512_cmpge_epu16_mask(_mm512_unpackhi_epi64(w01, w23), least);
    return low | high << 32;
}
/* Bit j: element 8 * block + j is kept. */
static inline uint64_t keep_bits(const dropout *d, uint64_t block)
{
    return decide(
        d, _mm512_add_epi64(_mm512_set1_epi64((long long)block), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7)));
}

void dropout_bits(const dropout *d, uint64_t first, uint64_t stride, int64_t n, uint32_t *bits)
{
    enum { KEYS = 256, MOST = LANES * (KEYS + 14) / 8 };
    uint64_t counter[MOST + COUNTERS];
    unsigned char kept[MOST + COUNTERS + 8];
    for (int64_t j = 0; j < n; j += KEYS) {
        int64_t some = n - j < KEYS ? n - j : KEYS, per_row = (some + 14) / 8, all = LANES * per_row;
        for (int64_t r = 0, i = 0; r < LANES; r++) {
            uint64_t block = (first + (uint64_t)r * stride + (uint64_t)j) / 8;
            for (int64_t c = 0; c < per_row; c++) counter[i++] = block + (uint64_t)c;
        }
        for (int64_t i = 0; i < all; i += COUNTERS) {
            uint64_t eight = decide(d, _mm512_loadu_si512(counter + i));
            memcpy(kept + i, &eight, sizeof eight);
        }
        for (int64_t i = 0; i < some; i += 32, bits += LANES)
            for (int64_t r = 0; r < LANES; r++) {
                uint64_t word;
                memcpy(&word, kept + r * per_row + i / 8, sizeof word);
                bits[r] = (uint32_t)(word >> (first + (uint64_t)r * stride) % 8);
            }
    }
}
static inline void spread(uint32_t bits, float *keep)
{
    _mm512_storeu_ps(keep, _mm512_maskz_mov_ps((__mmask16)bits, _mm512_set1_ps(1)));
}
#else
static inline uint64_t keep_bits(const dropout *d, uint64_t block)
{
    uint64_t bits = 0;
    for (int i = 0; i < COUNTERS; i++, block++) {
        uint32_t w[4];
        philox((uint32_t[4]){(uint32_t)block, (uint32_t)(block >> 32), d->place, d->step}, d->key, w);
        for (int j = 0; j < 8; j++)
            bits |= (uint64_t)(((w[j / 2] >> (j % 2 * 16)) & 0xffff) >= d->least) << (8 * i + j);
    }
    return bits;
}
static inline void spread(uint32_t bits, float *keep)
{
    for (int j = 0; j < LANES; j++) keep[j] = (float)((bits >> j) & 1);
}
#endif

void dropout_keep(const dropout *d, uint64_t first, int64_t n, float *keep)
{
    unsigned skip = first % 8; /* decisions of the first counter that belong to elements before */
    uint64_t block = first / 8, bits = keep_bits(d, block);
    for (int64_t j = 0; j < n; j += DECISIONS) {
        uint64_t these = bits >> skip;
        if (j + DECISIONS - skip < n) {
            bits = keep_bits(d, block += COUNTERS);
            if (skip) these |= bits << (DECISIONS - skip);
        }
        for (int64_t i = 0; i < DECISIONS && j + i < n; i += LANES)
            spread((uint32_t)(these >> i), keep + j + i);
    }
}

#define S f32
#include "cpu/dropout.inc"
#undef S
#define S f64
#include "cpu/dropout.inc"
#undef S
#define S bf16
#include "cpu/dropout.inc"
#undef S

int cpu_DROPOUT(const call *k, err *e)
{
    (void)e;
    dropout d = dropout_of(k, k->a.i[0]);
    BY_TYPE(k->out[0].type, drop, &d, rows_of(&k->in[0]) * width_of(&k->in[0]), NULL, k->in[0].data,
            k->out[0].data);
    return 0;
}

int cpu_DROPADD(const call *k, err *e)
{
    (void)e;
    dropout d = dropout_of(k, k->a.i[0]);
    BY_TYPE(k->out[0].type, drop, &d, rows_of(&k->in[0]) * width_of(&k->in[0]), k->in[0].data, k->in[1].data,
            k->out[0].data);
    return 0;
}
