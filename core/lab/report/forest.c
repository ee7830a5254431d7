/* forest.c - draws forest plots. */
#include "lab/report/forest.h"
#include "lab/draw/chart.h"
#include "text/metric/stats.h"
#include "base/cleanup.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Verdicts differ in both colour and marker. */
static const struct {
    int color, marker;
    const char *word;
} looks[] = {[FOREST_UNDECIDED] = {COLOR_MUTED, 0, "undecided"},
             [FOREST_BETTER] = {COLOR_SERIES + 2, 2, "better"},
             [FOREST_WORSE] = {COLOR_SERIES + 1, 1, "worse"},
             [FOREST_EQUIVALENT] = {COLOR_SERIES, 3, "equivalent"},
             [FOREST_NOT_WORSE] = {COLOR_SERIES, 3, "not worse"}};

/* Returns the scale's limit: ten times the median difference, so that one outlier does not compress the other rows, or
 * INFINITY if the median is 0. draw_row draws an arrow beyond it. */
static double widest(const forest_row *rows, size_t n)
{
    AUTOFREE double *size = xmalloc((n + 1) * sizeof *size);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(rows[i].d)) size[count++] = fabs(rows[i].d);
    double middle = stats_median(size, count);
    return middle > 0 ? 10 * middle : INFINITY;
}

static scale find_scale(const forest_row *rows, size_t n, double from, double to)
{
    scale s = {0, 0, from, to, false};
    double most = widest(rows, n);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(rows[i].d)) continue;
        s.lo = fmin(s.lo, fmax(isfinite(rows[i].low) ? rows[i].low : rows[i].d, -most));
        s.hi = fmax(s.hi, fmin(isfinite(rows[i].high) ? rows[i].high : rows[i].d, most));
    }
    double margin = (s.hi - s.lo) * 0.05;
    if (margin <= 0) margin = 1;
    s.lo -= margin, s.hi += margin;
    return s;
}

/* Draws an interval's end: a bar, or an arrow that points out of the scale. */
static double draw_end(drawing *d, double value, const scale *x, double y, pen p)
{
    bool left = value<x->lo, right = value> x->hi;
    double at = scale_at(x, left ? x->lo : right ? x->hi : value), back = left ? 5 : right ? -5 : 0;
    draw_line(d, at + back, y - 4, at, left || right ? y : y + 4, p);
    if (left || right) draw_line(d, at + back, y + 4, at, y, p);
    return at;
}

static void draw_row(drawing *d, const forest_row *r, const scale *x, double y, double size)
{
    int color = looks[r->verdict].color;
    pen p = {.stroke = color, .width = 2};
    bool outside = r->d < x->lo || r->d > x->hi;
    if (isfinite(r->low) && isfinite(r->high)) {
        double a = draw_end(d, r->low, x, y, p), b = draw_end(d, r->high, x, y, p);
        if (a == b) a += r->d > 0 ? -12 : 12; /* the whole interval lies outside: draws an arrow's shaft */
        draw_line(d, a, y, b, y, p);
    } else if (outside)
        draw_end(d, r->d, x, y, p);
    if (isfinite(r->d) && !outside)
        draw_marker(d, scale_at(x, r->d), y, isfinite(r->low) ? size : size - 1, looks[r->verdict].marker,
                    (pen){.fill = color});
}

/* Grid, numbers and label of the scale. */
static void draw_axis(drawing *d, const scale *x, double top, double bottom, bool zero, const char *label)
{
    lettering below = {.anchor = ANCHOR_MIDDLE, .color = COLOR_MUTED};
    tick ticks[16];
    size_t n = scale_ticks(x, (size_t)((x->to - x->from) / 60) + 1, ticks, LENGTH(ticks));
    for (size_t i = 0; i < n; i++) {
        double at = scale_at(x, ticks[i].value);
        draw_line(d, at, top, at, bottom, (pen){.stroke = COLOR_GRID});
        draw_text(d, at, bottom + 14, ticks[i].text, below);
    }
    if (zero) draw_line(d, scale_at(x, 0), top, scale_at(x, 0), bottom, (pen){.stroke = COLOR_INK, .width = 1.2});
    double most = x->to - x->from + 12, wide = text_width(label, 11, false) * 1.1;
    if (wide > most) below.size = fmax(7, 11 * most / wide);
    draw_text(d, (x->from + x->to) / 2, bottom + 31, label, below);
}

/* Draws the legend in the last line: marker and word of each verdict that occurs. */
static void draw_legend(drawing *d, const forest_row *rows, size_t n, double x, double y)
{
    for (size_t v = 0; v < LENGTH(looks); v++) {
        bool shown = false;
        for (size_t i = 0; i < n; i++) shown = shown || (rows[i].verdict == v && isfinite(rows[i].d));
        if (!shown) continue;
        draw_marker(d, x, y - 4, 4, looks[v].marker, (pen){.fill = looks[v].color});
        draw_text(d, x + 9, y, looks[v].word, (lettering){.anchor = ANCHOR_START, .color = COLOR_MUTED});
        x += 27 + text_width(looks[v].word, 11, false);
    }
}

