/* shapes.c - collects shapes; colours; the width of text; a file of any format. */
#include "lab/draw/internal.h"
#include <stdlib.h>
#include <string.h>

/* Colours on light and on dark pages. */
static const struct {
    const char *name, *light, *dark;
} colors[] = {
    {"none", "none", "none"},       {"ink", "#1c1c1c", "#e8e6e3"},   {"muted", "#5c5c5c", "#a8a5a0"},
    {"grid", "#dedede", "#3a3a3a"}, {"paper", "#ffffff", "#161616"}, {"s0", "#0072b2", "#56a8e0"},
    {"s1", "#d55e00", "#f08a3c"},   {"s2", "#008060", "#2fb894"},    {"s3", "#b0508c", "#dc90be"},
    {"s4", "#9a7500", "#e0b030"},   {"s5", "#2f8fc4", "#9cd3f5"},    {"s6", "#6b6b6b", "#b5b5b5"},
};

const char *draw_hex(int color) { return colors[color].light; }

void draw_head(str *out, const char *what, const char *name)
{
    str_addf(out,
             "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
             "content=\"width=device-width,initial-scale=1\"><title>%s",
             what);
    svg_between(out, "", name, "</title>\n<style>\n:root{color-scheme:light dark");
    for (size_t i = 1; i < LENGTH(colors); i++) str_addf(out, ";--%s:%s", colors[i].name, colors[i].light);
    str_add(out, "}\n@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark");
    for (size_t i = 1; i < LENGTH(colors); i++) str_addf(out, ";--%s:%s", colors[i].name, colors[i].dark);
    str_add(out, "}}\n");
    for (size_t i = 1; i < LENGTH(colors); i++)
        str_addf(out, ".l%zu{stroke:var(--%s)}.f%zu{fill:var(--%s)}\n", i, colors[i].name, i, colors[i].name);
}

drawing *drawing_new(double width, double height, const char *label)
{
    drawing *d = xcalloc(1, sizeof *d);
    d->width = width, d->height = height;
    d->label = arena_strdup(&d->mem, label ? label : "");
    return d;
}

void drawing_free(drawing *d)
{
    if (!d) return;
    arena_free(&d->mem);
    free(d->shapes);
    free(d);
}

static shape *add(drawing *d, enum shape_kind kind, const double *xy, size_t n, pen p)
{
    d->shapes = grow(d->shapes, &d->cap, d->n + 1, sizeof *d->shapes);
    double *kept = arena_alloc(&d->mem, (2 * n + 1) * sizeof *kept);
    if (n) memcpy(kept, xy, 2 * n * sizeof *kept);
    d->shapes[d->n] = (shape){.kind = kind, .pen = p, .n = n, .xy = kept};
    return &d->shapes[d->n++];
}

void draw_path(drawing *d, const double *xy, size_t n, bool closed, pen p)
{
    if (n) add(d, closed ? SHAPE_POLYGON : SHAPE_PATH, xy, n, p);
}

void draw_line(drawing *d, double x0, double y0, double x1, double y1, pen p)
{
    draw_path(d, (double[]){x0, y0, x1, y1}, 2, false, p);
}

void draw_rect(drawing *d, double x, double y, double width, double height, pen p)
{
    add(d, SHAPE_RECT, (double[]){x, y, width, height}, 2, p);
}

void draw_marker(drawing *d, double x, double y, double r, int kind, pen p)
{
    switch (kind % 5) {
    case 0: add(d, SHAPE_DISC, (double[]){x, y, r, r}, 2, p); break;
    case 1: draw_rect(d, x - r * 0.9, y - r * 0.9, 1.8 * r, 1.8 * r, p); break;
    case 2: draw_path(d, (double[]){x, y - 1.2 * r, x + 1.15 * r, y + r, x - 1.15 * r, y + r}, 3, true, p); break;
    case 3: draw_path(d, (double[]){x, y - 1.3 * r, x + 1.3 * r, y, x, y + 1.3 * r, x - 1.3 * r, y}, 4, true, p); break;
    default:
        p = (pen){.stroke = p.fill ? p.fill : p.stroke, .width = 2, .opacity = p.opacity};
        draw_line(d, x - r, y - r, x + r, y + r, p);
        draw_line(d, x - r, y + r, x + r, y - r, p);
    }
}

void draw_text(drawing *d, double x, double y, const char *text, lettering t)
{
    shape *s = add(d, SHAPE_TEXT, (double[]){x, y}, 1, (pen){0});
    if (t.size <= 0) t.size = 11;
    if (t.color == COLOR_NONE) t.color = COLOR_INK;
    s->letters = t;
    s->text = arena_strdup(&d->mem, text);
}

void draw_open(drawing *d, const char *key, const char *title)
{
    shape *s = add(d, SHAPE_OPEN, NULL, 0, (pen){0});
    s->key = key ? arena_strdup(&d->mem, key) : NULL;
    s->text = title ? arena_strdup(&d->mem, title) : NULL;
}

void draw_close(drawing *d) { add(d, SHAPE_CLOSE, NULL, 0, (pen){0}); }

/* ---- text ---- */

uint32_t utf8_next(const char **s)
{
    const unsigned char *p = (const unsigned char *)*s;
    if (!*p) return 0;
    int more = *p < 0x80 ? 0 : *p >= 0xF0 ? 3 : *p >= 0xE0 ? 2 : *p >= 0xC0 ? 1 : -1;
    uint32_t c = more < 0 ? 0xFFFD : more == 0 ? *p : *p & (0x3Fu >> more);
    p++;
    for (; more > 0; more--, p++) {
        if ((*p & 0xC0) != 0x80) {
            c = 0xFFFD;
            break;
        }
        c = c << 6 | (*p & 0x3F);
    }
    *s = (const char *)p;
    return c;
}

/* Widths of the characters 32 to 126 in thousandths of the size: Adobe's metrics of Helvetica. */
static const short helvetica[] = {278,  278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
                                  556,  556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
                                  1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
                                  667,  778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
                                  333,  556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
                                  556,  556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584};

double text_width(const char *text, double size, bool bold)
{
    double sum = 0;
    for (uint32_t c; (c = utf8_next(&text));) /* beyond ASCII an average width; East Asian letters are wide */
        sum += c >= 32 && c <= 126 ? helvetica[c - 32] : c < 0x2E80 ? 556 : 1000;
    return sum / 1000 * size * (bold ? 1.06 : 1);
}

int drawing_write(const drawing *d, const char *path, err *e)
{
    enum { PNG_SCALE = 2 }; /* pixels per unit */
    str out = {0};
    int rc = 0;
    if (has_suffix(path, ".pdf"))
        rc = drawing_pdf(d, &out, e);
    else if (has_suffix(path, ".png"))
        rc = drawing_png(d, PNG_SCALE, &out, e);
    else
        drawing_svg(d, SVG_ALONE, &out);
    if (!rc) rc = file_write(path, out.s, out.n, e);
    str_free(&out);
    return rc;
}
