#include "text/data/input.h"
#include "text/tokens/vocab.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PART = 1 << 16, MOST_LINE = 1 << 20, MOST_PART = 1 << 20 }; /* bytes */
enum { MOMENT = 50 };                                              /* milliseconds */

static const char *name(const input_part *p) { return p->name ? p->name : "standard input"; }
static int unreadable(const char *name, err *e) { return fail(e, "%s: cannot be read: %s", name, strerror(errno)); }

int input_check(err *e) { return fcntl(STDIN_FILENO, F_GETFD) < 0 ? unreadable("standard input", e) : 0; }

int input_open(input_part *p, const char *path, err *e)
{
    *p = (input_part){.name = path};
    p->fd = open(path, O_RDONLY | O_CLOEXEC);
    return p->fd < 0 ? (p->fd = 0, unreadable(path, e)) : 0;
}

/* Reads the next bytes into `held`. Returns their number, 0 at the end, -1 and e on failure. */
static ssize_t take(input_part *p, err *e)
{
    char part[PART];
    ssize_t got;
    do got = read(p->fd, part, sizeof part);
    while (got < 0 && errno == EINTR);
    if (got > 0) str_addn(&p->held, part, (size_t)got);
    return got < 0 ? unreadable(name(p), e) : got;
}

/* Counts further line ends in *ends, up to `most`. *last: the position after the last line end found. */
static void search(input_part *p, size_t most, size_t *ends, size_t *last)
{
    while (*ends < most && p->seen < p->held.n) {
        char *end = memchr(p->held.s + p->seen, '\n', p->held.n - p->seen);
        p->seen = end ? (size_t)(end + 1 - p->held.s) : p->held.n;
        if (end) *ends += 1, *last = p->seen;
    }
}

static bool more_is_there(const input_part *p)
{
    struct pollfd in = {.fd = p->fd, .events = POLLIN};
    return poll(&in, 1, MOMENT) != 0;
}

/* Splits the held text into up to `most` lines. At the end of the input, the last line may lack its line end. */
static int cut(input_part *p, size_t most, err *e)
{
    char *end = p->held.s + p->held.n;
    while (p->n < most && p->used < p->held.n) {
        char *line = p->held.s + p->used, *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop && !p->ended) break;
        size_t n = (size_t)((stop ? stop : end) - line), number = p->first + p->n;
        p->used += n + (stop != NULL);
        if (n > MOST_LINE)
            return fail(e, "%s:%zu: found a line of %zu bytes, expected at most %d", name(p), number, n, MOST_LINE);
        if (memchr(line, 0, n)) return fail(e, "%s:%zu: found a zero byte; not a text file", name(p), number);
        if (n && line[n - 1] == '\r') n--;
        line[n] = 0;
        p->lines = grow(p->lines, &p->cap, p->n + 1, sizeof *p->lines);
        p->lines[p->n++] = line;
    }
    return p->n > 0;
}

int input_next(input_part *p, size_t most, err *e)
{
    size_t ends = 0, last = 0;
    p->first += p->first ? p->n : 1;
    p->n = 0;
    if (p->used) memmove(p->held.s, p->held.s + p->used, p->held.n - p->used);
    p->held.n -= p->used, p->used = 0, p->seen = 0;
    for (;;) {
        search(p, most, &ends, &last);
        if (p->ended || ends == most) break;
        if (ends && !p->whole && (p->seen >= MOST_PART || !more_is_there(p))) break;
        if (p->held.n - last > MOST_LINE)
            return fail(e, "%s:%zu: found a line of more than %d bytes", name(p), p->first + ends, MOST_LINE);
        ssize_t got = take(p, e);
        if (got < 0) return -1;
        p->ended = got == 0;
    }
    p->given = ticks();
    return p->held.n ? cut(p, most, e) : 0;
}

int input_check_text(const input_part *p, err *e)
{
    for (size_t i = 0; i < p->n; i++) {
        int64_t bad = utf8_bad(p->lines[i], strlen(p->lines[i]));
        if (bad >= 0)
            return fail(e, "%s:%zu: byte %lld (0x%02x) is not UTF-8", name(p), p->first + i, (long long)bad + 1,
                        (unsigned char)p->lines[i][bad]);
    }
    return 0;
}

void input_end(input_part *p)
{
    if (p->fd > 0) close(p->fd);
    free(p->lines);
    str_free(&p->held);
    *p = (input_part){0};
}

size_t input_more(const input_part *p, size_t most, size_t largest)
{
    double in_time = 2 * (double)p->n / (ticks() - p->given);
    size_t more = in_time > (double)largest ? largest : (size_t)in_time;
    if (more < 2 * most) more = 2 * most;
    return more < largest ? more : largest;
}

int output_flush(err *e)
{
    return fflush(stdout) || ferror(stdout) ? fail(e, "standard output: cannot be written: %s", strerror(errno)) : 0;
}
