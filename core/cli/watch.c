/* watch.c - ablate watch: a full-screen view of a running sweep. It only reads the database, so it can be started and
 * stopped at any time. */
#include "cli/results.h"
#include "lab/report/watch.h"
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { GOES_WRONG = 3 }; /* exit code of --once if runs failed or their curves show trouble */

typedef struct {
    bool once, log;
    int64_t lines;
    double every;
} watch_options;

static volatile sig_atomic_t stop;
static void ask_stop(int signal_number) { (void)signal_number, stop = 1; }

static void measure(bool once, watch_view *v)
{
    struct winsize size = {0};
    const char *plain = getenv("NO_COLOR"), *columns = getenv("COLUMNS");
    bool known = !ioctl(1, TIOCGWINSZ, &size) && size.ws_col && size.ws_row;
    v->columns = known ? size.ws_col : columns ? (int)strtol(columns, NULL, 10) : 80;
    if (v->columns < 40 || v->columns > 500) v->columns = v->columns < 40 ? 40 : 500;
    v->lines = known && !once ? size.ws_row : 10000;
    v->color = !once && isatty(1) && (!plain || !*plain);
}

/* Waits for a key or the next frame. False: q, or the end of the input. */
static bool wait_key(double seconds, watch_view *v)
{
    struct pollfd in = {.fd = 0, .events = POLLIN};
    char key = 0;
    if (poll(&in, 1, (int)(seconds * 1000)) <= 0) return true;
    if (read(0, &key, 1) != 1 || key == 'q') return false;
    if (key == 'j') v->first++;
    if (key == 'k' && v->first) v->first--;
    return true;
}

static int full_screen(const invocation *c, const watch_options *o, err *e)
{
    struct termios before, raw;
    watch_view v = {0};
    int rc = 0;
    const double since = now() - ticks(); /* rates do not change if the user sets the clock */
    watch_source *w = watch_source_open(&c->p.db, c->n_words ? c->word[0] : NULL, e);
    if (!w) return -1;
    bool terminal = !tcgetattr(0, &before);
    struct sigaction act = {.sa_handler = ask_stop};
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    if (terminal) {
        raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(0, TCSANOW, &raw);
    }
    fputs("\033[?1049h\033[?25l", stdout); /* alternate screen, no cursor */
    while (!stop && !rc) {
        CLEANUP(str_free) str frame = {0};
        size_t wrong;
        measure(false, &v);
        double began = ticks();
        rc = watch_source_draw(w, &v, since + began, &frame, &wrong, e);
        if (c->verbosity > 0) str_addf(&frame, "drawn in %.1f ms\n", (ticks() - began) * 1e3);
        fputs("\033[H", stdout);
        for (const char *p = str_text(&frame); *p;) { /* clears each line to its end */
            size_t n = strcspn(p, "\n");
            printf("%.*s\033[K\n", (int)n, p);
            p += n + (p[n] == '\n');
        }
        printf("q ends\033[K\033[J");
        fflush(stdout);
        if (!rc && !stop && !wait_key(o->every, &v)) break;
    }
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    if (terminal) tcsetattr(0, TCSANOW, &before);
    watch_source_close(w);
    return rc;
}

static int watch(const invocation *c, void *options)
{
    const watch_options *o = options;
    err e = {0};
    int rc;
    size_t wrong = 0;
    if (o->log && !c->n_words) return call_usage(c, "--log: expected a run; `ablate ls EXPERIMENT` lists them");
    if (o->log) return log_print(c, o->lines, o->once);
    if (o->lines) return call_usage(c, "--lines is only valid with --log");
    if (o->once || !isatty(1)) {
        watch_view v = {0};
        CLEANUP(str_free) str frame = {0};
        measure(true, &v);
        double began = ticks();
        watch_source *w = watch_source_open(&c->p.db, c->n_words ? c->word[0] : NULL, &e);
        rc = w ? watch_source_draw(w, &v, now(), &frame, &wrong, &e) : -1;
        watch_source_close(w);
        if (!rc) fputs(str_text(&frame), stdout);
        if (c->verbosity > 0) fprintf(stderr, "drawn in %.1f ms\n", (ticks() - began) * 1e3);
    } else {
        rc = full_screen(c, o, &e);
    }
    return rc ? call_failed(c, &e) : wrong ? GOES_WRONG : 0;
}

#define AT(field) offsetof(watch_options, field)
static const watch_options defaults = {.every = 1};
static const option options[] = {
    {"--every", "S", "refresh interval in seconds [1]", OPTION_REAL, AT(every), 0.05, 3600},
    {"--once", NULL, "print one frame on standard output; works without a terminal", OPTION_FLAG, AT(once)},
    {"--log", NULL, "print the log of RUN until the run ends; with --once only the log's present text", OPTION_FLAG,
     AT(log)},
    {"--lines -n", "N", "with --log: begin with the last N lines [all]", OPTION_COUNT, AT(lines), 0, 1e9},
    OPTION_DATABASE,
    {0}};
const command watch_command = {
    .name = "watch",
    .part = FOR_TRAINING,
    .does = "show a live view of a sweep: states, steps, speed, remaining time, dev PPL, mean ± sd, failures",
    .about =
        "States of a row's seeds: · queued, ▶ running, ✓ done, ✗ failed, ! killed, - skipped. j and k move, q ends.\n"
        "Below are runs that failed, and runs whose dev perplexity is not finite, exceeds 1.5 times its best, or does\n"
        "not fall. With --once the exit code is 3 if there are such runs.",
    .arguments = "[EXPERIMENT | RUN --log]",
    .choices = CHOICES_RUNS,
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .run = watch,
    .example = "ablate watch quick"};
