/* pdf.c - a drawing as a PDF file of one page (ISO 32000-1). Objects: 1 catalogue, 2 pages, 3 page, 4 content,
 * 5 to 7 fonts, 8 the levels of opacity. */
#include "lab/draw/internal.h"
#include <math.h>
#include <string.h>

enum { OBJECTS = 8 };
enum { REGULAR, BOLD, SYMBOL }; /* fonts F0, F1, F2 */

typedef struct {
    str content;
    bool used[101]; /* used[p]: an opacity of p percent occurs */
    double height;
    err *e;
    int bad;
} page;

/* ---- letters ---- */

typedef struct {
    uint32_t unicode;
    unsigned char code;
} letter_code;
/* Characters whose code in WinAnsiEncoding differs from Unicode. */
static const letter_code win_ansi[] = {{0x20AC, 0x80}, {0x2026, 0x85}, {0x2018, 0x91}, {0x2019, 0x92}, {0x201C, 0x93},
                                       {0x201D, 0x94}, {0x2022, 0x95}, {0x2013, 0x96}, {0x2212, 0x96}, {0x2014, 0x97},
                                       {0x2122, 0x99}, {0x0152, 0x8C}, {0x0153, 0x9C}, {0x0160, 0x8A}, {0x0161, 0x9A},
                                       {0x017D, 0x8E}, {0x017E, 0x9E}, {0x201E, 0x84}};
/* Codes in the font Symbol, which has the Greek letters at the codes of these Latin ones. */
static const char greek_capitals[] = "ABGDEZHQIKLMNXOPR STUFCYW", greek_small[] = "abgdezhqiklmnxoprVstufcyw";
static const letter_code symbols[] = {{0x2264, 0xA3}, {0x2265, 0xB3}, {0x221E, 0xA5}, {0x2192, 0xAE},
                                      {0x2190, 0xAC}, {0x2260, 0xB9}, {0x2248, 0xBB}};

/* Finds the font and code of a character; false if neither font has it. */
static bool find_letter(uint32_t c, bool bold, int *font, unsigned char *code)
{
    *font = bold ? BOLD : REGULAR;
    *code = (unsigned char)c;
    if ((c >= 32 && c < 127) || (c >= 0xA0 && c <= 0xFF)) return true;
    for (size_t i = 0; i < LENGTH(win_ansi); i++)
        if (win_ansi[i].unicode == c) return *code = win_ansi[i].code, true;
    *font = SYMBOL;
    if (c >= 0x391 && c <= 0x3A9 && c != 0x3A2) return *code = (unsigned char)greek_capitals[c - 0x391], true;
    if (c >= 0x3B1 && c <= 0x3C9) return *code = (unsigned char)greek_small[c - 0x3B1], true;
    for (size_t i = 0; i < LENGTH(symbols); i++)
        if (symbols[i].unicode == c) return *code = symbols[i].code, true;
    return false;
}

static void show_code(str *out, unsigned char c)
{
    if (strchr("()\\", c))
        str_addf(out, "\\%c", c);
    else if (c < 32 || c > 126)
        str_addf(out, "\\%03o", c);
    else
        str_addc(out, (char)c);
}

static void set_color(page *p, int color, const char *operator)
{
    unsigned r, g, b;
    sscanf(draw_hex(color), "#%2x%2x%2x", &r, &g, &b);
    str_addf(&p->content, "%.3f %.3f %.3f %s\n", r / 255.0, g / 255.0, b / 255.0, operator);
}

static void set_opacity(page *p, double opacity)
{
    if (opacity <= 0 || opacity > 1) opacity = 1;
    int percent = (int)lround(opacity * 100);
    p->used[percent] = true;
    str_addf(&p->content, "/G%d gs\n", percent);
}

static void add_text(page *p, const shape *s)
{
    const lettering *l = &s->letters;
    double width = text_width(s->text, l->size, l->bold), turn = -l->angle * M_PI / 180, c = cos(turn),
           sine = sin(turn);
    double back = l->anchor == ANCHOR_MIDDLE ? width / 2 : l->anchor == ANCHOR_END ? width : 0;
    set_opacity(p, l->opacity);
    set_color(p, l->color, "rg");
    str_addf(&p->content, "BT %.4f %.4f %.4f %.4f %.2f %.2f Tm\n", c, sine, -sine, c, s->xy[0] - back * c,
             p->height - s->xy[1] - back * sine);
    int last = -1;
    for (const char *at = s->text; *at;) {
        int font;
        unsigned char code;
        uint32_t ch = utf8_next(&at);
        if (!find_letter(ch, l->bold, &font, &code) && !p->bad)
            p->bad = fail(p->e, "PDF's standard fonts lack the character U+%04X of \"%s\"; use SVG instead",
                          (unsigned)ch, s->text);
        if (font != last) str_addf(&p->content, "%s/F%d %.2f Tf (", last < 0 ? "" : ") Tj ", font, l->size);
        last = font;
        show_code(&p->content, code);
    }
    str_add(&p->content, last < 0 ? "ET\n" : ") Tj ET\n");
}

