/* chart_data.c - charts as CSV, gnuplot and Vega-Lite. */
#include "lab/draw/chart_data.h"
#include <math.h>
#include <string.h>

static void real(str *out, double v, const char *missing)
{
    char text[32];
    str_add(out, isfinite(v) ? format_real(v, text) : missing);
}

/* Appends y, low and high of point k, each after a separator. */
static void values(str *out, const series *s, size_t k, char separator, const char *missing)
{
    const double v[] = {s->y[k], s->low ? s->low[k] : NAN, s->high ? s->high[k] : NAN};
    for (size_t i = 0; i < LENGTH(v); i++) str_addc(out, separator), real(out, v[i], missing);
}

static const char *category(const chart *c, double x)
{
    size_t i = (size_t)lround(x);
    return i < c->n_categories ? c->categories[i] : "";
}

void chart_csv(const chart *c, const series *s, size_t n, str *out)
{
    str_add(out, "series,x,y,low,high\r\n");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < s[i].n; k++) {
            str_add_csv(out, s[i].name ? s[i].name : "");
            str_addc(out, ',');
            if (c->categories)
                str_add_csv(out, category(c, s[i].x[k]));
            else
                real(out, s[i].x[k], "");
            values(out, &s[i], k, ',', "");
            str_add(out, "\r\n");
        }
}

/* ---- gnuplot ---- */

/* Writes the text in double quotes, without line breaks. The script turns gnuplot's markup off. */
static void quoted(str *out, const char *text)
{
    str_addc(out, '"');
    for (; *text; text++) {
        if (strchr("\"\\", *text)) str_addc(out, '\\');
        if (*text != '\n') str_addc(out, *text);
    }
    str_addc(out, '"');
}

static void setting(str *out, const char *name, const char *text)
{
    if (!text) return;
    str_addf(out, "set %s ", name);
    quoted(out, text);
    str_addc(out, '\n');
}

/* Writes the intervals first, then the line or points over them. */
static void gnuplot_series(const series *s, size_t i, str *out)
{
    static const int markers[] = {7, 5, 9, 13, 2};
    const char *color = draw_hex(s->color);
    str_add(out, i ? ", \\\n     " : "plot ");
    if (s->low && s->high && s->band)
        str_addf(out,
                 "$data%zu using 1:3:4 with filledcurves linecolor rgb \"%s\" fillstyle transparent solid 0.18 "
                 "noborder notitle, \\\n     ",
                 i, color);
    else if (s->low && s->high)
        str_addf(out, "$data%zu using 1:2:3:4 with yerrorbars linecolor rgb \"%s\" pointtype 0 notitle, \\\n     ", i,
                 color);
    str_addf(out, "$data%zu using 1:2 with %s linecolor rgb \"%s\" linewidth 1.5 dashtype %d pointtype %d title ", i,
             s->line && s->points ? "linespoints"
             : s->line            ? "lines"
                                  : "points",
             color, s->dash + 1, markers[s->marker % 5]);
    quoted(out, s->name ? s->name : "");
}

void chart_gnuplot(const chart *c, const series *s, size_t n, str *out)
{
    str_add(out, "set termoption noenhanced\nset datafile missing \"?\"\nset grid ytics\nset key outside right\n");
    setting(out, "title", c->title);
    setting(out, "xlabel", c->x_label);
    setting(out, "ylabel", c->y_label);
    if (c->log_x) str_add(out, "set logscale x\n");
    if (c->log_y) str_add(out, "set logscale y\n");
    for (size_t i = 0; i < c->n_categories && c->categories; i++) {
        str_add(out, i ? ", " : "set xtics (");
        quoted(out, c->categories[i]);
        str_addf(out, " %zu%s", i, i + 1 == c->n_categories ? ")\nset offsets 0.4, 0.4, 0, 0\n" : "");
    }
    for (size_t i = 0; i < n; i++) {
        str_addf(out, "$data%zu << EOD\n", i);
        for (size_t k = 0; k < s[i].n; k++) {
            real(out, s[i].x[k], "?");
            values(out, &s[i], k, ' ', "?");
            str_addc(out, '\n');
        }
        str_add(out, "EOD\n");
    }
    for (size_t i = 0; i < n; i++) gnuplot_series(&s[i], i, out);
    str_addc(out, '\n');
}

/* ---- Vega-Lite ---- */

