/* Adafactor: keeps a matrix's mean squared gradients per row and column only. Shazeer and Stern 2018, algorithms 4 and
 * 5.
 *
 *     b = 1 - step^decay_rate,   R = b R + (1 - b) mean over columns of (g g + eps1),   C likewise over rows
 *     u = g / sqrt(R C / mean(R)),   u /= max(1, rms(u) / clip),   p -= lr max(eps2, rms(p)) u
 *
 * Vectors keep the mean square of every element. Each matrix of a stack is factored separately. lr comes from the
 * schedule instead of the paper's relative steps.
 */
#include "ab_plugin.h"

typedef struct {
    double decay_rate, eps1, eps2, clip, beta1, decay;
    int64_t relative;
} config;
enum { ROWS, COLUMNS, ALL, MOMENTUM };

static int factored(const ab_parameter *of) { return of->dim[2] > 1 && of->dim[3] > 1; }

static void slot_shape(const void *cfg, const ab_parameter *of, uint32_t i, int64_t dim[4])
{
    const config *o = cfg;
    if (i == ROWS) dim[3] = factored(of) ? 1 : 0;
    if (i == COLUMNS) dim[2] = factored(of) ? 1 : 0;
    if (i == ALL && factored(of)) dim[3] = 0;
    if (i == MOMENTUM && !(o->beta1 > 0)) dim[3] = 0;
}

static ab_t mean(ab_ctx *c, ab_t x, int axis)
{
    return ab_mul_scalar(c, ab_sum_axis(c, x, axis), 1.0 / (double)ab_dim(c, x, axis));
}

static ab_t rms(ab_ctx *c, ab_t x) /* the root mean square of all elements: one number */
{
    ab_t squares = ab_map(c, x, AB_SQUARE);
    for (int axis = -1; axis >= -4; axis--) squares = mean(c, squares, axis);
    return ab_map(c, squares, AB_SQRT);
}

/* Stores b old + (1 - b) now in the slot, and returns the sum. rest: 1 - b. */
static ab_t keep(ab_ctx *c, ab_t slot, ab_t now, ab_t rest) /* rest: 1 - b */
{
    ab_t x = ab_add(c, slot, ab_mul(c, rest, ab_sub(c, now, slot)));
    ab_assign(c, slot, x);
    return x;
}

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    const config *o = cfg;
    ab_t rest = ab_map(c, ab_mul_scalar(c, ab_map(c, step, AB_LOG), o->decay_rate), AB_EXP);
    ab_t squares = ab_add_scalar(c, ab_map(c, g, AB_SQUARE), o->eps1), v;
    if (factored(ab_this_parameter(c))) {
        ab_t rows = keep(c, slot[ROWS], mean(c, squares, -1), rest),
             columns = keep(c, slot[COLUMNS], mean(c, squares, -2), rest);
        v = ab_mul(c, ab_div(c, rows, mean(c, rows, -2)), columns);
    } else {
        v = keep(c, slot[ALL], squares, rest);
    }
    ab_t u = ab_div(c, g, ab_map(c, v, AB_SQRT));
    u = ab_div(c, u, ab_maximum(c, ab_mul_scalar(c, rms(c, u), 1 / o->clip), ab_full(c, 1, 1)));
    if (o->beta1 > 0) u = keep(c, slot[MOMENTUM], u, ab_full(c, 1 - o->beta1, 1));
    if (o->relative) lr = ab_mul(c, lr, ab_maximum(c, rms(c, p), ab_full(c, o->eps2, 1)));
    ab_t next = ab_sub(c, p, ab_mul(c, u, lr));
    ab_assign(c, p, o->decay > 0 ? ab_sub(c, next, ab_mul(c, ab_mul_scalar(c, p, o->decay), lr)) : next);
}

static const char *const slots[] = {"rows", "columns", "all", "momentum"};
static const ab_option params[] = {
    {"decay_rate", AB_REAL, offsetof(config, decay_rate), -0.8, -1, -0.1, 0,
     "exponent of the step in the decay of mean squares [none] (section 7.2)"},
    {"eps1", AB_REAL, offsetof(config, eps1), 1e-30, 1e-36, 1, 0, "added to squared gradients [none]"},
    {"eps2", AB_REAL, offsetof(config, eps2), 1e-3, 1e-12, 1, 0,
     "with relative: lower bound on a parameter's root mean square [none]"},
    {"clip", AB_REAL, offsetof(config, clip), 1, 0.01, 1000, 0,
     "largest root mean square of a change, before the learning rate [none] (section 6)"},
    {"beta1", AB_REAL, offsetof(config, beta1), 0, 0, 0.9999, 0, "decay of the mean change; 0: no momentum [none]"},
    {"decay", AB_REAL, offsetof(config, decay), 0, 0, 1, 0, "weight decay, multiplied by the learning rate [none]"},
    {"relative", AB_BOOL, offsetof(config, relative), 1, 0, 0, 0,
     "learning rate relative to the parameter's root mean square [true or false] (section 8)"},
    {0}};
static const ab_optimizer_plugin self = {.n_slots = 4, .slots = slots, .update = update, .slot_shape = slot_shape};
AB_PLUGIN(config, params, &self, .name = "adafactor",
          .doc = "Adam-like steps with mean squared gradients per row and column only",
          .paper = "Shazeer and Stern 2018, algorithms 4 and 5", .version = "1.0");
