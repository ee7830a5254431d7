/* score_files.c - reads files of sentences for the commands `score ...`. */
#include "cli/score.h"
#include "text/data/input.h"

int score_print(str *out)
{
    int bad = fputs(str_text(out), stdout) < 0 || fflush(stdout);
    str_free(out);
    return bad ? 1 : 0;
}

enum { PART = 1024 }; /* lines */

static const char *name_of(const input_part *p) { return p->name ? p->name : "standard input"; }

/* Counts all lines of a file by reading the rest of it. */
static int count(input_part *p, size_t *lines, err *e)
{
    int rc = 1;
    while (rc == 1) rc = input_next(p, PART, e);
    *lines = p->first - 1;
    return rc;
}

/* Reads as many lines of the file as standard input's part has; else fails with both totals. */
static int in_step(input_part *hyp, input_part *file, err *e)
{
    size_t a, b, most = hyp->n ? hyp->n : 1;
    if (input_next(file, most, e) < 0) return -1;
    if (file->n == hyp->n) return 0;
    if (count(hyp, &a, e) < 0 || count(file, &b, e) < 0) return -1;
    return fail(e, "%s has %zu lines and %s has %zu; they are paired line by line", name_of(hyp), a, name_of(file), b);
}

int score_parts(const char *const *paths, size_t n_paths, size_t *lines_read, score_part *part, void *self, err *e)
{
    input_part in[1 + MOST_FILES] = {{.whole = true}};
    char **lines[1 + MOST_FILES];
    int bad = input_check(e), rc = 1;
    size_t open = 1;
    if (n_paths > MOST_FILES) bad = fail(e, "expected at most %d files", MOST_FILES);
    for (; open <= n_paths && !bad; open++) {
        bad = input_open(&in[open], paths[open - 1], e);
        in[open].whole = true;
    }
    while (!bad && rc) {
        rc = input_next(&in[0], PART, e);
        bad = rc < 0;
        for (size_t k = 1; k <= n_paths && !bad; k++) bad = in_step(&in[0], &in[k], e);
        for (size_t k = 0; k <= n_paths; k++) lines[k] = in[k].lines;
        if (!bad && rc) bad = part(self, lines, in[0].n, in[0].first, e);
    }
    *lines_read = in[0].first ? in[0].first - 1 : 0;
    for (size_t k = 0; k < open; k++) input_end(&in[k]);
    return bad ? -1 : 0;
}
