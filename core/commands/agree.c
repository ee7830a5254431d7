/* agree.c - ablate agree: of files that are parallel line by line (the outputs of several models for the same
 * input), the lines in which all of them are the same. */
#include "run.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *path;
    str text;
    char **line;
    size_t n;
} lines_file;

static const char *const usage =
    "usage: ablate agree [--number | --keep-lines] FILE FILE...\n"
    "prints the lines that are the same in all files. --number: each with its number and a tab before it;\n"
    "--keep-lines: an empty line in place of each other one, so that the output is parallel to the files\n";

static bool all_same(const lines_file *f, size_t n_files, size_t i)
{
    for (size_t k = 1; k < n_files; k++)
        if (!same(f[0].line[i], f[k].line[i])) return false;
    return true;
}

static void print(const lines_file *f, size_t n_files, bool number, bool keep)
{
    size_t agreed = 0;
    for (size_t i = 0; i < f[0].n; i++) {
        bool agree = all_same(f, n_files, i);
        agreed += agree;
        if (agree && number)
            printf("%zu\t%s\n", i + 1, f[0].line[i]);
        else if (agree || keep)
            printf("%s\n", agree ? f[0].line[i] : "");
    }
    fprintf(stderr, "%zu of %zu lines are the same in %zu files\n", agreed, f[0].n, n_files);
}

int agree_command(int argc, char **argv, const places *p)
{
    (void)p;
    lines_file *f = xcalloc((size_t)argc, sizeof *f);
    size_t n = 0;
    bool number = false, keep = false, bad_usage = false;
    err e = {0};
    for (int i = 1; i < argc; i++) {
        if (same(argv[i], "--number"))
            number = true;
        else if (same(argv[i], "--keep-lines"))
            keep = true;
        else if (argv[i][0] == '-')
            bad_usage = true, fail(&e, "unknown option %s", argv[i]);
        else
            f[n++].path = argv[i];
    }
    if (!bad_usage && number && keep) bad_usage = true, fail(&e, "--number and --keep-lines do not go together");
    if (!bad_usage && n < 2) bad_usage = true, fail(&e, "found %zu file%s, expected two or more", n, n == 1 ? "" : "s");
    for (size_t k = 0; k < n && !e.text[0]; k++)
        if (!file_lines(f[k].path, &f[k].text, &f[k].line, &f[k].n, &e) && f[k].n != f[0].n)
            fail(&e, "%s has %zu lines and %s has %zu; they are compared line by line", f[0].path, f[0].n, f[k].path,
                 f[k].n);
    if (e.text[0])
        fprintf(stderr, "ablate agree: %s\n%s", e.text, bad_usage ? usage : "");
    else
        print(f, n, number, keep);
    for (size_t k = 0; k < n; k++) {
        free(f[k].line);
        str_free(&f[k].text);
    }
    free(f);
    return e.text[0] ? 2 : 0;
}
