/* Muon: five Newton-Schulz steps make the momentum of a hidden matrix nearly orthogonal; other parameters use AdamW.
 * Jordan 2024 (https://kellerjordan.github.io/posts/muon/).
 *
 *     m = mu m + (1 - mu) g,   x = (1 - mu) g + mu m (Nesterov) or m,   x /= |x|,   five times x = a x + (b A + c A A)
 *     x with A = x x'
 *     p -= lr sqrt(max(1, outputs / inputs)) x
 *
 * Matrices side by side in one parameter (queries, keys, values) are orthogonalised separately. AdamW's learning rate
 * is adam_lr times lr.
 */
#include "moments.h"

typedef struct {
    double momentum, decay, adam_lr, beta1, beta2, eps;
    int64_t nesterov, steps;
} config;
enum { MOMENTUM, SQUARES }; /* slots, in moments.h's order */

static int orthogonal(const ab_parameter *of) { return of->kind == AB_WEIGHT && of->dim[2] > 1 && of->dim[3] > 1; }

static void slot_shape(const void *cfg, const ab_parameter *of, uint32_t i, int64_t dim[4])
{
    (void)cfg;
    if (i == SQUARES && orthogonal(of)) dim[3] = 0;
}

static ab_t between(ab_ctx *c, ab_t a, ab_t b, double beta)
{
    return ab_add(c, ab_mul_scalar(c, a, beta), ab_mul_scalar(c, b, 1 - beta));
}

/* Approximates U V' of x = U S V': singular values become about 0.7 to 1.2. Uses the smaller Gram matrix. */
static ab_t orthogonalise(ab_ctx *c, ab_t x, int64_t steps)
{
    const double a = 3.4445, b = -4.7750, d = 2.0315;
    int tall = ab_dim(c, x, -2) > ab_dim(c, x, -1);
    ab_t norm = ab_map(c, ab_sum_axis(c, ab_sum_axis(c, ab_map(c, x, AB_SQUARE), -1), -2), AB_SQRT);
    x = ab_div(c, x, ab_add_scalar(c, norm, 1e-7));
    for (int64_t i = 0; i < steps; i++) {
        ab_t gram = ab_matmul(c, x, x, tall, !tall); /* x x', or x' x */
        ab_t mix = ab_add(c, ab_mul_scalar(c, gram, b), ab_mul_scalar(c, ab_matmul(c, gram, gram, 0, 0), d));
        x = ab_add(c, ab_mul_scalar(c, x, a), tall ? ab_matmul(c, x, mix, 0, 0) : ab_matmul(c, mix, x, 0, 0));
    }
    return x;
}

static ab_t matrix_change(ab_ctx *c, const config *o, ab_t g, ab_t momentum)
{
    const ab_parameter *of = ab_this_parameter(c);
    ab_t m = between(c, momentum, g, o->momentum), all = {0};
    ab_t x = o->nesterov ? between(c, m, g, o->momentum) : m;
    int64_t from = 0;
    for (int64_t i = 0; i < of->n_parts; i++) {
        ab_t part = orthogonalise(c, ab_slice(c, x, -1, from, of->part[i]), o->steps);
        double longer = (double)of->part[i] / (double)of->dim[2];
        part = ab_mul_scalar(c, part, sqrt(longer > 1 ? longer : 1));
        all = i ? ab_concat(c, all, part, -1) : part;
        from += of->part[i];
    }
    ab_assign(c, momentum, m);
    return all;
}

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    const config *o = cfg;
    int matrix = orthogonal(ab_this_parameter(c));
    ab_t change = matrix ? matrix_change(c, o, g, slot[MOMENTUM])
                         : adam_change(c, (adam_constants){o->beta1, o->beta2, o->eps}, g, slot, step);
    if (!matrix) lr = ab_mul_scalar(c, lr, o->adam_lr);
    if (o->decay > 0) change = ab_add(c, change, ab_mul_scalar(c, p, o->decay));
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, change, lr)));
}

static const char *const slots[] = {"m", "v"};
static const ab_option params[] = {
    {"momentum", AB_REAL, offsetof(config, momentum), 0.95, 0, 0.9999, 0, "decay of the momentum, mu [none]"},
    {"nesterov", AB_BOOL, offsetof(config, nesterov), 1, 0, 0, 0, "look ahead along the momentum [true or false]"},
    {"steps", AB_INT, offsetof(config, steps), 5, 1, 20, 0, "Newton-Schulz steps [steps]"},
    {"decay", AB_REAL, offsetof(config, decay), 0, 0, 1, 0, "weight decay, multiplied by the learning rate [none]"},
    {"adam_lr", AB_REAL, offsetof(config, adam_lr), 0.015, 0, 1000, 0,
     "AdamW's learning rate for all but hidden matrices, as a factor of lr [none]"},
    {"beta1", AB_REAL, offsetof(config, beta1), 0.9, 1e-6, 0.999999, 0, "AdamW: decay of the mean gradient [none]"},
    {"beta2", AB_REAL, offsetof(config, beta2), 0.95, 1e-6, 0.9999999, 0,
     "AdamW: decay of the mean squared gradient [none]"},
    {"eps", AB_REAL, offsetof(config, eps), 1e-10, 1e-12, 1, 0, "AdamW: added to the root [none]"},
    {0}};
static const ab_optimizer_plugin self = {.n_slots = 2, .slots = slots, .update = update, .slot_shape = slot_shape};
AB_PLUGIN(config, params, &self, .name = "muon",
          .doc = "orthogonalised momentum for hidden matrices, AdamW for the rest", .paper = "Jordan 2024",
          .version = "1.0");
