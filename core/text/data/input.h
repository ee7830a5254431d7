/* input.h - reads standard input, or a file, as lines, for commands that read sentences. */
#ifndef ABLATE_INPUT_H
#define ABLATE_INPUT_H
#include "base/base.h"

/* Checks that standard input is open, before opened files take its descriptor. 0, or -1 and e */
int input_check(err *e);

/* ---- in parts: memory for the lines of one part only ---- */

typedef struct {
    const char *name; /* the file's name in messages; NULL: standard input */
    int fd;           /* 0: standard input */
    bool whole;       /* every part but the last has `most` lines, whatever their length and delay */
    size_t first;     /* number of the part's first line, from 1 */
    char **lines;     /* [n], valid until the next part */
    size_t n;
    /* private to input.c */
    str held;
    size_t used, seen, cap; /* bytes returned; bytes searched for line ends */
    double given;           /* when the part was returned */
    bool ended;
} input_part; /* {0}: standard input, before its first part */
/* Opens a file; the name stays the caller's. */
int input_open(input_part *p, const char *path, err *e);
/* Reads the next part: up to `most` lines, fewer if they exceed a megabyte, or if no more arrive for a moment (so that
 * typed lines get an answer). 1; 0 at the end; -1 and e, also for a line of more than a megabyte. */
int input_next(input_part *p, size_t most, err *e);
/* -1 and e, "NAME:LINE: ...", if a line of the part is not UTF-8. */
int input_check_text(const input_part *p, err *e);
void input_end(input_part *p); /* closes the file too */
/* Returns the next part's number of lines after p, a part of up to `most`: twice as many, or as many as take two
 * seconds at p's rate since input_next. Parts begin small, so that the first answer comes soon. */
size_t input_more(const input_part *p, size_t most, size_t largest);
/* Flushes standard output; -1 and e if its reader has closed it. */
int output_flush(err *e);
#endif
