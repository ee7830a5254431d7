/* codes.h - text as an array of Unicode code points, with Python's definitions of whitespace and lower case, because
 * sacreBLEU splits and lowercases with Python's str.split() and str.lower(). */
#ifndef ABLATE_METRIC_CODES_H
#define ABLATE_METRIC_CODES_H
#include "base/base.h"

typedef struct {
    int32_t *c; /* owned; NULL while empty */
    size_t n, cap;
} codes; /* {0} is empty */

void codes_free(codes *t);
void codes_add(codes *t, int32_t c);
/* Replaces t by the code points of s. Invalid UTF-8 is an error with the byte's column (from 1) and value. */
int codes_decode(codes *t, const char *s, err *e);
/* str.isspace() of one character, which decides where str.split() splits and what str.strip() removes. */
bool codes_space(int32_t c);
/* out = str.lower() of t: simple mappings, U+0130 as two code points, sigma by its position in the word. */
void codes_lower(const codes *t, codes *out);
#endif
