/* attention_view.h - attention weights of one sentence as an interactive page, or as one figure like figures 3 to 5 of
 * Vaswani et al. 2017. */
#ifndef ABLATE_REPORT_ATTENTION_VIEW_H
#define ABLATE_REPORT_ATTENTION_VIEW_H
#include "lab/draw/drawing.h"

/* The weights of one layer. Row i of a head sums to 1: the weight of each key for query i. */
typedef struct {
    /* "encoder self-attention", "decoder self-attention", "attention to the source" */
    const char *part;
    int64_t layer; /* from 1 */
    size_t heads, n_queries, n_keys;
    const char *const *queries, *const *keys; /* displayed tokens */
    const float *weights;                     /* [heads][n_queries][n_keys] */
    const char *influence; /* meaning of weights that are not a softmax's, "|d output / d value|"; else NULL */
} attention_map;

typedef struct {
    /* 3: one token, all heads; 4: a head in full, then one token in two heads; 5: two heads in full */
    int figure;
    size_t token;      /* figures 3 and 4: index of the query */
    size_t head, next; /* figures 4 and 5: the two heads, from 0 */
    const char *title; /* or NULL */
} attention_figure;

/* Draws the tokens twice, above and below, with a line per pair; colour shows the head, opacity the weight. */
drawing *attention_draw(const attention_map *m, const attention_figure *f);

/* Writes a self-contained page with a choice of part, layer, heads and token, as lines or heat maps. n > 0. source,
 * target: the sentences; target NULL: there is one text. */
void attention_page(const attention_map *maps, size_t n, const char *run, const char *source, const char *target,
                    str *out);
#endif
