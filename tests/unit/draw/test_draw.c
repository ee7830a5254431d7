/* Scales, ticks and charts, written as SVG and PDF: the SVG is well-formed, and the PDF's cross-reference table is
 * right. */
#include "lab/draw/chart_data.h"
#include "test.h"

static void test_scale(void)
{
    scale s = {0, 10, 100, 200, false};
    tick t[24];
    CHECK_NEAR(scale_at(&s, 5), 150, 1e-12);
    CHECK(isnan(scale_at(&s, NAN)));
    CHECK_INT(scale_ticks(&s, 5, t, 24), 6);
    CHECK_TEXT(t[1].text, "2");
    s = (scale){-0.3, 0.3, 0, 1, false};
    CHECK_INT(scale_ticks(&s, 5, t, 24), 7);
    CHECK_TEXT(t[0].text, "−0.3");
    CHECK_TEXT(t[3].text, "0.0");
    s = (scale){10, 1000, 0, 1, true};
    CHECK_NEAR(scale_at(&s, 100), 0.5, 1e-12);
    CHECK(isnan(scale_at(&s, 0)));
    CHECK_INT(scale_ticks(&s, 6, t, 24), 7); /* 10 20 50 100 200 500 1000 */
    CHECK_TEXT(t[6].text, "1000");
    s = (scale){1e6, 1e8, 0, 1, true};
    CHECK_INT(scale_ticks(&s, 2, t, 24), 5); /* 1 3 10 30 100 million */
    CHECK_TEXT(t[4].text, "100M");
    s = (scale){3, 3, 0, 1, false};
    CHECK_INT(scale_ticks(&s, 5, t, 24), 0);
}

static void test_text(void)
{
    CHECK_NEAR(text_width("AB", 10, false), 13.34, 1e-9);
    CHECK_NEAR(text_width("ä", 10, false), 5.56, 1e-9);
    CHECK_NEAR(text_width("", 10, false), 0, 0);
}

/* Every tag that opens is closed, in order; attributes are quoted. */
static void check_well_formed(const char *svg)
{
    const char *stack[64];
    int depth = 0;
    for (const char *p = strchr(svg, '<'); p; p = strchr(p + 1, '<')) {
        const char *end = strchr(p, '>');
        size_t quotes = 0;
        if (!end) break;
        for (const char *q = p; q < end; q++) quotes += *q == '"';
        CHECK_INT(quotes % 2, 0);
        if (p[1] == '/') {
            CHECK(depth > 0 && !strncmp(stack[depth - 1] + 1, p + 2, (size_t)(end - p - 2)));
            if (depth) depth--;
        } else if (end[-1] != '/' && depth < 64) {
            stack[depth++] = p;
        }
    }
    CHECK_INT(depth, 0);
}

/* startxref is the table's offset, and each entry of the table an object's. */
static void check_pdf(const str *pdf, size_t from)
{
    const char *s = pdf->s + from, *last = strstr(s, "startxref\n");
    CHECK(has_prefix(s, "%PDF-1.4\n") && last);
    if (!last) return;
    size_t table = strtoul(last + 10, NULL, 10);
    CHECK(table < pdf->n && has_prefix(s + table, "xref\n0 9\n"));
    for (int i = 1; i < 9; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "%d 0 obj", i);
        size_t at = strtoul(s + table + 9 + 20 * i, NULL, 10);
        CHECK(at < pdf->n && has_prefix(s + at, expected));
    }
    const char *length = strstr(s, "/Length ");
    size_t n = strtoul(length + 8, NULL, 10);
    CHECK(has_prefix(strstr(length, "stream\n") + 7 + n, "\nendstream"));
}

