/* SOAP: Adam in the eigenbasis of Shampoo's factors. Vyas et al. 2024 (arXiv 2409.11321), algorithms 3 and 4.
 *
 *     g' = QL' g QR,   m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g' g'
 *     p -= lr (QL n QR' + decay p),   n = QL' m^ QR / (sqrt(v^) + eps),   ^: over 1 - beta^step, as in Adam
 *     L = beta2 L + (1 - beta2) g g',   R likewise of g' g;   every `frequency` steps QL = qr(L QL), QR = qr(R QR)
 *
 * Both bases begin as the identity, that is as Adam, instead of the first factors' eigenvectors. A side longer than
 * max_dim keeps the identity (section 4). Matrices side by side in one parameter (queries, keys, values) are treated
 * separately, as are those of a stack; vectors use AdamW.
 */
#include "moments.h"

typedef struct {
    double beta1, beta2, eps, decay;
    int64_t frequency, max_dim;
} config;
/* LEFT [.., parts m, m] stacks a square per part; RIGHT [.., n, widest] does, too, padded with zeros on the right. M
 * and V are in moments.h's order. */
enum { M, V, LEFT, RIGHT, LEFT_BASIS, RIGHT_BASIS };

static int matrix(const ab_parameter *of) { return of->dim[2] > 1 && of->dim[3] > 1; }

static int64_t widest(const ab_parameter *of)
{
    int64_t n = 0;
    for (int64_t i = 0; i < of->n_parts; i++) n = of->part[i] > n ? of->part[i] : n;
    return n;
}

static int has_side(const config *o, const ab_parameter *of, int left)
{
    return matrix(of) && (left ? of->dim[2] : widest(of)) <= o->max_dim;
}

static void slot_shape(const void *cfg, const ab_parameter *of, uint32_t i, int64_t dim[4])
{
    int left = i == LEFT || i == LEFT_BASIS;
    if (i == M || i == V) return;
    dim[2] = left ? of->n_parts * of->dim[2] : of->dim[3];
    dim[3] = !has_side(cfg, of, left) ? 0 : left ? of->dim[2] : widest(of);
}

/* The square [.., n,n] at row `from` of a slot; id 0: the side has no basis. */
static ab_t square(ab_ctx *c, ab_t slot, int64_t from, int64_t n)
{
    return slot.id ? ab_slice(c, ab_slice(c, slot, -2, from, n), -1, 0, n) : slot;
}

/* Stacks the square `below` under `all` (id 0: none yet), padded to the slot's width. */
static ab_t stacked(ab_ctx *c, ab_t all, ab_t below, ab_t slot)
{
    int64_t n = ab_dim(c, below, -1), gap = ab_dim(c, slot, -1) - n;
    if (gap > 0) below = ab_concat(c, below, ab_full(c, 0, ab_dim(c, below, 0), ab_dim(c, below, 1), n, gap), -1);
    return all.id ? ab_concat(c, all, below, -2) : below;
}

/* One part of a parameter: columns from .. from + n, and its bases. */
typedef struct {
    int64_t number, from, m, n;
    ab_t left, right; /* bases [m,m] and [n,n]; id 0: the side has no basis */
} part;

static part part_of(ab_ctx *c, const ab_parameter *of, const ab_t *slot, int64_t number, int64_t from)
{
    int64_t m = of->dim[2], n = of->part[number];
    return (part){
        number, from, m, n, square(c, slot[LEFT_BASIS], number * m, m), square(c, slot[RIGHT_BASIS], from, n)};
}

static ab_t columns(ab_ctx *c, ab_t x, const part *k) { return ab_slice(c, x, -1, k->from, k->n); }

static ab_t into_basis(ab_ctx *c, ab_t x, const part *k)
{
    if (k->left.id) x = ab_matmul(c, k->left, x, 1, 0);
    return k->right.id ? ab_matmul(c, x, k->right, 0, 0) : x;
}

static ab_t out_of_basis(ab_ctx *c, ab_t x, const part *k)
{
    if (k->left.id) x = ab_matmul(c, k->left, x, 0, 0);
    return k->right.id ? ab_matmul(c, x, k->right, 0, 1) : x;
}

static ab_t mean(ab_ctx *c, ab_t old, ab_t now, double beta)
{
    return ab_add(c, ab_mul_scalar(c, old, beta), ab_mul_scalar(c, now, 1 - beta));
}

