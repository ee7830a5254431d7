/* ops_generic.c - elementwise operations, sums, softmax, product: shape rule and gradient of each together. */
#include "tensor/graph/grad.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- elementwise with broadcasting ---- */

static bool broadcast(ab_ctx *c, op o, ab_t a, ab_t b, int64_t d[4])
{
    for (int i = 0; i < 4; i++) {
        int64_t x = tape_at(c, a)->dim[i], y = tape_at(c, b)->dim[i];
        if (x != y && x != 1 && y != 1) {
            char sa[64], sb[64];
            tape_fail(c, "%s: shapes %s and %s differ at axis %d", op_names[o], shape_text(tape_at(c, a)->dim, sa),
                      shape_text(tape_at(c, b)->dim, sb), i - 4);
            return false;
        }
        d[i] = x > y ? x : y;
    }
    return true;
}

ab_t t_binary(ab_ctx *c, op o, ab_t a, ab_t b)
{
    GIVEN2(a, b);
    int64_t d[4];
    bool rows = o == OP_ADD && tape_at(c, a)->type == tape_at(c, b)->type && tape_at(c, a)->type == BF16;
    if (!rows) a = number(c, a), b = number(c, b);
    GIVEN2(a, b);
    if (!broadcast(c, o, a, b, d)) return (ab_t){0};
    ab_t y = push2(c, o, a, b, d, NULL);
    if (o == OP_LESS_THAN) tape_cut(c, y);
    return y;
}

static void add_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    grad_add(c, v.i.ADD.a, dy);
    grad_add(c, v.i.ADD.b, dy);
}

static void sub_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    grad_add(c, v.i.SUB.a, dy);
    if (grad_wanted(c, v.i.SUB.b)) grad_add(c, v.i.SUB.b, t_mul_scalar(c, dy, -1));
}

static void mul_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t a = {v.i.MUL.a}, b = {v.i.MUL.b};
    if (grad_wanted(c, a.id)) grad_add(c, a.id, t_binary(c, OP_MUL, dy, b));
    if (grad_wanted(c, b.id)) grad_add(c, b.id, t_binary(c, OP_MUL, dy, a));
}

static void div_rule(ab_ctx *c, ab_t y, ab_t dy) /* y = a/b: da = dy/b, db = -dy y/b */
{
    node v = *tape_at(c, y);
    ab_t b = {v.i.DIV.b}, part = t_binary(c, OP_DIV, dy, b);
    grad_add(c, v.i.DIV.a, part);
    if (grad_wanted(c, b.id)) grad_add(c, b.id, t_mul_scalar(c, t_binary(c, OP_MUL, part, y), -1));
}

static void least_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t from_b = t_binary(c, OP_MUL, dy, t_binary(c, OP_LESS_THAN, (ab_t){v.i.MINIMUM.b}, (ab_t){v.i.MINIMUM.a}));
    grad_add(c, v.i.MINIMUM.a, t_binary(c, OP_SUB, dy, from_b));
    grad_add(c, v.i.MINIMUM.b, from_b);
}

ab_t t_where(ab_ctx *c, ab_t condition, ab_t a, ab_t b)
{
    condition = number(c, condition), a = number(c, a), b = number(c, b);
    GIVEN2(a, b);
    GIVEN1(condition);
    const int64_t *of[3] = {tape_at(c, condition)->dim, tape_at(c, a)->dim, tape_at(c, b)->dim};
    int64_t d[4] = {1, 1, 1, 1};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 4; i++) {
            char s[3][64];
            if (of[k][i] != d[i] && of[k][i] != 1 && d[i] != 1)
                return tape_fail(c, "WHERE: condition %s, %s and %s differ at axis %d", shape_text(of[0], s[0]),
                                 shape_text(of[1], s[1]), shape_text(of[2], s[2]), i - 4);
            if (d[i] == 1) d[i] = of[k][i];
        }
    bool needs = tape_at(c, a)->needs || tape_at(c, b)->needs;
    ab_t y = tape_push(c, OP_WHERE, generic_type(c), d, 3, (ab_t[]){condition, a, b}, NULL);
    tape_at(c, y)->needs = needs;
    return y;
}
static void where_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t condition = {v.i.WHERE.condition}, zero = t_binary(c, OP_LESS_THAN, condition, condition);
    if (grad_wanted(c, v.i.WHERE.a)) grad_add(c, v.i.WHERE.a, t_where(c, condition, dy, zero));
    if (grad_wanted(c, v.i.WHERE.b)) grad_add(c, v.i.WHERE.b, t_where(c, condition, zero, dy));
}

