#include "cli/input.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PART = 1 << 16, MOST_LINE = 1 << 20, MOST_PART = 1 << 20, MOST_ALL = 1 << 30 }; /* bytes */
enum { MOMENT = 50 };                                                                  /* milliseconds */

static int unreadable(err *e) { return fail(e, "standard input: cannot be read: %s", strerror(errno)); }

int input_check(err *e) { return fcntl(STDIN_FILENO, F_GETFD) < 0 ? unreadable(e) : 0; }

/* Appends what there is: its bytes, 0 at the end, -1. */
static ssize_t take(str *text, err *e)
{
    char part[PART];
    ssize_t got;
    do got = read(STDIN_FILENO, part, sizeof part);
    while (got < 0 && errno == EINTR);
    if (got > 0) str_addn(text, part, (size_t)got);
    return got < 0 ? unreadable(e) : got;
}

int input_lines(str *text, char ***lines, size_t *n, err *e)
{
    ssize_t got = 1;
    *lines = NULL;
    *n = 0;
    str_clear(text);
    while (text->n <= MOST_ALL && (got = take(text, e)) > 0) {}
    if (got < 0) return -1;
    if (text->n > MOST_ALL) return fail(e, "standard input: found more than %d bytes, expected at most that", MOST_ALL);
    return text_lines(text, "standard input", lines, n, e);
}

/* ---- in parts ---- */

/* Counts the line ends that have arrived since, up to `most` in all. */
static void search(input_part *p, size_t most, size_t *ends)
{
    while (*ends < most && p->seen < p->held.n) {
        char *end = memchr(p->held.s + p->seen, '\n', p->held.n - p->seen);
        p->seen = end ? (size_t)(end + 1 - p->held.s) : p->held.n;
        *ends += end != NULL;
    }
}

static bool more_is_there(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&in, 1, MOMENT) != 0;
}

/* Cuts the first lines of what is held; the last one may lack its end. */
static int cut(input_part *p, size_t most, err *e)
{
    char *end = p->held.s + p->held.n;
    while (p->n < most && p->used < p->held.n) {
        char *line = p->held.s + p->used, *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop && !p->ended) break;
        size_t n = (size_t)((stop ? stop : end) - line), number = p->first + p->n;
        p->used += n + (stop != NULL);
        if (n > MOST_LINE)
            return fail(e, "standard input:%zu: found a line of %zu bytes, expected at most %d", number, n, MOST_LINE);
        if (memchr(line, 0, n)) return fail(e, "standard input:%zu: found a zero byte; not a text file", number);
        if (n && line[n - 1] == '\r') n--;
        line[n] = 0;
        p->lines = grow(p->lines, &p->cap, p->n + 1, sizeof *p->lines);
        p->lines[p->n++] = line;
    }
    return p->n > 0;
}

int input_next(input_part *p, size_t most, err *e)
{
    size_t ends = 0;
    p->first += p->first ? p->n : 1;
    p->n = 0;
    if (p->used) memmove(p->held.s, p->held.s + p->used, p->held.n - p->used);
    p->held.n -= p->used, p->used = 0, p->seen = 0;
    for (;;) {
        search(p, most, &ends);
        if (p->ended || ends == most || (ends && p->seen >= MOST_PART) || (ends && !more_is_there())) break;
        if (!ends && p->held.n > MOST_LINE)
            return fail(e, "standard input:%zu: found a line of more than %d bytes", p->first, MOST_LINE);
        ssize_t got = take(&p->held, e);
        if (got < 0) return -1;
        p->ended = got == 0;
    }
    return p->held.n ? cut(p, most, e) : 0;
}

void input_end(input_part *p)
{
    free(p->lines);
    str_free(&p->held);
    *p = (input_part){0};
}

size_t input_more(size_t most, size_t largest) { return 2 * most < largest ? 2 * most : largest; }

int output_flush(err *e)
{
    return fflush(stdout) || ferror(stdout) ? fail(e, "standard output: cannot be written: %s", strerror(errno)) : 0;
}
