/* chart.c - draws charts: frame, series, labels that do not overlap. */
#include "lab/draw/chart.h"
#include "base/cleanup.h"
#include <math.h>
#include <string.h>

enum { TICKS = 24 };
static const double name_size = 10.5, line_height = 12;
static const double slack = 1.17; /* other sans-serif fonts are wider than Helvetica by up to a sixth */

typedef struct {
    const chart *c;
    drawing *d;
    scale x, y;
    bool whole; /* every x is a whole number */
} frame;

/* ---- limits ---- */

static void widen(scale *s, double v)
{
    if (!isfinite(v) || (s->logarithmic && v <= 0)) return;
    s->lo = fmin(s->lo, v), s->hi = fmax(s->hi, v);
}

/* Finds limits that include all finite points and intervals; false: there are none. */
static bool find_limits(const series *s, size_t n, scale *x, scale *y)
{
    x->lo = y->lo = INFINITY, x->hi = y->hi = -INFINITY;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < s[i].n; k++) {
            if (!isfinite(s[i].y[k]) || !isfinite(s[i].x[k])) continue;
            widen(x, s[i].x[k]);
            widen(y, s[i].y[k]);
            if (s[i].low) widen(y, s[i].low[k]);
            if (s[i].high) widen(y, s[i].high[k]);
        }
    return isfinite(x->lo) && isfinite(y->lo);
}

static void add_margin(scale *s, double share)
{
    if (s->logarithmic) {
        double factor = s->hi > s->lo ? pow(s->hi / s->lo, share) : 1.2;
        s->lo /= factor, s->hi *= factor;
    } else {
        double more = s->hi > s->lo ? (s->hi - s->lo) * share : fmax(fabs(s->lo) * 0.05, 1e-9);
        s->lo -= more, s->hi += more;
    }
}

static bool named_line(const series *s) { return s->name && s->line && !s->faint; }
static bool named_point(const series *s) { return s->name && !s->line && s->n; }
static bool is_named(const series *s) { return named_line(s) || named_point(s); }
static double name_width(const char *name) { return text_width(name, name_size, false) * slack; }

static double names_width(const series *s, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        if (named_line(&s[i])) most = fmax(most, name_width(s[i].name));
    return most;
}

static bool find_frame(const chart *c, const series *s, size_t n, frame *f)
{
    bool joined = false;
    f->whole = true;
    f->x.logarithmic = c->log_x, f->y.logarithmic = c->log_y;
    for (size_t i = 0; i < n; i++) {
        joined = joined || s[i].line;
        for (size_t k = 0; k < s[i].n; k++) f->whole = f->whole && s[i].x[k] == rint(s[i].x[k]);
    }
    if (!find_limits(s, n, &f->x, &f->y)) return false;
    if (c->categories) f->x.lo = -0.4, f->x.hi = (double)c->n_categories - 0.6;
    if (c->x1 != c->x0) f->x.lo = c->x0, f->x.hi = c->x1;
    if (c->y1 != c->y0) f->y.lo = c->y0, f->y.hi = c->y1;
    if (!c->categories) add_margin(&f->x, joined ? 0.015 : 0.07);
    add_margin(&f->y, 0.05);
    return true;
}

/* ---- axes ---- */

/* Returns the text, or cuts it with an ellipsis to at most `width`. */
static const char *fit(const char *text, double width, double size, char out[128])
{
    snprintf(out, 128, "%s", text);
    if (text_width(text, size, false) * slack <= width && strlen(text) < 128) return out;
    for (size_t n = strlen(out); n > 1;) {
        do n--;
        while (n && ((unsigned char)out[n] & 0xC0) == 0x80);
        if (n > 123) continue;
        strcpy(out + n, "…");
        if (text_width(out, size, false) * slack <= width) break;
    }
    return out;
}

