/* attention_view.c - draws figures of attention weights, and writes the page around them. */
#include "lab/report/attention_view.h"
#include "base/cleanup.h"
#include <math.h>

static const double pitch = 17, font = 11.5, least_weight = 0.01, lines_height = 150;

/* ---- one figure ---- */

static double longest(const char *const *tokens, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, text_width(tokens[i], font, false));
    return fmin(most * 1.1, 140) + 8;
}

/* Draws lines of one head from its queries (above) to its keys (below). only: one query; SIZE_MAX: all. aside: moves
 * the lines sideways, so that several heads' lines do not cover each other. */
static void head_lines(drawing *d, const attention_map *m, size_t head, size_t only, double aside, double top,
                       double bottom)
{
    double x = 4 + aside;
    for (size_t i = 0; i < m->n_queries; i++)
        for (size_t j = 0; j < m->n_keys; j++) {
            double w = m->weights[(head * m->n_queries + i) * m->n_keys + j];
            if ((only != SIZE_MAX && only != i) || w < least_weight) continue;
            draw_line(d, x + pitch * ((double)i + 0.5), top, x + pitch * ((double)j + 0.5), bottom,
                      (pen){.stroke = series_color(head),
                            .width = 0.6 + 2.2 * w,
                            .opacity = fmin(1, w),
                            .dash = series_dash(head)});
        }
}

/* For one query, draws one square per head below each key, more opaque for more weight, as in figure 3. */
static void head_squares(drawing *d, const attention_map *m, const size_t *heads, size_t n, size_t query, double x,
                         double y)
{
    double size = fmin(7, 40.0 / (double)n);
    for (size_t h = 0; h < n; h++)
        for (size_t j = 0; j < m->n_keys; j++) {
            double w = m->weights[(heads[h] * m->n_queries + query) * m->n_keys + j];
            if (w >= least_weight)
                draw_rect(d, x + pitch * (double)j + 1.5, y + size * (double)h, pitch - 3, size,
                          (pen){.fill = series_color(heads[h]), .opacity = w});
        }
}

static double squares_height(size_t heads, size_t only)
{
    return only == SIZE_MAX ? 0 : fmin(7, 40.0 / (double)heads) * (double)heads + 3;
}

static double panel_height(const attention_map *m, size_t heads, size_t only)
{
    return longest(m->queries, m->n_queries) + lines_height + squares_height(heads, only) +
           longest(m->keys, m->n_keys) + 10;
}

/* Draws tokens above and below with the lines between; returns the y below everything. */
static double panel(drawing *d, const attention_map *m, const size_t *heads, size_t n, size_t only, double y)
{
    double top = y + longest(m->queries, m->n_queries), bottom = top + lines_height;
    for (size_t i = 0; i < m->n_queries; i++)
        draw_text(
            d, pitch * ((double)i + 0.5) + 8, top - 4, m->queries[i],
            (lettering){
                .size = font, .angle = -90, .bold = i == only, .opacity = only == SIZE_MAX || i == only ? 1 : 0.45});
    for (size_t h = 0; h < n; h++)
        head_lines(d, m, heads[h], only, ((double)h - (double)(n - 1) / 2) * pitch * 0.7 / (double)n, top, bottom);
    if (only != SIZE_MAX) head_squares(d, m, heads, n, only, 4, bottom + 1);
    for (size_t j = 0; j < m->n_keys; j++)
        draw_text(d, pitch * ((double)j + 0.5) + 8, bottom + squares_height(n, only) + 4, m->keys[j],
                  (lettering){.size = font, .angle = -90, .anchor = ANCHOR_END});
    return y + panel_height(m, n, only);
}

