/* PNG files, read back by a small reader: which pixels are covered or blended, and where letters are. */
#include "lab/draw/drawing.h"
#include "lab/draw/internal.h"
#include "test.h"
#include <zlib.h>

/* ---- a reader ---- */

static uint32_t big_endian(const unsigned char *s)
{
    return (uint32_t)s[0] << 24 | (uint32_t)s[1] << 16 | (uint32_t)s[2] << 8 | s[3];
}

typedef struct {
    int width, height;
    unsigned char *rgb;
} picture;

/* Decompresses the IDAT chunk at s, which must give n bytes; the caller frees them. */
static char *unpacked(const unsigned char *s, size_t n)
{
    char *raw = xmalloc(n + 1);
    uLongf found = n + 1;
    CHECK_INT(memcmp(s + 4, "IDAT", 4), 0);
    CHECK_INT(uncompress((Bytef *)raw, &found, s + 8, big_endian(s)), Z_OK);
    CHECK_INT(found, n);
    return raw;
}

static picture decode(const str *file)
{
    const unsigned char *s = (const unsigned char *)file->s;
    CHECK_INT(memcmp(s, "\x89PNG\r\n\x1a\n", 8), 0);
    CHECK_INT(memcmp(s + 12, "IHDR", 4), 0);
    CHECK_INT(big_endian(s + 29), 0x017365FA); /* the checksum that zlib's crc32 gives for this IHDR */
    picture p = {(int)big_endian(s + 16), (int)big_endian(s + 20), NULL};
    size_t line = 3 * (size_t)p.width;
    char *raw = unpacked(s + 33, (line + 1) * (size_t)p.height);
    p.rgb = xmalloc(line * (size_t)p.height);
    for (int y = 0; y < p.height; y++) {
        const char *from = raw + (size_t)y * (line + 1);
        CHECK_INT(from[0], 2);
        for (size_t x = 0; x < line; x++)
            p.rgb[(size_t)y * line + x] = (unsigned char)(from[x + 1] + (y ? p.rgb[((size_t)y - 1) * line + x] : 0));
    }
    CHECK_INT(memcmp(file->s + file->n - 8, "IEND\xae\x42\x60\x82", 8), 0);
    free(raw);
    return p;
}

static unsigned at(const picture *p, int x, int y)
{
    const unsigned char *c = p->rgb + 3 * ((size_t)y * (size_t)p->width + (size_t)x);
    return (unsigned)(c[0] << 16 | c[1] << 8 | c[2]);
}

/* ---- drawn shapes ---- */

enum { INK = 0x1c1c1c, WHITE = 0xffffff, SIZE = 40 };

static picture drawn(drawing *d)
{
    err e = {0};
    str png = {0};
    CHECK_INT(drawing_png(d, 2, &png, &e), 0);
    CHECK_TEXT(e.text, "");
    picture p = decode(&png);
    CHECK_INT(p.width, 2 * SIZE);
    CHECK_INT(p.height, 2 * SIZE);
    str_free(&png);
    drawing_free(d);
    return p;
}

static void test_shapes(void)
{
    drawing *d = drawing_new(SIZE, SIZE, "");
    draw_rect(d, 5, 5, 10, 5.25, (pen){.fill = COLOR_INK});
    draw_rect(d, 20, 5, 10, 5, (pen){.fill = COLOR_INK, .opacity = 0.5});
    /* The pixel at a corner is blended only once. */
    draw_path(d, (double[]){5, 20, 15, 20, 15, 30}, 3, false, (pen){.stroke = COLOR_INK, .width = 2, .opacity = 0.5});
    draw_line(d, 20, 20.5, 38, 20.5, (pen){.stroke = COLOR_INK, .dash = 1}); /* dashes: 5 on, 3 off */
    draw_marker(d, 25, 30, 4, 0, (pen){.fill = COLOR_INK});
    /* a line that leaves the picture at the left and at the right */
    draw_path(d, (double[]){-10, 35, 60, 36}, 2, false, (pen){.stroke = COLOR_INK});
    picture p = drawn(d);
    CHECK_INT(at(&p, 10, 10), INK);
    CHECK_INT(at(&p, 29, 19), INK);
    CHECK_INT(at(&p, 30, 15), WHITE);
    CHECK_INT(at(&p, 9, 15), WHITE);
    CHECK_INT(at(&p, 15, 20), 0x8e8e8e); /* half of the pixel is covered */
    CHECK_INT(at(&p, 50, 15), 0x8e8e8e);
    CHECK_INT(at(&p, 20, 40), 0x8e8e8e);
    CHECK_INT(at(&p, 29, 40), 0x8e8e8e);
    CHECK_INT(at(&p, 31, 38), 0x8e8e8e); /* the tip of the corner */
    CHECK_INT(at(&p, 32, 37), WHITE);
    CHECK_INT(at(&p, 40, 40), INK);
    CHECK_INT(at(&p, 49, 41), INK);
    CHECK_INT(at(&p, 50, 40), WHITE);
    CHECK_INT(at(&p, 55, 40), WHITE);
    CHECK_INT(at(&p, 56, 40), INK);
    double area = 0;
    for (int y = 50; y < 69; y++)
        for (int x = 40; x < 60; x++) area += (double)(0xff - (at(&p, x, y) & 255)) / (0xff - 0x1c);
    CHECK_NEAR(area, 3.14159 * 64, 1);
    CHECK(at(&p, 0, 70) != WHITE && at(&p, 79, 71) != WHITE);
    free(p.rgb);
}

