/* input.h - standard input as lines, for the commands that read sentences. */
#ifndef ABLATE_METRIC_INPUT_H
#define ABLATE_METRIC_INPUT_H
#include "base/base.h"

/* Is there a standard input? Asked before a command opens files, one of which would take its place. 0, or -1
 * and words. */
int input_check(err *e);
/* Standard input from where it stands to its end, cut and given as file_lines (base.h) does a file. -1 and words:
 * it cannot be read, or a line has a zero byte. */
int input_lines(str *text, char ***lines, size_t *n, err *e);
#endif