drawing *attention_draw(const attention_map *m, const attention_figure *f)
{
    size_t all[256], n = m->heads < LENGTH(all) ? m->heads : LENGTH(all), pair[] = {f->head, f->next},
                     most = m->n_queries > m->n_keys ? m->n_queries : m->n_keys;
    size_t two = f->next == f->head ? 1 : 2;
    double head = f->title ? 22 : 4, full = panel_height(m, 1, SIZE_MAX);
    double height = f->figure == 3   ? panel_height(m, n, f->token)
                    : f->figure == 4 ? full + panel_height(m, two, f->token)
                                     : 2 * full;
    double width = fmax(pitch * (double)most + 10, f->title ? text_width(f->title, 12, true) * 1.2 + 8 : 0);
    drawing *d = drawing_new(width, head + height, f->title ? f->title : "attention weights");
    if (f->title) draw_text(d, 4, 14, f->title, (lettering){.size = 12, .bold = true});
    for (size_t h = 0; h < n; h++) all[h] = h;
    if (f->figure == 3) {
        panel(d, m, all, n, f->token, head);
    } else if (f->figure == 4) {
        double y = panel(d, m, pair, 1, SIZE_MAX, head);
        panel(d, m, pair, two, f->token, y);
    } else {
        double y = panel(d, m, pair, 1, SIZE_MAX, head);
        panel(d, m, pair + 1, 1, SIZE_MAX, y);
    }
    return d;
}

/* ---- the page ---- */

extern const char attention_css[], attention_js[]; /* attention.css, attention.js */

/* Encodes each weight in 12 bits as two characters, which the script decodes. */
static void pack(const float *w, size_t n, str *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (size_t i = 0; i < n; i++) {
        long v = isfinite(w[i]) ? lround(fmin(1, fmax(0, (double)w[i])) * 4095) : 0;
        str_addc(out, digits[v >> 6]);
        str_addc(out, digits[v & 63]);
    }
}

static void write_tokens(const char *key, const char *const *tokens, size_t n, str *out)
{
    json_open(out, key, '[');
    for (size_t i = 0; i < n; i++) json_next(out), json_string(out, tokens[i]);
    str_addc(out, ']');
}

/* Writes JSON inside HTML, so that no token can end the script element. */
static void write_maps(const attention_map *maps, size_t n, str *out)
{
    CLEANUP(str_free) str json = {0};
    str_addc(&json, '[');
    for (size_t i = 0; i < n; i++) {
        const attention_map *m = &maps[i];
        str_add(&json, i ? ",\n{" : "{");
        json_key_text(&json, "part", m->part);
        json_key_whole(&json, "layer", m->layer);
        json_key_whole(&json, "heads", (int64_t)m->heads);
        if (m->influence) json_key_text(&json, "influence", m->influence);
        write_tokens("q", m->queries, m->n_queries, &json);
        write_tokens("k", m->keys, m->n_keys, &json);
        str_add(&json, ",\"w\":\"");
        pack(m->weights, m->heads * m->n_queries * m->n_keys, &json);
        str_add(&json, "\"}");
    }
    str_addc(&json, ']');
    for (size_t i = 0; i < json.n; i++) json.s[i] == '<' ? str_add(out, "\\u003c") : str_addc(out, json.s[i]);
}

void attention_page(const attention_map *maps, size_t n, const char *run, const char *source, const char *target,
                    str *out)
{
    draw_head(out, "Attention: ", source);
    str_addf(out, "%s</style></head>\n<body><main>\n<h1>Attention</h1>\n", attention_css);
    svg_between(out, "<p class=\"note\">", run, "</p>\n");
    svg_between(out, "<p>", source, "");
    if (target) svg_between(out, "<br>", target, "");
    str_add(out, "</p>\n<form id=\"choose\" aria-label=\"what is shown\"></form>\n<div id=\"view\">\n");
    /* for print, and without a script */
    drawing *d = attention_draw(&maps[0], &(attention_figure){.figure = 5, .next = maps[0].heads - 1});
    drawing_svg(d, SVG_THEMED, out);
    drawing_free(d);
    str_add(out, "</div>\n<p id=\"says\" role=\"status\" class=\"note\"></p>\n<p id=\"source\" class=\"note\"></p>\n<p "
                 "class=\"note\">Queries are at the left or above, keys at the right or below. A line's colour shows "
                 "the head, its opacity the weight. In the decoder a query is the token that was read. As a figure for "
                 "a paper: <code>ablate attention ... --figure 3 --word WORD -o FILE.pdf</code></p>\n</main>\n<script "
                 "type=\"application/json\" id=\"data\">");
    write_maps(maps, n, out);
    str_addf(out, "</script>\n<script>\n%s</script></body></html>\n", attention_js);
}
