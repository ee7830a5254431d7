/* The task image: reads IDX and PGM files pixel by pixel, refuses every kind of invalid file with its line or offset,
 * splits images once and completely, and writes a class before its image. All images are made here. */
#include "opened_task.h"
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/ablate-image-XXXXXX";

static void write_bytes(const char *name, const void *bytes, size_t n)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) broken("cannot write %s", path);
}
#define WRITE(name, text) write_bytes(name, text, sizeof(text) - 1)

/* Writes an IDX file of n images (height > 0) or n labels. Pixel k of image i is value(i, k). */
static void write_idx(const char *name, int n, int height, int width, int (*value)(int i, int k))
{
    static uint8_t b[65536];
    int size[] = {n, height, width}, dims = height ? 3 : 1, each = height ? height * width : 1;
    size_t at = 0;
    b[at++] = 0, b[at++] = 0, b[at++] = 8, b[at++] = (uint8_t)dims;
    for (int d = 0; d < dims; d++)
        for (int shift = 24; shift >= 0; shift -= 8) b[at++] = (uint8_t)(size[d] >> shift);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < each; k++) b[at++] = (uint8_t)value(i, k);
    write_bytes(name, b, at);
}

/* settings: "data=@/x.idx labels=@/y.idx", where @ stands for the folder. */
static int open_image(opened *o, const char *settings, char *message, size_t n)
{
    str text = {0};
    for (const char *s = settings; *s; s++) {
        if (*s == '@')
            str_addf(&text, "%s", folder);
        else
            str_addc(&text, *s);
    }
    *message = 0;
    int rc = open_with(o, "image", str_text(&text), message, n);
    str_free(&text);
    return rc;
}

/* Opens files that must be valid; message [512]. */
static void must_open(opened *o, const char *settings, char *message)
{
    if (open_image(o, settings, message, 512)) broken("%s: %s", settings, message);
}

static const char *line_of(const opened *o, ab_split s, int64_t i)
{
    ab_example x = {"", NULL};
    o->t->get(o->self, s, i, &x);
    CHECK(!x.src);
    return x.tgt;
}

static int64_t total(const opened *o)
{
    return o->t->count(o->self, AB_TRAIN) + o->t->count(o->self, AB_DEV) + o->t->count(o->self, AB_TEST);
}

/* ---- accepted files ---- */

static int mixed(int i, int k) { return (7 * i + 13 * k + i * k) % 251; }
static int number(int i, int k) { return k ? 0 : i; } /* the first pixel is the image's number */
static int class_of(int i, int k) { return (void)k, i % 10; }

static void expect_lines(const char *settings, int n, const char *const *line)
{
    opened o;
    char message[512];
    must_open(&o, settings, message);
    CHECK_INT(o.t->count(o.self, AB_DEV), n);
    for (int i = 0; i < n; i++) CHECK_TEXT(line_of(&o, AB_DEV, i), line[i]);
    close_opened(&o);
}

static void test_idx(void)
{
    opened o;
    char message[512];
    int32_t level[64];
    write_idx("many.idx", 40, 3, 5, mixed);
    for (int levels = 0; levels < 4; levels++) {
        static const char *const asked[] = {"", " levels=16", " levels=2", " max=250 levels=251"};
        static const int n_levels[] = {256, 16, 2, 251};
        char *text = xprintf("data=@/many.idx dev=@/many.idx test=@/many.idx%s", asked[levels]);
        must_open(&o, text, message);
        CHECK_HAS(message, "many.idx: images of 3 rows of 5 pixels: train 40, dev 40, test 40");
        for (int i = 0; i < 40; i++) {
            CHECK_INT(numbers(line_of(&o, AB_TEST, i), level), 15);
            for (int k = 0; k < 15; k++)
                CHECK_INT(level[k], mixed(i, k) * n_levels[levels] / (levels == 3 ? 251 : 256));
        }
        ab_vocabs v = {0};
        o.t->vocabs(o.self, &v);
        CHECK_INT(v.n_symbols, n_levels[levels]);
        CHECK_TEXT(v.symbols[n_levels[levels] - 1], n_levels[levels] == 256  ? "255"
                                                    : n_levels[levels] == 16 ? "15"
                                                    : n_levels[levels] == 2  ? "1"
                                                                             : "250");
        CHECK_INT(v.endless, 1);
        CHECK_INT(v.given, 0);
        close_opened(&o);
        free(text);
    }
}

