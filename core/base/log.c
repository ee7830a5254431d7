/* log.c - the clock and the log. */
#include "base/base.h"
#include "base/cleanup.h"
#include <time.h>

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double now(void) { return seconds(CLOCK_REALTIME); }
double ticks(void) { return seconds(CLOCK_MONOTONIC); }
double processor_ticks(void) { return seconds(CLOCK_THREAD_CPUTIME_ID); }

static struct {
    FILE *file; /* NULL: stderr, which is no constant expression */
    enum log_level least;
} log_place = {.least = LOG_INFO};

void log_to(FILE *f, enum log_level least)
{
    log_place.file = f;
    log_place.least = least;
}

void log_line(enum log_level level, const char *fmt, ...)
{
    static const char *const prefix[] = {"debug: ", "", "warning: ", "error: "};
    if (level < log_place.least) return;
    FILE *f = log_place.file ? log_place.file : stderr;
    CLEANUP(str_free) str text = {0}, line = {0};
    va_list args;
    va_start(args, fmt);
    str_addv(&text, fmt, args);
    va_end(args);
    str_add(&line, prefix[level]);
    str_add_shown(&line, text.s, true);
    str_addc(&line, '\n');
    fwrite(line.s, 1, line.n, f); /* one write, so that lines of several threads do not mix */
    fflush(f);
}