drawing *forest_draw(const forest_row *rows, size_t n, const char *axis, const char *description, double width)
{
    double names = 0, texts = 0, top = 6;
    for (size_t i = 0; i < n; i++) {
        names = fmax(names, text_width(rows[i].name, 12, false));
        texts = fmax(texts, text_width(rows[i].text, 12, false));
    }
    names *= 1.16, texts *= 1.12;
    bool narrow = width < 500 || names > width * 0.36 || texts > width * 0.36; /* names and numbers above the lines */
    bool apart = narrow && names + texts + 16 > width;                         /* numbers stand below names */
    static const double pitches[] = {22, 34, 48}, texts_at[] = {4, -5, -12}, marks_at[] = {0, 7, 14};
    const int form = narrow + apart;
    double pitch = pitches[form], name_size = names > width - 8 ? fmax(7, 12 * (width - 8) / names) : 12;
    scale x = find_scale(rows, n, narrow ? 8 : names + 16, narrow ? width - 8 : width - texts - 16);
    double bottom = top + pitch * (double)n + 4;
    drawing *d = drawing_new(width, bottom + 54, description);
    draw_axis(d, &x, top, bottom, !narrow, axis);
    draw_legend(d, rows, n, 8, bottom + 48);
    for (size_t i = 0; i < n; i++) {
        double y = top + pitch * ((double)i + 0.5), text_y = y + texts_at[form], mark_y = y + marks_at[form];
        draw_open(d, rows[i].name, NULL);
        if (i % 2) draw_rect(d, 0, y - pitch / 2, width, pitch, (pen){.fill = COLOR_MUTED, .opacity = 0.06});
        draw_text(d, narrow ? 4 : names + 6, text_y, rows[i].name,
                  (lettering){.anchor = narrow ? ANCHOR_START : ANCHOR_END, .size = name_size});
        if (narrow) /* the zero line, interrupted by the names above each interval */
            draw_line(d, scale_at(&x, 0), mark_y - 7, scale_at(&x, 0), mark_y + 7,
                      (pen){.stroke = COLOR_INK, .width = 1.2});
        draw_row(d, &rows[i], &x, mark_y, 4);
        draw_text(d, width - 4, apart ? y + 2 : text_y, rows[i].text, (lettering){.anchor = ANCHOR_END, .size = 12});
        draw_close(d);
    }
    return d;
}

/* ---- two experiments ---- */

/* Shortens a row's name for narrow plots: drops the group if that is the key that the row changes. */
static const char *short_name(const char *name)
{
    const char *change = strchr(name, '/');
    size_t n = change ? (size_t)(change - name) : 0;
    return change && !strncmp(change + 1, name, n) && change[1 + n] == '=' ? change + 1 : name;
}

typedef struct {
    const char *name;
    const forest_row *of[2];
    double order; /* lower is better */
} pair_row;

static int by_order(const void *a, const void *b)
{
    double x = ((const pair_row *)a)->order, y = ((const pair_row *)b)->order;
    return (x > y) - (x < y);
}

/* Lists the rows of both sides, sorted. Returns their number. */
static size_t join(const forest_side side[2], pair_row *rows)
{
    size_t n = 0;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < side[k].n; i++) {
            const forest_row *r = &side[k].rows[i];
            const char *name = short_name(r->name);
            size_t j = 0;
            while (j < n && !same(rows[j].name, name)) j++;
            if (j == n) rows[n++] = (pair_row){.name = name, .order = k ? 1e9 + (double)i : 1e8};
            rows[j].of[k] = r;
            if (!k && isfinite(r->d)) rows[j].order = side[k].more ? -r->d : r->d;
        }
    qsort(rows, n, sizeof *rows, by_order);
    return n;
}

drawing *forest_draw_pair(const forest_side side[2], const char *description, double width)
{
    const double pitch = 14, top = 22, gap = 18;
    AUTOFREE pair_row *rows = xcalloc(side[0].n + side[1].n + 1, sizeof *rows);
    size_t n = join(side, rows);
    double names = 0, bottom = top + pitch * (double)n + 2;
    for (size_t i = 0; i < n; i++) names = fmax(names, text_width(rows[i].name, 10.5, false));
    names = fmin(names * 1.16, width / 2);
    drawing *d = drawing_new(width, bottom + 54, description);
    scale x[2];
    for (int k = 0; k < 2; k++) {
        double wide = (width - names - 8 - 2 * gap) / 2, from = names + gap + (wide + gap) * k;
        x[k] = find_scale(side[k].rows, side[k].n, from, from + wide);
        draw_text(d, from + wide / 2, 14, side[k].title, (lettering){.anchor = ANCHOR_MIDDLE, .bold = true});
        draw_axis(d, &x[k], top, bottom, true, side[k].axis);
        draw_legend(d, side[k].rows, side[k].n, from, bottom + 48);
    }
    for (size_t i = 0; i < n; i++) {
        double y = top + pitch * ((double)i + 0.5);
        draw_open(d, rows[i].name, NULL);
        if (i % 2) draw_rect(d, 0, y - pitch / 2, width, pitch, (pen){.fill = COLOR_MUTED, .opacity = 0.06});
        draw_text(d, names + 4, y + 4, rows[i].name, (lettering){.anchor = ANCHOR_END, .size = 10.5});
        for (int k = 0; k < 2; k++)
            if (rows[i].of[k]) draw_row(d, rows[i].of[k], &x[k], y, 3);
        draw_close(d);
    }
    return d;
}

void forest_figure(const forest_row *rows, size_t n, const char *axis, const char *description, str *out)
{
    static const struct {
        const char *name;
        double width;
    } sizes[] = {{"narrow", 360}, {"middle", 760}, {"wide", 1120}};
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        drawing *d = forest_draw(rows, n, axis, description, sizes[i].width);
        str_addf(out, "<figure class=\"%s\">", sizes[i].name);
        drawing_svg(d, SVG_THEMED, out);
        str_add(out, "</figure>\n");
        drawing_free(d);
    }
}
