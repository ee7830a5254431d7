/* gemm_pairs.c - the tile for pairs of bf16, and the choice of a gemm_way, which depends on the instruction set. */
#include "tensor/cpu/gemm_tile.h"

#ifdef __AVX512BF16__
#define TARGET
#define WORDS         pairs
#define STEP(s, b, a) s = (vf)_mm512_dpbf16_ps((__m512)(s), (__m512bh)(b), (__m512bh)_mm512_set1_ps(a))
#include "tensor/cpu/gemm_kernel.inc"
#else
#define tile_pairs tile_floats
#endif

tile_fn tile_of(gemm_way way)
{
    return way == WAY_PAIRS    ? tile_pairs
           : way == WAY_BYTES  ? tile_bytes
           : way == WAY_SHORTS ? tile_shorts
                               : tile_floats;
}

gemm_way gemm_way_of(dtype type)
{
    if (type == F32) return WAY_F32;
    if (cpu_isa() == ISA_AMX) return WAY_TILES;
#ifdef __AVX512BF16__
    return WAY_PAIRS;
#else
    return WAY_WIDENED;
#endif
}
