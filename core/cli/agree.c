/* agree.c - ablate score agree: prints the lines that are identical in several parallel files, such as the outputs of
 * several models for the same input. */
#include "cli/options.h"
#include <stdlib.h>

typedef struct {
    str text;
    char **line;
    size_t n;
} lines_file;

typedef struct {
    bool number, keep;
} agree_options;

static bool all_same(const lines_file *f, size_t n_files, size_t i)
{
    for (size_t k = 1; k < n_files; k++)
        if (!same(f[0].line[i], f[k].line[i])) return false;
    return true;
}

static void print(const invocation *c, const lines_file *f, size_t n_files, bool number, bool keep)
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
    call_say(c, "%zu of %zu lines are identical in %zu files\n", agreed, f[0].n, n_files);
}

static int agree(const invocation *c, void *options)
{
    const agree_options *o = options;
    size_t n = c->n_words;
    if (o->number && o->keep) return call_usage(c, "--number and --keep-lines cannot be combined");
    lines_file *f = xcalloc(n + 1, sizeof *f);
    err e = {0};
    for (size_t k = 0; k < n && !e.text[0]; k++) {
        if (!file_lines(c->word[k], &f[k].text, &f[k].line, &f[k].n, &e) && f[k].n != f[0].n)
            fail(&e, "%s has %zu lines and %s has %zu; both need equally many", c->word[0], f[0].n, c->word[k], f[k].n);
    }
    if (!e.text[0]) print(c, f, n, o->number, o->keep);
    for (size_t k = 0; k < n; k++) {
        free(f[k].line);
        str_free(&f[k].text);
    }
    free(f);
    return e.text[0] ? call_failed(c, &e), 2 : 0;
}

static const option options[] = {
    {"--number", NULL, "prefix each line with its number and a tab", OPTION_FLAG, offsetof(agree_options, number)},
    {"--keep-lines", NULL, "print an empty line where the files differ, so that the output stays parallel to the files",
     OPTION_FLAG, offsetof(agree_options, keep)},
    {0}};
const command score_agree_command = {
    .name = "score agree",
    .part = FOR_MODELS,
    .does = "print the lines that are identical in all files, such as trees on which parsers agree",
    .arguments = "FILE FILE...",
    .missing = "expected two or more files",
    .options = options,
    .size = sizeof(agree_options),
    .run = agree,
    .example = "ablate score agree first.trees second.trees > agreed.trees"};
