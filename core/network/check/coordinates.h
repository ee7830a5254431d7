/* coordinates.h - the coordinate check of muP (Yang et al. 2022, appendix D.1): how the size of activations grows with
 * the width after a few updates at one learning rate. With a correct parametrisation, the size does not grow. */
#ifndef ABLATE_COORDINATES_H
#define ABLATE_COORDINATES_H
#include "network/settings/config.h"

enum { COORDINATE_WIDTHS = 4, COORDINATE_STEPS = 4 };
extern const int64_t coordinate_widths[COORDINATE_WIDTHS]; /* 32, 64, 128, 256 */
extern const int64_t coordinate_steps[COORDINATE_STEPS];   /* 0, 1, 2, 5 updates */

typedef struct {
    char name[48];                                       /* "logits", or a sublayer: "dec.1.ffn" */
    double size[COORDINATE_STEPS][COORDINATE_WIDTHS];    /* root mean square of the values */
    double changed[COORDINATE_STEPS][COORDINATE_WIDTHS]; /* root mean square of the difference from step 0 */
} coordinate;
enum { MOST_COORDINATES = 32 };

/* Trains a small decoder-only model with these settings at each width, d_ff = 4 d_model and heads of 16, on random
 * tokens. out: the logits first, then each sublayer. Returns the length of out, or 0 and e. */
size_t coordinates_measure(const settings *set, coordinate out[MOST_COORDINATES], err *e);
/* Slope of log size over log width, by least squares: 0 is flat. */
double coordinate_slope(const double size[COORDINATE_WIDTHS]);
#endif
