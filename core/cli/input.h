/* input.h - reads standard input, or a file, as lines, for commands that read sentences. */
#ifndef ABLATE_METRIC_INPUT_H
#define ABLATE_METRIC_INPUT_H
#include "base/base.h"

/* Checks that standard input is open, before a command opens files, one of which would take its descriptor. Returns 0,
 * or -1 and e. */
int input_check(err *e);

/* ---- in parts: memory for the lines of one part only ---- */

typedef struct {
    const char *name; /* of the file, for messages; NULL: standard input */
    int fd;           /* 0: standard input */
    bool whole;       /* parts have `most` lines until the end, however long they are and take to arrive */
    size_t first;     /* number of the part's first line, from 1 */
    char **lines;     /* [n], valid until the next part */
    size_t n;
    /* of input.c */
    str held;
    size_t used, seen, cap; /* bytes given out; bytes searched for line ends */
    double given;           /* when the part was */
    bool ended;
} input_part; /* {0}: before the first of standard input */
/* Opens a file; the name stays the caller's. */
int input_open(input_part *p, const char *path, err *e);
/* The next part: up to `most` lines, fewer if they are a megabyte, or if no more arrive for a moment (so whoever types
 * or follows a log gets an answer). 1; 0 at the end; -1 and e, also for a line of more than a megabyte. */
int input_next(input_part *p, size_t most, err *e);
/* -1 and e, "NAME:LINE: ...", if a line of the part is not UTF-8. */
int input_check_text(const input_part *p, err *e);
void input_end(input_part *p); /* closes the file too */
/* How large the part after p is, which was one of up to `most` lines: parts begin small, so that the first answer comes
 * soon. Each has twice as many as the one before, or as many as take two seconds, at the rate of p since input_next. */
size_t input_more(const input_part *p, size_t most, size_t largest);
/* Passes on what has been printed; -1 and e if nobody reads it any more. */
int output_flush(err *e);
#endif
