#include "text/metric/codes.h"
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

void codes_free(codes *t)
{
    free(t->c);
    *t = (codes){0};
}

void codes_add(codes *t, int32_t c)
{
    if (t->n == t->cap) t->c = grow(t->c, &t->cap, t->n + 1, sizeof *t->c);
    t->c[t->n++] = c;
}

int codes_decode(codes *t, const char *s, err *e)
{
    const utf8proc_uint8_t *p = (const utf8proc_uint8_t *)s;
    size_t n = strlen(s);
    t->n = 0;
    t->c = grow(t->c, &t->cap, n + 1, sizeof *t->c);
    for (size_t i = 0; i < n;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t used = utf8proc_iterate(p + i, (utf8proc_ssize_t)(n - i), &c);
        if (used <= 0)
            return fail(e, "column %zu: byte 0x%02x is not valid UTF-8; convert the file to UTF-8", i + 1, p[i]);
        t->c[t->n++] = c;
        i += (size_t)used;
    }
    return 0;
}

bool codes_space(int32_t c)
{
    if (c < 0x80) return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20);
    if (c == 0x85) return true; /* "next line": a control character, but Python counts it as a paragraph separator */
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return true;
    default: return false;
    }
}

typedef struct {
    int32_t from, to;
} range;

static bool within(int32_t c, const range *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c >= r[i].from && c <= r[i].to) return true;
    return false;
}

/* Unicode's derived property Cased, for characters that are not also Case_Ignorable. */
static bool cased(int32_t c)
{
    static const range others[] = {{0xaa, 0xaa},       {0xba, 0xba},       {0x2160, 0x217f},  {0x24b6, 0x24e9},
                                   {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}};
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT: return true;
    default: return within(c, others, LENGTH(others));
    }
}

/* Unicode's derived property Case_Ignorable: marks, formats, modifiers, and what may stand inside a word. */
static bool case_ignorable(int32_t c)
{
    static const range others[] = {{0x27, 0x27},     {0x2e, 0x2e},     {0x3a, 0x3a},     {0xb7, 0xb7},
                                   {0x387, 0x387},   {0x55f, 0x55f},   {0x5f4, 0x5f4},   {0x2018, 0x2019},
                                   {0x2024, 0x2024}, {0x2027, 0x2027}, {0xfe13, 0xfe13}, {0xfe52, 0xfe52},
                                   {0xfe55, 0xfe55}, {0xff07, 0xff07}, {0xff0e, 0xff0e}, {0xff1a, 0xff1a}};
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK: return true;
    default: return within(c, others, LENGTH(others));
    }
}

/* Unicode's condition Final_Sigma: the word has a cased letter before this one, and none after. */
static bool final_sigma(const codes *t, size_t at)
{
    size_t i = at;
    while (i > 0 && case_ignorable(t->c[i - 1])) i--;
    if (i == 0 || !cased(t->c[i - 1])) return false;
    for (i = at + 1; i < t->n && case_ignorable(t->c[i]);) i++;
    return i == t->n || !cased(t->c[i]);
}

void codes_lower(const codes *t, codes *out)
{
    enum { CAPITAL_SIGMA = 0x3a3, SIGMA = 0x3c3, FINAL_SIGMA = 0x3c2, CAPITAL_I_DOT = 0x130, DOT_ABOVE = 0x307 };
    out->n = 0;
    for (size_t i = 0; i < t->n; i++) {
        int32_t c = t->c[i];
        if (c == CAPITAL_SIGMA)
            codes_add(out, final_sigma(t, i) ? FINAL_SIGMA : SIGMA);
        else
            codes_add(out, utf8proc_tolower(c));
        if (c == CAPITAL_I_DOT) codes_add(out, DOT_ABOVE);
    }
}