ab_t t_mul_scalar(ab_ctx *c, ab_t a, double by)
{
    a = number(c, a);
    return by == 1 ? a : like(c, OP_MUL_SCALAR, a, &(attr){.MUL_SCALAR = {.by = by}});
}
static void scale_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    grad_add(c, v.i.MUL_SCALAR.a, t_mul_scalar(c, dy, v.a.MUL_SCALAR.by));
}

ab_t t_add_scalar(ab_ctx *c, ab_t a, double by)
{
    return like(c, OP_ADD_SCALAR, number(c, a), &(attr){.MUL_SCALAR = {.by = by}});
}
static void pass_rule(ab_ctx *c, ab_t y, ab_t dy) { grad_add(c, tape_at(c, y)->in[0], dy); }

ab_t t_map(ab_ctx *c, ab_t a, ab_fn f)
{
    if (f < AB_EXP || f > AB_FLOOR) return tape_fail(c, "ab_map: unknown function number %d", (int)f);
    ab_t y = like(c, OP_MAP, number(c, a), &(attr){.MAP = {.function = f}});
    if (y.id && (f == AB_SIGN || f == AB_FLOOR)) tape_cut(c, y);
    return y;
}
/* If x or y alone determines the gradient, MAP_BACK gets it twice, so that the other one need not be kept. */
static void map_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t in[3] = {{v.i.MAP.x}, y, dy};
    switch ((int)v.a.MAP.function) {
    case AB_EXP:
    case AB_TANH:
    case AB_SIGMOID:
    case AB_RELU: /* x > 0 where y > 0 */
    case AB_SQRT:
    case AB_RECIP: in[0] = y; break;
    case AB_ELU1:
    case AB_SILU: break;
    default: in[1] = in[0];
    }
    grad_add(c, v.i.MAP.x, tape_push(c, OP_MAP_BACK, v.type, v.dim, 3, in, &v.a));
}

/* z = f'(x) dy. Where f' is a function of y alone, x is y (map_rule), and `second` the derivative with respect to y. */
static void map_back_rule(ab_ctx *c, ab_t z, ab_t dz)
{
    node v = *tape_at(c, z);
    ab_t x = {v.i.MAP_BACK.x}, dy = {v.i.MAP_BACK.dy}, second, s;
    grad_add(c, dy.id, tape_push(c, OP_MAP_BACK, v.type, v.dim, 3, (ab_t[]){x, {v.i.MAP_BACK.y}, dz}, &v.a));
    ab_fn f = (ab_fn)v.a.MAP.function;
    if (!grad_wanted(c, x.id) || f == AB_RELU || f == AB_ABS) return;
    switch ((int)f) {
    case AB_EXP: second = t_binary(c, OP_DIV, x, x); break;
    case AB_LOG: second = t_mul_scalar(c, t_map(c, t_map(c, x, AB_SQUARE), AB_RECIP), -1); break;
    case AB_SQRT: second = t_mul_scalar(c, t_map(c, t_map(c, x, AB_SQUARE), AB_RECIP), -0.5); break;
    case AB_SIGMOID: second = t_add_scalar(c, t_mul_scalar(c, x, -2), 1); break;
    case AB_SQUARE: second = t_add_scalar(c, t_mul_scalar(c, x, 0), 2); break;
    case AB_COS: second = t_mul_scalar(c, t_map(c, x, AB_COS), -1); break;
    case AB_SIN: second = t_mul_scalar(c, t_map(c, x, AB_SIN), -1); break;
    case AB_ELU1: /* e^x below 0 */
        second = t_binary(c, OP_MUL, t_binary(c, OP_LESS_THAN, x, t_mul_scalar(c, x, 0)), (ab_t){v.i.MAP_BACK.y});
        break;
    case AB_SILU: /* s (1 - s) (2 + x (1 - 2 s)) */
        s = t_map(c, x, AB_SIGMOID);
        second = t_binary(c, OP_MUL, x, t_add_scalar(c, t_mul_scalar(c, s, -2), 1));
        s = t_binary(c, OP_SUB, s, t_map(c, s, AB_SQUARE));
        second = t_binary(c, OP_MUL, s, t_add_scalar(c, second, 2));
        break;
    case AB_ERF: /* -2 x f'(x), f' = 2 / sqrt(pi) exp(-x^2) */
        s = t_map(c, t_mul_scalar(c, t_map(c, x, AB_SQUARE), -1), AB_EXP);
        second = t_mul_scalar(c, t_binary(c, OP_MUL, x, s), -2 * M_2_SQRTPI);
        break;
    default: second = t_mul_scalar(c, x, -2); /* AB_TANH: 1 - y^2, AB_RECIP: -y^2 */
    }
    grad_add(c, x.id, t_binary(c, OP_MUL, t_binary(c, OP_MUL, dz, dy), second));
}

