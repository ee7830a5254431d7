/* png.c - PNG (ISO 15948) of a chart: nearly all of it is one colour, so lines are stored as differences to the line
 * above, and runs of equal bytes by deflate's fixed codes (RFC 1951): the same bytes whatever the version of zlib. */
#include "lab/draw/png.h"
#include <stdlib.h>
#include <zlib.h>

enum { LONGEST_RUN = 258, SHORTEST_RUN = 4, END_OF_BLOCK = 256 };

/* ---- deflate: bits from the lowest, codes from their highest ---- */

typedef struct {
    str *out;
    uint32_t bits;
    int n;
} bit_stream;

static void draw_bits(bit_stream *b, uint32_t value, int n)
{
    b->bits |= value << b->n;
    b->n += n;
    for (; b->n >= 8; b->n -= 8, b->bits >>= 8) str_addc(b->out, (char)(b->bits & 255));
}

static void draw_code(bit_stream *b, uint32_t code, int n)
{
    uint32_t turned = 0;
    for (int i = 0; i < n; i++) turned |= (code >> i & 1) << (n - 1 - i);
    draw_bits(b, turned, n);
}

/* A byte, END_OF_BLOCK, or the code of a length: section 3.2.6. */
static void draw_symbol(bit_stream *b, uint32_t s)
{
    if (s < 144)
        draw_code(b, 0x30 + s, 8);
    else if (s < 256)
        draw_code(b, 0x190 + s - 144, 9);
    else if (s < 280)
        draw_code(b, s - 256, 7);
    else
        draw_code(b, 0xC0 + s - 280, 8);
}

/* Repeats the last byte n times: section 3.2.5. */
static void draw_run(bit_stream *b, int n)
{
    static const int first[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    int k = LENGTH(first) - 1;
    while (first[k] > n) k--;
    int more = k < 8 || k == 28 ? 0 : (k - 4) / 4;
    draw_symbol(b, (uint32_t)(257 + k));
    draw_bits(b, (uint32_t)(n - first[k]), more);
    draw_code(b, 0, 5); /* one byte back */
}

static void pack_runs(const unsigned char *s, size_t n, str *out)
{
    bit_stream b = {.out = out};
    draw_bits(&b, 3, 3); /* the last block, fixed codes */
    for (size_t i = 0; i < n;) {
        size_t run = 1;
        while (run <= LONGEST_RUN && i + run < n && s[i + run] == s[i]) run++;
        draw_symbol(&b, s[i]);
        if (run > SHORTEST_RUN)
            draw_run(&b, (int)run - 1), i += run;
        else
            i++;
    }
    draw_symbol(&b, END_OF_BLOCK);
    draw_bits(&b, 0, 7);
}

/* ---- chunks ---- */

static void big_endian(str *out, uint32_t v)
{
    for (int i = 24; i >= 0; i -= 8) str_addc(out, (char)(v >> i & 255));
}

static void chunk(str *out, const char *name, const str *data)
{
    big_endian(out, (uint32_t)data->n);
    size_t from = out->n;
    str_add(out, name);
    str_addn(out, data->s, data->n);
    big_endian(out, (uint32_t)crc32_z(0, (const unsigned char *)out->s + from, out->n - from));
}

void png_write(const unsigned char *rgb, int width, int height, str *out)
{
    enum { FILTER_UP = 2 };
    size_t line = 3 * (size_t)width, n = 0;
    unsigned char *filtered = xmalloc((line + 1) * (size_t)height);
    for (int y = 0; y < height; y++) {
        const unsigned char *p = rgb + (size_t)y * line;
        filtered[n++] = FILTER_UP;
        for (size_t x = 0; x < line; x++)
            filtered[n++] = (unsigned char)(p[x] - (y ? p[(ptrdiff_t)x - (ptrdiff_t)line] : 0));
    }
    str head = {0}, data = {0}, none = {0};
    big_endian(&head, (uint32_t)width);
    big_endian(&head, (uint32_t)height);
    str_addn(&head, "\10\2\0\0\0", 5); /* 8 bits, colour, the standard methods, no interlacing */
    str_addn(&data, "\x78\x01", 2);    /* zlib's header: RFC 1950 */
    pack_runs(filtered, n, &data);
    big_endian(&data, (uint32_t)adler32_z(1, filtered, n));
    str_addn(out, "\x89PNG\r\n\x1a\n", 8);
    chunk(out, "IHDR", &head);
    chunk(out, "IDAT", &data);
    str_add(&none, "");
    chunk(out, "IEND", &none);
    free(filtered);
    str_free(&head);
    str_free(&data);
    str_free(&none);
}
