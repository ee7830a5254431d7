/* string.c - growing strings, small helpers on text, numbers in text. */
#include "base/base.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* ---- str ---- */

void str_addn(str *b, const char *s, size_t n)
{
    uintptr_t from = (uintptr_t)s, own = (uintptr_t)b->s;
    bool inside = b->s && from >= own && from <= own + b->n; /* s lies in b, whose bytes may move */
    b->s = grow(b->s, &b->cap, b->n + n + 1, 1);
    if (inside) s = b->s + (from - own);
    if (n) memmove(b->s + b->n, s, n);
    b->n += n;
    b->s[b->n] = 0;
}

void str_add(str *b, const char *s) { str_addn(b, s, strlen(s)); }
void str_addc(str *b, char c)
{
    if (b->n + 2 > b->cap) b->s = grow(b->s, &b->cap, b->n + 2, 1);
    b->s[b->n++] = c;
    b->s[b->n] = 0;
}

void str_addf(str *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    str_addv(b, fmt, args);
    va_end(args);
}

void str_addv(str *b, const char *fmt, va_list args)
{
    char small[256];
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(small, sizeof small, fmt, args);
    if (n < 0) cannot_print(fmt);
    if ((size_t)n < sizeof small) {
        str_addn(b, small, (size_t)n);
    } else {
        char *large = xmalloc((size_t)n + 1);
        vsnprintf(large, (size_t)n + 1, fmt, again);
        str_addn(b, large, (size_t)n);
        free(large);
    }
    va_end(again);
}

void str_clear(str *b)
{
    b->n = 0;
    if (b->s) b->s[0] = 0;
}

void str_free(str *b)
{
    free(b->s);
    *b = (str){0};
}

const char *str_text(const str *b) { return b->s ? b->s : ""; }

/* ---- text ---- */

static bool blank(char c) { return isspace((unsigned char)c); }
static bool digit(char c) { return c >= '0' && c <= '9'; }

char *trim(char *s)
{
    while (blank(*s)) s++;
    size_t n = strlen(s);
    while (n && blank(s[n - 1])) n--;
    s[n] = 0;
    return s;
}

void str_add_csv(str *out, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        str_add(out, text);
        return;
    }
    str_addc(out, '"');
    for (; *text; text++) str_addf(out, *text == '"' ? "\"\"" : "%c", *text);
    str_addc(out, '"');
}

bool same(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }
bool has_prefix(const char *s, const char *prefix) { return !strncmp(s, prefix, strlen(prefix)); }

size_t byte_order_mark(const char *text, size_t n) { return n >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3) ? 3 : 0; }

bool has_suffix(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && !memcmp(s + n - m, suffix, m);
}

/* ---- control characters ---- */

size_t control_at(const char *s)
{
    const unsigned char *c = (const unsigned char *)s;
    if (*c < 0x80) return *c && (*c < ' ' || *c == 0x7f);
    if (*c == 0xc2) return c[1] >= 0x80 && c[1] <= 0x9f ? 2 : 0;
    if (*c != 0xe2) return 0;
    bool embeds = c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae, isolates = c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9;
    return embeds || isolates ? 3 : 0;
}

static size_t obeyed(const char *s, bool lines) { return lines && (*s == '\n' || *s == '\t') ? 0 : control_at(s); }

bool is_printable(const char *s, bool lines)
{
    while (*s && ((*s >= ' ' && *s < 0x7f) || !obeyed(s, lines))) s++;
    return !*s;
}

void str_add_shown(str *b, const char *s, bool lines)
{
    str_add(b, "");
    while (*s) {
        size_t n = obeyed(s, lines);
        if (!n) str_addc(b, *s++);
        for (; n; n--) str_addf(b, "\\x%02x", (unsigned char)*s++);
    }
}

/* ---- numbers ---- */

/* A decimal number [+-]digits[.digits][e[+-]digits] and the text after it: value * 10^exponent. `value` holds the
 * negated digits, so that the least int64 fits; `overflow`: they did not fit. */
struct decimal {
    int64_t value;
    bool negative, overflow, plain; /* plain: digits only */
    int exponent;
    const char *rest;
};

