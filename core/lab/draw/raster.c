/* raster.c - a drawing as pixels: shapes become polygons, polygons become coverage, coverage is blended.
 *
 * A polygon's coverage of a pixel is exact along x and sampled on SUBLINES lines along y, by the nonzero rule, so
 * pieces of a line may overlap. */
#include "lab/draw/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUBLINES = 16, DISC_PIECES = 48, MOST_DASHES = 4 };
static const double miter_limit = 4,
                    bold_part = 0.045, /* miter_limit is SVG's; bold_part: stroke of bold letters, relative to size */
    bold_width = 1.06;                 /* as in text_width */

typedef struct {
    double x0, y0, x1, y1;
} edge;
typedef struct {
    int width, height;
    double scale;       /* pixels per unit */
    unsigned char *rgb; /* [height][width][3] */
    edge *edges;        /* edges of the current shape, in pixels */
    size_t n, cap;
    float *cover; /* [width + 2]: coverage of one row */
    double *at;   /* where one sampled line crosses edges: x and direction of each crossing */
    size_t at_cap;
    err *e;
    int bad;
} canvas;

/* ---- polygons to pixels ---- */

static void add_edge(canvas *c, double x0, double y0, double x1, double y1)
{
    if (y0 == y1) return;
    c->edges = grow(c->edges, &c->cap, c->n + 1, sizeof *c->edges);
    c->edges[c->n++] = (edge){x0, y0, x1, y1};
}

/* Adds the span from x0 to x1 of one sampled line to the coverage of the row's pixels. */
static void add_span(canvas *c, double x0, double x1)
{
    if (x0 < 0) x0 = 0;
    if (x1 > c->width) x1 = c->width;
    if (x1 <= x0) return;
    int i = (int)x0, last = (int)x1;
    if (i == last) {
        c->cover[i] += (float)(x1 - x0);
        return;
    }
    c->cover[i] += (float)(i + 1 - x0);
    for (i++; i < last; i++) c->cover[i] += 1;
    c->cover[last] += (float)(x1 - last);
}

static int by_x(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void add_line(canvas *c, double y)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        const edge *g = &c->edges[i];
        bool down = g->y1 > g->y0;
        if (y < (down ? g->y0 : g->y1) || y >= (down ? g->y1 : g->y0)) continue;
        c->at = grow(c->at, &c->at_cap, 2 * (n + 1), sizeof *c->at);
        c->at[2 * n] = g->x0 + (y - g->y0) / (g->y1 - g->y0) * (g->x1 - g->x0);
        c->at[2 * n++ + 1] = down ? 1 : -1;
    }
    if (n) qsort(c->at, n, 2 * sizeof *c->at, by_x);
    int winding = 0;
    for (size_t i = 0; i < n; i++) {
        int before = winding;
        winding += (int)c->at[2 * i + 1];
        if (before) add_span(c, c->at[2 * i - 2], c->at[2 * i]);
    }
}

static unsigned blend(unsigned under, unsigned over, double part)
{
    return (unsigned)lround(under + ((double)over - under) * part);
}

/* Fills the polygons added so far and forgets them. */
static void fill(canvas *c, int color, double opacity)
{
    double top = c->height, bottom = 0;
    unsigned rgb = (unsigned)strtoul(draw_hex(color) + 1, NULL, 16);
    for (size_t i = 0; i < c->n; i++) {
        top = fmin(top, fmin(c->edges[i].y0, c->edges[i].y1));
        bottom = fmax(bottom, fmax(c->edges[i].y0, c->edges[i].y1));
    }
    if (opacity <= 0) opacity = 1;
    for (int y = (int)fmax(0, floor(top)); y < c->height && y < bottom; y++) {
        memset(c->cover, 0, ((size_t)c->width + 2) * sizeof *c->cover);
        for (int k = 0; k < SUBLINES; k++) add_line(c, y + (k + 0.5) / SUBLINES);
        for (int x = 0; x < c->width; x++) {
            if (c->cover[x] <= 0) continue;
            unsigned char *p = c->rgb + 3 * ((size_t)y * (size_t)c->width + (size_t)x);
            double part = fmin(1, (double)c->cover[x] / SUBLINES) * opacity;
            for (int k = 0; k < 3; k++) p[k] = (unsigned char)blend(p[k], rgb >> (16 - 8 * k) & 255, part);
        }
    }
    c->n = 0;
}

/* Adds a polygon. All polygons get one orientation, so that overlapping polygons add up. xy: in units. */
static void add_polygon(canvas *c, const double *xy, size_t n, bool turn)
{
    double area = 0;
    for (size_t i = 0; i < n; i++) {
        size_t j = (i + 1) % n;
        area += xy[2 * i] * xy[2 * j + 1] - xy[2 * j] * xy[2 * i + 1];
    }
    for (size_t i = 0; i < n; i++) {
        const double *p = xy + 2 * i, *q = xy + 2 * ((i + 1) % n);
        if (turn && area < 0) {
            const double *swap = p;
            p = q, q = swap;
        }
        add_edge(c, p[0] * c->scale, p[1] * c->scale, q[0] * c->scale, q[1] * c->scale);
    }
}

