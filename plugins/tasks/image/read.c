/* read.c - IDX and PGM. Sizes in a header are compared with the file's length before anything is allocated for them. */
#include "read.h"
#include "tasks/memory.h"
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_PIXELS = 1 << 20, IDX_HEAD = 4, IDX_BYTES = 8 /* data type: unsigned bytes */, PGM_MOST = 65535 };

typedef struct { /* a file that is being read */
    const char *path;
    const uint8_t *byte; /* [n] */
    size_t n, at;
    char *why;
    size_t n_why;
} reading;

/* Writes "FILE: byte AT: found ..., expected ..." and returns -1. */
__attribute__((format(printf, 3, 4))) static int wrong(const reading *r, size_t at, const char *format, ...)
{
    va_list args;
    int n = snprintf(r->why, r->n_why, "%s: byte %zu: ", r->path, at);
    va_start(args, format);
    if (n >= 0 && (size_t)n < r->n_why) vsnprintf(r->why + n, r->n_why - (size_t)n, format, args);
    va_end(args);
    return -1;
}

/* ---- images of one size ---- */

/* Allocates n more images of height x width, sizes that are at byte `at` of the file. */
static int make_room(images *to, const reading *r, size_t at, int64_t n, int64_t height, int64_t width)
{
    if (to->n && (height != to->height || width != to->width))
        return wrong(r, at, "found %lld rows of %lld pixels, expected %lld of %lld as in %s", (long long)height,
                     (long long)width, (long long)to->height, (long long)to->width, to->first);
    if (!to->n) snprintf(to->first, sizeof to->first, "%s", r->path);
    to->height = height, to->width = width;
    to->level = need(realloc(to->level, (size_t)(to->n + n) * (size_t)(height * width) * sizeof *to->level));
    return 0;
}

/* Checks that the file has a grey value for each level; unset levels become all its values, 0 to max. max: the value of
 * white, which is at byte `at` of the file or set by the format. */
static int check_levels(images *to, const reading *r, size_t at, int64_t max)
{
    if (!to->levels) to->levels = max + 1;
    if (to->levels <= max + 1) return 0;
    return wrong(r, at, "found grey values from 0 to %lld, expected at least %lld values, one for each level",
                 (long long)max, (long long)to->levels);
}

static int append(images *to, const reading *r, size_t at, int64_t i, int64_t value, int64_t max)
{
    if (value > max)
        return wrong(r, at, "found the value %lld, expected at most %lld%s", (long long)value, (long long)max,
                     to->max ? " (image.max)" : "");
    to->level[to->n * to->height * to->width + i] = (uint16_t)(value * to->levels / (max + 1));
    return 0;
}

/* ---- IDX ---- */

static int64_t big_endian(const uint8_t *b, int n)
{
    int64_t x = 0;
    for (int i = 0; i < n; i++) x = x << 8 | b[i];
    return x;
}

/* Reads a header with `dims` sizes > 0. Exactly their product in bytes must follow. what: "images" or "labels". */
static int read_idx_head(reading *r, int dims, const char *const *name, int64_t *size)
{
    size_t head = IDX_HEAD + 4 * (size_t)dims;
    if (r->n < 4) return wrong(r, r->n, "found the end of the file, expected the 4 bytes of IDX's magic number");
    if (r->byte[0] || r->byte[1])
        return wrong(r, 0, "found %02x %02x, expected IDX (00 00) or PGM (P2, P5)%s", r->byte[0], r->byte[1],
                     r->byte[0] == 0x1f && r->byte[1] == 0x8b ? "; this is gzip, unpack it first" : "");
    if (r->byte[2] != IDX_BYTES)
        return wrong(r, 2, "found data type 0x%02x, expected 0x%02x: unsigned bytes", r->byte[2], IDX_BYTES);
    if (r->byte[3] != dims)
        return wrong(r, 3, "found %d dimensions, expected %d: %s", r->byte[3], dims,
                     dims == 3 ? "images, rows, columns" : "labels");
    if (r->n < head) return wrong(r, r->n, "found the end of the file, expected a header of %zu bytes", head);
    int64_t all = 1, left = (int64_t)(r->n - head);
    for (int d = 0; d < dims; d++) {
        size[d] = big_endian(r->byte + IDX_HEAD + 4 * d, 4);
        if (!size[d]) return wrong(r, IDX_HEAD + 4 * (size_t)d, "found 0 %s, expected 1 or more", name[d]);
    }
    if (dims == 3 && (size[1] > MOST_PIXELS || size[2] > MOST_PIXELS / size[1]))
        return wrong(r, 8, "found %lld rows of %lld pixels, expected at most %d pixels", (long long)size[1],
                     (long long)size[2], MOST_PIXELS);
    for (int d = 1; d < dims; d++) all *= size[d];
    if (left / all < size[0])
        return wrong(r, r->n, "found the end of the file, expected %lld %s of %lld bytes from byte %zu on",
                     (long long)size[0], name[0], (long long)all, head);
    if (left != size[0] * all)
        return wrong(r, head + (size_t)(size[0] * all), "found %lld bytes more, expected the end of the file",
                     (long long)(left - size[0] * all));
    r->at = head;
    return 0;
}

