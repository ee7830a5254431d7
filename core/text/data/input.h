/* input.h - reads standard input, or a file, as lines, for commands that read sentences. */
#ifndef ABLATE_INPUT_H
#define ABLATE_INPUT_H
#include "base/base.h"

/* Checks that standard input is open; call it before files take free descriptors. Returns 0, or -1 and e. */
int input_check(err *e);

/* ---- reading in parts, each of which replaces the previous one in memory ---- */

typedef struct {
    const char *name; /* the file's name in messages; NULL: standard input */
    int fd;           /* 0: standard input */
    bool whole;       /* every part except the last has `most` lines, even if these are long or arrive late */
    size_t first;     /* number of the part's first line, from 1 */
    char **lines;     /* [n], valid until the next part */
    size_t n;
    /* private to input.c */
    str held;
    size_t used, seen, cap; /* used: bytes returned; seen: bytes searched for line ends */
    double given;           /* time when the part was returned */
    bool ended;
} input_part; /* for standard input begin with {0} */
/* Opens a file. Borrows its name. */
int input_open(input_part *p, const char *path, err *e);
/* Reads the next part: up to `most` lines; fewer if the lines exceed a megabyte or the next lines are late (so that
 * typed lines get an answer). Returns 1, 0 at the end, or -1 and e, also for a line of more than a megabyte. */
int input_next(input_part *p, size_t most, err *e);
/* Checks that all lines are UTF-8. Returns -1 and e, "NAME:LINE: ...", if not. */
int input_check_text(const input_part *p, err *e);
void input_end(input_part *p); /* also closes the file */
/* Returns the number of lines for the part after p, whose limit was `most`: twice that, or what takes two seconds at
 * p's rate since input_next. Parts begin small, so that the first answer comes soon. */
size_t input_more(const input_part *p, size_t most, size_t largest);
/* Flushes standard output. Returns -1 and e if its reader has closed it. */
int output_flush(err *e);
#endif
