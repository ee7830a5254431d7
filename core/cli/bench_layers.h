/* bench_layers.h - the measurements of `ablate bench layers`, for a layer and for the rows of an experiment. */
#ifndef ABLATE_BENCH_LAYERS_H
#define ABLATE_BENCH_LAYERS_H
#include "cli/options.h"
#include "network/settings/config.h"
#include "network/plugin/plugin.h"

typedef struct {
    text_list plugins, lengths, set;
    int64_t sentences, d_model, heads, threads, seed, memory; /* memory [MiB] */
    double seconds;
    const char *into, *role; /* role: encoder, decoder */
    bool json, profile;
} layers_options;

typedef struct {
    int64_t n, chain; /* tokens; longest chain of dependent operations in the forward pass */
    double forward_flops, flops, ms;
    size_t bytes;
} layer_point;
enum { MOST_POINTS = 32 };
typedef struct {
    const plugin *p;
    const char *label;
    int64_t layer; /* index in its stack, from 0 */
    layer_point at[MOST_POINTS];
    size_t n; /* measured lengths */
} layer;

/* Measures an attention plugin at n_lengths lengths, fewer if o->memory is too small. row: a row's settings,
 * which may include the plugin's; or NULL. 0, or -1 and a message. */
int layer_measure(layer *l, const char *name, const settings *row, const int64_t *n, size_t n_lengths,
                  const layers_options *o, err *e);
typedef enum { LAYER_MS, LAYER_FLOPS, LAYER_BYTES, LAYER_CHAIN, LAYER_NUMBERS } layer_number;
double layer_number_at(const layer_point *p, layer_number k);
/* Fits the slope of log(number) over log n by least squares, over the longer half of the lengths (at least three); NaN
 * for one length. */
double layer_exponent(const layer *l, layer_number k);
/* Finds the length at which `l` takes as long as `other`, interpolated where the faster one changes; 0 if never. */
double layer_crossover(const layer *l, const layer *other);
const layer *layers_recurrent(const layer *l, size_t n); /* finds the first layer of plugin recurrent, or NULL */

/* Measures the layer of each row of the experiment o->into, and adds the figures to the row's done runs. *out: one per
 * row, in the arena. */
int layers_into(const layers_options *o, const places *p, const int64_t *n, size_t n_lengths, arena *a, layer **out,
                size_t *n_out, err *e);
#endif
