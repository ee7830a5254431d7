/* intrinsics.h - the x86 intrinsics of the set being compiled. GCC's header for all sets takes a quarter of a second to
 * read; plain x86-64 needs a tenth of that. */
#ifndef ABLATE_CPU_INTRINSICS_H
#define ABLATE_CPU_INTRINSICS_H
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__x86_64__)
#include <emmintrin.h>
#endif
#endif
