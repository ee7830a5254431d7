/* sheet_fuzz.c - fuzzes tables for import: bytes as CSV, JSON lines and an event file become a sheet, or are refused
 * with a message. A sheet that was read from CSV is written as CSV that reads back to the same cells. */
#include "file.h"
#include "lab/foreign/foreign.h"
#include <string.h>

/* heading of an added first column: no record is blank then, and the first line is not that of a chart */
#define NUMBER "(number of the record)"

static void write_cell(str *out, const char *text)
{
    str_add(out, ",\"");
    for (; text && *text; text++) {
        if (*text == '"') str_addc(out, '"');
        str_addc(out, *text);
    }
    str_addc(out, '"');
}

static void back_and_forth(const sheet *s)
{
    sheet back = {0};
    str text = {0};
    err e = {0};
    str_add(&text, NUMBER);
    for (size_t c = 0; c < s->columns.n; c++) write_cell(&text, s->columns.at[c]);
    for (size_t i = 0; i < s->n; i++) {
        str_addf(&text, "\n%zu", i);
        for (size_t c = 0; c < s->columns.n; c++) write_cell(&text, sheet_cell(s, i, c));
    }
    must(!csv_parse(&back, str_text(&text), text.n, "back", &e), e.text);
    must(back.n == s->n && back.columns.n == s->columns.n + 1, "another number of records or columns comes back");
    for (size_t i = 0; i < s->n; i++)
        for (size_t c = 0; c < s->columns.n; c++) {
            const char *was = sheet_cell(s, i, c), *is = sheet_cell(&back, i, c + 1);
            must(was ? same(was, is) : !is, "a cell comes back with another text");
        }
    sheet_free(&back);
    str_free(&text);
}

static void read_csv(const uint8_t *data, size_t n)
{
    char *text = xmalloc(n + 1); /* a NUL follows */
    sheet s = {0};
    err e = {0};
    memcpy(text, data, n);
    text[n] = 0;
    if (csv_parse(&s, text, n, "csv", &e))
        must(e.text[0], "refused without a word");
    else if (s.columns.n < MOST_COLUMNS)
        back_and_forth(&s);
    sheet_free(&s);
    free(text);
}

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
    read_csv(data, n);
    return 0;
}
