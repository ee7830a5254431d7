/* simd.h - sixteen lanes of one row, for the fused kernels; the folder's .c files include it, nobody else.
 *
 * Rows are kept as f32, f64 or bf16 numbers and computed in f32 (f64 for f64). A vector has always sixteen
 * lanes, whatever the machine: element j of a row belongs to lane j mod 16 and sums over a row add the lanes
 * in one fixed tree, so a result depends neither on the machine's width nor on how far a row is padded. GCC's
 * vector types do it on any target; AVX-512 instructions stand in where the compiler would not find them.
 *
 * A template is a file included once for every type of row: `S` is its suffix then, and TYPED(name) is
 * name_f32 ... NUMBER   what rows hold     REAL   what is computed and kept as statistics     REALS   sixteen
 * of them
 */
#ifndef ABLATE_CPU_SIMD_H
#define ABLATE_CPU_SIMD_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define INLINE       static inline __attribute__((always_inline, unused))
#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)
#define TYPED(name)  PASTE(name, S)
#define NUMBER       TYPED(number)
#define REAL         TYPED(real)
#define REALS        TYPED(reals)
enum { LANES = 16 };

typedef float v16f __attribute__((vector_size(64)));
typedef float v16f_at __attribute__((vector_size(64), aligned(4), may_alias));
typedef double v16d __attribute__((vector_size(128), aligned(64)));
typedef double v16d_at __attribute__((vector_size(128), aligned(8), may_alias));
typedef int32_t v16i __attribute__((vector_size(64)));
typedef uint32_t v16u __attribute__((vector_size(64)));
typedef int64_t v16l __attribute__((vector_size(128), aligned(64)));
typedef uint16_t v16h __attribute__((vector_size(32)));
typedef uint16_t v16h_at __attribute__((vector_size(32), aligned(2), may_alias));

typedef float number_f32, real_f32, real_bf16;
typedef double number_f64, real_f64;
typedef uint16_t number_bf16;
typedef v16f reals_f32, reals_bf16;
typedef v16d reals_f64;

/* ---- bf16: the upper half of an f32, rounded to nearest even ---- */

INLINE v16f widen(v16h h)
{
#ifdef __AVX512F__
    return (v16f)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)h), 16);
#else
    return (v16f)(__builtin_convertvector(h, v16u) << 16);