/* ---- lines ---- */

static void add_segment(canvas *c, const double *p, const double *q, double half)
{
    double dx = q[0] - p[0], dy = q[1] - p[1], length = hypot(dx, dy);
    if (length == 0) return;
    double nx = -dy / length * half, ny = dx / length * half;
    add_polygon(c, (double[]){p[0] + nx, p[1] + ny, q[0] + nx, q[1] + ny, q[0] - nx, q[1] - ny, p[0] - nx, p[1] - ny},
                4, true);
}

/* Adds the corner at q as SVG's miter join: pointed unless it is too sharp. */
static void add_corner(canvas *c, const double *p, const double *q, const double *r, double half)
{
    double ax = q[0] - p[0], ay = q[1] - p[1], bx = r[0] - q[0], by = r[1] - q[1], a = hypot(ax, ay), b = hypot(bx, by);
    if (a == 0 || b == 0) return;
    ax /= a, ay /= a, bx /= b, by /= b;
    double cross = ax * by - ay * bx, dot = ax * bx + ay * by, side = cross > 0 ? -half : half;
    if (fabs(cross) < 1e-9) return;
    double one[2] = {q[0] - ay * side, q[1] + ax * side}, two[2] = {q[0] - by * side, q[1] + bx * side};
    double half_cos = sqrt((1 + dot) / 2); /* cosine of half the turn */
    if (half_cos > 1 / miter_limit) {
        double mx = one[0] + two[0] - 2 * q[0], my = one[1] + two[1] - 2 * q[1], m = hypot(mx, my);
        double tip = half / half_cos;
        add_polygon(c, (double[]){q[0], q[1], one[0], one[1], q[0] + mx / m * tip, q[1] + my / m * tip, two[0], two[1]},
                    4, true);
    } else {
        add_polygon(c, (double[]){q[0], q[1], one[0], one[1], two[0], two[1]}, 3, true);
    }
}

static void add_stroke(canvas *c, const double *xy, size_t n, bool closed, double half)
{
    for (size_t i = 0; i + 1 < n + closed; i++) add_segment(c, xy + 2 * i, xy + 2 * ((i + 1) % n), half);
    for (size_t i = closed ? 0 : 1; i + 1 < n + closed; i++)
        add_corner(c, xy + 2 * ((i + n - 1) % n), xy + 2 * i, xy + 2 * ((i + 1) % n), half);
}

/* Cuts a line into its dashes. */
static void add_dashed(canvas *c, const double *xy, size_t n, const char *pattern, double half)
{
    double dash[MOST_DASHES], left, *part = xmalloc((2 * n + 4) * sizeof *part);
    size_t dashes = 0, k = 0, m = 1;
    for (char *end; dashes < MOST_DASHES && *pattern; pattern = end) dash[dashes++] = strtod(pattern, &end);
    left = dash[0];
    memcpy(part, xy, 2 * sizeof *part);
    for (size_t i = 0; i + 1 < n;) {
        const double *q = xy + 2 * (i + 1), *p = part + 2 * (m - 1);
        double length = hypot(q[0] - p[0], q[1] - p[1]), go = fmin(left, length), f = length > 0 ? go / length : 1;
        double x = p[0] + (q[0] - p[0]) * f, y = p[1] + (q[1] - p[1]) * f;
        part[2 * m] = x, part[2 * m + 1] = y, m++;
        left -= go;
        if (go == length) i++;
        if (left > 0 && i + 1 < n) continue;
        if (k % 2 == 0) add_stroke(c, part, m, false, half);
        if (left > 0) break;
        part[0] = x, part[1] = y, m = 1;
        k++, left = dash[k % dashes];
    }
    free(part);
}

static void shape_of(canvas *c, const double *xy, size_t n, bool closed, const pen *p)
{
    if (p->fill) {
        add_polygon(c, xy, n, false);
        fill(c, p->fill, p->opacity);
    }
    if (!p->stroke) return;
    double half = (p->width > 0 ? p->width : 1) / 2;
    const char *pattern = draw_dashes[p->dash % SERIES_DASHES];
    if (*pattern && !closed)
        add_dashed(c, xy, n, pattern, half);
    else
        add_stroke(c, xy, n, closed, half);
    fill(c, p->stroke, p->opacity);
}

static void disc(canvas *c, const shape *s)
{
    double xy[2 * DISC_PIECES];
    for (int i = 0; i < DISC_PIECES; i++) {
        double angle = 2 * 3.14159265358979323846 * i / DISC_PIECES;
        xy[2 * i] = s->xy[0] + s->xy[2] * cos(angle), xy[2 * i + 1] = s->xy[1] + s->xy[2] * sin(angle);
    }
    shape_of(c, xy, DISC_PIECES, true, &s->pen);
}

/* ---- letters: letters.txt has a line "CODE WIDTH OUTLINE" for each, in units of 1 / 2048 of the size ---- */

enum { UNITS = 2048, ARC_PIECES = 6 };
extern const char letters_txt[];

