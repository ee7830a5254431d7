/* The files of other programs, read back by the few rules of their formats: CSV, Parquet's frame, TFRecords, W&B's
 * log. */
#include "lab/export/frame.h"
#include "lab/export/run_files.h"
#include "test.h"

static uint64_t little(const char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) v |= (uint64_t)(unsigned char)p[i] << 8 * i;
    return v;
}

static frame sample(void)
{
    frame f = {0};
    frame_add_column(&f, "n", FRAME_WHOLE);
    frame_add_column(&f, "x", FRAME_REAL);
    frame_add_column(&f, "say \"y\"", FRAME_TEXT);
    for (int i = 0; i < 3; i++) {
        frame_add_row(&f);
        if (i != 1) frame_put_whole(&f, 0, i - 7);
        if (i != 2) frame_put_real(&f, 1, i + 0.5);
        if (i) frame_put_text(&f, 2, i == 1 ? "" : "ü,\n");
    }
    return f;
}

static void test_csv(void)
{
    frame f = sample();
    str out = {0};
    frame_csv(&f, &out);
    CHECK_TEXT(out.s, "n,x,\"say \"\"y\"\"\"\r\n-7,0.5,\r\n,1.5,\"\"\r\n-5,,\"ü,\n\"\r\n");
    str_free(&out);
    frame_free(&f);
}

/* The first column's page, byte by byte: header, definition levels 1 0 1, two values. */
static void test_parquet(void)
{
    static const unsigned char page[] = {0x15, 0x00, 0x15, 0x34, 0x15, 0x34, 0x2C, 0x15, 0x06,
                                         0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x00, 0x00, 6,
                                         0,    0,    0,    2,    1,    2,    0,    2,    1};
    frame f = sample();
    str out = {0};
    str_add(&out, "before");
    frame_parquet(&f, &out);
    const char *file = out.s + 6;
    size_t n = out.n - 6;
    CHECK(!memcmp(file, "PAR1", 4) && !memcmp(file + n - 4, "PAR1", 4));
    CHECK(!memcmp(file + 4, page, sizeof page));
    CHECK_INT((int64_t)little(file + 4 + sizeof page, 8), -7);
    CHECK_INT((int64_t)little(file + 12 + sizeof page, 8), -5);
    size_t footer = little(file + n - 8, 4);
    CHECK(footer < n - 12);
    CHECK_INT(file[n - 8 - footer], 0x15); /* field 1, i32: the version */
    CHECK_INT(file[n - 8 - footer + 1], 2);
    str_free(&out);
    frame_free(&f);
    f = (frame){0}; /* no rows */
    frame_add_column(&f, "n", FRAME_WHOLE);
    str none = {0};
    frame_parquet(&f, &none);
    CHECK(none.n > 12 && !memcmp(none.s + none.n - 4, "PAR1", 4));
    str_free(&none);
    frame_free(&f);
}

static read_point points[] = {{10, 2.5, 1000.5}, {20, NAN, NAN}};
static const read_curve curve = {"loss", 2, points};
static const read_pair settings[] = {{"heads", "8"}, {"position", "\"sinusoid\""}};
static const read_result result = {.metric = "BLEU", .value = 28.4, .step = 20, .how = "final"};
static const read_run run = {.seed = 3,
                             .status = DB_DONE,
                             .started_at = 1000,
                             .ended_at = 1060,
                             .seconds = 60,
                             .n_results = 1,
                             .results = &result};
static const run_record record = {"t3", "A/heads=8", &run, 2, settings, 1, &curve};

static void test_tensorboard(void)
{
    str out = {0};
    size_t records = 0;
    CHECK_INT(tfrecord_crc("\x18\0\0\0\0\0\0\0", 8), 0x224B7FA3); /* 24: how every event file of TensorFlow begins */
    tensorboard_events(&record, &out);
    for (size_t at = 0; at < out.n; records++) {
        size_t n = little(out.s + at, 8);
        CHECK_INT(little(out.s + at + 8, 4), tfrecord_crc(out.s + at, 8));
        CHECK_INT(little(out.s + at + 12 + n, 4), tfrecord_crc(out.s + at + 12, n));
        at += n + 16;
        CHECK(at <= out.n);
    }
    CHECK_INT(records, 6); /* version, settings, two points, the result, the end */
    str_free(&out);
}

static void test_wandb(void)
{
    static char long_text[80000];
    memset(long_text, 'x', sizeof long_text - 1);
    *long_text = long_text[sizeof long_text - 2] = '"';
    read_pair more[] = {{"heads", "8"}, {"long", long_text}};
    run_record r = record;
    r.settings = more;
    str out = {0};
    wandb_log(&r, "abc", &out);
    CHECK(!memcmp(out.s, ":W&B\xe1\xbe\0", 7));
    CHECK_INT(little(out.s + 7, 4), 0xd40005c4); /* the header's: Python's zlib.crc32 over type and record */
    size_t whole = 0, pieces = 0;
    for (size_t at = 7; at + 7 <= out.n;) {
        size_t left = 32768 - at % 32768, n = little(out.s + at + 4, 2);
        if (left < 7) {
            at += left;
            continue;
        }
        int type = out.s[at + 6];
        CHECK(n + 7 <= left && type >= 1 && type <= 4);
        whole += type == 1 || type == 4;
        pieces += type != 1;
        at += n + 7;
    }
    CHECK_INT(whole, 6); /* header, run, two steps, summary, exit */
    CHECK_INT(pieces, 3);
    str_free(&out);
}

int main(void)
{
    test_csv();
    test_parquet();
    test_tensorboard();
    test_wandb();
    return test_end();
}