static int read_idx(images *to, reading *r)
{
    static const char *const name[] = {"images", "rows", "columns"};
    int64_t size[3], max = to->max ? to->max : UINT8_MAX;
    if (read_idx_head(r, 3, name, size) || check_levels(to, r, 0, max) ||
        make_room(to, r, 8, size[0], size[1], size[2]))
        return -1;
    int64_t pixels = size[1] * size[2];
    for (int64_t k = 0; k < size[0]; k++, to->n++)
        for (int64_t i = 0; i < pixels; i++, r->at++)
            if (append(to, r, r->at, i, r->byte[r->at], max)) return -1;
    return 0;
}

/* ---- PGM ---- */

static int is_blank(uint8_t b) { return b == ' ' || (b >= '\t' && b <= '\r'); }

/* Skips blanks, and comments from # to the end of the line. */
static void skip_blanks(reading *r)
{
    while (r->at < r->n && (is_blank(r->byte[r->at]) || r->byte[r->at] == '#')) {
        if (r->byte[r->at++] != '#') continue;
        while (r->at < r->n && r->byte[r->at] != '\n' && r->byte[r->at] != '\r') r->at++;
    }
}

/* Reads a decimal number from `least` to `most`. *at: the number's first byte. */
static int read_number(reading *r, const char *what, int64_t least, int64_t most, int64_t *x, size_t *at)
{
    skip_blanks(r);
    *x = 0, *at = r->at;
    if (r->at == r->n) return wrong(r, r->at, "found the end of the file, expected %s", what);
    while (r->at < r->n && r->byte[r->at] >= '0' && r->byte[r->at] <= '9' && *x <= most)
        *x = *x * 10 + r->byte[r->at++] - '0';
    if (r->at == *at) return wrong(r, *at, "found the byte 0x%02x, expected %s", r->byte[*at], what);
    if (*x < least || *x > most)
        return wrong(r, *at, "found %lld%s, expected %s from %lld to %lld", (long long)*x, *x > most ? " or more" : "",
                     what, (long long)least, (long long)most);
    return 0;
}

/* Reads one image, beginning at its P. */
static int read_pgm(images *to, reading *r)
{
    size_t size_at, at;
    int64_t width, height, most, value;
    int text = r->n - r->at > 1 && r->byte[r->at + 1] == '2';
    if (r->n - r->at < 2 || r->byte[r->at] != 'P' || (!text && r->byte[r->at + 1] != '5'))
        return wrong(r, r->at, "found %s, expected P5 of another image or the end of the file",
                     r->n - r->at < 2 ? "a single byte" : "other bytes");
    r->at += 2;
    if (read_number(r, "a width", 1, MOST_PIXELS, &width, &size_at) ||
        read_number(r, "a height", 1, MOST_PIXELS / width, &height, &at) ||
        read_number(r, "the value of white", 1, PGM_MOST, &most, &at))
        return -1;
    int64_t max = to->max ? to->max : most, pixels = width * height, wide = most > UINT8_MAX ? 2 : 1;
    if (!text && (r->at == r->n || !is_blank(r->byte[r->at])))
        return wrong(r, r->at, "expected one blank between the value of white and the pixels");
    r->at += !text;
    /* a pixel in digits has at least two bytes: a blank and a digit */
    if ((int64_t)(r->n - r->at) / (text ? 2 : wide) < pixels)
        return wrong(r, r->n, "found the end of the file, expected %lld pixels from byte %zu on", (long long)pixels,
                     r->at);
    if (check_levels(to, r, at, max) || make_room(to, r, size_at, 1, height, width)) return -1;
    for (int64_t i = 0; i < pixels; i++, r->at += text ? 0 : (size_t)wide) {
        at = r->at;
        if (text && read_number(r, "a pixel", 0, PGM_MOST, &value, &at)) return -1;
        if (!text) value = big_endian(r->byte + at, (int)wide);
        if (value > most)
            return wrong(r, at, "found the value %lld, expected at most %lld, as in the file's header",
                         (long long)value, (long long)most);
        if (append(to, r, at, i, value, max)) return -1;
    }
    to->n++;
    while (!text && r->at < r->n && is_blank(r->byte[r->at])) r->at++; /* netpbm, too, allows blanks between images */
    if (text) skip_blanks(r);
    if (text && r->at < r->n)
        return wrong(r, r->at, "found the byte 0x%02x, expected the end of the file: P2 has one image", r->byte[r->at]);
    return 0;
}

