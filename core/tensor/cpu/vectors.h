/* vectors.h - vectors as wide as the instruction set's registers, for the kernels on rows.
 *
 * This folder is compiled once per instruction set, with vectors of 64, 32 or 16 bytes. (GCC keeps vectors wider than
 * the machine's in memory, which costs a factor of five.) Rows are stored as f32, f64 or bf16 and computed in f32 (f64
 * for f64).
 *
 * Sums across a row always have PLACES partial sums, element j in place j mod PLACES, folded by halves: the same order
 * in every set. So AVX2 and AVX-512 give the same bits. Plain x86-64 has no fused multiply-add and rounds once more
 * (tests allow a difference of 1e-5 of a row's norm between sets).
 *
 * A template is a file included once per row type: `S` is the type's suffix, TYPED(name) is name_f32, name_f64 or
 * name_bf16, and OF_REAL(name) is name_f32 for bf16, too, whose rows are computed in f32.
 *     NUMBER  element type of rows   REAL  type of computation and statistics
 *     REALS   a vector of REAL       MASKS integers of the same width: all bits set or none
 *     LANES   numbers per vector     STEP  vectors per step of PLACES numbers
 */
#ifndef ABLATE_CPU_VECTORS_H
#define ABLATE_CPU_VECTORS_H
#include "base/unroll.h"
#include "tensor/cpu/intrinsics.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define WIDTH 64
#elif defined(__AVX2__)
#define WIDTH 32
#else
#define WIDTH 16
#endif

#define INLINE        static inline __attribute__((always_inline, unused))
#define PASTE_(a, b)  a##_##b
#define PASTE(a, b)   PASTE_(a, b)
#define TYPED(name)   PASTE(name, S)
#define OF_f32        f32
#define OF_f64        f64
#define OF_bf16       f32
#define OF_REAL(name) PASTE(name, PASTE(OF, S))
#define NUMBER        TYPED(number)
#define REAL          TYPED(real)
#define REALS         TYPED(reals)
#define MASKS         TYPED(masks)
#define LANES         TYPED(lanes)
#define STEP          (PLACES / LANES)
/* An unrolled loop over constants, so that arrays of vectors become registers. */
#define EACH(i, n) UNROLL(16) for (int i = 0; i < (n); i++)

enum { PLACES = 32, lanes_f32 = WIDTH / 4, lanes_bf16 = WIDTH / 4, lanes_f64 = WIDTH / 8 };

typedef float number_f32, real_f32, real_bf16;
typedef double number_f64, real_f64;
typedef uint16_t number_bf16;
typedef int32_t integer_f32, integer_bf16;
typedef int64_t integer_f64;
typedef float reals_f32 __attribute__((vector_size(WIDTH)));
typedef double reals_f64 __attribute__((vector_size(WIDTH)));
typedef int32_t masks_f32 __attribute__((vector_size(WIDTH)));
typedef int64_t masks_f64 __attribute__((vector_size(WIDTH)));
typedef uint32_t words_f32 __attribute__((vector_size(WIDTH)));
typedef uint16_t halves __attribute__((vector_size(WIDTH / 2)));
typedef reals_f32 reals_bf16;
typedef masks_f32 masks_bf16;
typedef float at_f32 __attribute__((vector_size(WIDTH), aligned(4), may_alias)); /* unaligned */
typedef double at_f64 __attribute__((vector_size(WIDTH), aligned(8), may_alias));
typedef uint16_t at_bf16 __attribute__((vector_size(WIDTH / 2), aligned(2), may_alias));
typedef float half_at_f32 __attribute__((vector_size(WIDTH / 2), aligned(4), may_alias));

/* ---- bf16: the upper half of an f32, rounded to nearest even ---- */

INLINE reals_f32 widen(halves h)
{
#if WIDTH == 64
    return (reals_f32)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)h), 16);
