/* intrinsics.h - the x86 intrinsics of the set that is compiled. GCC's header of all sets takes a quarter of a second
 * to read; plain x86-64 needs a tenth of it. */
#ifndef ABLATE_CPU_INTRINSICS_H
#define ABLATE_CPU_INTRINSICS_H
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__x86_64__)
#include <emmintrin.h>
#endif
#endif
