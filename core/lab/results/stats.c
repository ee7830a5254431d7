/* stats.c - converts per-sentence statistics to bytes, and bytes to base64 for text files.
 *
 * Bytes: "ABS1", n and width as 32-bit little-endian integers, then column by column a letter and the
 * column's values: 'v' whole numbers as zigzag varints (most counts of a sentence fit one byte), 'd' doubles,
 * little endian. */
#include "base/varint.h"
#include "lab/results/internal.h"
#include <math.h>
#include <string.h>

static void put32(str *out, uint32_t v)
{
    for (int i = 0; i < 4; i++) str_addc(out, (char)(v >> 8 * i & 255));
}

static uint32_t get32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

bool stats_whole(const double *value, size_t n, size_t stride)
{
    for (size_t i = 0; i < n; i++) {
        double v = value[i * stride];
        if (!(fabs(v) < 9e15) || v != (double)(int64_t)v || (v == 0 && signbit(v))) return false;
    }
    return true;
}

void stats_put_column(const double *value, size_t n, size_t stride, char kind, str *out)
{
    out->s = grow(out->s, &out->cap, out->n + n * VARINT_MOST + 2, 1);
    unsigned char *p = (unsigned char *)out->s + out->n;
    *p++ = (unsigned char)kind;
    for (size_t i = 0; i < n; i++) {
        double v = value[i * stride];
        uint64_t bits;
        memcpy(&bits, &v, sizeof bits);
        if (kind == 'v')
            p = varint_write(p, zigzag((int64_t)v));
        else
            for (int k = 0; k < 64; k += 8) *p++ = (unsigned char)(bits >> k);
    }
    out->n = (size_t)(p - (unsigned char *)out->s);
    *p = 0;
}

void stats_encode(const db_stats *s, str *out)
{
    str_clear(out);
    str_addn(out, "ABS1", 4);
    put32(out, (uint32_t)s->n);
    put32(out, (uint32_t)s->width);
    for (size_t j = 0; j < s->width; j++)
        stats_put_column(s->value + j, s->n, s->width, stats_whole(s->value + j, s->n, s->width) ? 'v' : 'd', out);
}

const unsigned char *stats_get_column(const unsigned char *p, const unsigned char *end, size_t n, size_t stride,
                                      double *value)
{
    int kind = *p++;
    for (size_t i = 0; i < n && p; i++) {
        uint64_t whole = 0;
        if (kind == 'v') {
            p = varint_read(p, end, &whole);
            value[i * stride] = (double)unzigzag(whole);
        } else if (end - p < 8) {
            p = NULL;
        } else {
            uint64_t bits = get32(p) | (uint64_t)get32(p + 4) << 32;
            memcpy(&value[i * stride], &bits, sizeof bits);
            p += 8;
        }
    }
    return p;
}

int stats_decode(const void *data, size_t size, arena *a, db_stats *out, err *e)
{
    const unsigned char *p = data, *end = p + size;
    *out = (db_stats){0};
    if (size < 12 || memcmp(p, "ABS1", 4))
        return fail(e, "per-sentence statistics: found %zu bytes in an unknown format", size);
    size_t n = get32(p + 4), width = get32(p + 8);
    p += 12;
    if (!n || !width || n > size || width > size || n * width > size)
        return fail(e, "per-sentence statistics: found %zu bytes, too few for %zu sentences of %zu numbers", size, n,
                    width);
    double *value = arena_alloc(a, n * width * sizeof *value);
    for (size_t j = 0; j < width; j++) {
        int kind = p < end ? *p : 0;
        if (kind != 'v' && kind != 'd') return fail(e, "per-sentence statistics: column %zu is damaged", j);
        p = stats_get_column(p, end, n, width, value + j);
        if (!p) return fail(e, "per-sentence statistics: column %zu is truncated", j);
    }
    *out = (db_stats){n, width, value};
    return 0;
}

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const void *data, size_t n, str *out)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) | (i + 2 < n ? p[i + 2] : 0);
        str_addc(out, alphabet[v >> 18]);
        str_addc(out, alphabet[v >> 12 & 63]);
        str_addc(out, i + 1 < n ? alphabet[v >> 6 & 63] : '=');
        str_addc(out, i + 2 < n ? alphabet[v & 63] : '=');
    }
}

void db_stats_text(const db_stats *s, str *out)
{
    CLEANUP(str_free) str bytes = {0};
    stats_encode(s, &bytes);
    str_clear(out);
    base64_encode(bytes.s, bytes.n, out);
}

int base64_decode(const char *text, str *out)
{
    size_t n = strlen(text);
    unsigned char value[256];
    memset(value, 255, sizeof value);
    for (unsigned i = 0; i < 64; i++) value[(unsigned char)alphabet[i]] = (unsigned char)i;
    str_clear(out);
    if (n % 4) return -1;
    out->s = grow(out->s, &out->cap, n / 4 * 3 + 1, 1);
    char *to = out->s;
    for (size_t i = 0; i < n; i += 4) {
        size_t pad = i + 4 < n ? 0 : (text[n - 1] == '=') + (size_t)(text[n - 1] == '=' && text[n - 2] == '=');
        uint32_t v = 0;
        for (size_t k = 0; k < 4; k++) {
            unsigned char bits = k < 4 - pad ? value[(unsigned char)text[i + k]] : 0;
            if (bits > 63) return -1;
            v = v << 6 | bits;
        }
        for (size_t k = 0; k < 3 - pad; k++) *to++ = (char)(v >> (16 - 8 * k) & 255);
    }
    *to = 0, out->n = (size_t)(to - out->s);
    return 0;
}
