/* input.h - reads standard input as lines, for commands that read sentences. */
#ifndef ABLATE_METRIC_INPUT_H
#define ABLATE_METRIC_INPUT_H
#include "base/base.h"

/* Checks that standard input is open, before a command opens files, one of which would take its descriptor. Returns 0,
 * or -1 and e. */
int input_check(err *e);
/* The rest of standard input as lines, as file_lines (base.h) returns those of a file. Returns -1 and e if it cannot be
 * read or a line has a zero byte. */
int input_lines(str *text, char ***lines, size_t *n, err *e);
#endif
