/* faults.c - finds faults in text: invisible characters, and characters that other programs read as line ends. */
#include "text/data/inspect.h"
#include "base/cleanup.h"
#include "text/tokens/vocab.h"
#include <string.h>
#include <utf8proc.h>

const char *const text_faults[TEXT_FAULTS] = {
    "lines end in CR LF (read without the CR)",
    "CR within the line",
    "line or paragraph separator (U+0085, U+2028, U+2029)",
    "control character",
    "zero-width or direction mark",
    "not in Unicode's form NFC",
    "word too long for bpe and unigram",
    "not UTF-8",
};

static unsigned fault_of(utf8proc_int32_t c)
{
    if (c == '\r') return 1 << TEXT_CR;
    if (c == 0x85 || c == 0x2028 || c == 0x2029) return 1 << TEXT_SEPARATOR;
    if ((c < ' ' && c != '\t') || (c >= 0x7f && c < 0xa0)) return 1 << TEXT_CONTROL;
    /* U+200C and U+200D are no faults: Persian, Hindi and emoji use them */
    bool mark = c == 0xfeff || c == 0x200b || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
                (c >= 0x2060 && c <= 0x2064) || (c >= 0x2066 && c <= 0x2069);
    return mark ? 1 << TEXT_MARK : 0;
}

unsigned text_faults_of(const char *line, size_t n)
{
    unsigned all = 0;
    bool ascii = true;
    if (n && line[n - 1] == '\r') all |= 1 << TEXT_CRLF, n--;
    for (size_t at = 0; at < n;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)line + at, (utf8proc_ssize_t)(n - at), &c);
        if (used <= 0) return all | 1 << TEXT_NOT_UTF8;
        all |= fault_of(c);
        ascii = ascii && c < 0x80;
        at += (size_t)used;
    }
    AUTOFREE char *text = xstrndup(line, n);
    if (word_too_long(text)) all |= 1 << TEXT_LONG_WORD;
    AUTOFREE utf8proc_uint8_t *composed = ascii ? NULL : utf8proc_NFC((const utf8proc_uint8_t *)text);
    if (composed && strcmp((const char *)composed, text) != 0) all |= 1 << TEXT_NOT_NFC;
    return all;
}