static void x_axis(const frame *f)
{
    tick ticks[TICKS];
    char text[128];
    double y = f->y.from, room = (f->x.to - f->x.from) / (double)(f->c->n_categories ? f->c->n_categories : 1);
    size_t about = (size_t)((f->x.to - f->x.from) / 55) + 1;
    if (f->whole && f->x.hi - f->x.lo < (double)about) about = (size_t)fmax(1, f->x.hi - f->x.lo); /* no 1.5 heads */
    size_t n = f->c->categories ? 0 : scale_ticks(&f->x, about, ticks, TICKS);
    double last = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double x = scale_at(&f->x, ticks[i].value), half = text_width(ticks[i].text, 11, false) / 2;
        draw_line(f->d, x, y, x, y + 4, (pen){.stroke = COLOR_MUTED});
        if (x - half < last + 4) continue; /* ticks of a logarithmic axis may be too close */
        draw_text(f->d, x, y + 16, ticks[i].text, (lettering){.anchor = ANCHOR_MIDDLE, .color = COLOR_MUTED});
        last = x + half;
    }
    for (size_t i = 0; i < f->c->n_categories && f->c->categories; i++) {
        double x = scale_at(&f->x, (double)i);
        draw_line(f->d, x, y, x, y + 4, (pen){.stroke = COLOR_MUTED});
        draw_text(f->d, x, y + 16, fit(f->c->categories[i], room - 4, 11, text),
                  (lettering){.anchor = ANCHOR_MIDDLE, .color = COLOR_MUTED});
    }
    draw_line(f->d, f->x.from, y, f->x.to, y, (pen){.stroke = COLOR_MUTED});
    if (f->c->x_label)
        draw_text(f->d, (f->x.from + f->x.to) / 2, f->c->height - 5, f->c->x_label,
                  (lettering){.anchor = ANCHOR_MIDDLE, .color = COLOR_MUTED});
}

static void y_axis(const frame *f, const tick *ticks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double y = scale_at(&f->y, ticks[i].value);
        draw_line(f->d, f->x.from, y, f->x.to, y, (pen){.stroke = COLOR_GRID});
        draw_text(f->d, f->x.from - 5, y + 4, ticks[i].text, (lettering){.anchor = ANCHOR_END, .color = COLOR_MUTED});
    }
}

static void titles(const frame *f)
{
    double x = 2;
    if (f->c->title) {
        draw_text(f->d, x, 14, f->c->title, (lettering){.size = 12.5, .bold = true});
        x += text_width(f->c->title, 12.5, true) * 1.2 + 10;
    }
    if (f->c->y_label) draw_text(f->d, x, 14, f->c->y_label, (lettering){.color = COLOR_MUTED});
}

/* ---- series ---- */

static void band(const frame *f, const series *s)
{
    AUTOFREE double *xy = xmalloc(4 * s->n * sizeof *xy);
    for (size_t k = 0; k < s->n;) {
        size_t first = k, count = 0;
        for (; k < s->n && isfinite(scale_at(&f->y, s->low[k])) && isfinite(scale_at(&f->y, s->high[k])); k++) count++;
        for (size_t i = 0; i < count; i++) {
            size_t back = 2 * count - 1 - i;
            xy[2 * i] = xy[2 * back] = scale_at(&f->x, s->x[first + i]);
            xy[2 * i + 1] = scale_at(&f->y, s->low[first + i]);
            xy[2 * back + 1] = scale_at(&f->y, s->high[first + i]);
        }
        if (count > 1) draw_path(f->d, xy, 2 * count, true, (pen){.fill = s->color, .opacity = 0.18});
        if (!count) k++;
    }
}

static void error_bars(const frame *f, const series *s)
{
    pen p = {.stroke = s->color, .width = 1.25};
    for (size_t k = 0; k < s->n; k++) {
        double x = scale_at(&f->x, s->x[k]), low = scale_at(&f->y, s->low[k]), high = scale_at(&f->y, s->high[k]);
        if (!isfinite(x + low + high) || low - high < 0.5) continue;
        draw_line(f->d, x, low, x, high, p);
        draw_line(f->d, x - 3, low, x + 3, low, p);
        draw_line(f->d, x - 3, high, x + 3, high, p);
    }
}