/* Returns the outline of a character, and its *width in units; NULL: letters.txt lacks the character. */
static const char *outline(uint32_t code, double *width)
{
    for (const char *line = letters_txt; *line; line = strchr(line, '\n') + 1) {
        char *end;
        if (strtoul(line, &end, 16) != code) continue;
        *width = strtod(end, &end);
        return end + 1;
    }
    return NULL;
}

static double width_of(canvas *c, const shape *s)
{
    double sum = 0, width = 0;
    const char *text = s->text;
    for (uint32_t code; (code = utf8_next(&text)); sum += width)
        if (!outline(code, &width) && !c->bad)
            c->bad = fail(c->e, "PNG has no letter U+%04X of \"%s\"; SVG does", (unsigned)code, s->text);
    return s->letters.bold ? bold_width * sum : sum;
}

typedef struct {
    double x, y, cos, sin, size; /* the pen's position; its direction; units to pixels */
} letter_place;

static void letter(canvas *c, const char *o, const letter_place *at)
{
    double x = 0, y = 0, first[2] = {0, 0}, v[4];
    while (*o && *o != '\n') {
        char op = *o++;
        int n = op == 'Q' ? 4 : op == 'Z' ? 0 : 2, pieces = op == 'Q' ? ARC_PIECES : 1;
        for (int i = 0; i < n; i++) {
            char *end;
            v[i] = strtod(o, &end);
            o = end;
        }
        if (op == 'M') x = first[0] = v[0], y = first[1] = v[1];
        if (op == 'M') continue;
        if (op == 'Z') v[0] = first[0], v[1] = first[1];
        double ex = op == 'Q' ? v[2] : v[0], ey = op == 'Q' ? v[3] : v[1], px = x, py = y;
        for (int i = 1; i <= pieces; i++) {
            double t = (double)i / pieces, u = 1 - t;
            double qx = op == 'Q' ? u * u * x + 2 * u * t * v[0] + t * t * ex : ex,
                   qy = op == 'Q' ? u * u * y + 2 * u * t * v[1] + t * t * ey : ey;
            add_edge(c, at->x + at->size * (px * at->cos + py * at->sin),
                     at->y + at->size * (px * at->sin - py * at->cos), at->x + at->size * (qx * at->cos + qy * at->sin),
                     at->y + at->size * (qx * at->sin - qy * at->cos));
            px = qx, py = qy;
        }
        x = ex, y = ey;
    }
}

static void raster_text(canvas *c, const shape *s)
{
    const lettering *l = &s->letters;
    double angle = l->angle / 180 * 3.14159265358979323846, size = l->size * c->scale / UNITS,
           whole = width_of(c, s) * size;
    double back = l->anchor == ANCHOR_END ? whole : l->anchor == ANCHOR_MIDDLE ? whole / 2 : 0;
    letter_place at = {s->xy[0] * c->scale, s->xy[1] * c->scale, cos(angle), sin(angle), size};
    at.x -= back * at.cos, at.y -= back * at.sin;
    const char *rest = s->text;
    for (uint32_t code; (code = utf8_next(&rest)) && !c->bad;) {
        double width = 0;
        const char *o = outline(code, &width);
        letter(c, o, &at);
        if (l->bold) { /* bold: draw again, a little to the right */
            letter_place again = at;
            again.x += bold_part * l->size * c->scale * at.cos, again.y += bold_part * l->size * c->scale * at.sin;
            letter(c, o, &again);
        }
        if (l->bold) width *= bold_width;
        at.x += width * size * at.cos, at.y += width * size * at.sin;
    }
    fill(c, l->color, l->opacity);
}

/* ---- all shapes ---- */

static void draw(canvas *c, const shape *s)
{
    const double *r = s->xy;
    switch (s->kind) {
    case SHAPE_PATH: shape_of(c, s->xy, s->n, false, &s->pen); break;
    case SHAPE_POLYGON: shape_of(c, s->xy, s->n, true, &s->pen); break;
    case SHAPE_RECT:
        shape_of(c, (double[]){r[0], r[1], r[0] + r[2], r[1], r[0] + r[2], r[1] + r[3], r[0], r[1] + r[3]}, 4, true,
                 &s->pen);
        break;
    case SHAPE_DISC: disc(c, s); break;
    case SHAPE_TEXT: raster_text(c, s); break;
    case SHAPE_OPEN:
    case SHAPE_CLOSE: break;
    }
}

int drawing_png(const drawing *d, double scale, str *out, err *e)
{
    canvas c = {.width = (int)ceil(d->width * scale), .height = (int)ceil(d->height * scale), .scale = scale, .e = e};
    size_t bytes = 3 * (size_t)c.width * (size_t)c.height;
    c.rgb = memset(xmalloc(bytes), 255, bytes);
    c.cover = xcalloc((size_t)c.width + 2, sizeof *c.cover);
    for (size_t i = 0; i < d->n && !c.bad; i++) draw(&c, &d->shapes[i]);
    if (!c.bad) png_write(c.rgb, c.width, c.height, out);
    free(c.rgb);
    free(c.cover);
    free(c.edges);
    free(c.at);
    return c.bad;
}
