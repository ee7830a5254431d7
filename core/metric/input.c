#include "metric/input.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int unreadable(err *e) { return fail(e, "standard input: cannot be read: %s", strerror(errno)); }

int input_check(err *e) { return fcntl(STDIN_FILENO, F_GETFD) < 0 ? unreadable(e) : 0; }

static int read_all(str *text, err *e)
{
    char part[65536];
    size_t got;
    str_clear(text);
    while ((got = fread(part, 1, sizeof part, stdin)) > 0) str_addn(text, part, got);
    return ferror(stdin) ? unreadable(e) : 0;
}

int input_lines(str *text, char ***lines, size_t *n, err *e)
{
    size_t cap = 0;
    *lines = NULL;
    *n = 0;
    if (read_all(text, e)) return -1;
    if (!text->n) return 0;
    for (char *line = text->s, *end = line + text->n, *next; line < end; line = next) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        next = stop ? stop + 1 : end;
        if (!stop) stop = end;
        if (stop > line && stop[-1] == '\r') stop--;
        *stop = 0;
        if (memchr(line, 0, (size_t)(stop - line))) {
            fail(e, "standard input:%zu: a zero byte; this is not a text file", *n + 1);
            free(*lines);
            *lines = NULL;
            *n = 0;
            return -1;
        }
        *lines = grow(*lines, &cap, *n + 1, sizeof **lines);
        (*lines)[(*n)++] = line;
    }
    return 0;
}
