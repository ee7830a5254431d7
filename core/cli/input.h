/* input.h - reads standard input as lines, for commands that read sentences. */
#ifndef ABLATE_METRIC_INPUT_H
#define ABLATE_METRIC_INPUT_H
#include "base/base.h"

/* Checks that standard input is open, before a command opens files, one of which would take its descriptor. Returns 0,
 * or -1 and e. */
int input_check(err *e);
/* The rest of standard input, 1 GiB at most, as lines, as file_lines (base.h) returns those of a file. Returns -1 and e
 * if it cannot be read, is longer, or a line has a zero byte. */
int input_lines(str *text, char ***lines, size_t *n, err *e);

/* ---- in parts: memory for the lines of one part only ---- */

typedef struct {
    size_t first; /* number of the part's first line, from 1 */
    char **lines; /* [n], valid until the next part */
    size_t n;
    /* of input.c */
    str held;
    size_t used, seen, cap; /* bytes given out; bytes searched for line ends */
    bool ended;
} input_part; /* {0}: before the first */
/* The next part: up to `most` lines, fewer if they are a megabyte, or if no more arrive for a moment (so whoever types
 * or follows a log gets an answer). 1; 0 at the end; -1 and e, also for a line of more than a megabyte. */
int input_next(input_part *p, size_t most, err *e);
void input_end(input_part *p);
/* The part after one of `most` lines: parts begin small, so that the first answer comes soon, and double. */
size_t input_more(size_t most, size_t largest);
/* Passes on what has been printed; -1 and e if nobody reads it any more. */
int output_flush(err *e);
#endif
