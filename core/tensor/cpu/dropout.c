/* dropout.c - chooses the elements that are kept (Philox, Salmon et al. 2011), and DROPOUT itself.
 *
 * One counter gives four words, which are eight 16-bit decisions; a vector of counters is computed at a time.
 */
#include "tensor/cpu/fused.h"
#include "tensor/cpu/vectors.h"

dropout dropout_of(const call *k, double p, int64_t place)
{
    if (!k->training) p = 0;
    dropout d = {.place = (uint32_t)place,
                 .step = (uint32_t)k->step,
                 .least = (uint32_t)(p * 65536),
                 .scale = p > 0 ? 1 / (1 - p) : 1};
    uint32_t key[2] = {(uint32_t)k->seed, (uint32_t)(k->seed >> 32)};
    for (int i = 0; i < PHILOX_ROUNDS; i++, key[0] += 0x9E3779B9, key[1] += 0xBB67AE85)
        d.key[i][0] = key[0], d.key[i][1] = key[1];
    return d;
}

enum { COUNTERS = 8, DECISIONS = 8 * COUNTERS }; /* how many are processed at a time */

/* decide returns the decisions of eight counters: byte i has the eight decisions of counter i.
 *
 * In vectors, a lane of 64 bits holds one counter's word in its lower half. The upper half may hold anything:
 * multiplications of 32 bits do not read it. ROUNDS computes c0 .. c3 from c0 (counters) by Philox's rounds. */
#define ROUNDS(V, ALL, MULTIPLY, RIGHT, XOR)                                                                           \
    V c1 = RIGHT(c0, 32), c2 = ALL(d->place), c3 = ALL(d->step);                                                       \
    UNROLL(7) for (int i = 0; i < PHILOX_ROUNDS; i++)                                                                  \
    {                                                                                                                  \
        V p0 = MULTIPLY(c0, ALL(0xD2511F53)), p1 = MULTIPLY(c2, ALL(0xCD9E8D57));                                      \
        c0 = XOR(RIGHT(p1, 32), c1, ALL(d->key[i][0]));                                                                \
        c2 = XOR(RIGHT(p0, 32), c3, ALL(d->key[i][1]));                                                                \
        c1 = p1, c3 = p0;                                                                                              \
    }
#if WIDTH == 64
#define XOR_512(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)
static inline uint64_t decide(const dropout *d, const uint64_t counter[COUNTERS])
{
    const __m512i order =
        _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7); /* makes the unpacking below yield ascending order */
    __m512i c0 = _mm512_permutexvar_epi64(order, _mm512_loadu_si512(counter));
    ROUNDS(__m512i, _mm512_set1_epi64, _mm512_mul_epu32, _mm512_srli_epi64, XOR_512)
    __m512i w01 = _mm512_mask_shuffle_epi32(c0, 0xAAAA, c1, _MM_PERM_CCAA);
    __m512i w23 = _mm512_mask_shuffle_epi32(c2, 0xAAAA, c3, _MM_PERM_CCAA);
    const __m512i least = _mm512_set1_epi16((short)d->least);
    uint64_t low = _mm512_cmpge_epu16_mask(_mm512_unpacklo_epi64(w01, w23), least);
    uint64_t high = _mm512_cmpge_epu16_mask(_mm512_unpackhi_epi64(w01, w23), least);
    return low | high << 32;
}
#elif WIDTH == 32
#define XOR_256(a, b, c) _mm256_xor_si256(_mm256_xor_si256(a, b), c)
/* Computes the words of four counters and returns the decisions in order. `even`: counters 0 and 2; `odd`: 1 and 3. */
static inline uint32_t decide_four(const dropout *d, __m256i c0)
{
    ROUNDS(__m256i, _mm256_set1_epi64x, _mm256_mul_epu32, _mm256_srli_epi64, XOR_256)
    __m256i w01 = _mm256_blend_epi32(c0, _mm256_slli_epi64(c1, 32), 0xAA),
            w23 = _mm256_blend_epi32(c2, _mm256_slli_epi64(c3, 32), 0xAA);
    const __m256i least = _mm256_set1_epi16((short)d->least);
    __m256i even = _mm256_unpacklo_epi64(w01, w23), odd = _mm256_unpackhi_epi64(w01, w23);
    even = _mm256_cmpeq_epi16(_mm256_max_epu16(even, least), even);
    odd = _mm256_cmpeq_epi16(_mm256_max_epu16(odd, least), odd);
    return (uint32_t)_mm256_movemask_epi8(_mm256_packs_epi16(even, odd));
}
static inline uint64_t decide(const dropout *d, const uint64_t counter[COUNTERS])
{
    uint64_t low = decide_four(d, _mm256_loadu_si256((const __m256i *)counter));
    return low | (uint64_t)decide_four(d, _mm256_loadu_si256((const __m256i *)(counter + 4))) << 32;
}
#elif defined(__SSE2__)
#define XOR_128(a, b, c) _mm_xor_si128(_mm_xor_si128(a, b), c)
static inline uint32_t decide_two(const dropout *d, __m128i c0)
{
    ROUNDS(__m128i, _mm_set1_epi64x, _mm_mul_epu32, _mm_srli_epi64, XOR_128)
    const __m128i lower = _mm_set1_epi64x(0xffffffff);
    __m128i w01 = _mm_or_si128(_mm_and_si128(c0, lower), _mm_slli_epi64(c1, 32)),
            w23 = _mm_or_si128(_mm_and_si128(c2, lower), _mm_slli_epi64(c3, 32));
    const __m128i least = _mm_set1_epi16((short)d->least), none = _mm_setzero_si128();
    __m128i first = _mm_cmpeq_epi16(_mm_subs_epu16(least, _mm_unpacklo_epi64(w01, w23)), none),
            second = _mm_cmpeq_epi16(_mm_subs_epu16(least, _mm_unpackhi_epi64(w01, w23)), none);
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(first, second));
}
static inline uint64_t decide(const dropout *d, const uint64_t counter[COUNTERS])
{
    uint64_t bits = 0;
    for (int i = 0; i < COUNTERS; i += 2)
        bits |= (uint64_t)decide_two(d, _mm_loadu_si128((const __m128i *)(counter + i))) << 8 * i;
    return bits;
}
#else
static inline uint64_t decide(const dropout *d, const uint64_t counter[COUNTERS])
{
    uint64_t bits = 0;
    for (int i = 0; i < COUNTERS; i++) {
        uint32_t w[4];
        philox((uint32_t[4]){(uint32_t)counter[i], (uint32_t)(counter[i] >> 32), d->place, d->step},
               (uint32_t[2]){(uint32_t)d->key[0][0], (uint32_t)d->key[0][1]}, w);
        for (int j = 0; j < 8; j++)
            bits |= (uint64_t)(((w[j / 2] >> (j % 2 * 16)) & 0xffff) >= d->least) << (8 * i + j);
    }
    return bits;
}
#endif

