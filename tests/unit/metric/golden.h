/* golden.h - reads bleu_golden.tsv, whose records tests/oracle/bleu_golden.py describes. */
#ifndef ABLATE_TEST_GOLDEN_H
#define ABLATE_TEST_GOLDEN_H
#include "base/base.h"
#include <stdlib.h>
#include <string.h>

/* Splits the text in place at each `at` into at most max fields; returns their number. */
static inline size_t cut(char *text, char at, char **fields, size_t max)
{
    size_t n = 0;
    for (char *p = text; p && n < max; n++) {
        fields[n] = p;
        p = strchr(p, at);
        if (p) *p++ = 0;
    }
    return n;
}

/* Decodes \t
 *  \r \\ \xHH in place. */
static inline char *shown(char *text)
{
    char *to = text;
    for (const char *p = text; *p; p++) {
        if (*p != '\\') {
            *to++ = *p;
            continue;
        }
        p++;
        if (*p == 'x') {
            char hex[3] = {p[1], p[2], 0};
            *to++ = (char)strtol(hex, NULL, 16);
            p += 2;
        } else {
            *to++ = *p == 't' ? '\t' : *p == 'n' ? '\n' : *p == 'r' ? '\r' : *p;
        }
    }
    *to = 0;
    return text;
}
#endif