static void test_pgm(void)
{
    char *path = xprintf("%s/set", folder);
    mkdir(path, 0700);
    WRITE("set/b.pgm", "P2\n# a comment, 9 9\n2 # width\n 2 15\n0 1\n14 15\n");
    WRITE("set/a.pgm", "P5 2 2 15\n\1\2\3\4");
    WRITE("set/.c.pgm", "P5 2 2 15\n....");
    WRITE("set/readme.txt", "no image");
    static const char *const in_order[] = {"1 2 3 4", "0 1 14 15"}, *const halves[] = {"0 0 0 0", "0 0 1 1"};
    expect_lines("data=@/set test_part=0 dev=@/set", 2, in_order);
    expect_lines("data=@/set test_part=0 dev=@/set levels=2", 2, halves);
    WRITE("two.pgm", "P5\n1 2\n255\n\x7f\x80"
                     "P5\n1 2\n255\n\n#"); /* pixels that look like a blank and a comment */
    static const char *const two[] = {"127 128", "10 35"};
    expect_lines("data=@/two.pgm test_part=0 dev=@/two.pgm", 2, two);
    static const char *const both[] = {"127 128", "10 35", "127 128", "10 35"};
    expect_lines("data=@/two.pgm test_part=0 dev=@/two.pgm+@/two.pgm", 4, both);
    WRITE("wide.pgm", "P5 2 1 1000 \1\0\3\xe8");       /* two bytes per pixel, big-endian: 256 and 1000 */
    WRITE("ends.pgm", "P5 1 1 9 \1\n\nP5 1 1 9 \2\n"); /* blanks between and after images */
    static const char *const ends[] = {"1", "2"};
    expect_lines("data=@/ends.pgm test_part=0 dev=@/ends.pgm", 2, ends);
    static const char *const wide[] = {"256 1000"}, *const ten[] = {"2 9"};
    expect_lines("data=@/wide.pgm+@/wide.pgm dev=@/wide.pgm test_part=0", 1, wide);
    expect_lines("data=@/wide.pgm+@/wide.pgm dev=@/wide.pgm test_part=0 levels=10", 1, ten);
    free(path);
}

/* ---- parts ---- */

static void read_parts(const char *settings, int part_of[200], int64_t size[AB_SPLITS])
{
    opened o;
    char message[512];
    must_open(&o, settings, message);
    for (int i = 0; i < 200; i++) part_of[i] = -1;
    for (int s = 0; s < AB_SPLITS; s++) {
        size[s] = o.t->count(o.self, (ab_split)s);
        for (int64_t i = 0; i < size[s]; i++) {
            int32_t level[4];
            CHECK_INT(numbers(line_of(&o, (ab_split)s, i), level), 4);
            CHECK_INT(part_of[level[0]], -1);
            part_of[level[0]] = s;
        }
    }
    CHECK_INT(total(&o), 200);
    close_opened(&o);
}

static void test_parts(void)
{
    int one[200], again[200], other[200], differ = 0;
    int64_t size[AB_SPLITS];
    write_idx("numbered.idx", 200, 2, 2, number);
    read_parts("data=@/numbered.idx", one, size);
    CHECK_INT(size[AB_TRAIN], 160);
    CHECK_INT(size[AB_DEV], 20);
    CHECK_INT(size[AB_TEST], 20);
    read_parts("data=@/numbered.idx", again, size);
    read_parts("data=@/numbered.idx data_seed=2", other, size);
    for (int i = 0; i < 200; i++) {
        CHECK_INT(again[i], one[i]);
        differ += other[i] != one[i];
    }
    CHECK_THAT(differ > 20, "another seed moved %d of 200 images, expected more than 20", differ);
    read_parts("data=@/numbered.idx dev_part=0.25 test_part=0", one, size);
    CHECK_INT(size[AB_TRAIN], 150);
    CHECK_INT(size[AB_DEV], 50);
    CHECK_INT(size[AB_TEST], 0);
}