/* Bit j: element 8 * block + j is kept. */
static inline uint64_t keep_bits(const dropout *d, uint64_t block)
{
    uint64_t counter[COUNTERS];
    for (uint64_t i = 0; i < COUNTERS; i++) counter[i] = block + i;
    return decide(d, counter);
}

void dropout_bits(const dropout *d, uint64_t first, uint64_t stride, int rows, int64_t n, uint32_t *bits)
{
    enum { KEYS = 256, MOST = DROPOUT_ROWS * (KEYS + 14) / 8 };
    uint64_t counter[MOST + COUNTERS];
    unsigned char kept[MOST + COUNTERS + 8];
    int64_t skipped = first % 8 || stride % 8 ? 7 : 0; /* at most this many decisions precede a row's first element */
    for (int64_t j = 0; j < n; j += KEYS) {
        int64_t some = n - j < KEYS ? n - j : KEYS, per_row = (some + 7 + skipped) / 8, all = 0;
        for (int r = 0; r < rows; r++) {
            uint64_t block = (first + (uint64_t)r * stride + (uint64_t)j) / 8;
            for (int64_t c = 0; c < per_row; c++) counter[all++] = block + (uint64_t)c;
        }
        for (int64_t i = 0; i < COUNTERS - 1; i++) counter[all + i] = 0; /* pad to a multiple of eight counters */
        for (int64_t i = 0; i < all; i += COUNTERS) {
            uint64_t eight = decide(d, counter + i);
            memcpy(kept + i, &eight, sizeof eight);
        }
        for (int64_t i = 0; i < some; i += 32, bits += DROPOUT_ROWS)
            for (int r = 0; r < rows; r++) {
                uint64_t word;
                memcpy(&word, kept + r * per_row + i / 8, sizeof word);
                bits[r] = (uint32_t)(word >> (first + (uint64_t)r * stride) % 8);
            }
    }
}

/* Writes sixteen decisions as 0 or 1. */
static inline void spread(uint32_t bits, float *keep)
{
    enum { ROOM = 16 };
#if WIDTH == 64
    _mm512_storeu_ps(keep, _mm512_maskz_mov_ps((__mmask16)bits, _mm512_set1_ps(1)));
#else
    masks_f32 place = {0};
    for (int i = 0; i < lanes_f32; i++) place[i] = 1 << i;
    for (int j = 0; j < ROOM; j += lanes_f32)
        store_f32(keep + j, where_f32((((masks_f32){0} + (int32_t)(bits >> j)) & place) != 0, all_f32(1)));
#endif
}

void dropout_keep(const dropout *d, uint64_t first, int64_t n, float *keep)
{
    unsigned skip = first % 8; /* number of the first counter's decisions that concern earlier elements */
    uint64_t block = first / 8, bits = keep_bits(d, block);
    for (int64_t j = 0; j < n; j += DECISIONS) {
        uint64_t these = bits >> skip;
        if (j + DECISIONS - skip < n) {
            bits = keep_bits(d, block += COUNTERS);
            if (skip) these |= bits << (DECISIONS - skip);
        }
        for (int64_t i = 0; i < DECISIONS && j + i < n; i += 16) spread((uint32_t)(these >> i), keep + j + i);
    }
}

#define OF_EACH_TYPE "tensor/cpu/dropout.inc"
#include "tensor/cpu/each_type.h"

int cpu_DROPOUT(const call *k, err *e)
{
    (void)e;
    dropout d = dropout_of(k, k->a.DROPOUT.p, k->a.DROPOUT.place);
    BY_TYPE(k->o.DROPOUT.y.type, drop, &d, rows_of(&k->i.DROPOUT.x) * width_of(&k->i.DROPOUT.x), NULL,
            k->i.DROPOUT.x.data, k->o.DROPOUT.y.data);
    return 0;
}

int cpu_DROPOUT_ADD(const call *k, err *e)
{
    (void)e;
    dropout d = dropout_of(k, k->a.DROPOUT.p, k->a.DROPOUT.place);
    BY_TYPE(k->o.DROPOUT_ADD.y.type, drop, &d, rows_of(&k->i.DROPOUT_ADD.x) * width_of(&k->i.DROPOUT_ADD.x),
            k->i.DROPOUT_ADD.x.data, k->i.DROPOUT_ADD.s.data, k->o.DROPOUT_ADD.y.data);
    return 0;
}