static void polyline(const frame *f, const series *s)
{
    AUTOFREE double *xy = xmalloc((2 * s->n + 2) * sizeof *xy);
    pen p = {.stroke = s->color, .width = s->faint ? 0.8 : 1.8, .opacity = s->faint ? 0.35 : 1, .dash = s->dash};
    size_t count = 0;
    for (size_t k = 0; k <= s->n; k++) {
        double x = k < s->n ? scale_at(&f->x, s->x[k]) : NAN, y = k < s->n ? scale_at(&f->y, s->y[k]) : NAN;
        if (isfinite(x + y)) {
            xy[2 * count] = x, xy[2 * count + 1] = y, count++;
            continue;
        }
        if (count > 1) draw_path(f->d, xy, count, false, p);
        if (count == 1) draw_marker(f->d, xy[0], xy[1], 2, 0, (pen){.fill = s->color, .opacity = p.opacity});
        count = 0;
    }
}

static void draw_series(const frame *f, const series *s)
{
    draw_open(f->d, s->key, s->hint ? s->hint : s->name);
    if (s->low && s->high && s->band && s->line) band(f, s);
    if (s->line) polyline(f, s);
    if (s->low && s->high && !s->band) error_bars(f, s);
    for (size_t k = 0; k < s->n && s->points; k++) {
        double x = scale_at(&f->x, s->x[k]), y = scale_at(&f->y, s->y[k]);
        if (isfinite(x + y))
            draw_marker(f->d, x, y, 3.5, s->marker, (pen){.fill = s->color, .opacity = s->faint ? 0.4 : 1});
    }
    draw_close(f->d);
}

/* ---- legend: below the chart, if a name has no room inside it ---- */

enum { MIN_HEIGHT = 120 }; /* height of the chart without its legend */
enum { SAMPLE = 26 };      /* width of a line's sample in the legend, or of a point's number */

typedef struct {
    size_t n, columns; /* n: entries of the legend; 0: no legend */
    double height;
} legend;

/* Returns how many bytes of `text` fit on a line, up to a blank; a longer word exceeds the line. */
static size_t line_of(const char *text, double width)
{
    char part[256];
    size_t fits = 0;
    for (size_t end = 0; text[end];) {
        end += strspn(text + end, " ");
        end += strcspn(text + end, " ");
        snprintf(part, sizeof part, "%.*s", (int)end, text);
        if (fits && name_width(part) > width) break;
        fits = end;
    }
    return fits;
}

static size_t lines_of(const char *text, double width)
{
    size_t lines = 0;
    for (; *text; text += strspn(text, " "), lines++) text += line_of(text, width);
    return lines;
}

static void find_legend(const chart *c, const series *s, size_t n, legend *out)
{
    double widest = 0, of_points = 0, lines = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_named(&s[i])) continue;
        double width = name_width(s[i].name);
        widest = fmax(widest, width);
        if (named_point(&s[i])) of_points = fmax(of_points, width);
        out->n++;
    }
    if (names_width(s, n) <= c->width * 0.45 && of_points <= c->width * 0.31) out->n = 0;
    if (!out->n) return;
    out->columns = (size_t)fmax(1, floor(c->width / (widest + SAMPLE + 12)));
    if (out->columns == 1)
        for (size_t i = 0; i < n; i++) lines += is_named(&s[i]) ? (double)lines_of(s[i].name, c->width - SAMPLE) : 0;
    else
        lines = (double)((out->n + out->columns - 1) / out->columns);
    out->height = lines * line_height + 8;
}