static void test_chart(void)
{
    double x[] = {1, 10, 100, 1000}, y[] = {9, NAN, 3, 2}, low[] = {8, NAN, 2, 1}, high[] = {10, NAN, 4, 3};
    series s[] = {{.name = "a<b & \"c\"",
                   .key = "a",
                   .line = true,
                   .band = true,
                   .color = series_color(0),
                   .n = 4,
                   .x = x,
                   .y = y,
                   .low = low,
                   .high = high},
                  {.name = "Δ point",
                   .points = true,
                   .color = series_color(1),
                   .n = 1,
                   .x = x + 2,
                   .y = y + 2,
                   .low = low + 2,
                   .high = high + 2},
                  {.line = true, .faint = true, .color = COLOR_MUTED, .n = 4, .x = x, .y = high}};
    chart c = {.title = "quality", .x_label = "step", .log_x = true, .description = "quality over steps"};
    str svg = {0}, pdf = {0};
    err e = {0};
    drawing *d = chart_draw(&c, s, LENGTH(s));
    CHECK(d != NULL);
    drawing_svg(d, SVG_THEMED, &svg);
    check_well_formed(svg.s);
    CHECK_HAS(svg.s, "role=\"img\" aria-label=\"quality over steps\"");
    CHECK_HAS(svg.s, "<title>a&lt;b &amp; &quot;c&quot;</title>");
    CHECK(!strstr(svg.s, "nan") && !strstr(svg.s, "inf") && !strstr(svg.s, "#"));
    str_clear(&svg);
    drawing_svg(d, SVG_ALONE, &svg);
    check_well_formed(svg.s);
    CHECK_HAS(svg.s, "stroke=\"#0072b2\"");
    str_add(&pdf, "before");
    CHECK_INT(drawing_pdf(d, &pdf, &e), 0);
    check_pdf(&pdf, 6);
    CHECK_HAS(pdf.s + 6, "/F2 10.50 Tf (D)"); /* Δ needs the font Symbol */
    drawing_free(d);
    s[1].name = "日本";
    d = chart_draw(&c, s, LENGTH(s));
    str_clear(&pdf);
    CHECK_INT(drawing_pdf(d, &pdf, &e), -1);
    CHECK_HAS(e.text, "lack the character U+65E5");
    drawing_free(d);
    CHECK(chart_draw(&c, s, 0) == NULL);
    c.x_label = NULL, c.log_x = false, c.categories = (const char *const[]){"one", "two"}, c.n_categories = 2;
    double at[] = {0, 1};
    d = chart_draw(&c, &(series){.name = "n", .points = true, .n = 2, .x = at, .y = x}, 1);
    str_clear(&svg);
    drawing_svg(d, SVG_THEMED, &svg);
    CHECK_HAS(svg.s, ">two</text>");
    drawing_free(d);
    str_free(&svg);
    str_free(&pdf);
}

/* Names of lines that end at one height do not overlap. */
static void test_names(void)
{
    double x[] = {0, 1}, y[] = {1, 1};
    series s[5];
    char names[5][16];
    for (int i = 0; i < 5; i++) {
        snprintf(names[i], sizeof names[i], "row%d", i);
        s[i] = (series){.name = names[i], .line = true, .color = series_color((size_t)i), .n = 2, .x = x, .y = y};
    }
    drawing *d = chart_draw(&(chart){.title = "same"}, s, 5);
    str svg = {0};
    drawing_svg(d, SVG_THEMED, &svg);
    double last = -100, nearest_gap = 1000;
    for (const char *p = svg.s; (p = strstr(p, "<text x=\"")); p++) {
        const char *end = strchr(p, '>');
        if (strncmp(end + 1, "row", 3)) continue;
        double now = strtod(strstr(p, "y=\"") + 3, NULL);
        nearest_gap = fmin(nearest_gap, now - last);
        last = now;
    }
    CHECK(last > 0 && nearest_gap >= 11);
    str_free(&svg);
    drawing_free(d);
}

/* The name of a point is not written across the error bar of another. */
static void test_names_beside_bars(void)
{
    const double x[] = {5, 5.5}, y[] = {2, 0.5}, low[] = {2, 0}, high[] = {2, 4};
    series s[2];
    for (int i = 0; i < 2; i++)
        s[i] = (series){.name = i ? "tall" : "flat",
                        .points = true,
                        .n = 1,
                        .x = x + i,
                        .y = y + i,
                        .low = low + i,
                        .high = high + i};
    drawing *d = chart_draw(&(chart){.title = "bars", .x1 = 10, .y1 = 4}, s, 2);
    str svg = {0};
    drawing_svg(d, SVG_THEMED, &svg);
    double flat = NAN;
    for (const char *p = svg.s; (p = strstr(p, "<text x=\"")); p++)
        if (!strncmp(strchr(p, '>') + 1, "flat", 4)) flat = strtod(p + strlen("<text x=\""), NULL);
    CHECK_NEAR(flat, 165, 10); /* left of its point, at 187; to the right it began at 193 */
    str_free(&svg);
    drawing_free(d);
}

static double attribute_of(const char *svg, const char *name)
{
    char *key = xprintf(" %s=\"", name);
    const char *at = strstr(svg, key);
    double v = at ? strtod(at + strlen(key), NULL) : NAN;
    free(key);
    return v;
}

