/* curves.c - an SVG with axes, round ticks and one line a run. */
#include "report/curves.h"
#include "report/grid.h"
#include <math.h>

enum { WIDTH = 560, HEIGHT = 300, LEFT = 58, RIGHT = 12, TOP = 28, BOTTOM = 36 };

/* Colors that people who see few colors can tell apart (Okabe and Ito 2008). */
const char *curve_color(size_t i)
{
    static const char *const colors[] = {"#000000", "#e69f00", "#56b4e9", "#009e73",
                                         "#0072b2", "#d55e00", "#cc79a7", "#999999"};
    return colors[i % LENGTH(colors)];
}

typedef struct {
    double x0, x1, y0, y1; /* data */
    bool logarithmic;
} frame;

static bool find_frame(const curve_line *lines, size_t n, frame *f)
{
    *f = (frame){INFINITY, -INFINITY, INFINITY, -INFINITY, false};
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < lines[i].n; k++) {
            const read_point *p = &lines[i].points[k];
            if (!isfinite(p->value)) continue;
            f->x0 = fmin(f->x0, (double)p->step), f->x1 = fmax(f->x1, (double)p->step);
            f->y0 = fmin(f->y0, p->value), f->y1 = fmax(f->y1, p->value);
        }
    if (!isfinite(f->x0)) return false;
    f->logarithmic = f->y0 > 0 && f->y1 / f->y0 > 20;
    if (f->logarithmic) f->y0 = log10(f->y0), f->y1 = log10(f->y1);
    if (f->x1 <= f->x0) f->x1 = f->x0 + 1;
    double margin = f->y1 > f->y0 ? (f->y1 - f->y0) * 0.04 : fmax(fabs(f->y0) * 0.1, 1e-9);
    f->y0 -= margin, f->y1 += margin;
    return true;
}

static double at_x(const frame *f, double x)
{
    return LEFT + (x - f->x0) / (f->x1 - f->x0) * (WIDTH - LEFT - RIGHT);
}
static double at_y(const frame *f, double y)
{
    return HEIGHT - BOTTOM - (y - f->y0) / (f->y1 - f->y0) * (HEIGHT - TOP - BOTTOM);
}

/* 1, 2 or 5 times a power of ten, so that about `n` of them make up `span`. */
static double round_step(double span, int n)
{
    double raw = span / n, power = pow(10, floor(log10(raw))), m = raw / power;
    return power * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
}

static void tick_x(const frame *f, double x, str *out)
{
    char text[32];
    format_real(x >= 10000 ? x / 1000 : x, text);
    str_addf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s%s</text>\n", at_x(f, x),
             HEIGHT - BOTTOM + 16, text, x >= 10000 ? "k" : "");
}

static void tick_y(const frame *f, double y, double value, str *out)
{
    str_addf(out,
             "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" "
             "text-anchor=\"end\">%.4g</text>\n",
             LEFT, WIDTH - RIGHT, at_y(f, y), at_y(f, y), LEFT - 5, at_y(f, y) + 4, value);
}

static void axes(const frame *f, str *out)
{
    double step = fmax(1, round_step(f->x1 - f->x0, 5));
    for (double x = ceil(f->x0 / step) * step; x <= f->x1; x += step) tick_x(f, x, out);
    if (f->logarithmic) {
        static const double parts[] = {1, 2, 5};
        for (double power = floor(f->y0); power <= f->y1; power++)
            for (size_t i = 0; i < LENGTH(parts); i++) {
                double y = power + log10(parts[i]);
                if (y >= f->y0 && y <= f->y1) tick_y(f, y, pow(10, y), out);
            }
    } else {
        step = round_step(f->y1 - f->y0, 5);
        for (double y = ceil(f->y0 / step) * step; y <= f->y1; y += step)
            tick_y(f, y, fabs(y) < step / 1e6 ? 0 : y, out);
    }
    str_addf(out, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP, HEIGHT - BOTTOM, WIDTH - RIGHT);
    str_addf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">step</text>\n", WIDTH - RIGHT, HEIGHT - 4);
}

static void draw(const frame *f, const curve_line *line, str *out)
{
    bool pen_down = false;
    str_addf(out, "<path class=\"curve\" stroke=\"%s\" d=\"", curve_color(line->color));
    for (size_t k = 0; k < line->n; k++) {
        double y = line->points[k].value;
        if (!isfinite(y) || (f->logarithmic && y <= 0)) {
            pen_down = false;
            continue;
        }
        str_addf(out, "%c%.1f %.1f", pen_down ? 'L' : 'M', at_x(f, (double)line->points[k].step),
                 at_y(f, f->logarithmic ? log10(y) : y));
        pen_down = true;
    }
    str_add(out, "\"><title>");
    html_text(out, line->label);
    str_add(out, "</title></path>\n");
}

void curves_svg(const char *title, const curve_line *lines, size_t n, str *out)
{
    frame f;
    if (!find_frame(lines, n, &f)) return;
    str_addf(out,
             "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n<text class=\"title\" "
             "x=\"%d\" y=\"16\">",
             WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
    html_text(out, title);
    str_add(out, f.logarithmic ? " (logarithmic)</text>\n" : "</text>\n");
    axes(&f, out);
    for (size_t i = 0; i < n; i++) draw(&f, &lines[i], out);
    str_add(out, "</svg>\n");
}