static void draw_legend(const frame *f, const series *s, size_t n, const legend *l)
{
    size_t at = 0, rows = (l->n + l->columns - 1) / l->columns;
    double y = f->c->height + line_height, pitch = f->c->width / (double)l->columns, top = y;
    char text[256];
    for (size_t i = 0; i < n; i++) {
        if (!is_named(&s[i])) continue;
        double x = (double)(at / rows) * pitch + 2;
        if (at % rows == 0) y = top;
        draw_open(f->d, s[i].key, NULL);
        if (s[i].line)
            draw_line(f->d, x, y - 3.5, x + SAMPLE - 6, y - 3.5,
                      (pen){.stroke = s[i].color, .width = 1.8, .dash = s[i].dash});
        snprintf(text, sizeof text, "%zu", at + 1);
        if (!s[i].line)
            draw_text(f->d, x + SAMPLE - 8, y, text,
                      (lettering){.size = name_size, .anchor = ANCHOR_END, .bold = true, .color = s[i].color});
        for (const char *rest = s[i].name; *rest; y += line_height) {
            size_t part = l->columns == 1 ? line_of(rest, f->c->width - SAMPLE) : strlen(rest);
            snprintf(text, sizeof text, "%.*s", (int)part, rest);
            draw_text(f->d, x + SAMPLE, y, text, (lettering){.size = name_size, .color = s[i].color});
            rest += part;
            rest += strspn(rest, " ");
        }
        draw_close(f->d);
        at++;
    }
}

/* ---- names ---- */

typedef struct {
    double x, y;
    const series *s;
} place;

static int by_y(const void *a, const void *b)
{
    double p = ((const place *)a)->y, q = ((const place *)b)->y;
    return (p > q) - (p < q);
}

/* Writes names of lines at the right, at the height of their last points, moved apart where they overlap. */
static void name_lines(const frame *f, const series *s, size_t n)
{
    AUTOFREE place *at = xmalloc((n + 1) * sizeof *at);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = s[i].n;
        if (!named_line(&s[i])) continue;
        while (k && !isfinite(scale_at(&f->y, s[i].y[k - 1]))) k--;
        if (k) at[count++] = (place){scale_at(&f->x, s[i].x[k - 1]), scale_at(&f->y, s[i].y[k - 1]), &s[i]};
    }
    qsort(at, count, sizeof *at, by_y);
    double top = f->y.to, bottom = f->y.from;
    double apart = fmin(line_height, count > 1 ? (bottom - top) / (double)(count - 1) : line_height);
    AUTOFREE double *y = xmalloc((count + 1) * sizeof *y);
    for (size_t i = 0; i < count; i++) y[i] = fmax(at[i].y, i ? y[i - 1] + apart : top);
    for (size_t i = count; i-- > 0;) y[i] = fmin(y[i], i + 1 < count ? y[i + 1] - apart : bottom);
    double x = f->x.to + 12;
    for (size_t i = 0; i < count; i++) {
        draw_open(f->d, at[i].s->key, at[i].s->name);
        draw_line(f->d, at[i].x + 2, at[i].y, x - 2, y[i],
                  (pen){.stroke = at[i].s->color, .opacity = 0.6, .width = 0.7});
        draw_text(f->d, x, y[i] + 3.5, at[i].s->name, (lettering){.size = name_size, .color = at[i].s->color});
        draw_close(f->d);
    }
}

typedef struct {
    double x0, y0, x1, y1;
} box;

static double overlap(const box *a, const box *b)
{
    double w = fmin(a->x1, b->x1) - fmax(a->x0, b->x0), h = fmin(a->y1, b->y1) - fmax(a->y0, b->y0);
    return w > 0 && h > 0 ? w * h : 0;
}

