/* json.c - appends JSON values to a string. */
#include "base/base.h"
#include <math.h>
#include <string.h>

size_t utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))) return 0;
    if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))) return 0;
    return n;
}

void json_string(str *b, const char *s)
{
    static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
    if (!s) {
        str_add(b, "null");
        return;
    }
    str_addc(b, '"');
    while (*s) {
        const char *at = strchr(from, *s);
        size_t n = utf8_length(s);
        if (at) {
            str_addc(b, '\\');
            str_addc(b, to[at - from]);
        } else if ((unsigned char)*s < 0x20) {
            str_addf(b, "\\u%04x", (unsigned)*s);
        } else if (n) {
            str_addn(b, s, n);
        } else {
            str_add(b, "\xef\xbf\xbd"); /* U+FFFD: a stray byte would make the whole document unreadable */
        }
        s += n ? n : 1;
    }
    str_addc(b, '"');
}

void json_number(str *b, double x)
{
    char text[32];
    str_add(b, isfinite(x) ? format_real(x, text) : "null");
}

void json_next(str *out)
{
    if (out->n && !strchr("{[:", out->s[out->n - 1])) str_addc(out, ',');
}

void json_key(str *out, const char *key)
{
    json_next(out);
    json_string(out, key);
    str_addc(out, ':');
}

void json_open(str *out, const char *key, char bracket)
{
    if (key)
        json_key(out, key);
    else
        json_next(out);
    str_addc(out, bracket);
}

void json_key_text(str *out, const char *key, const char *value)
{
    json_key(out, key);
    json_string(out, value);
}

void json_key_real(str *out, const char *key, double value)
{
    json_key(out, key);
    json_number(out, value);
}

void json_key_whole(str *out, const char *key, int64_t value)
{
    json_key(out, key);
    str_addf(out, "%lld", (long long)value);
}

void json_key_bool(str *out, const char *key, bool value)
{
    json_key(out, key);
    str_add(out, value ? "true" : "false");
}