#endif
}
INLINE v16h narrow(v16f x)
{
#ifdef __AVX512BF16__
    return (v16h)_mm512_cvtneps_pbh((__m512)x);
#else
    v16u u = (v16u)x, rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    v16u nan = (v16u)(x != x);
    return __builtin_convertvector((rounded & ~nan) | (nan & 0x7fc0), v16h);
#endif
}
INLINE float widen_one(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* ---- loads and stores: all lanes, or the first n with zeros behind ---- */

INLINE v16f load_f32(const float *p) { return *(const v16f_at *)p; }
INLINE v16d load_f64(const double *p) { return *(const v16d_at *)p; }
INLINE v16f load_bf16(const uint16_t *p) { return widen(*(const v16h_at *)p); }
INLINE void store_f32(float *p, v16f x) { *(v16f_at *)p = x; }
INLINE void store_f64(double *p, v16d x) { *(v16d_at *)p = x; }
INLINE void store_bf16(uint16_t *p, v16f x) { *(v16h_at *)p = narrow(x); }

#if defined(__AVX512BW__) && defined(__AVX512VL__)
INLINE uint16_t lanes_below(int n) { return (uint16_t)((1u << n) - 1); } /* 0 <= n <= 16 */
INLINE v16f load_part_f32(const float *p, int n) { return (v16f)_mm512_maskz_loadu_ps(lanes_below(n), p); }
INLINE v16f load_part_bf16(const uint16_t *p, int n)
{
    return widen((v16h)_mm256_maskz_loadu_epi16(lanes_below(n), p));
}
INLINE void store_part_f32(float *p, v16f x, int n) { _mm512_mask_storeu_ps(p, lanes_below(n), (__m512)x); }
INLINE void store_part_bf16(uint16_t *p, v16f x, int n)
{
    _mm256_mask_storeu_epi16(p, lanes_below(n), (__m256i)narrow(x));
}
INLINE v16f first_lanes_f32(v16f x, int n) { return (v16f)_mm512_maskz_mov_ps(lanes_below(n), (__m512)x); }
#else
INLINE v16f load_part_f32(const float *p, int n)
{
    float x[LANES] = {0};
    memcpy(x, p, (size_t)n * sizeof *x);
    return load_f32(x);
}
INLINE v16f load_part_bf16(const uint16_t *p, int n)
{
    uint16_t x[LANES] = {0};
    memcpy(x, p, (size_t)n * sizeof *x);
    return load_bf16(x);
}
INLINE void store_part_f32(float *p, v16f x, int n) { memcpy(p, &x, (size_t)n * sizeof *p); }
INLINE void store_part_bf16(uint16_t *p, v16f x, int n)
{
    v16h h = narrow(x);
    memcpy(p, &h, (size_t)n * sizeof *p);
}
INLINE v16f first_lanes_f32(v16f x, int n)
{
    float y[LANES] = {0};
    memcpy(y, &x, (size_t)n * sizeof *y);
    return load_f32(y);
}
#endif
INLINE v16d load_part_f64(const double *p, int n)
{
    double x[LANES] = {0};
    memcpy(x, p, (size_t)n * sizeof *x);
    return load_f64(x);
}
INLINE void store_part_f64(double *p, v16d x, int n) { memcpy(p, &x, (size_t)n * sizeof *p); }
INLINE v16d first_lanes_f64(v16d x, int n)
{
    double y[LANES] = {0};
    memcpy(y, &x, (size_t)n * sizeof *y);
    return load_f64(y);
}
INLINE v16f first_lanes_bf16(v16f x, int n) { return first_lanes_f32(x, n); }

/* Statistics and parameters beside rows of type S are of type REAL. */
INLINE v16f load_real_f32(const float *p) { return load_f32(p); }
INLINE v16f load_real_bf16(const float *p) { return load_f32(p); }
INLINE v16d load_real_f64(const double *p) { return load_f64(p); }
INLINE v16f load_real_part_f32(const float *p, int n) { return load_part_f32(p, n); }
INLINE v16f load_real_part_bf16(const float *p, int n) { return load_part_f32(p, n); }
INLINE v16d load_real_part_f64(const double *p, int n) { return load_part_f64(p, n); }
INLINE void store_real_f32(float *p, v16f x) { store_f32(p, x); }
INLINE void store_real_bf16(float *p, v16f x) { store_f32(p, x); }
INLINE void store_real_f64(double *p, v16d x) { store_f64(p, x); }
INLINE v16f of_float_f32(v16f x) { return x; }
INLINE v16f of_float_bf16(v16f x) { return x; }
INLINE v16d of_float_f64(v16f x) { return __builtin_convertvector(x, v16d); }
INLINE void store_one_f32(float *p, float x) { *p = x; }
INLINE void store_one_f64(double *p, double x) { *p = x; }
INLINE void store_one_bf16(uint16_t *p, float x) { store_part_bf16(p, x - (v16f){0}, 1); }
INLINE float load_one_f32(const float *p) { return *p; }
INLINE double load_one_f64(const double *p) { return *p; }
INLINE float load_one_bf16(const uint16_t *p) { return widen_one(*p); }

/* ---- sixteen by sixteen numbers: rows and columns exchanged ---- */

#define LOW(a, b)  __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
INLINE void shuffle_round(v16f *to, const v16f *from)
{
#pragma GCC unroll 8
    for (int i = 0; i < LANES / 2; i++) {
        to[2 * i] = LOW(from[i], from[i + LANES / 2]);
        to[2 * i + 1] = HIGH(from[i], from[i + LANES / 2]);
    }
}
#undef LOW
#undef HIGH
INLINE void turn_lanes(v16f x[LANES])
{
    v16f y[LANES];
    shuffle_round(y, x);
    shuffle_round(x, y);
    shuffle_round(y, x);
    shuffle_round(x, y);
}
/* to[k][j] = from[j][k] for j < 16, k < n; zeros for j >= rows. */
#define TURN_SQUARE(S)                                                                                       \
    INLINE void turn_square_##S(float *to, int64_t to_row, const number_##S *from, int64_t from_row,         \
                                int rows, int n)                                                             \
    {                                                                                                        \
        v16f x[LANES];                                                                                       \
        if (rows == LANES && n == LANES)                                                                     \
            _Pragma("GCC unroll 16") for (int j = 0; j < LANES; j++) x[j] = load_##S(from + j * from_row);   \
        else                                                                                                 \
            _Pragma("GCC unroll 16") for (int j = 0; j < LANES; j++) x[j] =                                  \
                j < rows ? load_part_##S(from + j * from_row, n) : (v16f){0};                                \
        turn_lanes(x);                                                                                       \
        _Pragma("GCC unroll 16") for (int k = 0; k < LANES; k++) if (k < n)                                  \
            store_f32(to + k * to_row, x[k]);                                                                \
    }