ab_t t_cast(ab_ctx *c, ab_t a, dtype type)
{
    GIVEN1(a);
    if (tape_at(c, a)->type == type) return a;
    ab_t y = like(c, OP_CAST, a, NULL);
    tape_at(c, y)->type = type;
    return y;
}
/* CAST's rule is pass_rule, because grad_add casts to the input's type. */

ab_t t_dropout(ab_ctx *c, ab_t a, double p)
{
    GIVEN1(a);
    if (!c->training || p <= 0) return a;
    if (p >= 1) return tape_fail(c, "dropout: p = %g, expected 0 <= p < 1", p);
    return like(c, OP_DROPOUT, a, &(attr){.DROPOUT = {.p = p, .place = c->n_dropout++}});
}
static void dropout_rule(ab_ctx *c, ab_t y, ab_t dy) /* DROPOUT with the same place drops the same elements */
{
    node v = *tape_at(c, y);
    grad_add(c, v.i.DROPOUT.x, push1(c, OP_DROPOUT, dy, v.dim, &v.a));
}

/* ---- sums and repetition ---- */

static bool same_dims(const int64_t a[4], const int64_t b[4]) { return !memcmp(a, b, 4 * sizeof *a); }

ab_t t_sum_to(ab_ctx *c, ab_t a, const int64_t dim[4])
{
    GIVEN1(a);
    if (same_dims(tape_at(c, a)->dim, dim)) return a;
    for (int i = 0; i < 4; i++)
        if (dim[i] != 1 && dim[i] != tape_at(c, a)->dim[i]) {
            char from[64], to[64];
            return tape_fail(c, "SUM_TO: shape %s cannot be summed to %s", shape_text(tape_at(c, a)->dim, from),
                             shape_text(dim, to));
        }
    a = number(c, a);
    return push1(c, OP_SUM_TO, a, dim, NULL);
}
static void sumto_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    int32_t x = tape_at(c, y)->i.SUM_TO.x;
    grad_add(c, x, t_broadcast_to(c, dy, dims_of(c, x).dim));
}

ab_t t_unit(ab_ctx *c, ab_t a, double eps)
{
    ab_t y = like(c, OP_UNIT, number(c, a), &(attr){.UNIT = {.eps = eps}});
    GIVEN1(y);
    const int64_t *d = tape_at(c, y)->dim;
    shape_part(c, y, OUTPUT(UNIT, factor), generic_type(c), (int64_t[4]){d[0], d[1], d[2], 1});
    return y;
}
static void unit_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t in[3] = {y, tape_part(c, y, OUTPUT(UNIT, factor)), dy};
    grad_add(c, v.i.UNIT.x, tape_push(c, OP_UNIT_BACK, v.type, v.dim, 3, in, NULL));
}

ab_t t_broadcast_to(ab_ctx *c, ab_t a, const int64_t dim[4])
{
    GIVEN1(a);
    if (same_dims(tape_at(c, a)->dim, dim)) return a;
    return push1(c, OP_BROADCAST_TO, number(c, a), dim, NULL);
}
static void spread_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    int32_t x = tape_at(c, y)->i.BROADCAST_TO.x;
    grad_add(c, x, t_sum_to(c, dy, dims_of(c, x).dim));
}

/* ---- softmax, product ---- */

ab_t t_softmax(ab_ctx *c, ab_t a) { return like(c, OP_SOFTMAX, number(c, a), NULL); }
static void softmax_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    grad_add(c, v.i.SOFTMAX.x, push2(c, OP_SOFTMAX_BACK, y, dy, v.dim, NULL));
}
/* z = y (dy - sum y dy) */
static void softmax_back_rule(ab_ctx *c, ab_t z, ab_t dz)
{
    node v = *tape_at(c, z);
    ab_t y = {v.i.SOFTMAX_BACK.y}, dy = {v.i.SOFTMAX_BACK.dy};
    grad_add(c, dy.id, push2(c, OP_SOFTMAX_BACK, y, dz, v.dim, NULL));
    if (!grad_wanted(c, y.id)) return;
    const int64_t one[4] = {v.dim[0], v.dim[1], v.dim[2], 1};
    ab_t sum = t_sum_to(c, t_binary(c, OP_MUL, y, dy), one), other = t_sum_to(c, t_binary(c, OP_MUL, y, dz), one);
    ab_t part = t_binary(c, OP_MUL, dz, t_binary(c, OP_SUB, dy, sum));
    grad_add(c, y.id, t_binary(c, OP_SUB, part, t_binary(c, OP_MUL, dy, other)));
}

