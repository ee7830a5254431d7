/* chart_data.h - the data of a chart, for other programs. */
#ifndef ABLATE_DRAW_CHART_DATA_H
#define ABLATE_DRAW_CHART_DATA_H
#include "lab/draw/chart.h"

/* series,x,y,low,high: a line per point (RFC 4180). x is a category's name if the chart has categories. */
void chart_csv(const chart *c, const series *s, size_t n, str *out);
/* A gnuplot script with its data inside: `gnuplot -p FILE`. */
void chart_gnuplot(const chart *c, const series *s, size_t n, str *out);
/* A Vega-Lite 5 specification with its data inside. */
void chart_vega(const chart *c, const series *s, size_t n, str *out);
#endif