/* Finds the first and last column and row with ink. */
static void box(const picture *p, int out[4])
{
    out[0] = out[1] = 2 * SIZE, out[2] = out[3] = -1;
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            if (at(p, x, y) == WHITE) continue;
            if (x < out[0]) out[0] = x;
            if (y < out[1]) out[1] = y;
            if (x > out[2]) out[2] = x;
            if (y > out[3]) out[3] = y;
        }
}

static void test_letters(void)
{
    static const struct {
        double x, y;
        lettering how;
        int box[4];
    } cases[] = {{5, 30, {.size = 20}, {13, 32, 30, 59}},
                 {20, 30, {.size = 20, .anchor = ANCHOR_MIDDLE}, {32, 32, 49, 59}},
                 {35, 30, {.size = 20, .anchor = ANCHOR_END}, {51, 32, 68, 59}},
                 {20, 20, {.size = 20, .angle = 90}, {40, 43, 67, 60}}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        drawing *d = drawing_new(SIZE, SIZE, "");
        draw_text(d, cases[i].x, cases[i].y, "L", cases[i].how);
        picture p = drawn(d);
        int found[4];
        box(&p, found);
        for (int k = 0; k < 4; k++)
            CHECK_THAT(abs(found[k] - cases[i].box[k]) <= 1, "case %zu, side %d: found %d, expected %d", i, k, found[k],
                       cases[i].box[k]);
        free(p.rgb);
    }
    drawing *d = drawing_new(SIZE, SIZE, "");
    draw_text(d, 5, 20, "\xce\x94 \xc2\xb1 \xe2\x88\x92 o", (lettering){.bold = true});
    picture p = drawn(d);
    int found[4];
    box(&p, found);
    CHECK_NEAR(found[2] - found[0], 2 * text_width("A \xc2\xb1 \xe2\x88\x92 o", 11, true), 6);
    free(p.rgb);
    err e = {0};
    str png = {0};
    d = drawing_new(SIZE, SIZE, "");
    draw_text(d, 5, 20, "x \xe4\xb8\xad", (lettering){0});
    CHECK_INT(drawing_png(d, 2, &png, &e), -1);
    CHECK_TEXT(e.text, "PNG has no letter U+4E2D of \"x \xe4\xb8\xad\"; SVG does");
    CHECK_INT(png.n, 0);
    drawing_free(d);
}

/* Runs of every length, and bytes outside of runs. */
static void test_runs(void)
{
    enum { WIDTH = 5000 };
    unsigned char *rgb = xcalloc(3, WIDTH), *p = rgb;
    for (int run = 1; run < 100; run++)
        for (int i = 0; i < run; i++) *p++ = (unsigned char)(run * 37);
    for (int i = 0; i < 700; i++) *p++ = 200;
    for (int i = 0; i < 3000; i++) *p++ = (unsigned char)(i * i >> 3);
    str png = {0};
    png_write(rgb, WIDTH, 1, &png);
    char *raw = unpacked((const unsigned char *)png.s + 33, 3 * WIDTH + 1);
    CHECK_INT(memcmp(raw + 1, rgb, 3 * WIDTH), 0);
    str_free(&png);
    free(raw);
    free(rgb);
}

int main(void)
{
    test_shapes();
    test_letters();
    test_runs();
    return test_end();
}
