/* The statistics of core/text/metric equal those of scipy and statsmodels: statistics_scipy.tsv, written by
 * tests/oracle/statistics.py. */
#include "test.h"
#include "lab/statistics/choice.h"
#include "lab/statistics/design.h"
#include "base/distribution.h"
#include "text/metric/stats.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_FIELDS = 8, MOST_VALUES = 64 };

typedef struct {
    size_t n[MOST_FIELDS];
    /* values of a line's fields; the field of the name is left out; each other field is a number or a list */
    double v[MOST_FIELDS][MOST_VALUES];
} fields;

static fields read_line(char *line)
{
    fields f = {0};
    size_t i = 0;
    for (char *field = strchr(line, '\t'); field && i < MOST_FIELDS; i++) {
        *field++ = 0;
        for (char *next = field; f.n[i] < MOST_VALUES;) {
            f.v[i][f.n[i]++] = strtod(next, &next);
            if (*next != ',') {
                field = *next == '\t' ? next : NULL;
                break;
            }
            next++;
        }
    }
    return f;
}

#define CHECK_RELATIVE(found, expected, tolerance) CHECK_NEAR(found, expected, (tolerance)*fabs(expected) + 1e-15)

static difference compare(const fields *f)
{
    arm a = arm_measure(f->v[0], NULL, f->n[0], 0), b = arm_measure(f->v[1], NULL, f->n[1], 0);
    return design_compare(&a, &b, INFINITY);
}

/* Welch's degrees of freedom are capped at twice those of the smaller side. Where this cap holds, scipy's p is
 * smaller. */
static void check_welch(const fields *f)
{
    difference x = compare(f);
    double most = 2 * (fmin((double)f->n[0], (double)f->n[1]) - 1), df = f->v[2][0];
    CHECK_RELATIVE(x.df, fmin(df, most), 1e-12);
    if (df <= most) CHECK_RELATIVE(x.p, f->v[3][0], 1e-10);
    CHECK(x.p >= f->v[3][0] * (1 - 1e-10));
}

static void check_line(const char *name, const fields *f)
{
    const double *a = f->v[0], *b = f->v[1], *c = f->v[2], *d = f->v[3];
    if (!strcmp(name, "normal_tail"))
        CHECK_RELATIVE(normal_tail(a[0]), b[0], 1e-12);
    else if (!strcmp(name, "normal_upper"))
        CHECK_RELATIVE(normal_upper(a[0]), b[0], 1e-12);
    else if (!strcmp(name, "t_tail"))
        CHECK_RELATIVE(t_tail(a[0], b[0]), c[0], 1e-11);
    else if (!strcmp(name, "t_upper"))
        CHECK_RELATIVE(t_upper(a[0], b[0]), c[0], 1e-10);
    else if (!strcmp(name, "f_tail"))
        CHECK_RELATIVE(f_tail(a[0], b[0], c[0]), d[0], 1e-11);
    else if (!strcmp(name, "digamma"))
        CHECK_RELATIVE(digamma(a[0]), b[0], 1e-12);
    else if (!strcmp(name, "trigamma"))
        CHECK_RELATIVE(trigamma(a[0]), b[0], 1e-12);
    else if (!strcmp(name, "welch"))
        check_welch(f);
    else if (!strcmp(name, "equivalence")) {
        difference x = compare(f);
        if (x.df < 2 * (fmin((double)f->n[0], (double)f->n[1]) - 1))
            CHECK_RELATIVE(margin_p(c[0] - fabs(x.d), x.v, x.df, 0, 0), d[0], 1e-10);
    } else if (!strcmp(name, "permutation")) {
        if (f->n[0] + f->n[1] <= 20) CHECK_RELATIVE(permutation_p(a, f->n[0], b, f->n[1]), c[0], 1e-12);
    } else if (!strcmp(name, "holm")) {
        double p[MOST_VALUES];
        memcpy(p, a, sizeof p);
        stats_holm(p, f->n[0]);
        for (size_t i = 0; i < f->n[0]; i++) CHECK_RELATIVE(p[i], b[i], 1e-12);
    } else if (!strcmp(name, "interaction")) {
        double scores[MOST_VALUES] = {0};
        arm x = arm_measure(scores, c, (size_t)a[0], (size_t)b[0]);
        CHECK_RELATIVE(x.msi, d[0], 1e-11);
        arm_free(&x);
    } else if (!strcmp(name, "choice")) {
        CHECK_RELATIVE(choice_variance(a, f->n[0], b[0]), c[0], 1e-10);
    } else if (!strcmp(name, "howe")) {
        CHECK_RELATIVE(howe_p(a[0], b[0], c[0], d[0], f->v[4][0]), f->v[5][0], 1e-9);
    } else if (!strcmp(name, "power")) {
        /* the program adds two quantiles instead of using the noncentral t */
        CHECK_NEAR(power_of(b[0], 1, 1, (size_t)a[0], (size_t)a[0], 0, 0.05), c[0], 0.05);
    } else {
        printf("found \"%s\", which no check knows\n", name);
        CHECK(false);
    }
}

int main(void)
{
    str text = {0};
    char **lines = NULL;
    size_t n = 0;
    CHECK_INT(file_lines(SOURCE_DIR "/tests/unit/statistics/statistics_scipy.tsv", &text, &lines, &n, NULL), 0);
    CHECK(n > 150);
    for (size_t i = 0; i < n; i++) {
        if (!*lines[i]) continue;
        fields f = read_line(lines[i]);
        check_line(lines[i], &f);
    }
    free(lines);
    str_free(&text);
    return test_end();
}
