/* drawing.h - a drawing as a list of shapes, written as SVG, PDF or PNG.
 *
 * Units are CSS pixels in SVG and points in PDF; x grows to the right, y downwards. A drawing copies the
 * text it is given.
 */
#ifndef ABLATE_DRAW_DRAWING_H
#define ABLATE_DRAW_DRAWING_H
#include "base/base.h"

/* Colours by purpose. The series colours are those of Okabe and Ito (2008), which colour-blind readers can distinguish,
 * darkened if too faint on white paper. */
typedef enum { COLOR_NONE, COLOR_INK, COLOR_MUTED, COLOR_GRID, COLOR_PAPER, COLOR_SERIES } draw_color;
enum { SERIES_COLORS = 7, SERIES_DASHES = 4 };
/* The colour of series i: seven colours, then the first again. */
static inline int series_color(size_t i) { return COLOR_SERIES + (int)(i % SERIES_COLORS); }
/* The dash pattern of series i: a new one after each round of colours. */
static inline int series_dash(size_t i) { return (int)(i / SERIES_COLORS % SERIES_DASHES); }
/* "#rrggbb" of a colour on white paper. */
const char *draw_hex(int color);
/* Begins a page titled WHAT NAME, up to its style, which the caller continues and ends. It has rules for the colours on
 * light and dark pages as variables, and for the classes of themed SVG. */
void draw_head(str *out, const char *what, const char *name);

typedef struct {
    int stroke, fill; /* draw_color or series_color; COLOR_NONE: none */
    double width;     /* width of the line; 0: a width of 1 */
    double opacity;   /* 0: 1 */
    int dash;         /* 0 solid, 1 dashed, 2 dotted, 3 dash and dot */
} pen;

typedef enum { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END } draw_anchor;
typedef struct {
    draw_anchor anchor;
    double size; /* 0: 11 */
    bool bold;
    double angle;   /* degrees, clockwise */
    int color;      /* COLOR_NONE: COLOR_INK */
    double opacity; /* 0: 1 */
} lettering;

typedef struct drawing drawing;
/* `label` is the text alternative for screen readers. */
drawing *drawing_new(double width, double height, const char *label);
void drawing_free(drawing *d); /* NULL is fine */

void draw_line(drawing *d, double x0, double y0, double x1, double y1, pen p);
/* A polyline through n points x, y, x, y ...; closed: a polygon. */
void draw_path(drawing *d, const double *xy, size_t n, bool closed, pen p);
void draw_rect(drawing *d, double x, double y, double width, double height, pen p);
/* Marker `shape`: 0 disc, 1 square, 2 triangle, 3 diamond, 4 cross; r is half its width. */
void draw_marker(drawing *d, double x, double y, double r, int shape, pen p);
void draw_text(drawing *d, double x, double y, const char *text, lettering t); /* y: the baseline */
/* Opens a group of shapes. key (or NULL) becomes the attribute data-row, by which the page's script finds all shapes of
 * a row; title (or NULL) is a tooltip. Groups may nest. */
void draw_open(drawing *d, const char *key, const char *title);
void draw_close(drawing *d);

/* Width of a line of text in Helvetica; common sans-serif fonts differ by a few percent. */
double text_width(const char *text, double size, bool bold);

enum svg_style {
    SVG_THEMED, /* inside a page with draw_css: uses the page's colours */
    SVG_ALONE   /* a standalone file: own colours, on white */
};
void drawing_svg(const drawing *d, enum svg_style style, str *out);
/* Appends a PDF of one page, text in the standard fonts Helvetica and Symbol. They have Latin and Greek letters;
 * another letter is an error that names it. */
int drawing_pdf(const drawing *d, str *out, err *e);

/* Appends a PNG file of `scale` pixels per unit, on white. Text is drawn with the letters of letters/letters.txt:
 * Latin, Greek and signs; another letter is an error that names it. */
int drawing_png(const drawing *d, double scale, str *out, err *e);

/* Writes the file `path` in the format of its ending: .svg (SVG_ALONE), .pdf or .png (two pixels per unit). */
int drawing_write(const drawing *d, const char *path, err *e);

void svg_text(str *out, const char *text); /* escaped for SVG and HTML */
/* Appends `text`, escaped, between `before` and `after`, which are SVG or HTML. */
void svg_between(str *out, const char *before, const char *text, const char *after);
#endif
