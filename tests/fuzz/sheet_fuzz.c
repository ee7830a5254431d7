/* sheet_fuzz.c - bytes as CSV or JSON lines and as an event file: a sheet, or refused with words. */
#include "file.h"
#include "lab/foreign/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *path = fuzz_file(data, n);
    const char *metrics[] = {"val.acc"};
    err e = {0};
    for (size_t wide = 0; wide < 2; wide++) {
        foreign_options o = {.name = "fuzz", .metrics = {metrics, wide}};
        foreign f;
        e = (err){0};
        if (foreign_read(&path, 1, &o, &f, &e)) must(e.text[0], "refused without a word");
        foreign_free(&f);
    }
    sheet s = {0};
    e = (err){0};
    if (events_parse(&s, (const char *)data, n, "events", "run", &e)) must(e.text[0], "refused without a word");
    sheet_free(&s);
    return 0;
}