#elif WIDTH == 32
    return (reals_f32)_mm256_slli_epi32(_mm256_cvtepu16_epi32((__m128i)h), 16);
#else
    return (reals_f32)(__builtin_convertvector(h, words_f32) << 16);
#endif
}
#ifdef ONE_OBJECT_FOR_BF16 /* avx512_bf16 uses this object, too, but has an instruction for rounding (sets.cmake) */
void narrow_in_one_object(void) __attribute__((error("a file that rounds to bf16 stands in bf16_files of sets.cmake")));
#endif
INLINE halves narrow(reals_f32 x)
{
#ifdef ONE_OBJECT_FOR_BF16
    narrow_in_one_object();
#endif
#if WIDTH == 64 && defined(__AVX512BF16__)
    return (halves)_mm512_cvtneps_pbh((__m512)x);
#else
    words_f32 u = (words_f32)x, rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    words_f32 nan = (words_f32)(x != x), y = (rounded & ~nan) | (nan & 0x7fc0);
#if WIDTH == 64
    return (halves)_mm512_cvtepi32_epi16((__m512i)y);
#elif WIDTH == 32
    __m256i both = _mm256_packus_epi32((__m256i)y, (__m256i)y);
    return (halves)_mm256_castsi256_si128(_mm256_permute4x64_epi64(both, 0x08));
#else
    return __builtin_convertvector(y, halves);
#endif
#endif
}
INLINE float widen_one(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* ---- loads and stores: a whole vector, or its first n numbers, zero-padded ---- */

INLINE reals_f32 load_f32(const float *p) { return *(const at_f32 *)p; }
INLINE reals_f64 load_f64(const double *p) { return *(const at_f64 *)p; }
INLINE reals_f32 load_bf16(const uint16_t *p) { return widen(*(const at_bf16 *)p); }
INLINE void store_f32(float *p, reals_f32 x) { *(at_f32 *)p = x; }
INLINE void store_f64(double *p, reals_f64 x) { *(at_f64 *)p = x; }
INLINE void store_bf16(uint16_t *p, reals_f32 x) { *(at_bf16 *)p = narrow(x); }
INLINE reals_f32 all_f32(float x) { return x - (reals_f32){0}; }
INLINE reals_f64 all_f64(double x) { return x - (reals_f64){0}; }

/* Masked loads: after a copy by memcpy, a vector load would wait for memcpy's smaller stores. */
#if WIDTH == 64
#define FIRST(n) ((1u << (n)) - 1)
INLINE reals_f32 load_part_f32(const float *p, int n)
{
    return (reals_f32)_mm512_maskz_loadu_ps((__mmask16)FIRST(n), p);
}
INLINE reals_f64 load_part_f64(const double *p, int n)
{
    return (reals_f64)_mm512_maskz_loadu_pd((__mmask8)FIRST(n), p);
}
INLINE reals_f32 load_part_bf16(const uint16_t *p, int n)
{
    return widen((halves)_mm256_maskz_loadu_epi16((__mmask16)FIRST(n), p));
}
INLINE void store_part_f32(float *p, reals_f32 x, int n) { _mm512_mask_storeu_ps(p, (__mmask16)FIRST(n), (__m512)x); }
INLINE void store_part_f64(double *p, reals_f64 x, int n) { _mm512_mask_storeu_pd(p, (__mmask8)FIRST(n), (__m512d)x); }
INLINE void store_part_bf16(uint16_t *p, reals_f32 x, int n)
{
    _mm256_mask_storeu_epi16(p, (__mmask16)FIRST(n), (__m256i)narrow(x));
}
#undef FIRST
#elif WIDTH == 32
INLINE __m256i part_f32(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE __m256i part_f64(int n) { return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3)); }
INLINE reals_f32 load_part_f32(const float *p, int n) { return (reals_f32)_mm256_maskload_ps(p, part_f32(n)); }
INLINE reals_f64 load_part_f64(const double *p, int n) { return (reals_f64)_mm256_maskload_pd(p, part_f64(n)); }
INLINE reals_f32 load_part_bf16(const uint16_t *p, int n)
{
    if (n == lanes_f32) return load_bf16(p);
    uint64_t four = 0, rest = 0; /* there is no mask for 16-bit numbers: copy four, two and one of them */
    uint32_t two = 0;
    if (n & 4) memcpy(&four, p, sizeof four), p += 4;
    if (n & 2) memcpy(&two, p, sizeof two), p += 2, rest = two;
    if (n & 1) rest |= (uint64_t)*p << (n & 2) * 16;
    return widen(
        (halves)(n & 4 ? _mm_set_epi64x((long long)rest, (long long)four) : _mm_set_epi64x(0, (long long)rest)));
}
INLINE void store_part_f32(float *p, reals_f32 x, int n) { _mm256_maskstore_ps(p, part_f32(n), (__m256)x); }
INLINE void store_part_f64(double *p, reals_f64 x, int n) { _mm256_maskstore_pd(p, part_f64(n), (__m256d)x); }
INLINE void store_part_bf16(uint16_t *p, reals_f32 x, int n)
{
    if (n == lanes_f32) {
        store_bf16(p, x);
        return;
    }
    __m128i h = (__m128i)narrow(x);
    if (n & 4) _mm_storel_epi64((__m128i *)p, h), p += 4, h = _mm_unpackhi_epi64(h, h);
    uint64_t rest = (uint64_t)_mm_cvtsi128_si64(h);
    if (n & 2) memcpy(p, &rest, sizeof(uint32_t)), p += 2, rest >>= 32;
    if (n & 1) *p = (uint16_t)rest;
}
#else
INLINE reals_f32 load_part_f32(const float *p, int n)
{
    float x[lanes_f32] = {0};
    memcpy(x, p, (size_t)n * sizeof *x);
    return load_f32(x);
}
INLINE reals_f64 load_part_f64(const double *p, int n)
{
    double x[lanes_f64] = {0};
    memcpy(x, p, (size_t)n * sizeof *x);
    return load_f64(x);
}
INLINE reals_f32 load_part_bf16(const uint16_t *p, int n)
{
    uint16_t x[lanes_f32] = {0};
    memcpy(x, p, (size_t)n * sizeof *x);
    return load_bf16(x);
}
INLINE void store_part_f32(float *p, reals_f32 x, int n) { memcpy(p, &x, (size_t)n * sizeof *p); }
INLINE void store_part_f64(double *p, reals_f64 x, int n) { memcpy(p, &x, (size_t)n * sizeof *p); }
INLINE void store_part_bf16(uint16_t *p, reals_f32 x, int n)
{
    halves h = narrow(x);
    memcpy(p, &h, (size_t)n * sizeof *p);
}
#endif

