/* test_forest.c - the scale of a forest plot: if one row is far from all others, these remain distinguishable, and that
 * row ends in an arrow. */
#include "lab/report/forest.h"
#include "test.h"
#include <math.h>
#include <stdlib.h>

enum { ROWS = 5 };

static char *svg_of(double far_low, double far, double far_high)
{
    const forest_row rows[ROWS] = {{"one", -1, -2, -0.5, "-1", FOREST_BETTER},
                                   {"two", 2, 1, 3, "2", FOREST_WORSE},
                                   {"three", 3, 2, 4, "3", FOREST_WORSE},
                                   {"far", far, far_low, far_high, "far", FOREST_WORSE},
                                   {"late", NAN, NAN, NAN, "to be run", FOREST_UNDECIDED}};
    str out = {0};
    drawing *d = forest_draw(rows, ROWS, "axis", "description", 640);
    drawing_svg(d, SVG_ALONE, &out);
    drawing_free(d);
    return out.s;
}

/* Returns the SVG group of a row. */
static char *row_in(const char *svg, const char *name)
{
    char *key = xprintf("<g data-row=\"%s\"", name);
    const char *from = strstr(svg, key), *to = from ? strstr(from, "</g>") : NULL;
    free(key);
    CHECK(from && to);
    return from && to ? xstrndup(from, (size_t)(to - from)) : xstrdup("");
}

/* Left edge of a row's square, or -1 if it has none. */
static double square_of(const char *svg, const char *name)
{
    char *row = row_in(svg, name);
    const char *at = strstr(row, "height=\"7.2\"");
    while (at && at > row && *at != '<') at--;
    double x = at ? strtod(at + strlen("<rect x=\""), NULL) : -1;
    free(row);
    return x;
}
static int64_t times_in(const char *text, const char *what)
{
    int64_t n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) n++;
    return n;
}

/* Number of paths in a row. A row's interval has three: the two ends and the line between them. An arrow is a
 * fourth. */
static int64_t paths_of(const char *svg, const char *name)
{
    char *row = row_in(svg, name);
    int64_t n = times_in(row, "<path");
    free(row);
    return n;
}

/* A long name stands above its interval, in full; its numbers stand below the interval where they would overlap. */
static void test_long_names(void)
{
    const char *name = "mixer/attention=convolutional d_model=16 position=none";
    const forest_row row = {name, -1, -2, -0.5, "−1.0 [−2.0, −0.5]", FOREST_BETTER};
    static const double widths[] = {360, 760};
    for (size_t i = 0; i < LENGTH(widths); i++) {
        str out = {0};
        drawing *d = forest_draw(&row, 1, "axis", "description", widths[i]);
        drawing_svg(d, SVG_ALONE, &out);
        char *own = row_in(out.s, name);
        const char *first = strstr(own, "<text"), *second = first ? strstr(first + 1, "<text") : NULL;
        CHECK(first && second);
        if (first && second) {
            CHECK_NEAR(strtod(strstr(first, "x=\"") + 3, NULL), 4, 0);
            CHECK_INT(strstr(first, "text-anchor") == NULL || strstr(first, "text-anchor") > second, 1);
            CHECK_INT(strtod(strstr(first, "y=\"") + 3, NULL) == strtod(strstr(second, "y=\"") + 3, NULL),
                      widths[i] > 500);
        }
        free(own);
        drawing_free(d);
        str_free(&out);
    }
}

/* Returns the y of the text of this name, or -1 if it is missing. */
static double height_of(const char *svg, const char *name)
{
    char *row = row_in(svg, name);
    const char *text = strstr(row, "<text"), *y = text ? strstr(text, " y=\"") : NULL;
    double at = y ? strtod(y + 4, NULL) : -1;
    free(row);
    return at;
}