static const char *digits_of(struct decimal *d, const char *s, int step)
{
    for (; digit(*s); s++) {
        if (*s == '0' && d->value == 0) {
            d->exponent += step;
            continue;
        }
        d->overflow |= __builtin_mul_overflow(d->value, 10, &d->value);
        d->overflow |= __builtin_sub_overflow(d->value, *s - '0', &d->value);
        d->exponent += step;
    }
    return s;
}

static bool read_decimal(const char *s, struct decimal *d)
{
    *d = (struct decimal){.plain = true};
    if (*s == '+' || *s == '-') d->negative = *s++ == '-';
    const char *whole = s;
    s = digits_of(d, s, 0);
    bool any = s > whole;
    if (*s == '.') {
        const char *part = ++s;
        s = digits_of(d, s, -1);
        any |= s > part;
        d->plain = false;
    }
    if (!any) return false;
    if (*s == 'e' || *s == 'E') {
        bool down = s[1] == '-';
        const char *e = s + 1 + (s[1] == '-' || s[1] == '+');
        if (!digit(*e)) return false;
        int power = 0;
        for (; digit(*e); e++)
            if (power < 100000) power = power * 10 + (*e - '0');
        d->exponent += down ? -power : power;
        d->plain = false;
        s = e;
    }
    d->rest = s;
    return true;
}

bool parse_int(const char *s, int64_t *out)
{
    struct decimal d;
    if (!s || !read_decimal(s, &d) || d.overflow) return false;
    if (*d.rest) {
        if (d.rest[1]) return false;
        if (*d.rest == 'k')
            d.exponent += 3;
        else if (*d.rest == 'M')
            d.exponent += 6;
        else
            return false;
    } else if (!d.plain && strchr(s, '.') && !strpbrk(s, "eE")) {
        return false; /* 3.0 is a real number's spelling, not an integer's */
    }
    if (d.value == 0) d.exponent = 0;
    for (; d.exponent > 0; d.exponent--)
        if (__builtin_mul_overflow(d.value, 10, &d.value)) return false;
    for (; d.exponent < 0; d.exponent++) {
        if (d.value % 10) return false;
        d.value /= 10;
    }
    if (!d.negative && __builtin_sub_overflow(0, d.value, &d.value)) return false;
    *out = d.value;
    return true;
}

bool parse_real(const char *s, double *out)
{
    struct decimal d;
    if (!s || !read_decimal(s, &d) || *d.rest) return false;
    double x = strtod(s, NULL);
    if (!isfinite(x)) return false;
    *out = x;
    return true;
}

double environment_real(const char *variable, double usual)
{
    parse_real(getenv(variable), &usual);
    return usual;
}

const char *format_real(double x, char out[32])
{
    if (isnan(x)) return strcpy(out, "nan");
    if (isinf(x)) return strcpy(out, x < 0 ? "-inf" : "inf");
    int digits = 1;
    do snprintf(out, 32, "%.*e", digits - 1, x);
    while (strtod(out, NULL) != x && ++digits <= 17);
    int power = atoi(strchr(out, 'e') + 1);
    if (power >= digits && power < 16)
        snprintf(out, 32, "%.0f", x); /* %g would write 100000 as 1e+05 */
    else
        snprintf(out, 32, "%.*g", digits, x);
    return out;
}

size_t terminal_columns(int fd)
{
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

size_t utf8_count(const char *s, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n && s[i]; i++) k += (s[i] & 0xC0) != 0x80;
    return k;
}

size_t utf8_prefix(const char *s, size_t columns)
{
    size_t n = 0;
    for (; s[n]; n++)
        if ((s[n] & 0xC0) != 0x80 && columns-- == 0) break;
    return n;
}

void str_wrap(str *out, const char *text, size_t wide, size_t indent, size_t *column)
{
    while (*text) {
        size_t n = strcspn(text, " ");
        str_addn(out, text, n);
        *column += utf8_count(text, n);
        text += n;
        if (*text != ' ') break;
        text++;
        size_t next = strcspn(text, " ");
        if (!next || *column + 1 + utf8_count(text, next) <= wide)
            str_addc(out, ' '), ++*column;
        else
            str_addf(out, "\n%*s", (int)indent, ""), *column = indent;
    }
}