INLINE float load_one_f32(const float *p) { return *p; }
INLINE double load_one_f64(const double *p) { return *p; }
INLINE float load_one_bf16(const uint16_t *p) { return widen_one(*p); }
INLINE void store_one_f32(float *p, float x) { *p = x; }
INLINE void store_one_f64(double *p, double x) { *p = x; }
INLINE void store_one_bf16(uint16_t *p, float x) { store_part_bf16(p, all_f32(x), 1); }
/* Numbers that are floats for every row type (dropout decisions). */
INLINE reals_f32 load_floats_f32(const float *p) { return load_f32(p); }
INLINE reals_f64 load_floats_f64(const float *p) { return __builtin_convertvector(*(const half_at_f32 *)p, reals_f64); }

/* a b + c, rounded once if the machine can: so all sets with fused multiply-add give the same bits. */
INLINE reals_f32 madd_f32(reals_f32 a, reals_f32 b, reals_f32 c)
{
#if WIDTH == 64
    return (reals_f32)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif WIDTH == 32
    return (reals_f32)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return a * b + c;
#endif
}
INLINE reals_f64 madd_f64(reals_f64 a, reals_f64 b, reals_f64 c) { return a * b + c; }

/* ---- selection ---- */

/* Lane i has the number i. */
#if WIDTH == 64
INLINE masks_f32 numbered_f32(void) { return (masks_f32){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; }
INLINE masks_f64 numbered_f64(void) { return (masks_f64){0, 1, 2, 3, 4, 5, 6, 7}; }
#elif WIDTH == 32
INLINE masks_f32 numbered_f32(void) { return (masks_f32){0, 1, 2, 3, 4, 5, 6, 7}; }
INLINE masks_f64 numbered_f64(void) { return (masks_f64){0, 1, 2, 3}; }
#else
INLINE masks_f32 numbered_f32(void) { return (masks_f32){0, 1, 2, 3}; }
INLINE masks_f64 numbered_f64(void) { return (masks_f64){0, 1}; }
#endif
INLINE reals_f32 where_f32(masks_f32 m, reals_f32 x) { return (reals_f32)(m & (masks_f32)x); } /* x or 0 */
INLINE reals_f64 where_f64(masks_f64 m, reals_f64 x) { return (reals_f64)(m & (masks_f64)x); }
INLINE reals_f32 select_f32(masks_f32 m, reals_f32 a, reals_f32 b)
{
    return (reals_f32)((m & (masks_f32)a) | (~m & (masks_f32)b));
}
INLINE reals_f64 select_f64(masks_f64 m, reals_f64 a, reals_f64 b)
{
    return (reals_f64)((m & (masks_f64)a) | (~m & (masks_f64)b));
}
/* The larger of a and b; b if a or b is NaN. */
INLINE reals_f32 larger_f32(reals_f32 a, reals_f32 b)
{
#if WIDTH == 64
    return (reals_f32)_mm512_max_ps((__m512)a, (__m512)b);
#elif WIDTH == 32
    return (reals_f32)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (reals_f32)_mm_max_ps((__m128)a, (__m128)b);
#else
    return select_f32(a > b, a, b);
#endif
}
INLINE reals_f64 larger_f64(reals_f64 a, reals_f64 b) { return select_f64(a > b, a, b); }

/* The first n lanes, then zeros. */
INLINE reals_f32 first_f32(reals_f32 x, int n) { return where_f32(numbered_f32() < n, x); }
INLINE reals_f64 first_f64(reals_f64 x, int n) { return where_f64(numbered_f64() < (int64_t)n, x); }

/* ---- across lanes: folds halves until one is left; the result is in all lanes ---- */

/* y is x with the lanes l and l ^ by exchanged, for a constant `by`. */
#ifdef __clang__ /* clang has no shuffle by a vector, but recognises this loop */
#define SWAP(S) EACH(l, lanes_##S) y[l] = x[l ^ by]
#else
#define SWAP(S) y = __builtin_shuffle(x, numbered_##S() ^ by)
#endif
#define FOLDS(S)                                                                                                       \
    INLINE reals_##S swapped_##S(reals_##S x, int by)                                                                  \
    {                                                                                                                  \
        reals_##S y = x;                                                                                               \
        SWAP(S);                                                                                                       \
        return y;                                                                                                      \
    }                                                                                                                  \
    INLINE reals_##S sum_lanes_##S(reals_##S x)                                                                        \
    {                                                                                                                  \
        EACH(i, 4) if (lanes_##S >> (i + 1)) x += swapped_##S(x, lanes_##S >> (i + 1));                                \
        return x;                                                                                                      \
    }                                                                                                                  \
    INLINE reals_##S largest_lane_##S(reals_##S x)                                                                     \
    {                                                                                                                  \
        EACH(i, 4) if (lanes_##S >> (i + 1)) x = larger_##S(x, swapped_##S(x, lanes_##S >> (i + 1)));                  \
        return x;                                                                                                      \
    }                                                                                                                  \
    /* folds PLACES partial sums */                                                                                    \
    INLINE real_##S sum_places_##S(const reals_##S *s)                                                                 \
    {                                                                                                                  \
        enum { N = PLACES / lanes_##S };                                                                               \
        reals_##S x[N];                                                                                                \
        EACH(i, N) x[i] = s[i];                                                                                        \
        EACH(h, 4) EACH(i, N >> (h + 1)) x[i] += x[i + (N >> (h + 1))];                                                \
        return sum_lanes_##S(x[0])[0];                                                                                 \
    }                                                                                                                  \
    INLINE real_##S largest_place_##S(const reals_##S *s)                                                              \
    {                                                                                                                  \
        reals_##S x = s[0];                                                                                            \
        EACH(i, PLACES / lanes_##S) x = larger_##S(x, s[i]);                                                           \
        return largest_lane_##S(x)[0];                                                                                 \
    }
FOLDS(f32)
FOLDS(f64)
#undef FOLDS

/* ---- a vector (some) or a step of PLACES numbers, with only the first `left` numbers present (perhaps none): stores
 * skip the other numbers; loads read them as 0, load_step as `behind` ---- */

#define STEPS(S, REAL_S)                                                                                               \
    INLINE reals_##S load_some_##S(const number_##S *p, int64_t left)                                                  \
    {                                                                                                                  \
        return left >= lanes_##S ? load_##S(p) : left > 0 ? load_part_##S(p, (int)left) : (reals_##S){0};              \
    }                                                                                                                  \
    INLINE void store_some_##S(number_##S *p, reals_##S x, int64_t left)                                               \
    {                                                                                                                  \
        if (left >= lanes_##S)                                                                                         \
            store_##S(p, x);                                                                                           \
        else if (left > 0)                                                                                             \
            store_part_##S(p, x, (int)left);                                                                           \
    }                                                                                                                  \
    INLINE void load_step_##S(reals_##S *v, const number_##S *p, int64_t left, real_##S behind)                        \
    {                                                                                                                  \
        if (left >= PLACES) {                                                                                          \
            EACH(i, PLACES / lanes_##S) v[i] = load_##S(p + i * lanes_##S);                                            \
            return;                                                                                                    \
        }                                                                                                              \
        EACH(i, PLACES / lanes_##S)                                                                                    \
        {                                                                                                              \
            v[i] = load_some_##S(p + i * lanes_##S, left - i * lanes_##S);                                             \
            v[i] = select_##REAL_S(numbered_##REAL_S() < (int)left - i * lanes_##S, v[i], all_##REAL_S(behind));       \
        }                                                                                                              \
    }                                                                                                                  \
    INLINE void store_step_##S(number_##S *p, const reals_##S *v, int64_t left)                                        \
    {                                                                                                                  \
        if (left >= PLACES)                                                                                            \
            EACH(i, PLACES / lanes_##S) store_##S(p + i * lanes_##S, v[i]);                                            \
        else                                                                                                           \
            EACH(i, PLACES / lanes_##S) store_some_##S(p + i * lanes_##S, v[i], left - i * lanes_##S);                 \
    }
STEPS(f32, f32)
STEPS(f64, f64)
STEPS(bf16, f32)
#undef STEPS

/* Not inlined: saves much code for the cost of a call. */
#define APART static __attribute__((noinline, unused))

/* ---- squares of LANES by LANES numbers: to[k][j] = from[j][k] for j < LANES, k < n; zeros for j >= rows ---- */

#if WIDTH == 64
#define LOW  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
enum { TURN_ROUNDS = 4 };
#elif WIDTH == 32
#define LOW  0, 8, 1, 9, 2, 10, 3, 11
#define HIGH 4, 12, 5, 13, 6, 14, 7, 15
enum { TURN_ROUNDS = 3 };
#else
#define LOW  0, 4, 1, 5
#define HIGH 2, 6, 3, 7
enum { TURN_ROUNDS = 2 };
#endif
INLINE void turn_lanes(reals_f32 x[lanes_f32])
{
    reals_f32 y[lanes_f32];
    EACH(round, TURN_ROUNDS)
    {
        EACH(i, lanes_f32 / 2)
        {
            y[2 * i] = __builtin_shufflevector(x[i], x[i + lanes_f32 / 2], LOW);
            y[2 * i + 1] = __builtin_shufflevector(x[i], x[i + lanes_f32 / 2], HIGH);
        }
        EACH(i, lanes_f32) x[i] = y[i];
    }
}
#undef LOW
#undef HIGH
#define TURN_SQUARE(S)                                                                                                 \
    APART void turn_square_##S(float *to, int64_t to_row, const number_##S *from, int64_t from_row, int rows, int n)   \
    {                                                                                                                  \
        reals_f32 x[lanes_f32];                                                                                        \
        if (rows == lanes_f32 && n == lanes_f32)                                                                       \
            EACH(j, lanes_f32) x[j] = load_##S(from + j * from_row);                                                   \
        else                                                                                                           \
            EACH(j, lanes_f32)                                                                                         \
        x[j] = j >= rows        ? (reals_f32){0}                                                                       \
               : n == lanes_f32 ? load_##S(from + j * from_row)                                                        \
                                : load_part_##S(from + j * from_row, n);                                               \
        turn_lanes(x);                                                                                                 \
        EACH(k, lanes_f32) if (k < n) store_f32(to + k * to_row, x[k]);                                                \
    }
TURN_SQUARE(f32)
TURN_SQUARE(bf16)
#undef TURN_SQUARE
INLINE void turn_square_f64(double *to, int64_t to_row, const double *from, int64_t from_row, int rows, int n)
{
    for (int j = 0; j < lanes_f64; j++)
        for (int k = 0; k < n; k++) to[k * to_row + j] = j < rows ? from[j * from_row + k] : 0;
}

/* ---- e^x for x <= 88: 2^n times a polynomial on [-ln2/2, ln2/2], within 2 ulp; 0 for NaN and below -64: a weight of
 * e^-64 is lost beside one of 1, and products with less may be subnormal, which costs hundreds of cycles each ---- */

INLINE reals_f32 exp_f32(reals_f32 x)
{
    const float log2e = 1.44269504f, ln2_hi = 0.693145752f, ln2_lo = 1.42860677e-6f, round = 12582912;
    /* adding 1.5 * 2^23 rounds to an integer, left in the low bits */
    reals_f32 t = x * log2e + round, n = t - round, r = (x - n * ln2_hi) - n * ln2_lo;
    reals_f32 p = r * 1.98756915e-4f + 1.39819995e-3f;
    p = p * r + 8.33345205e-3f;
    p = p * r + 4.16657962e-2f;
    p = p * r + 1.66666657e-1f;
    p = p * r + 5.00000000e-1f;
    p = p * (r * r) + r + 1;
    words_f32 y = (words_f32)p + ((words_f32)t << 23);
#if WIDTH == 64
    return (reals_f32)_mm512_maskz_mov_epi32(_mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(-64.0f), _CMP_GE_OQ),
                                             (__m512i)y);
#else
    return (reals_f32)((words_f32)(x >= -64.0f) & y);
#endif
}
INLINE float log_f32(float x) { return logf(x); }
INLINE double log_f64(double x) { return log(x); }
INLINE float exp_one_f32(float x) { return expf(x); }
INLINE double exp_one_f64(double x) { return exp(x); }
INLINE float root_f32(float x) { return sqrtf(x); }
INLINE double root_f64(double x) { return sqrt(x); }
INLINE reals_f64 exp_f64(reals_f64 x)
{
    for (int i = 0; i < lanes_f64; i++) x[i] = exp(x[i]);
    return x;
}
#endif
