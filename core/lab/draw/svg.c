/* svg.c - a drawing as SVG. */
#include "lab/draw/internal.h"

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

void svg_between(str *out, const char *before, const char *text, const char *after)
{
    str_add(out, before);
    svg_text(out, text);
    str_add(out, after);
}

/* Writes n numbers with blanks between, each with at most `decimals` decimals (1 or more), without trailing zeros. */
static void numbers(str *out, const double *v, size_t n, int decimals)
{
    char text[40];
    for (size_t i = 0; i < n; i++) {
        size_t end = (size_t)snprintf(text, sizeof text, "%.*f", decimals, v[i]);
        while (text[end - 1] == '0') end--;
        if (text[end - 1] == '.') end--;
        text[end] = 0;
        str_addf(out, "%s%s", i ? " " : "", same(text, "-0") ? "0" : text);
    }
}

static void attribute(str *out, const char *name, double v)
{
    str_addf(out, " %s=\"", name);
    numbers(out, &v, 1, 2);
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
        numbers(out, s->xy + 2 * i, 2, decimals);
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
        numbers(out, (double[]){s->letters.angle, s->xy[0], s->xy[1]}, 3, 2);
        str_add(out, ")\"");
    }
    add_colors(out, COLOR_NONE, s->letters.color, style);
    svg_between(out, ">", s->text, "</text>\n");
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
        if (s->key) svg_between(out, " data-row=\"", s->key, "\"");
        str_addc(out, '>');
        if (s->text) svg_between(out, "<title>", s->text, "</title>");
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
    str_add(out, " viewBox=\"");
    numbers(out, (double[]){0, 0, d->width, d->height}, 4, 2);
    svg_between(out, "\" role=\"img\" aria-label=\"", d->label,
                style == SVG_ALONE ? "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\">\n<rect "
                                     "width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
                                   : "\" font-size=\"11\">\n");
    for (size_t i = 0; i < d->n; i++) one(out, &d->shapes[i], style);
    str_add(out, "</svg>\n");
}