static void vega_values(const chart *c, const series *s, size_t n, str *out)
{
    bool first = true;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < s[i].n; k++) {
            if (!isfinite(s[i].y[k]) || !isfinite(s[i].x[k])) continue;
            str_add(out, first ? "\n{" : ",\n{");
            first = false;
            json_key_text(out, "series", s[i].name ? s[i].name : "");
            if (c->categories)
                json_key_text(out, "x", category(c, s[i].x[k]));
            else
                json_key_real(out, "x", s[i].x[k]);
            json_key_real(out, "y", s[i].y[k]);
            if (s[i].low && s[i].high && isfinite(s[i].low[k]) && isfinite(s[i].high[k])) {
                json_key_real(out, "low", s[i].low[k]);
                json_key_real(out, "high", s[i].high[k]);
            }
            str_addc(out, '}');
        }
}

static void vega_axis(const char *field, const char *type, const char *title, bool logarithmic, str *out)
{
    str_addf(out, "{\"field\":\"%s\",\"type\":\"%s\",\"sort\":null,\"title\":", field, type);
    json_string(out, title);
    if (same(type, "quantitative"))
        str_addf(out, ",\"scale\":{\"type\":\"%s\",\"zero\":false}", logarithmic ? "log" : "linear");
    str_addc(out, '}');
}

static void vega_domain(const series *s, size_t n, str *out)
{
    str_add(out, "\"field\":\"series\",\"type\":\"nominal\",\"sort\":null,\"title\":null,\"scale\":{\"domain\":[");
    for (size_t i = 0; i < n; i++) {
        json_next(out);
        json_string(out, s[i].name ? s[i].name : "");
    }
    str_add(out, "],\"range\":[");
}

/* Writes the series' colours and, if a line is dashed, their dashes. */
static void vega_looks(const series *s, size_t n, str *out)
{
    static const char *const dashes[] = {"[1,0]", "[5,3]", "[1.5,2.5]", "[6,2.5,1.5,2.5]"};
    bool dashed = false;
    str_add(out, "\"color\":{");
    vega_domain(s, n, out);
    for (size_t i = 0; i < n; i++) str_addf(out, "%s\"%s\"", i ? "," : "", draw_hex(s[i].color));
    str_add(out, "]}}");
    for (size_t i = 0; i < n; i++) dashed = dashed || (s[i].line && s[i].dash);
    if (!dashed) return;
    str_add(out, ",\"strokeDash\":{");
    vega_domain(s, n, out);
    for (size_t i = 0; i < n; i++) str_addf(out, "%s%s", i ? "," : "", dashes[s[i].dash % SERIES_DASHES]);
    str_add(out, "]}}");
}

void chart_vega(const chart *c, const series *s, size_t n, str *out)
{
    bool lines = n && s[0].line, band = n && s[0].band;
    str_add(out, "{\"$schema\":\"https://vega.github.io/schema/vega-lite/v5.json\",\n\"title\":");
    json_string(out, c->title ? c->title : "");
    str_addf(out, ",\"width\":%.0f,\"height\":%.0f,\n\"data\":{\"values\":[", c->width > 0 ? c->width : 360,
             c->height > 0 ? c->height : 240);
    vega_values(c, s, n, out);
    str_add(out, "\n]},\n\"encoding\":{\"x\":");
    vega_axis("x", c->categories ? "ordinal" : "quantitative", c->x_label, c->log_x, out);
    str_addc(out, ',');
    vega_looks(s, n, out);
    str_add(out, "},\n\"layer\":[\n");
    str_addf(out,
             "{\"transform\":[{\"filter\":\"isValid(datum.low)\"}],\"mark\":{\"type\":\"%s\",\"opacity\":%s},"
             "\"encoding\":{\"y\":",
             band ? "area" : "rule", band ? "0.18" : "1");
    vega_axis("low", "quantitative", c->y_label, c->log_y, out);
    str_add(out, ",\"y2\":{\"field\":\"high\"}}},\n");
    str_addf(out, "{\"mark\":{\"type\":\"%s\",\"point\":%s%s},\"encoding\":{\"y\":", lines ? "line" : "point",
             !lines || s[0].points ? "true" : "false", lines ? "" : ",\"filled\":true");
    vega_axis("y", "quantitative", c->y_label, c->log_y, out);
    str_add(out, "}}\n]}\n");
}