ab_t t_matmul(ab_ctx *c, ab_t a, ab_t b, int ta, int tb)
{
    a = number(c, a), b = number(c, b);
    GIVEN2(a, b);
    const int64_t *x = tape_at(c, a)->dim, *y = tape_at(c, b)->dim;
    int64_t m = x[ta ? 3 : 2], k = x[ta ? 2 : 3], k2 = y[tb ? 3 : 2], n = y[tb ? 2 : 3];
    char sa[64], sb[64];
    if (k != k2)
        return tape_fail(c, "matmul: inner widths %lld and %lld differ: %s%s times %s%s", (long long)k, (long long)k2,
                         shape_text(x, sa), ta ? "'" : "", shape_text(y, sb), tb ? "'" : "");
    for (int i = 0; i < 2; i++)
        if (x[i] != y[i] && x[i] != 1 && y[i] != 1)
            return tape_fail(c, "matmul: shapes %s and %s differ at axis %d", shape_text(x, sa), shape_text(y, sb),
                             i - 4);
    int64_t d[4] = {x[0] > y[0] ? x[0] : y[0], x[1] > y[1] ? x[1] : y[1], m, n};
    return push2(c, OP_MATMUL, a, b, d, &(attr){.MATMUL = {.transpose_a = ta != 0, .transpose_b = tb != 0}});
}
static void matmul_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t a = {v.i.MATMUL.a}, b = {v.i.MATMUL.b};
    int ta = (int)v.a.MATMUL.transpose_a, tb = (int)v.a.MATMUL.transpose_b;
    if (grad_wanted(c, a.id)) grad_add(c, a.id, ta ? t_matmul(c, b, dy, tb, 1) : t_matmul(c, dy, b, 0, !tb));
    if (grad_wanted(c, b.id)) grad_add(c, b.id, tb ? t_matmul(c, dy, a, 1, ta) : t_matmul(c, a, dy, !ta, 0));
}

ab_t t_before(ab_ctx *c, int64_t n, bool self)
{
    double *v = xcalloc((size_t)(n * n), sizeof *v);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i + self; j++) v[i * n + j] = 1;
    ab_t y = t_const(c, (int64_t[4]){1, 1, n, n}, v);
    free(v);
    return y;
}

ab_t t_cumsum(ab_ctx *c, ab_t a)
{
    enum { CHUNK = 32 };
    GIVEN1(a);
    int64_t d[4], rest;
    memcpy(d, tape_at(c, a)->dim, sizeof d);
    if (d[2] <= 2 * CHUNK) return t_matmul(c, t_before(c, d[2], true), a, 0, 0);
    if ((rest = d[2] % CHUNK)) {
        ab_t most = t_cumsum(c, t_slice(c, a, -2, 0, d[2] - rest)), sum = t_slice(c, most, -2, d[2] - rest - 1, 1);
        return t_concat(c, most, t_binary(c, OP_ADD, t_cumsum(c, t_slice(c, a, -2, d[2] - rest, rest)), sum), -2);
    }
    /* sums within chunks, to which each chunk adds the sum of those before it */
    int64_t rows = d[0] * d[1], chunks = d[2] / CHUNK;
    ab_t x = t_reshape(c, a, (int64_t[4]){rows, chunks, CHUNK, d[3]});
    x = t_matmul(c, t_before(c, CHUNK, true), x, 0, 0);
    ab_t sum = t_reshape(c, t_slice(c, x, -2, CHUNK - 1, 1), (int64_t[4]){1, rows, chunks, d[3]});
    sum = t_reshape(c, t_matmul(c, t_before(c, chunks, false), sum, 0, 0), (int64_t[4]){rows, chunks, 1, d[3]});
    return t_reshape(c, t_binary(c, OP_ADD, x, sum), d);
}

/* clang-format off */
const grad_rule generic_rules[OP_COUNT] = {
    [OP_ADD] = add_rule,
    [OP_SUB] = sub_rule,
    [OP_MUL] = mul_rule,
    [OP_DIV] = div_rule,
    [OP_MINIMUM] = least_rule,
    [OP_MUL_SCALAR] = scale_rule,
    [OP_ADD_SCALAR] = pass_rule,
    [OP_MAP] = map_rule,
    [OP_MAP_BACK] = map_back_rule,
    [OP_CAST] = pass_rule,
    [OP_DROPOUT] = dropout_rule,
    [OP_SUM_TO] = sumto_rule,
    [OP_BROADCAST_TO] = spread_rule,
    [OP_SOFTMAX] = softmax_rule,
    [OP_SOFTMAX_BACK] = softmax_back_rule,
    [OP_MATMUL] = matmul_rule,
    [OP_WHERE] = where_rule,
    [OP_UNIT] = unit_rule,
};
/* clang-format on */

