/* test_log.c - a log line has its level and ends in a newline; lines below the chosen level are dropped; clocks
 * advance. */
#include "base/base.h"
#include "test.h"
#include <time.h>

int main(void)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    CHECK(f != NULL);
    log_to(f, LOG_INFO);
    log_line(LOG_DEBUG, "not this");
    log_line(LOG_INFO, "run %d of %d", 1, 6);
    log_line(LOG_WARN, "%s", "disk is slow");
    log_line(LOG_ERROR, "gone");
    log_to(f, LOG_ERROR);
    log_line(LOG_WARN, "not this");
    log_to(f, LOG_DEBUG);
    log_line(LOG_DEBUG, "%*d", 5000, 1);
    log_to(NULL, LOG_ERROR);
    log_line(LOG_INFO, "not this");
    fclose(f);
    CHECK(has_prefix(text, "run 1 of 6\nwarning: disk is slow\nerror: gone\ndebug:  "));
    CHECK_INT(n, strlen("run 1 of 6\nwarning: disk is slow\nerror: gone\ndebug: \n") + 5000);
    CHECK_INT(text[n - 1], '\n');
    free(text);

    CHECK_NEAR(now(), (double)time(NULL), 2);
    double start = ticks(), last = start;
    int back = 0;
    for (int i = 0; i < 1000; i++) {
        double t = ticks();
        back += t < last;
        last = t;
    }
    CHECK_INT(back, 0);
    CHECK_NEAR(last, start, 5);
    return test_end();
}
