/* utf8.c - checks and lowercases UTF-8. */
#include "text/tokens/vocab.h"
#include <string.h>
#include <utf8proc.h>

int64_t utf8_bad(const char *s, size_t n)
{
    for (size_t at = 0; at < n;) {
        if ((unsigned char)s[at] < 0x80) {
            at++;
            continue;
        }
        utf8proc_int32_t code;
        utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)s + at, (utf8proc_ssize_t)(n - at), &code);
        if (used <= 0) return (int64_t)at;
        at += (size_t)used;
    }
    return -1;
}

bool word_too_long(const char *line)
{
    int64_t n = 0;
    for (; *line && n <= LONGEST_WORD; line++) n = *line == ' ' ? 0 : n + ((*line & 0xc0) != 0x80);
    return n > LONGEST_WORD;
}

void utf8_lower(const char *s, str *out)
{
    str_add(out, "");
    for (size_t n = strlen(s), at = 0; at < n;) {
        utf8proc_int32_t code;
        utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)s + at, (utf8proc_ssize_t)(n - at), &code);
        if (used <= 0) broken("utf8_lower: text that is not UTF-8");
        utf8proc_uint8_t lower[4];
        str_addn(out, (char *)lower, (size_t)utf8proc_encode_char(utf8proc_tolower(code), lower));
        at += (size_t)used;
    }
}
