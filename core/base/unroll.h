/* unroll.h - UNROLL(n) before a loop of at most n turns, a number that is known where the loop is compiled: each turn
 * is written out, so that an array indexed by it can stay in registers. clang does not know gcc's pragma. */
#ifndef ABLATE_UNROLL_H
#define ABLATE_UNROLL_H
#define ABLATE_PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define UNROLL(n) ABLATE_PRAGMA(clang loop unroll(full))
#else
#define UNROLL(n) ABLATE_PRAGMA(GCC unroll n)
#endif
#endif