static void test_classes(void)
{
    opened o;
    char message[512];
    write_idx("classes.idx", 200, 0, 0, class_of);
    must_open(&o, "data=@/numbered.idx labels=@/classes.idx", message);
    for (int s = 0; s < AB_SPLITS; s++)
        for (int64_t i = 0; i < o.t->count(o.self, (ab_split)s); i++) {
            const char *line = line_of(&o, (ab_split)s, i);
            int class = -1, image = -1;
            CHECK_INT(sscanf(line, "=%d %d", &class, &image), 2);
            CHECK_INT(class, image % 10);
        }
    ab_vocabs v = {0};
    o.t->vocabs(o.self, &v);
    CHECK_INT(v.n_symbols, 256 + 10);
    CHECK_TEXT(v.symbols[256], "=0");
    CHECK_TEXT(v.symbols[265], "=9");
    CHECK_INT(v.given, 1);
    close_opened(&o);
}

/* ---- refused files ---- */

static void refused(const char *settings, const char *expected)
{
    opened o;
    char message[512];
    CHECK_INT(open_image(&o, settings, message, sizeof message), -1);
    CHECK_HAS(message, expected);
    CHECK(!o.self);
    close_opened(&o);
}

#define REFUSED_FILE(bytes, expected) WRITE("bad", bytes), refused("data=@/bad", "/bad: " expected)
#define HEAD_3                        "\0\0\x08\3"

static void test_refused(void)
{
    REFUSED_FILE("", "byte 0: found an empty file, expected IDX or PGM");
    REFUSED_FILE("\0\0\x08", "byte 3: found the end of the file, expected the 4 bytes of IDX's magic number");
    REFUSED_FILE("\x89PNG\r\n", "byte 0: found 89 50, expected IDX (00 00) or PGM (P2, P5)");
    REFUSED_FILE("\x1f\x8b\x08\0",
                 "byte 0: found 1f 8b, expected IDX (00 00) or PGM (P2, P5); this is gzip, unpack it");
    REFUSED_FILE("\0\0\x0d\3", "byte 2: found data type 0x0d, expected 0x08: unsigned bytes");
    REFUSED_FILE("\0\0\x08\1\0\0\0\1\7", "byte 3: found 1 dimensions, expected 3: images, rows, columns");
    REFUSED_FILE(HEAD_3 "\0\0\0\1\0\0", "byte 10: found the end of the file, expected a header of 16 bytes");
    REFUSED_FILE(HEAD_3 "\0\0\0\0\0\0\0\2\0\0\0\2", "byte 4: found 0 images, expected 1 or more");
    REFUSED_FILE(HEAD_3 "\0\0\0\1\0\0\0\2\0\0\0\0", "byte 12: found 0 columns, expected 1 or more");
    REFUSED_FILE(HEAD_3 "\0\0\0\1\xff\xff\xff\xff\xff\xff\xff\xff",
                 "byte 8: found 4294967295 rows of 4294967295 pixels, expected at most 1048576 pixels");
    REFUSED_FILE(HEAD_3 "\0\0\0\2\0\0\0\2\0\0\0\1"
                        "abc",
                 "byte 19: found the end of the file, expected 2 images of 2 bytes from byte 16 on");
    REFUSED_FILE(HEAD_3 "\xff\xff\xff\xff\0\0\0\2\0\0\0\1"
                        "abc",
                 "byte 19: found the end of the file, expected 4294967295 images of 2 bytes");
    REFUSED_FILE(HEAD_3 "\0\0\0\1\0\0\0\2\0\0\0\1"
                        "abc",
                 "byte 18: found 1 bytes more, expected the end of the file");
    REFUSED_FILE("P6 1 1 255 abc", "byte 1: found P6, expected P2 or P5: grey images");
    REFUSED_FILE("P5 0 1 255 abc", "byte 3: found 0, expected a width from 1 to");
    REFUSED_FILE("P5 1 99999999 255 abc", "byte 5: found 9999999 or more, expected a height from 1 to 1048576");
    REFUSED_FILE("P5 1 x 255 abc", "byte 5: found the byte 0x78, expected a height");
    REFUSED_FILE("P5 1 1 70000 a", "byte 7: found 70000 or more, expected the value of white from 1 to 65535");
    REFUSED_FILE("P5 1 1 255#a", "byte 10: expected one blank between the value of white and the pixels");
    REFUSED_FILE("P5 2 2 255 abc", "byte 14: found the end of the file, expected 4 pixels from byte 11 on");
    REFUSED_FILE("P5 1 1 9 \x0a", "byte 9: found the value 10, expected at most 9, as in the file's header");
    REFUSED_FILE("P5 1 1 255 ab", "byte 12: found a single byte, expected P5 of another image or the end of the file");
    REFUSED_FILE("P5 1 1 255 aP5 2 1 255 ab", "byte 15: found 1 rows of 2 pixels, expected 1 of 1 as in");
    REFUSED_FILE("P2 2 1 255 1", "byte 12: found the end of the file, expected 2 pixels from byte 10 on");
    REFUSED_FILE("P2 2 1 255 1  ", "byte 14: found the end of the file, expected a pixel");
    REFUSED_FILE("P2 2 1 255 1 256", "byte 13: found the value 256, expected at most 255, as in the file's header");
    REFUSED_FILE("P2 1 1 255 1 2", "byte 13: found the byte 0x32, expected the end of the file: P2 has one image");
    refused("data=@/nothing.idx", "nothing.idx (image.data = ");
    char *path = xprintf("%s/empty", folder);
    mkdir(path, 0700);
    free(path);
    refused("data=@/empty", "/empty: found no file *.pgm, expected one or more");
    refused("data=/dev/zero", "/dev/zero is no regular file");
    refused("data=@/numbered.idx dev=@/many.idx",
            "many.idx: found images of 3 rows of 5 pixels, expected 2 of 2 as in ");
    refused("data=@/numbered.idx+@/many.idx", "many.idx: byte 8: found 3 rows of 5 pixels, expected 2 of 2 as in ");
    refused("data=@/many.idx max=100", "many.idx: byte 24: found the value 104, expected at most 100 (image.max)");
    refused("data=@/many.idx max=100 levels=102",
            "byte 0: found grey values from 0 to 100, expected at least 102 values, one for each level");
    refused("data=@/numbered.idx labels=@/many.idx", "many.idx: byte 3: found 3 dimensions, expected 1: labels");
    write_idx("short.idx", 199, 0, 0, class_of);
    refused("data=@/numbered.idx labels=@/short.idx", "found 199 labels, expected 200");
    refused("data=@/numbered.idx labels=@/classes.idx dev=@/numbered.idx", "expected classes for both or for neither");
    refused("data=@/numbered.idx dev_labels=@/classes.idx", "but image.dev is empty");
    refused("data=@/numbered.idx dev_part=0.6 test_part=0.4",
            "200 images leave 0 to train on, 120 for dev and 80 for the test");
    refused("data=@/two.pgm dev_part=0.1", "2 images leave 2 to train on, 0 for dev and 0 for the test");
}

