/* report.c - ablate report: an experiment as one HTML page. */
#include "commands/options.h"
#include "report/page.h"

typedef struct {
    const char *out;
} report_options;

static int report(const invocation *c, void *options)
{
    const report_options *o = options;
    err e = {0};
    str page = {0};
    reader *r = reader_open(&c->p.db, &e);
    int rc = r ? page_print(r, c->n_words ? c->word[0] : NULL, NULL, &page, &e) : -1;
    if (!rc) rc = file_write(o->out, page.s, page.n, &e);
    if (!rc) call_say(c, "%s: %zu KB\n", o->out, (page.n + 1023) / 1024);
    reader_close(r);
    str_free(&page);
    return rc ? call_failed(c, &e) : 0;
}

static const option options[] = {
    {"--output -o", "FILE.html", "where the page goes", OPTION_TEXT, offsetof(report_options, out), .required = true}, OPTION_DATABASE, {0}};
const command report_command = {.name = "report",
                                .does = "one HTML page of an experiment",
                                .arguments = "[NAME]",
                                .most = 1,
                                .words = WORDS_EXPERIMENTS,
                                .options = options,
                                .size = sizeof(report_options),
                                .run = report,
                                .example = "ablate report quick -o quick.html"};
