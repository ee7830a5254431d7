/* plot.c - ablate plot: draws one chart of an experiment. */
#include "lab/report/plot.h"
#include "cli/options.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    plot_options plot;
    const char *logarithmic, *size;
} plot_command_options;

static int parse_size(const char *text, plot_options *p, err *e)
{
    char *end = NULL;
    p->width = strtod(text, &end);
    if (*end == 'x') p->height = strtod(end + 1, &end);
    bool good = !*end && p->width >= 100 && p->width <= 5000 && p->height >= 100 && p->height <= 5000;
    return good ? 0 : fail(e, "--size %s: expected WIDTHxHEIGHT, each from 100 to 5000", text);
}

static int parse_log(const char *text, plot_options *p, err *e)
{
    p->log_x = strchr(text, 'x') != NULL, p->log_y = strchr(text, 'y') != NULL;
    return same(text, "x") || same(text, "y") || same(text, "x,y") ? 0
                                                                   : fail(e, "--log %s: expected x, y or x,y", text);
}

static int plot(const invocation *c, void *options)
{
    plot_command_options *o = options;
    err e = {0};
    if ((o->size && parse_size(o->size, &o->plot, &e)) || (o->logarithmic && parse_log(o->logarithmic, &o->plot, &e)))
        return call_usage(c, "%s", e.text);
    const char *curves = o->plot.over     ? "over"
                         : o->plot.by     ? "by"
                         : o->plot.bars   ? "bars"
                         : o->logarithmic ? "log"
                                          : NULL;
    if (o->plot.forest && curves)
        return call_usage(c, "--%s is not for --forest, which draws differences from base", curves);
    if (c->n_words > 1 && !o->plot.forest)
        return call_usage(c, "%s: a second experiment is for --forest, which draws both side by side", c->word[1]);
    o->plot.experiment = c->n_words ? c->word[0] : NULL;
    o->plot.beside = c->n_words > 1 ? c->word[1] : NULL;
    CLEANUP(reader_end) reader *r = reader_open_any(&c->p.db, &e);
    return !r || plot_write(r, &o->plot, &e) ? call_failed(c, &e) : 0;
}

#define AT(field) offsetof(plot_command_options, field)
static const option options[] = {
    {"--output -o", "FILE", "output file: .svg, .pdf, .png, .gp (gnuplot), .json (Vega-Lite) or .csv", OPTION_TEXT,
     AT(plot.to), .required = true},
    {"--metric", "M", "metric to draw [the headline metric]", OPTION_TEXT, AT(plot.metric)},
    {"--over", "KEY", "x axis: step, params, flops, time, trials (of searches), or a key that rows change [step]",
     OPTION_TEXT, AT(plot.over)},
    {"--by", "KEY", "one series per value of this key", OPTION_TEXT, AT(plot.by)},
    {"--log", "AXES", "logarithmic axes: x, y or x,y", OPTION_TEXT, AT(logarithmic)},
    {"--bars", "sd|range|none", "error bars over seeds [sd]", OPTION_TEXT, AT(plot.bars)},
    {"--title", "TEXT", "title above the chart", OPTION_TEXT, AT(plot.title)},
    {"--size", "WIDTHxHEIGHT", "in points [420x280]", OPTION_TEXT, AT(size)},
    {"--forest", NULL, "draw differences from base with their intervals; of two experiments, side by side", OPTION_FLAG,
     AT(plot.forest)},
    OPTION_DATABASE,
    {0}};
const command plot_command = {.name = "plot",
                              .part = FOR_RESULTS,
                              .does = "draw one chart for a paper: SVG, PDF, PNG, or data for gnuplot and Vega-Lite",
                              .arguments = "[NAME [NAME]]",
                              .choices = CHOICES_EXPERIMENTS,
                              .options = options,
                              .size = sizeof(plot_command_options),
                              .run = plot,
                              .example = "ablate plot quick --metric BLEU --over heads --by position -o heads.svg"};