static void test_score(void)
{
    opened o;
    char message[512];
    ab_metric m[2];
    must_open(&o, "data=@/numbered.idx levels=4", message);
    ab_likelihood x[] = {{.log_likelihood = -4 * log(2), .tokens = 4}, {.log_likelihood = -12 * log(2), .tokens = 4}};
    CHECK_INT(o.t->score_likelihoods(o.self, AB_DEV, x, 2, m, 2, message, sizeof message), 1);
    CHECK_TEXT(m[0].name, "bits_per_dim");
    CHECK_TEXT(m[0].unit, "bits/dim");
    CHECK_INT(m[0].better, AB_LOWER);
    CHECK_INT(m[0].sum, AB_SUM_RATIO);
    CHECK_NEAR(m[0].value, 2, 1e-12);
    CHECK_TEXT(m[0].signature, "-log2 p of each pixel, row-major, 2 x 2, 4 levels; dev");
    CHECK_INT(o.t->score_likelihoods(o.self, AB_TEST, x, 0, m, 2, message, sizeof message), -1);
    CHECK_HAS(message, "no pixel of test to score");
    close_opened(&o);
}

int main(void)
{
    plugin_add_folder(BUILD_DIR "/plugins");
    if (!mkdtemp(folder)) return 1;
    test_idx();
    test_pgm();
    test_parts();
    test_classes();
    test_refused();
    test_score();
    char *command = xprintf("rm -r %s", folder);
    CHECK_INT(system(command), 0);
    free(command);
    return test_end();
}
