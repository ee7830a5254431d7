/* png.c - PNG (ISO 15948) of a chart: nearly all of it is one colour, so lines are stored as differences to the line
 * above, and zlib packs runs of equal bytes. */
#include "lab/draw/internal.h"
#include "base/cleanup.h"
#include <zlib.h>

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
    AUTOFREE unsigned char *filtered = xmalloc((line + 1) * (size_t)height);
    for (int y = 0; y < height; y++) {
        const unsigned char *p = rgb + (size_t)y * line;
        filtered[n++] = FILTER_UP;
        for (size_t x = 0; x < line; x++)
            filtered[n++] = (unsigned char)(p[x] - (y ? p[(ptrdiff_t)x - (ptrdiff_t)line] : 0));
    }
    CLEANUP(str_free) str head = {0}, data = {0};
    uLongf packed = compressBound(n);
    data.s = xmalloc(packed);
    if (compress2((Bytef *)data.s, &packed, filtered, n, 9) != Z_OK) out_of_memory(0);
    data.n = packed;
    big_endian(&head, (uint32_t)width);
    big_endian(&head, (uint32_t)height);
    str_addn(&head, "\10\2\0\0\0", 5); /* 8 bits, colour, the standard methods, no interlacing */
    str_addn(out, "\x89PNG\r\n\x1a\n", 8);
    chunk(out, "IHDR", &head);
    chunk(out, "IDAT", &data);
    chunk(out, "IEND", &(str){0});
}
