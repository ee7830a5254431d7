/* Files for other programs, read back here by their format's rules: CSV and TFRecords. */
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
static const run_record record = {"A/heads=8", &run, 2, settings, 1, &curve};

static void test_tensorboard(void)
{
    str out = {0};
    size_t records = 0;
    /* the length 24 in eight bytes, with which every TensorFlow event file begins */
    CHECK_INT(tfrecord_crc("\x18\0\0\0\0\0\0\0", 8), 0x224B7FA3);
    tensorboard_events(&record, &out);
    for (size_t at = 0; at < out.n; records++) {
        size_t n = little(out.s + at, 8);
        CHECK_INT(little(out.s + at + 8, 4), tfrecord_crc(out.s + at, 8));
        CHECK_INT(little(out.s + at + 12 + n, 4), tfrecord_crc(out.s + at + 12, n));
        at += n + 16;
        CHECK(at <= out.n);
    }
    CHECK_INT(records, 6); /* version, settings, two points, the result, end of the run */
    str_free(&out);
}

int main(void)
{
    test_csv();
    test_tensorboard();
    return test_end();
}