static ab_t matrix_change(ab_ctx *c, const config *o, ab_t g, const ab_t *slot, ab_t step)
{
    const ab_parameter *of = ab_this_parameter(c);
    ab_t m = mean(c, slot[M], g, o->beta1), change = {0}, squares = {0}, left = {0}, right = {0};
    ab_t m_hat = ab_div(c, m, one_minus_power(c, o->beta1, step)), rest = one_minus_power(c, o->beta2, step);
    for (int64_t i = 0, from = 0; i < of->n_parts; from += of->part[i++]) {
        part k = part_of(c, of, slot, i, from);
        ab_t mine = columns(c, g, &k), turned = into_basis(c, mine, &k);
        ab_t v = mean(c, columns(c, slot[V], &k), ab_map(c, turned, AB_SQUARE), o->beta2);
        ab_t root = ab_add_scalar(c, ab_map(c, ab_div(c, v, rest), AB_SQRT), o->eps);
        ab_t x = out_of_basis(c, ab_div(c, into_basis(c, columns(c, m_hat, &k), &k), root), &k);
        change = i ? ab_concat(c, change, x, -1) : x;
        squares = i ? ab_concat(c, squares, v, -1) : v;
        if (k.left.id) left = stacked(c, left, ab_matmul(c, mine, mine, 0, 1), slot[LEFT]);
        if (k.right.id) right = stacked(c, right, ab_matmul(c, mine, mine, 1, 0), slot[RIGHT]);
    }
    ab_assign(c, slot[M], m);
    ab_assign(c, slot[V], squares);
    if (left.id) ab_assign(c, slot[LEFT], mean(c, slot[LEFT], left, o->beta2));
    if (right.id) ab_assign(c, slot[RIGHT], mean(c, slot[RIGHT], right, o->beta2));
    return change;
}

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    const config *o = cfg;
    ab_t change = matrix(ab_this_parameter(c))
                      ? matrix_change(c, o, g, slot, step)
                      : adam_change(c, (adam_constants){o->beta1, o->beta2, o->eps}, g, slot, step);
    if (o->decay > 0) change = ab_add(c, change, ab_mul_scalar(c, p, o->decay));
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, change, lr)));
}

static int64_t period(const void *cfg) { return ((const config *)cfg)->frequency; }

/* One power iteration and QR (algorithm 4) of the previous steps' factors. In the first step these are 0, and the bases
 * become the identity. */
static void refresh(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)p, (void)g, (void)lr, (void)step;
    const ab_parameter *of = ab_this_parameter(c);
    ab_t left = {0}, right = {0};
    for (int64_t i = 0, from = 0; i < of->n_parts; from += of->part[i++]) {
        part k = part_of(c, of, slot, i, from);
        ab_t l = square(c, slot[LEFT], i * k.m, k.m), r = square(c, slot[RIGHT], from, k.n);
        if (k.left.id) left = stacked(c, left, ab_qr(c, ab_matmul(c, l, k.left, 0, 0)), slot[LEFT_BASIS]);
        if (k.right.id) right = stacked(c, right, ab_qr(c, ab_matmul(c, r, k.right, 0, 0)), slot[RIGHT_BASIS]);
    }
    if (left.id) ab_assign(c, slot[LEFT_BASIS], left);
    if (right.id) ab_assign(c, slot[RIGHT_BASIS], right);
}

static const char *const slots[] = {"m", "v", "left", "right", "left_basis", "right_basis"};
static const ab_option params[] = {
    {"beta1", AB_REAL, offsetof(config, beta1), 0.95, 1e-6, 0.999999, 0, "decay of the mean gradient [none]"},
    {"beta2", AB_REAL, offsetof(config, beta2), 0.95, 1e-6, 0.9999999, 0,
     "decay of the mean squared gradient and of Shampoo's factors [none]"},
    {"eps", AB_REAL, offsetof(config, eps), 1e-8, 1e-12, 1, 0, "added to the root [none]"},
    {"decay", AB_REAL, offsetof(config, decay), 0.01, 0, 1, 0, "weight decay, multiplied by the learning rate [none]"},
    {"frequency", AB_INT, offsetof(config, frequency), 10, 1, 1000000, 0,
     "updates between two refreshes of the bases [updates]"},
    {"max_dim", AB_INT, offsetof(config, max_dim), 1024, 1, 65536, 0,
     "a longer side of a matrix keeps the identity as its basis [numbers]"},
    {0}};
static const ab_optimizer_plugin self = {
    .n_slots = 6, .slots = slots, .update = update, .slot_shape = slot_shape, .period = period, .refresh = refresh};
AB_PLUGIN(config, params, &self, .name = "soap", .doc = "Adam in the eigenbasis of Shampoo's factors",
          .paper = "Vyas et al. 2024, algorithm 3", .version = "1.0");
