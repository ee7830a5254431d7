/* unroll.h - UNROLL(n) unrolls the next loop, of at most n turns (a constant), so that an array indexed by it can stay
 * in registers. clang does not know gcc's pragma. */
#ifndef ABLATE_UNROLL_H
#define ABLATE_UNROLL_H
#define ABLATE_PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define UNROLL(n) ABLATE_PRAGMA(clang loop unroll(full))
#else
#define UNROLL(n) ABLATE_PRAGMA(GCC unroll n)
#endif
#endif
