/* svg.c - a drawing as SVG. */
#include "lab/draw/internal.h"
#include <string.h>

const char *const draw_dashes[SERIES_DASHES] = {"", "5 3", "1.5 2.5", "6 2.5 1.5 2.5"};

void svg_text(str *out, const char *text)
{
    for (; *text; text++) switch (*text) {
        case '&': str_add(out, "&amp;"); break;
        case '<': str_add(out, "&lt;"); break;
        case '>': str_add(out, "&gt;"); break;
        case '"': str_add(out, "&quot;"); break;
        default:
            /* XML has no other control characters */
            if ((unsigned char)*text >= 32 || *text == '\t' || *text == '\n') str_addc(out, *text);
        }
}

/* Writes at most `decimals` decimals (1 or more), without trailing zeros. */
static void rounded(str *out, double v, int decimals)
{
    char text[40];
    size_t n = (size_t)snprintf(text, sizeof text, "%.*f", decimals, v);
    while (text[n - 1] == '0') n--;
    if (text[n - 1] == '.') n--;
    str_add(out, n == 2 && !memcmp(text, "-0", 2) ? "0" : (text[n] = 0, text));
}

static void number(str *out, double v) { rounded(out, v, 2); }

static void attribute(str *out, const char *name, double v)
{
    str_addf(out, " %s=\"", name);
    number(out, v);
    str_addc(out, '"');
}

static void attributes(str *out, const char *const *names, const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++) attribute(out, names[i], v[i]);
}

/* Writes colours as classes of the page's style, or as values. */
static void add_colors(str *out, int stroke, int fill, enum svg_style style)
{
    if (style == SVG_THEMED) {
        str_add(out, " class=\"");
        if (stroke) str_addf(out, "l%d", stroke);
        if (fill) str_addf(out, "%sf%d", stroke ? " " : "", fill);
        str_addc(out, '"');
    } else {
        if (stroke) str_addf(out, " stroke=\"%s\"", draw_hex(stroke));
        if (fill) str_addf(out, " fill=\"%s\"", draw_hex(fill));
    }
    if (!fill) str_add(out, " fill=\"none\"");
}

static void with_pen(str *out, const pen *p, enum svg_style style)
{
    add_colors(out, p->stroke, p->fill, style);
    if (p->stroke && p->width > 0 && p->width != 1) attribute(out, "stroke-width", p->width);
    if (p->opacity > 0 && p->opacity < 1) attribute(out, "opacity", p->opacity);
    if (p->dash) str_addf(out, " stroke-dasharray=\"%s\"", draw_dashes[p->dash % SERIES_DASHES]);
}

static void path(str *out, const shape *s, enum svg_style style)
{
    int decimals = s->n > 8 ? 1 : 2; /* curves are most of a page's bytes */
    str_add(out, "<path d=\"M");
    for (size_t i = 0; i < s->n; i++) {
        if (i) str_addc(out, i == 1 ? 'L' : ' ');
        rounded(out, s->xy[2 * i], decimals);
        str_addc(out, ' ');
        rounded(out, s->xy[2 * i + 1], decimals);
    }
    str_add(out, s->kind == SHAPE_POLYGON ? "Z\"" : "\"");
    with_pen(out, &s->pen, style);
    str_add(out, "/>\n");
}

static void text(str *out, const shape *s, enum svg_style style)
{
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    str_add(out, "<text");
    attributes(out, (const char *const[]){"x", "y"}, s->xy, 2);
    str_add(out, anchors[s->letters.anchor]);
    if (s->letters.size != 11) attribute(out, "font-size", s->letters.size);
    if (s->letters.bold) str_add(out, " font-weight=\"600\"");
    if (s->letters.opacity > 0 && s->letters.opacity < 1) attribute(out, "opacity", s->letters.opacity);
    if (s->letters.angle != 0) {
        str_add(out, " transform=\"rotate(");
        number(out, s->letters.angle);
        str_addc(out, ' ');
        number(out, s->xy[0]);
        str_addc(out, ' ');
        number(out, s->xy[1]);
        str_add(out, ")\"");
    }
    add_colors(out, COLOR_NONE, s->letters.color, style);
    str_addc(out, '>');
    svg_text(out, s->text);
    str_add(out, "</text>\n");
}

static void one(str *out, const shape *s, enum svg_style style)
{
    switch (s->kind) {
    case SHAPE_PATH:
    case SHAPE_POLYGON: path(out, s, style); break;
    case SHAPE_RECT:
        str_add(out, "<rect");
        attributes(out, (const char *const[]){"x", "y", "width", "height"}, s->xy, 4);
        with_pen(out, &s->pen, style);
        str_add(out, "/>\n");
        break;
    case SHAPE_DISC:
        str_add(out, "<circle");
        attributes(out, (const char *const[]){"cx", "cy", "r"}, s->xy, 3);
        with_pen(out, &s->pen, style);
        str_add(out, "/>\n");
        break;
    case SHAPE_TEXT: text(out, s, style); break;
    case SHAPE_OPEN:
        str_add(out, "<g");
        if (s->key) {
            str_add(out, " data-row=\"");
            svg_text(out, s->key);
            str_addc(out, '"');
        }
        str_addc(out, '>');
        if (s->text) {
            str_add(out, "<title>");
            svg_text(out, s->text);
            str_add(out, "</title>");
        }
        break;
    case SHAPE_CLOSE: str_add(out, "</g>\n");
    }
}

void drawing_svg(const drawing *d, enum svg_style style, str *out)
{
    str_add(out, "<svg");
    if (style == SVG_ALONE) str_add(out, " xmlns=\"http://www.w3.org/2000/svg\"");
    attribute(out, "width", d->width);
    attribute(out, "height", d->height);
    str_add(out, " viewBox=\"0 0 ");
    number(out, d->width);
    str_addc(out, ' ');
    number(out, d->height);
    str_add(out, "\" role=\"img\" aria-label=\"");
    svg_text(out, d->label);
    str_add(out, style == SVG_ALONE ? "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\">\n<rect "
                                      "width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
                                    : "\" font-size=\"11\">\n");
    for (size_t i = 0; i < d->n; i++) one(out, &d->shapes[i], style);
    str_add(out, "</svg>\n");
}
