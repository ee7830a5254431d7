#include "cli/input.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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
    *lines = NULL;
    *n = 0;
    return read_all(text, e) || text_lines(text, "standard input", lines, n, e) ? -1 : 0;
}