int images_parse(images *to, const char *path, const uint8_t *byte, size_t n, char *why, size_t n_why)
{
    reading r = {.path = path, .byte = byte, .n = n, .why = why, .n_why = n_why};
    if (!n) return wrong(&r, 0, "found an empty file, expected IDX or PGM");
    if (n < 2 || byte[0] != 'P') return read_idx(to, &r);
    if (byte[1] != '2' && byte[1] != '5')
        return wrong(&r, 1, "found P%c, expected P2 or P5: grey images",
                     byte[1] > ' ' && byte[1] < 127 ? byte[1] : '?');
    do
        if (read_pgm(to, &r)) return -1;
    while (r.at < r.n);
    return 0;
}

/* ---- files ---- */

static int read_file(const char *path, uint8_t **byte, size_t *n, char *why, size_t n_why)
{
    struct stat is;
    *byte = NULL, *n = 0;
    if (!stat(path, &is) && !S_ISREG(is.st_mode)) { /* reading a device may never end */
        snprintf(why, n_why, "%s is no regular file", path);
        return -1;
    }
    FILE *f = fopen(path, "rb");
    size_t room = 0, got = 0;
    while (f && (got || !room)) {
        if (*n == room) *byte = need(realloc(*byte, room = 2 * room + 65536));
        *n += got = fread(*byte + *n, 1, room - *n, f);
    }
    int bad = !f || ferror(f);
    if (bad) snprintf(why, n_why, "cannot read %s: %s", path, strerror(errno));
    if (f) fclose(f);
    return bad ? -1 : 0;
}

static int read_image_file(images *to, const char *path, char *why, size_t n_why)
{
    uint8_t *byte;
    size_t n;
    int bad = read_file(path, &byte, &n, why, n_why) || images_parse(to, path, byte, n, why, n_why);
    free(byte);
    return bad ? -1 : 0;
}

static int is_pgm(const struct dirent *d)
{
    size_t n = strlen(d->d_name);
    return d->d_name[0] != '.' && n > 4 && !strcmp(d->d_name + n - 4, ".pgm");
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

int images_read(images *to, const char *path, char *why, size_t n_why)
{
    struct stat is;
    struct dirent **file = NULL;
    if (stat(path, &is) || !S_ISDIR(is.st_mode)) return read_image_file(to, path, why, n_why);
    int n = scandir(path, &file, is_pgm, by_name), bad = n < 1;
    if (n < 0) snprintf(why, n_why, "cannot read the folder %s: %s", path, strerror(errno));
    if (!n) snprintf(why, n_why, "%s: found no file *.pgm, expected one or more", path);
    for (int i = 0; i < n; i++) {
        size_t room = strlen(path) + strlen(file[i]->d_name) + 2;
        char *name = need(malloc(room));
        snprintf(name, room, "%s/%s", path, file[i]->d_name);
        bad = bad || read_image_file(to, name, why, n_why);
        free(name);
        free(file[i]);
    }
    free(file);
    return bad ? -1 : 0;
}

void images_free(images *x)
{
    free(x->level);
    *x = (images){0};
}

/* ---- classes ---- */

int classes_parse(classes *to, const char *path, const uint8_t *byte, size_t n, char *why, size_t n_why)
{
    static const char *const name[] = {"labels"};
    reading r = {.path = path, .byte = byte, .n = n, .why = why, .n_why = n_why};
    int64_t size;
    if (read_idx_head(&r, 1, name, &size)) return -1;
    to->class = need(realloc(to->class, (size_t)(to->n + size)));
    memcpy(to->class + to->n, byte + r.at, (size_t)size);
    to->n += size;
    return 0;
}

int classes_read(classes *to, const char *path, char *why, size_t n_why)
{
    uint8_t *byte;
    size_t n;
    int bad = read_file(path, &byte, &n, why, n_why) || classes_parse(to, path, byte, n, why, n_why);
    free(byte);
    return bad ? -1 : 0;
}

void classes_free(classes *x)
{
    free(x->class);
    *x = (classes){0};
}
