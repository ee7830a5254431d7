/* report.c - ablate report: writes an experiment as one HTML page, once or repeatedly while a sweep runs. */
#include "cli/options.h"
#include "lab/report/page.h"
#include <signal.h>
#include <time.h>

typedef struct {
    const char *out;
    bool watch;
} report_options;

static volatile sig_atomic_t stop;
static void ask_stop(int signal_number) { (void)signal_number, stop = 1; }

static int write_page(const invocation *c, reader *r, const char *out, bool live, err *e)
{
    CLEANUP(str_free) str page = {0};
    int rc = page_print(r, c->n_words ? c->word[0] : NULL, live, &page, e);
    if (!rc) rc = file_write(out, page.s, page.n, e);
    if (!rc && !live) call_say(c, "%s: %zu KB\n", out, (page.n + 1023) / 1024);
    return rc;
}

/* Writes the page whenever the database has changed, until a signal; at most half of the time is spent writing. */
static int watch_page(const invocation *c, reader *r, const char *out, err *e)
{
    struct sigaction act = {.sa_handler = ask_stop};
    int64_t shown = -1;
    int rc = 0;
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    while (!rc && !stop) {
        int64_t version = reader_version(r, e);
        double began = ticks();
        rc = version < 0 ? -1 : version == shown ? 0 : write_page(c, r, out, true, e);
        if (shown < 0 && !rc) call_say(c, "%s follows the database (stop with Ctrl-C)\n", out);
        shown = version;
        double rest = ticks() - began;
        if (rest < 1) rest = 1;
        if (!rc && !stop)
            nanosleep(&(struct timespec){(time_t)rest, (long)((rest - (double)(time_t)rest) * 1e9)}, NULL);
    }
    return rc;
}

static int report(const invocation *c, void *options)
{
    const report_options *o = options;
    err e = {0};
    if (!o->out) return call_usage(c, "expected -o FILE.html, the page to write");
    CLEANUP(reader_end) reader *r = reader_open_any(&c->p.db, &e);
    int rc = r ? 0 : -1;
    if (!rc && o->watch) rc = watch_page(c, r, o->out, &e);
    if (!rc) rc = write_page(c, r, o->out, false, &e);
    return rc ? call_failed(c, &e) : 0;
}

static const option options[] = {
    {"--output -o", "FILE.html", "output file", OPTION_TEXT, offsetof(report_options, out)},
    {"--watch", NULL, "write the page, which reloads itself, whenever the database changes, until Ctrl-C", OPTION_FLAG,
     offsetof(report_options, watch)},
    OPTION_DATABASE,
    {0}};
const command report_command = {.name = "report",
                                .part = FOR_RESULTS,
                                .does =
                                    "write an HTML page of an experiment: verdict, table, curves, cost, grids, runs",
                                .arguments = "[NAME]",
                                .choices = CHOICES_EXPERIMENTS,
                                .options = options,
                                .size = sizeof(report_options),
                                .run = report,
                                .example = "ablate report quick -o quick.html"};
