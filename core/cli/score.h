/* score.h - files of sentences for the commands `score ...`: a system's output on standard input and files beside it,
 * line by line parallel. */
#ifndef ABLATE_CLI_SCORE_H
#define ABLATE_CLI_SCORE_H
#include "base/base.h"

enum { WRONG = 2 }; /* the exit code for input that cannot be scored, too */

typedef struct {
    const char *name; /* for messages */
    str text;
    char **lines;
    size_t n;
} score_file;

/* path NULL: standard input. -1 and e. */
int score_file_load(score_file *f, const char *path, err *e);
void score_file_free(score_file *f);
int score_same_length(const score_file *a, const score_file *b, err *e);
/* Prints and frees the text. Returns the exit code. */
int score_print(str *out);
#endif