/* Chooses one of eight positions around a point: where the label overlaps existing shapes least. */
static box best_box(const frame *f, double x, double y, double width, const box *taken, size_t n, double *covered)
{
    static const double ways[][2] = {{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {1, -1}, {-1, -1}, {1, 1}, {-1, 1}};
    box best = {0};
    *covered = 0;
    double least = INFINITY;
    for (size_t i = 0; i < LENGTH(ways); i++) {
        double left = ways[i][0] > 0   ? x + 6
                      : ways[i][0] < 0 ? x - 6 - width
                                       : x - width / 2,
               middle = y + ways[i][1] * 11;
        box b = {left, middle - 6, left + width, middle + 6};
        double over = 0;
        for (size_t k = 0; k < n; k++) over += overlap(&b, &taken[k]);
        double cost = (double)i * 0.1 + over;
        cost += 1e3 * (fmax(0, f->x.from - b.x0) + fmax(0, b.x1 - f->c->width) + fmax(0, f->y.to - 8 - b.y0));
        if (cost < least) least = cost, best = b, *covered = over;
    }
    return best;
}

/* numbered: labels are the numbers of the legend. */
static void name_points(const frame *f, const series *s, size_t n, bool numbered)
{
    AUTOFREE box *taken = xmalloc((3 * n + 1) * sizeof *taken);
    size_t count = 0, at = 0;
    char number[24];
    for (size_t i = 0; i < n; i++) {
        if (s[i].line || !s[i].n) continue;
        double x = scale_at(&f->x, s[i].x[0]), y = scale_at(&f->y, s[i].y[0]);
        bool bar = s[i].low && s[i].high && isfinite(s[i].low[0] + s[i].high[0]);
        if (isfinite(x + y)) taken[count++] = (box){x - 4, y - 4, x + 4, y + 4};
        if (bar) taken[count++] = (box){x - 1, scale_at(&f->y, s[i].high[0]), x + 1, scale_at(&f->y, s[i].low[0])};
    }
    for (size_t i = 0; i < n; i++) {
        at += is_named(&s[i]);
        if (!named_point(&s[i])) continue;
        double x = scale_at(&f->x, s[i].x[0]), y = scale_at(&f->y, s[i].y[0]);
        if (!isfinite(x + y)) continue;
        snprintf(number, sizeof number, "%zu", at);
        const char *text = numbered ? number : s[i].name;
        double covered;
        box b = best_box(f, x, y, name_width(text), taken, count, &covered);
        if (covered > 60) continue; /* no room: the name is in the tooltip */
        taken[count++] = b;
        draw_open(f->d, s[i].key, s[i].hint);
        draw_text(f->d, b.x0, b.y1 - 2.5, text, (lettering){.size = name_size, .color = s[i].color});
        draw_close(f->d);
    }
}

drawing *chart_draw(const chart *given, const series *s, size_t n)
{
    chart c = *given;
    tick ticks[TICKS];
    if (c.width <= 0) c.width = 360;
    if (c.height <= 0) c.height = 240;
    frame f = {.c = &c};
    if (!find_frame(&c, s, n, &f)) return NULL;
    legend below = {0};
    if (!c.no_names) find_legend(&c, s, n, &below);
    double added = c.exact_height ? fmax(0, below.height + MIN_HEIGHT - c.height) : below.height;
    double whole = c.height + added; /* height of the drawing; the chart's own parts end above the legend */
    c.height = whole - below.height;
    f.y.from = c.height - (c.x_label ? 36 : 22), f.y.to = c.title || c.y_label ? 26 : 8;
    size_t n_ticks = scale_ticks(&f.y, (size_t)((f.y.from - f.y.to) / 38) + 1, ticks, TICKS);
    double left = 0, right = c.no_names || below.n ? 0 : names_width(s, n);
    for (size_t i = 0; i < n_ticks; i++) left = fmax(left, text_width(ticks[i].text, 11, false));
    f.x.from = left + 9, f.x.to = c.width - (right > 0 ? right + 14 : 10);
    f.d = drawing_new(c.width, whole, c.description ? c.description : c.title);
    titles(&f);
    y_axis(&f, ticks, n_ticks);
    x_axis(&f);
    for (size_t i = 0; i < n; i++)
        if (s[i].faint) draw_series(&f, &s[i]);
    for (size_t i = 0; i < n; i++)
        if (!s[i].faint) draw_series(&f, &s[i]);
    if (!c.no_names && !below.n) name_lines(&f, s, n);
    if (!c.no_names) name_points(&f, s, n, below.n > 0);
    if (below.n) draw_legend(&f, s, n, &below);
    return f.d;
}
