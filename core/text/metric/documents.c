#include "text/metric/documents.h"
#include "base/cleanup.h"
#include "base/distribution.h"
#include <stdlib.h>
#include <string.h>

/* The k-th column of a line, or "". */
static const char *column(const char *line, int k, size_t *n)
{
    for (; k; k--) {
        line = strchr(line, '\t');
        if (!line) return *n = 0, "";
        line++;
    }
    *n = strcspn(line, "\t");
    return line;
}

static int read_line(const char *path, size_t number, const char *line, const char *split, int64_t *count, err *e)
{
    size_t n_split, n;
    const char *of = column(line, 1, &n_split), *text = column(line, 2, &n);
    AUTOFREE char *own = xstrndup(text, n);
    int64_t value = 0;
    bool fine = parse_int(own, &value) && value > 0;
    if (!fine)
        return fail(e, "%s:%zu: found '%.*s' as the number of examples, expected a number above 0 in the third column",
                    path, number, (int)n, text);
    *count = n_split == strlen(split) && !strncmp(of, split, n_split) ? value : 0;
    return 0;
}

int64_t documents_read(const char *path, const char *split, int64_t n, str *counts, err *e)
{
    CLEANUP(str_free) str text = {0};
    AUTOFREE char **lines = NULL;
    size_t n_lines = 0;
    int64_t found = 0, sum = 0, count = 0;
    int rc = file_lines(path, &text, &lines, &n_lines, e);
    for (size_t i = 1; i < n_lines && !rc; i++) {
        if (!*lines[i]) continue;
        rc = read_line(path, i + 1, lines[i], split, &count, e);
        if (rc || !count) continue;
        str_addf(counts, "%s%lld", found++ ? " " : "", (long long)count);
        sum += count;
    }
    if (!rc && found && sum != n)
        rc = fail(e, "%s: its documents of %s have %lld examples, but there are %lld", path, split, (long long)sum,
                  (long long)n);
    return rc ? -1 : found;
}

size_t documents_sum(const char *counts, const double *rows, size_t m, size_t width, double *out)
{
    size_t documents = 0, at = 0, listed = 1;
    char *end;
    for (const char *p = counts; *p; p++) listed += *p == ' ';
    for (const char *p = counts; *p; p = end, documents++) {
        unsigned long long count = strtoull(p, &end, 10);
        if (listed == m && count) count = 1;
        if (end == p || !count || count > m - at) return 0;
        for (size_t j = 0; out && j < count; j++)
            for (size_t k = 0; k < width; k++)
                out[documents * width + k] = (j ? out[documents * width + k] : 0) + rows[(at + j) * width + k];
        at += count;
        while (*end == ' ') end++;
    }
    return at == m ? documents : 0;
}

double documents_widening(size_t m)
{
    double by = m > 1 ? t_upper(0.025, (double)(m - 1)) / normal_upper(0.025) : 1;
    return by * by;
}
