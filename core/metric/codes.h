/* codes.h - text as an array of Unicode code points, with Python's ideas of a space and of lower case.
 *
 * sacreBLEU is a Python program: where it splits and what it takes for the same word is what Python's
 * str.split() and str.reference() do, and scores are only equal when these are too. */
#ifndef ABLATE_METRIC_CODES_H
#define ABLATE_METRIC_CODES_H
#include "base/base.h"

typedef struct {
    int32_t *c; /* owned; NULL while empty */
    size_t n, cap;
} codes; /* {0} is empty */

void codes_free(codes *t);
void codes_add(codes *t, int32_t c);
/* Replaces t by the code points of UTF-8 text s. On bytes that are not UTF-8 fails with the byte's column
 * (from 1) and value; the caller adds file and line. */
int codes_decode(codes *t, const char *s, err *e);
/* Appends c[0..n) to b as UTF-8. */
void codes_encode(const int32_t *c, size_t n, str *b);
/* str.isspace() of one character: the separators of str.split() and what str.strip() takes away. */
bool codes_space(int32_t c);
/* out = str.reference() of t: simple mappings, U+0130 in two code points, sigma by its place in the word. */
void codes_lower(const codes *t, codes *out);
#endif