/* ---- samples ---- */

SAMPLE(add, t_binary(c, OP_ADD, in[0], in[1]))
SAMPLE(sub, t_binary(c, OP_SUB, in[0], in[1]))
SAMPLE(mul, t_binary(c, OP_MUL, in[0], in[1]))
SAMPLE(div, t_binary(c, OP_DIV, in[0], in[1]))
SAMPLE(minimum, t_binary(c, OP_MINIMUM, in[0], in[1]))
SAMPLE(where, t_where(c, t_binary(c, OP_LESS_THAN, t_mul_scalar(c, in[0], -1), in[0]), in[1], in[2]))
SAMPLE(mul_scalar, t_mul_scalar(c, in[0], -1.7))
SAMPLE(add_scalar, t_add_scalar(c, in[0], 0.3))
SAMPLE(map, t_map(c, in[0], AB_TANH))
SAMPLE(dropout, t_dropout(c, in[0], 0.4))
SAMPLE(sum_to, t_sum_to(c, in[0], (int64_t[4]){1, 3, 2, 1}))
SAMPLE(broadcast_to, t_broadcast_to(c, in[0], (int64_t[4]){2, 3, 2, 4}))
SAMPLE(unit, t_unit(c, in[0], 0.1))
SAMPLE(softmax, t_softmax(c, in[0]))
SAMPLE(matmul, t_matmul(c, in[0], in[1], 0, 0))
SAMPLE(matmul_of_transposes, t_matmul(c, in[0], in[1], 1, 1))

/* the gradient of f(x) w for each f, and of softmax(x) w, with respect to x */
static ab_t sample_second(ab_ctx *c, const ab_t *in)
{
    ab_t sum = t_gradient(c, t_binary(c, OP_MUL, t_softmax(c, in[0]), in[1]), in[0]);
    for (ab_fn f = AB_EXP; f <= AB_ERF; f++)
        if (f != AB_SIGN)
            sum = t_binary(c, OP_ADD, sum, t_gradient(c, t_binary(c, OP_MUL, t_map(c, in[0], f), in[1]), in[0]));
    return sum;
}

const op_sample generic_samples[] = {
    {"ADD", sample_add, .dim = {{2, 3, 2, 4}, {1, 1, 2, 4}}},
    {"SUB", sample_sub, .dim = {{2, 1, 2, 4}, {2, 3, 2, 4}}},
    {"MUL", sample_mul, .dim = {{2, 3, 2, 4}, {2, 3, 2, 1}}},
    {"DIV", sample_div, .dim = {{2, 3, 2, 4}, {2, 3, 2, 4}}, .positive = true},
    {"MINIMUM", sample_minimum, .dim = {{2, 3, 2, 4}, {2, 3, 2, 1}}},
    {"WHERE, LESS_THAN", sample_where, .dim = {{1, 1, 2, 4}, {2, 3, 1, 1}, {1, 3, 2, 4}}},
    {"MUL_SCALAR", sample_mul_scalar, .dim = {{2, 3, 2, 4}}},
    {"ADD_SCALAR", sample_add_scalar, .dim = {{2, 3, 2, 4}}},
    {"MAP", sample_map, .dim = {{2, 3, 2, 4}}},
    {"second gradients", sample_second, .dim = {{2, 3, 2, 4}, {2, 3, 2, 4}}, .positive = true},
    {"DROPOUT", sample_dropout, .dim = {{2, 3, 2, 4}}, .training = true},
    {"SUM_TO", sample_sum_to, .dim = {{2, 3, 2, 4}}},
    {"BROADCAST_TO", sample_broadcast_to, .dim = {{1, 3, 2, 1}}},
    {"UNIT", sample_unit, .dim = {{2, 3, 2, 5}}},
    {"SOFTMAX", sample_softmax, .dim = {{2, 3, 2, 4}}},
    {"MATMUL", sample_matmul, .dim = {{2, 3, 3, 5}, {2, 1, 5, 4}}},
    {"MATMUL of transposes", sample_matmul_of_transposes, .dim = {{1, 3, 5, 3}, {2, 3, 4, 5}}},
    {0},
};