/* On a narrow page the line at zero is drawn between the texts of two rows, not through them. */
static void test_zero_line(void)
{
    const forest_row rows[2] = {{"a row of words", -1, -2, 1, "-1.0 [-2.0, +1.0]", FOREST_BETTER},
                                {"another row", 1, -1, 2, "+1.0 [-1.0, +2.0]", FOREST_WORSE}};
    static const double widths[] = {360, 900};
    for (size_t i = 0; i < LENGTH(widths); i++) {
        str out = {0};
        drawing *d = forest_draw(rows, 2, "axis", "description", widths[i]);
        drawing_svg(d, SVG_ALONE, &out);
        drawing_free(d);
        CHECK_INT(paths_of(out.s, "another row"),
                  widths[i] < 500 ? 4 : 3); /* the interval's three paths, and a piece of the line at zero */
        str_free(&out);
    }
}

/* A plot of two experiments has each row once: the first's rows by their differences, best first, then rows that only
 * the second has. */
static void test_pair(void)
{
    const forest_row left[] = {{"heads/heads=1", 2, 1, 3, "2", FOREST_WORSE},
                               {"norm/norm=none", -1, -2, -0.5, "-1", FOREST_BETTER},
                               {"late", NAN, NAN, NAN, "to be run", FOREST_UNDECIDED}},
                     right[] = {{"only", -5, -6, -4, "-5", FOREST_WORSE}, {"heads/heads=1", 1, 0, 2, "1", 0}};
    for (int more = 0; more < 2; more++) {
        const forest_side side[2] = {{left, LENGTH(left), "left", "less", more},
                                     {right, LENGTH(right), "right", "", 1}};
        str out = {0};
        drawing *d = forest_draw_pair(side, "description", 640);
        drawing_svg(d, SVG_ALONE, &out);
        drawing_free(d);
        static const char *const order[2][4] = {{"norm=none", "heads=1", "late", "only"},
                                                {"heads=1", "norm=none", "late", "only"}};
        for (int i = 1; i < 4; i++) {
            double above = height_of(out.s, order[more][i - 1]), below = height_of(out.s, order[more][i]);
            CHECK(above > 0);
            CHECK_NEAR(below - above, 14, 1e-6);
        }
        CHECK_INT(paths_of(out.s, "heads=1"), 6);   /* two intervals */
        CHECK_INT(paths_of(out.s, "norm=none"), 4); /* three for the interval, one for a triangle */
        CHECK_INT(paths_of(out.s, "late"), 0);
        CHECK(strstr(out.s, "heads/heads=1") == NULL);
        /* each side has its own legend, with the marks that occur on this side */
        CHECK_INT(times_in(out.s, ">worse<"), 2);
        CHECK_INT(times_in(out.s, ">better<"), 1);
        CHECK_INT(times_in(out.s, ">undecided<"), 1);
        CHECK_INT(times_in(out.s, ">equivalent<"), 0);
        str_free(&out);
    }
}

int main(void)
{
    test_long_names();
    test_zero_line();
    test_pair();
    char *near = svg_of(4, 5, 6), *far = svg_of(900, 1000, 1100), *partly = svg_of(-5, 20, 1100),
         *left = svg_of(-1100, -1000, -900);
    CHECK(square_of(near, "far") > square_of(near, "three"));
    CHECK_INT(paths_of(near, "far"), 3);
    CHECK_NEAR(square_of(far, "far"), -1, 0);
    CHECK_INT(paths_of(far, "far"), 5); /* arrows of both experiments, at the same end */
    CHECK_NEAR(square_of(left, "far"), -1, 0);
    CHECK(square_of(far, "three") - square_of(far, "two") > 10);
    CHECK(square_of(left, "three") - square_of(left, "two") > 10);
    CHECK(square_of(partly, "far") > square_of(partly, "three"));
    CHECK_INT(paths_of(partly, "far"), 4);
    char *const all[] = {near, far, partly, left};
    for (size_t i = 0; i < LENGTH(all); i++) free(all[i]);
    return test_end();
}
