/* score_files.c - files of sentences for the commands `score ...`. */
#include "cli/score.h"
#include "cli/input.h"
#include <stdlib.h>

int score_print(str *out)
{
    int bad = fputs(str_text(out), stdout) < 0 || fflush(stdout);
    str_free(out);
    return bad ? 1 : 0;
}

int score_file_load(score_file *f, const char *path, err *e)
{
    f->name = path ? path : "standard input";
    return path ? file_lines(path, &f->text, &f->lines, &f->n, e) : input_lines(&f->text, &f->lines, &f->n, e);
}

void score_file_free(score_file *f)
{
    free(f->lines);
    str_free(&f->text);
}

int score_same_length(const score_file *a, const score_file *b, err *e)
{
    if (a->n == b->n) return 0;
    return fail(e, "%s has %zu lines and %s has %zu; they are paired line by line", a->name, a->n, b->name, b->n);
}
