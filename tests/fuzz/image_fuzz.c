/* image_fuzz.c - fuzzes image files: bytes as an IDX or PGM file of images, and as an IDX file of classes. They are
 * read, with each pixel within the grey levels and no more pixels than bytes, or refused with a message that names the
 * file. */
#include "file.h"
#include "read.h"
#include <string.h>

static void read_images(const uint8_t *data, size_t n, int64_t levels, int64_t max)
{
    images x = {.levels = levels, .max = max};
    char why[512] = "";
    if (images_parse(&x, "fuzz", data, n, why, sizeof why))
        must(!strncmp(why, "fuzz: byte ", 11), "refused without its place");
    else {
        size_t pixels = (size_t)(x.n * x.height * x.width);
        must(x.n > 0 && pixels > 0 && pixels <= n, "another number of pixels than the file has bytes for");
        for (size_t i = 0; i < pixels; i++) must(x.level[i] < x.levels, "a level beyond the last");
    }
    images_free(&x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const int64_t levels[] = {0, 2, 17}, max[] = {0, 16, 65535};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) read_images(data, n, levels[i], max[k]);
    classes y = {0};
    char why[512] = "";
    if (classes_parse(&y, "fuzz", data, n, why, sizeof why))
        must(!strncmp(why, "fuzz: byte ", 11), "refused without its place");
    else
        must(y.n > 0 && (size_t)y.n < n, "another number of labels than the file has bytes for");
    classes_free(&y);
    return 0;
}
