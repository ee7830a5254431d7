/* gemm_kernels.c - the tiles of floats and of integers.
 *
 * A word of integers is two int16 or four bytes. The left factor's bytes are 128 too large: initial sums compensate. */
#include "tensor/cpu/gemm_tile.h"

#define TARGET
#define WORDS         floats
#define STEP(s, b, a) s += (b) * (a)
#include "tensor/cpu/gemm_kernel.inc"

#define WHOLE_NUMBERS
#define WORDS shorts
#define TARGET
#if defined(__AVX512BW__)
#define STEP(s, b, a) s = (vf)((vi)(s) + (vi)_mm512_madd_epi16((__m512i)(b), (__m512i)_mm512_set1_ps(a)))
#elif defined(__AVX2__)
#define STEP(s, b, a) s = (vf)((vi)(s) + (vi)_mm256_madd_epi16((__m256i)(b), (__m256i)_mm256_set1_ps(a)))
#elif defined(__SSE2__)
#define STEP(s, b, a) s = (vf)((vi)(s) + (vi)_mm_madd_epi16((__m128i)(b), (__m128i)_mm_set1_ps(a)))
#else
INLINE vi both_products(vi b, int32_t a) { return (b << 16 >> 16) * (int32_t)(int16_t)a + (b >> 16) * (a >> 16); }
#define STEP(s, b, a) s = (vf)((vi)(s) + both_products((vi)(b), (int32_t)float_bits(a)))
#endif
#include "tensor/cpu/gemm_kernel.inc"
#if defined(__AVX2__)
#define WORDS bytes
#if defined(__AVX512F__)
#define TARGET        __attribute__((target("avx512vnni")))
#define STEP(s, b, a) s = (vf)_mm512_dpbusd_epi32((__m512i)(s), (__m512i)_mm512_set1_ps(a), (__m512i)(b))
#else
#define TARGET        __attribute__((target("avxvnni")))
#define STEP(s, b, a) s = (vf)_mm256_dpbusd_avx_epi32((__m256i)(s), (__m256i)_mm256_set1_ps(a), (__m256i)(b))
#endif
#include "tensor/cpu/gemm_kernel.inc"
#else
void tile_bytes(int rows, int panels, const tile_job *t) { tile_shorts(rows, panels, t); }
#endif
#undef WHOLE_NUMBERS