/* If a name does not fit beside its line or point, all names are listed in full below the chart, which keeps its
 * size. */
static void test_legend(void)
{
    static const char *const names[] = {"attention=convolutional d_model=16 position=sinusoid",
                                        "attention=convolutional d_model=32 position=sinusoid", "base"};
    double x[] = {0, 1, 2}, y[] = {1, 2, 3};
    series s[3];
    for (int points = 0; points < 2; points++) {
        str svg = {0};
        for (int i = 0; i < 3; i++)
            s[i] = (series){.name = names[i],
                            .line = !points,
                            .points = points,
                            .color = series_color((size_t)i),
                            .n = points ? 1 : 3,
                            .x = x + points * i,
                            .y = y};
        drawing *d = chart_draw(&(chart){.title = "long"}, s, 3);
        drawing_svg(d, SVG_THEMED, &svg);
        for (int i = 0; i < 3; i++) {
            char *whole = xprintf(">%s</text>", names[i]);
            CHECK_HAS(svg.s, whole);
            free(whole);
        }
        CHECK(!strstr(svg.s, "…"));
        CHECK(attribute_of(svg.s, "height") > 270);
        if (points) CHECK_HAS(svg.s, ">3</text>"); /* numbered */
        drawing_free(d);
        str_clear(&svg);
        d = chart_draw(&(chart){.title = "long", .width = 360, .height = 240, .exact_height = true}, s, 3);
        drawing_svg(d, SVG_THEMED, &svg);
        CHECK_NEAR(attribute_of(svg.s, "height"), 240, 0);
        drawing_free(d);
        str_free(&svg);
    }
}

/* Checks a chart's data in the format for other programs. */
static void test_chart_data(void)
{
    double x[] = {0, 1}, y[] = {28.5, NAN}, low[] = {28, NAN}, high[] = {29, NAN};
    series s = {.name = "say \"a\", b",
                .line = true,
                .n = 2,
                .x = x,
                .y = y,
                .low = low,
                .high = high,
                .color = series_color(1)};
    chart c = {.title = "t", .y_label = "BLEU", .categories = (const char *const[]){"sin", "rot"}, .n_categories = 2};
    str out = {0};
    chart_csv(&c, &s, 1, &out);
    CHECK_TEXT(out.s, "series,x,y,low,high\r\n\"say \"\"a\"\", b\",sin,28.5,28,29\r\n\"say \"\"a\"\", b\",rot,,,\r\n");
    str_clear(&out);
    chart_gnuplot(&c, &s, 1, &out);
    CHECK_HAS(out.s, "set xtics (\"sin\" 0, \"rot\" 1)\n");
    CHECK_HAS(out.s, "$data0 << EOD\n0 28.5 28 29\n1 ? ? ?\nEOD\n");
    CHECK_HAS(out.s, "plot $data0 using 1:2:3:4 with yerrorbars linecolor rgb \"#d55e00\" pointtype 0 notitle, \\\n    "
                     " $data0 using 1:2 with lines");
    CHECK_HAS(out.s, "title \"say \\\"a\\\", b\"\n");
    str_clear(&out);
    chart_vega(&c, &s, 1, &out);
    CHECK_HAS(out.s, "{\"series\":\"say \\\"a\\\", b\",\"x\":\"sin\",\"y\":28.5,\"low\":28,\"high\":29}\n]}");
    CHECK_HAS(out.s, "\"x\",\"type\":\"ordinal\"");
    CHECK(!strstr(out.s, "strokeDash"));
    str_clear(&out);
    s.dash = 1;
    chart_vega(&c, &s, 1, &out);
    CHECK_HAS(out.s, "\"strokeDash\":{\"field\":\"series\"");
    CHECK_HAS(out.s, "\"range\":[[5,3]]}}");
    str_free(&out);
}

/* Ticks of whole numbers are whole. */
static void test_whole(void)
{
    double x[] = {1, 2, 4}, y[] = {10, 20, 30};
    drawing *d = chart_draw(&(chart){.x_label = "heads"}, &(series){.points = true, .n = 3, .x = x, .y = y}, 1);
    str svg = {0};
    drawing_svg(d, SVG_THEMED, &svg);
    CHECK(!strstr(svg.s, ">1.5<") && strstr(svg.s, ">3<") && strstr(svg.s, ">4<"));
    str_free(&svg);
    drawing_free(d);
}

int main(void)
{
    test_chart_data();
    test_whole();
    test_scale();
    test_text();
    test_chart();
    test_names();
    test_names_beside_bars();
    test_legend();
    return test_end();
}
