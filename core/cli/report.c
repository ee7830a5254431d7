/* report.c - ablate report: an experiment as one HTML page, in a file or served while a sweep runs. */
#include "cli/options.h"
#include "lab/report/page.h"
#include "lab/report/serve.h"

typedef struct {
    const char *out;
    bool serve;
    int64_t port;
} report_options;

static int write_page(const invocation *c, reader *r, const char *name, const char *out, err *e)
{
    str page = {0};
    int rc = page_print(r, name, NULL, &page, e);
    if (!rc) rc = file_write(out, page.s, page.n, e);
    if (!rc) call_say(c, "%s: %zu KB\n", out, (page.n + 1023) / 1024);
    str_free(&page);
    return rc;
}

static int report(const invocation *c, void *options)
{
    const report_options *o = options;
    const char *name = c->n_words ? c->word[0] : NULL;
    err e = {0};
    if (o->out && o->port != SERVE_PORT) {
        fail(&e, "--port is only valid with --serve");
        return call_usage(c, &e);
    }
    if (!o->out == !o->serve) {
        fail(&e, o->out ? "-o and --serve cannot be combined"
                        : "expected -o FILE.html to write the page, or --serve to show it in a browser");
        return call_usage(c, &e);
    }
    if (o->serve) return serve_page(&c->p.db, name, (int)o->port, &e), call_failed(c, &e);
    reader *r = reader_open_any(&c->p.db, &e);
    int rc = r ? write_page(c, r, name, o->out, &e) : -1;
    reader_close(r);
    return rc ? call_failed(c, &e) : 0;
}

static const report_options defaults = {.port = SERVE_PORT};
static const option options[] = {
    {"--output -o", "FILE.html", "output file", OPTION_TEXT, offsetof(report_options, out)},
    {"--serve", NULL, "serve the page to browsers on this machine; updates while a sweep runs", OPTION_FLAG,
     offsetof(report_options, serve)},
    {"--port", "N", "port for --serve; 0: any free port [8765]", OPTION_COUNT, offsetof(report_options, port), 0,
     65535},
    OPTION_DATABASE,
    {0}};
const command report_command = {.name = "report",
                                .part = FOR_RESULTS,
                                .does =
                                    "write an HTML page of an experiment: verdict, table, curves, cost, grids, runs",
                                .arguments = "[NAME]",
                                .most = 1,
                                .choices = CHOICES_EXPERIMENTS,
                                .options = options,
                                .defaults = &defaults,
                                .size = sizeof(report_options),
                                .run = report,
                                .example = "ablate report quick -o quick.html"};
