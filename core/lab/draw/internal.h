/* internal.h - the shapes of a drawing, for the writers; pixels as a file. */
#ifndef ABLATE_DRAW_INTERNAL_H
#define ABLATE_DRAW_INTERNAL_H
#include "lab/draw/drawing.h"

enum shape_kind { SHAPE_PATH, SHAPE_POLYGON, SHAPE_RECT, SHAPE_DISC, SHAPE_TEXT, SHAPE_OPEN, SHAPE_CLOSE };

typedef struct {
    enum shape_kind kind;
    pen pen;
    lettering letters;
    size_t n;               /* points */
    const double *xy;       /* n pairs; a rectangle: corner and size; a disc: centre, then radius twice */
    const char *text, *key; /* a group's title and key */
} shape;

struct drawing {
    arena mem;
    double width, height;
    const char *label;
    shape *shapes;
    size_t n, cap;
};

/* Lengths of a pattern's dashes and gaps, "5 3"; "": a solid line. */
extern const char *const draw_dashes[SERIES_DASHES];
/* Decodes one UTF-8 character at *s and steps over it; 0xFFFD for invalid bytes, 0 at the end. */
uint32_t utf8_next(const char **s);
/* Appends a PNG file. rgb [height][width][3], 8 bits each. */
void png_write(const unsigned char *rgb, int width, int height, str *out);
#endif
