/* varint.h - whole numbers in seven bits a byte, the lowest first; bit 7 is set in all bytes but the last. */
#ifndef ABLATE_VARINT_H
#define ABLATE_VARINT_H
#include "base/base.h"

enum { VARINT_MOST = 10 };                                 /* bytes */
unsigned char *varint_write(unsigned char *p, uint64_t v); /* returns the address after the number */
void varint_add(str *out, uint64_t v);
/* Reads a number from p, before end; returns the address after the number, or NULL if the number is cut short. */
const unsigned char *varint_read(const unsigned char *p, const unsigned char *end, uint64_t *out);
/* Signed numbers as unsigned ones: 0, -1, 1, -2, ... */
static inline uint64_t zigzag(int64_t v) { return (uint64_t)v << 1 ^ (uint64_t)(v < 0 ? -1 : 0); }
static inline int64_t unzigzag(uint64_t v) { return (int64_t)(v >> 1) ^ -(int64_t)(v & 1); }
#endif