/* ---- shapes ---- */

static void add_disc(page *p, const double *at, double r)
{
    static const double k = 0.5522847498; /* a quarter of a circle as a cubic curve */
    double x = at[0], y = p->height - at[1];
    str_addf(&p->content, "%.2f %.2f m\n", x + r, y);
    for (int i = 0; i < 4; i++) {
        double c = cos(M_PI_2 * i), s = sin(M_PI_2 * i), c1 = cos(M_PI_2 * (i + 1)), s1 = sin(M_PI_2 * (i + 1));
        str_addf(&p->content, "%.2f %.2f %.2f %.2f %.2f %.2f c\n", x + r * (c - k * s), y + r * (s + k * c),
                 x + r * (c1 + k * s1), y + r * (s1 - k * c1), x + r * c1, y + r * s1);
    }
}

static void add_outline(page *p, const shape *s)
{
    const double *xy = s->xy;
    if (s->kind == SHAPE_RECT) {
        str_addf(&p->content, "%.2f %.2f %.2f %.2f re\n", xy[0], p->height - xy[1] - xy[3], xy[2], xy[3]);
    } else if (s->kind == SHAPE_DISC) {
        add_disc(p, xy, xy[2]);
    } else {
        for (size_t i = 0; i < s->n; i++)
            str_addf(&p->content, "%.2f %.2f %s\n", xy[2 * i], p->height - xy[2 * i + 1], i ? "l" : "m");
        if (s->kind == SHAPE_POLYGON) str_add(&p->content, "h\n");
    }
}

static void add_shape(page *p, const shape *s)
{
    if (s->kind == SHAPE_TEXT) add_text(p, s);
    if (!s->pen.stroke && !s->pen.fill) return; /* texts and groups have no pen */
    set_opacity(p, s->pen.opacity);
    if (s->pen.fill) set_color(p, s->pen.fill, "rg");
    if (s->pen.stroke) {
        set_color(p, s->pen.stroke, "RG");
        str_addf(&p->content, "%.2f w [%s] 0 d\n", s->pen.width > 0 ? s->pen.width : 1,
                 draw_dashes[s->pen.dash % SERIES_DASHES]);
    }
    add_outline(p, s);
    str_add(&p->content, s->pen.fill && s->pen.stroke ? "B\n" : s->pen.fill ? "f\n" : "S\n");
}

/* ---- file ---- */

static void object(str *out, size_t *at, int number)
{
    at[number] = out->n - at[0]; /* at[0]: where the file begins in `out` */
    str_addf(out, "%d 0 obj\n", number);
}

static void add_fonts(str *out, size_t *at)
{
    static const char *const fonts[] = {"Helvetica", "Helvetica-Bold", "Symbol"};
    for (int i = 0; i < 3; i++) {
        object(out, at, 5 + i);
        str_addf(out, "<</Type/Font/Subtype/Type1/BaseFont/%s%s>>\nendobj\n", fonts[i],
                 i == SYMBOL ? "" : "/Encoding/WinAnsiEncoding");
    }
}

int drawing_pdf(const drawing *d, str *out, err *e)
{
    page p = {.height = d->height, .e = e};
    size_t at[OBJECTS + 1] = {out->n};
    for (size_t i = 0; i < d->n; i++) add_shape(&p, &d->shapes[i]);
    str_add(out, "%PDF-1.4\n%\xE2\xE3\xCF\xD3\n");
    object(out, at, 1);
    str_add(out, "<</Type/Catalog/Pages 2 0 R>>\nendobj\n");
    object(out, at, 2);
    str_add(out, "<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n");
    object(out, at, 3);
    str_addf(out,
             "<</Type/Page/Parent 2 0 R/MediaBox[0 0 %.2f %.2f]/Contents 4 0 R/Group<</S/Transparency/CS/DeviceRGB>>"
             "/Resources<</Font<</F0 5 0 R/F1 6 0 R/F2 7 0 R>>/ExtGState 8 0 R>>>>\nendobj\n",
             d->width, d->height);
    object(out, at, 4);
    str_addf(out, "<</Length %zu>>\nstream\n", p.content.n);
    str_addn(out, str_text(&p.content), p.content.n);
    str_add(out, "\nendstream\nendobj\n");
    add_fonts(out, at);
    object(out, at, 8);
    str_add(out, "<<");
    for (int i = 0; i <= 100; i++)
        if (p.used[i]) str_addf(out, "/G%d<</ca %.2f/CA %.2f>>", i, i / 100.0, i / 100.0);
    str_add(out, ">>\nendobj\n");
    size_t table = out->n - at[0];
    str_addf(out, "xref\n0 %d\n0000000000 65535 f \n", OBJECTS + 1);
    for (int i = 1; i <= OBJECTS; i++) str_addf(out, "%010zu 00000 n \n", at[i]);
    str_addf(out, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%zu\n%%%%EOF\n", OBJECTS + 1, table);
    str_free(&p.content);
    return p.bad;
}
