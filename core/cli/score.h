/* score.h - reads files of sentences for the commands `score ...`: a system's output on standard input, and files with
 * parallel lines. */
#ifndef ABLATE_CLI_SCORE_H
#define ABLATE_CLI_SCORE_H
#include "base/base.h"

enum { WRONG = 2 }; /* exit code: a wrong command line, or input that cannot be scored */

/* Reads standard input and n files in step, and calls `part` with some lines at a time: lines[0] from standard input,
 * lines[k] from the k-th file; `first` is the number of the first line, from 1. *lines_read: number of lines in each
 * file. -1 and e, also if the numbers of lines differ. */
enum { MOST_FILES = 64 };
typedef int score_part(void *self, char **const *lines, size_t n, size_t first, err *e);
int score_parts(const char *const *paths, size_t n_paths, size_t *lines_read, score_part *part, void *self, err *e);
/* Prints and frees the text. Returns the exit code. */
int score_print(str *out);
#endif