TURN_SQUARE(f32)
TURN_SQUARE(bf16)
#undef TURN_SQUARE
INLINE void turn_square_f64(double *to, int64_t to_row, const double *from, int64_t from_row, int rows, int n)
{
    for (int j = 0; j < LANES; j++)
        for (int k = 0; k < n; k++) to[k * to_row + j] = j < rows ? from[j * from_row + k] : 0;
}

/* ---- lanes together: halves are added until one is left ---- */

INLINE float sum_f32(v16f x)
{
#ifdef __AVX512F__
    return _mm512_reduce_add_ps((__m512)x); /* in the same order */
#else
    float a[LANES];
    store_f32(a, x);
    for (int w = LANES / 2; w; w /= 2)
        for (int i = 0; i < w; i++) a[i] += a[i + w];
    return a[0];
#endif
}
INLINE double sum_f64(v16d x)
{
    double a[LANES];
    store_f64(a, x);
    for (int w = LANES / 2; w; w /= 2)
        for (int i = 0; i < w; i++) a[i] += a[i + w];
    return a[0];
}
INLINE float sum_bf16(v16f x) { return sum_f32(x); }

INLINE v16f larger_f32(v16f a, v16f b)
{
#ifdef __AVX512F__
    return (v16f)_mm512_max_ps((__m512)a, (__m512)b);
#else
    v16i m = a > b;
    return (v16f)((m & (v16i)a) | (~m & (v16i)b));
#endif
}
INLINE v16d larger_f64(v16d a, v16d b)
{
    v16l m = a > b;
    return (v16d)((m & (v16l)a) | (~m & (v16l)b));
}
INLINE v16f larger_bf16(v16f a, v16f b) { return larger_f32(a, b); }
INLINE float largest_f32(v16f x)
{
#ifdef __AVX512F__
    return _mm512_reduce_max_ps((__m512)x);
#else
    float a[LANES], m;
    store_f32(a, x);
    m = a[0];
    for (int i = 1; i < LANES; i++) m = a[i] > m ? a[i] : m;
    return m;
#endif
}
INLINE double largest_f64(v16d x)
{
    double a[LANES], m;
    store_f64(a, x);
    m = a[0];
    for (int i = 1; i < LANES; i++) m = a[i] > m ? a[i] : m;
    return m;
}
INLINE float largest_bf16(v16f x) { return largest_f32(x); }

/* ---- e^x, for x <= 88: 2^n times a polynomial on [-ln2/2, ln2/2], error below 2 ulp; 0 where the result
 * would be subnormal, which costs hundreds of cycles ---- */

INLINE v16f exp_f32(v16f x)
{
    const float log2e = 1.44269504f, ln2_hi = 0.693145752f, ln2_lo = 1.42860677e-6f;
#ifdef __AVX512F__
    __mmask16 normal = _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(-87.33f), _CMP_GE_OQ);
    v16f n = (v16f)_mm512_roundscale_ps((__m512)(x * log2e), 0);
#else
    v16i normal = x >= -87.33f;
    x = larger_f32(x, -87.33f - (v16f){0});
    const float round = 12582912; /* 1.5 * 2^23: adding it leaves no fraction */
    volatile v16f shifted = x * log2e + round;
    v16f n = shifted - round;
#endif
    v16f r = (x - n * ln2_hi) - n * ln2_lo;
    v16f p = r * 1.98756915e-4f + 1.39819995e-3f;
    p = p * r + 8.33345205e-3f;
    p = p * r + 4.16657962e-2f;
    p = p * r + 1.66666657e-1f;
    p = p * r + 5.00000000e-1f;
    p = p * r * r + r + 1;
#ifdef __AVX512F__
    return (v16f)_mm512_maskz_scalef_ps(normal, (__m512)p, (__m512)n);
#else
    v16i power = (__builtin_convertvector(n, v16i) + 127) << 23;
    return (v16f)(normal & (v16i)(p * (v16f)power));
#endif
}
INLINE v16f exp_bf16(v16f x) { return exp_f32(x); }
INLINE v16d exp_f64(v16d x)
{
    double a[LANES];
    store_f64(a, x);
    for (int i = 0; i < LANES; i++) a[i] = exp(a[i]);
    return load_f64(a);
}
#endif
