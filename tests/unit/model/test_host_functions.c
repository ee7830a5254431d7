/* Host functions that are composed of operations: values equal the formulas of ab_plugin.h, gradients equal central
 * differences in double precision. */
#include "tensor/cpu/cpu.h"
#include "network/plugin/plugin.h"
#include "test.h"

enum { ROWS = 3, COLUMNS = 4, N = ROWS * COLUMNS };
static const ab_host *h = &host_table;
typedef ab_t (*build)(ab_ctx *c, ab_t a, ab_t b);
typedef double (*formula)(const double *a, const double *b, int i);

/* Values of the inputs: a from index 1 on, then b. */
static double hashed(uint64_t i)
{
    uint64_t z = i * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (double)((z ^ z >> 31) >> 40) / 8388608.0 - 1;
}

static ab_t maximum(ab_ctx *c, ab_t a, ab_t b) { return h->maximum(c, a, b); }
static ab_t where(ab_ctx *c, ab_t a, ab_t b) { return h->where(c, h->less_than(c, a, b), h->mul_scalar(c, a, 3), b); }
static ab_t cumsum(ab_ctx *c, ab_t a, ab_t b) { return h->mul(c, h->cumsum(c, a), b); }
static ab_t detach(ab_ctx *c, ab_t a, ab_t b) { return h->mul(c, h->detach(c, a), h->mul(c, a, b)); }
static ab_t full(ab_ctx *c, ab_t a, ab_t b)
{
    return h->mul(c, h->add(c, a, b), h->full(c, 2, (int64_t[]){ROWS, COLUMNS}, 0.25));
}
static ab_t gelu(ab_ctx *c, ab_t a, ab_t b) { return h->gelu(c, h->sub(c, h->mul_scalar(c, a, 4), b)); }
static ab_t silu(ab_ctx *c, ab_t a, ab_t b) { return h->silu(c, h->sub(c, h->mul_scalar(c, a, 4), b)); }
static ab_t softplus(ab_ctx *c, ab_t a, ab_t b) { return h->softplus(c, h->sub(c, h->mul_scalar(c, a, 60), b)); }
static ab_t softplus_at_0(ab_ctx *c, ab_t a, ab_t b) /* softplus((a - c) b), where c is a as a constant */
{
    return h->softplus(c, h->mul(c, h->sub(c, a, h->detach(c, a)), b));
}

static ab_t max_of_row(ab_ctx *c, ab_t a, ab_t b) { return h->mul(c, h->max(c, a, -1), b); }
static ab_t max_of_column(ab_ctx *c, ab_t a, ab_t b) { return h->mul(c, h->max(c, a, -2), b); }
/* each row's two largest elements at their positions, 0 elsewhere, times b */
static ab_t top_two(ab_ctx *c, ab_t a, ab_t b)
{
    ab_t ids, values = h->top_k(c, a, 2, &ids);
    return h->mul(c, h->scatter_add(c, values, ids, COLUMNS), b);
}
static ab_t sorted(ab_ctx *c, ab_t a, ab_t b) { return h->mul(c, h->sort(c, a, 0, NULL), b); }
static ab_t sorted_down(ab_ctx *c, ab_t a, ab_t b) { return h->mul(c, h->sort(c, a, 1, NULL), b); }
static ab_t row_sums(ab_ctx *c, ab_t a, ab_t b) /* adds rows 0 and 2 to row 1, and row 1 to row 0 */
{
    ab_t ids = h->to_ids(c, h->consts(c, 1, (int64_t[]){ROWS}, (double[]){1.1, 0.2, 0.9}));
    return h->mul(c, h->scatter_rows(c, a, ids, ROWS), b);
}
static ab_t hot(ab_ctx *c, ab_t a, ab_t b)
{
    ab_t ids;
    h->top_k(c, a, 1, &ids);
    return h->mul(c, h->mul(c, h->one_hot(c, h->reshape(c, ids, 1, (int64_t[]){ROWS}), COLUMNS), a), b);
}

static double is_maximum(const double *a, const double *b, int i) { return fmax(a[i], b[i]); }
static double is_where(const double *a, const double *b, int i) { return a[i] < b[i] ? 3 * a[i] : b[i]; }
static double is_cumsum(const double *a, const double *b, int i)
{
    double sum = 0;
    for (int k = i % COLUMNS; k <= i; k += COLUMNS) sum += a[k];
    return sum * b[i];
}
static double is_detach(const double *a, const double *b, int i) { return a[i] * a[i] * b[i]; }
static double is_full(const double *a, const double *b, int i) { return (a[i] + b[i]) / 4; }
static double is_gelu(const double *a, const double *b, int i)
{
    double x = 4 * a[i] - b[i];
    return x / 2 * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}
static double is_silu(const double *a, const double *b, int i)
{
    double x = 4 * a[i] - b[i];
    return x / (1 + exp(-x));
}
static double is_softplus(const double *a, const double *b, int i)
{
    double x = 60 * a[i] - b[i];
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}
static double is_softplus_at_0(const double *a, const double *b, int i) /* log 2 + x / 2, its tangent at x = 0 */
{
    return log(2) + (a[i] - hashed((uint64_t)i + 1)) * b[i] / 2;
}

static double is_max_of_row(const double *a, const double *b, int i)
{
    double most = -2;
    for (int k = 0; k < COLUMNS; k++) most = fmax(most, a[i / COLUMNS * COLUMNS + k]);
    return most * b[i];
}
static double is_max_of_column(const double *a, const double *b, int i)
{
    double most = -2;
    for (int k = i % COLUMNS; k < N; k += COLUMNS) most = fmax(most, a[k]);
    return most * b[i];
}
static int larger_in_row(const double *a, int i)
{
    int n = 0;
    for (int k = 0; k < COLUMNS; k++) n += a[i / COLUMNS * COLUMNS + k] > a[i];
    return n;
}
static double is_top_two(const double *a, const double *b, int i) { return larger_in_row(a, i) < 2 ? a[i] * b[i] : 0; }
static double is_sorted_down(const double *a, const double *b, int i)
{
    for (int k = i / COLUMNS * COLUMNS; k < N; k++)
        if (larger_in_row(a, k) == i % COLUMNS) return a[k] * b[i];
    return NAN;
}
static double is_sorted(const double *a, const double *b, int i)
{
    for (int k = i / COLUMNS * COLUMNS; k < N; k++)
        if (larger_in_row(a, k) == COLUMNS - 1 - i % COLUMNS) return a[k] * b[i];
    return NAN;
}
static double is_row_sums(const double *a, const double *b, int i)
{
    int column = i % COLUMNS;
    return b[i] * (i / COLUMNS == 0 ? a[COLUMNS + column] : i / COLUMNS == 1 ? a[column] + a[2 * COLUMNS + column] : 0);
}
static double is_hot(const double *a, const double *b, int i) { return larger_in_row(a, i) ? 0 : a[i] * b[i]; }

static const struct {
    const char *name;
    build f;
    formula expected;
    bool constant_a; /* a is a constant: no gradient passes ab_detach */
} cases[] = {
    {"maximum", maximum, is_maximum, false},
    {"where", where, is_where, false},
    {"cumsum", cumsum, is_cumsum, false},
    {"detach", detach, is_detach, true},
    {"full", full, is_full, false},
    {"gelu", gelu, is_gelu, false},
    {"max of rows", max_of_row, is_max_of_row, false},
    {"max of columns", max_of_column, is_max_of_column, false},
    {"top_k", top_two, is_top_two, false},
    {"sort", sorted, is_sorted, false},
    {"sort, largest first", sorted_down, is_sorted_down, false},
    {"scatter_rows", row_sums, is_row_sums, false},
    {"one_hot", hot, is_hot, false},
    {"silu", silu, is_silu, false},
    {"softplus", softplus, is_softplus, false},
    {"softplus at 0", softplus_at_0, is_softplus_at_0, false},
};

static double sum_of(formula f, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < N; i++) sum += f(a, b, i);
    return sum;
}

static void check_case(size_t k)
{
    params none = {0};
    ab_ctx *c = tape_new(&none, &cpu_backend, F64, true);
    int failed = test_failed;
    c->hook = AB_IN_REFERENCE; /* all these functions may be called in any hook */
    ab_t in[2] = {t_input(c, "a", F64, PHASE_STEP, 1, 1, ROWS, COLUMNS),
                  t_input(c, "b", F64, PHASE_STEP, 1, 1, ROWS, COLUMNS)},
         grad[2];
    for (int i = 0; i < 2; i++) tape_at(c, in[i])->needs = true;
    ab_t y = cases[k].f(c, in[0], in[1]);
    t_keep(c, y, "y");
    CHECK_INT(tape_backward(c, t_sum_to(c, y, (int64_t[4]){1, 1, 1, 1})), 0);
    for (int i = 0; i < 2; i++) t_keep(c, grad[i] = t_add_scalar(c, (ab_t){c->grad[in[i].id]}, 0), i ? "db" : "da");
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    CHECK_TEXT(c->error.text, "");
    double *x[2] = {tape_at(c, in[0])->data, tape_at(c, in[1])->data}, copy[2][N];
    for (int i = 0; i < 2 * N; i++) x[i / N][i % N] = copy[i / N][i % N] = hashed((uint64_t)i + 1);
    CHECK_INT(tape_run(c, &(run_options){.from = PHASE_CONST}), 0);
    for (int i = 0; i < N; i++)
        CHECK_NEAR(((const double *)tape_at(c, y)->data)[i], cases[k].expected(copy[0], copy[1], i), 1e-13 * 60);
    for (int j = 0; j < 2 * N; j++) {
        double *at = &copy[j / N][j % N], old = *at, step = 1e-6,
               claimed = ((const double *)tape_at(c, grad[j / N])->data)[j % N];
        *at = old + step;
        double high = sum_of(cases[k].expected, copy[0], copy[1]);
        *at = old - step;
        double low = sum_of(cases[k].expected, copy[0], copy[1]);
        *at = old;
        double slope = (high - low) / (2 * step);
        CHECK_NEAR(claimed, j < N && cases[k].constant_a ? slope / 2 : slope, 1e-7);
    }
    if (test_failed > failed) printf("^ %s\n", cases[k].name);
    tape_free(c);
    params_free(&none);
}

/* Running sums y of a [2,1,n,2], and the gradient of the sum of y b: sums of b from the end. */
static void check_long_sums(int64_t n)
{
    enum { GROUPS = 2, WIDTH = 2 };
    params none = {0};
    ab_ctx *c = tape_new(&none, &cpu_backend, F64, true);
    c->hook = AB_IN_REFERENCE;
    ab_t a = t_input(c, "a", F64, PHASE_STEP, GROUPS, 1, n, WIDTH);
    ab_t b = t_input(c, "b", F64, PHASE_STEP, GROUPS, 1, n, WIDTH);
    tape_at(c, a)->needs = true;
    ab_t y = h->cumsum(c, a);
    t_keep(c, y, "y");
    CHECK_INT(tape_backward(c, t_sum_to(c, h->mul(c, y, b), (int64_t[4]){1, 1, 1, 1})), 0);
    ab_t grad = t_add_scalar(c, (ab_t){c->grad[a.id]}, 0);
    t_keep(c, grad, "da");
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    double *x = tape_at(c, a)->data, *w = tape_at(c, b)->data, worst = 0;
    for (int64_t i = 0; i < GROUPS * n * WIDTH; i++) x[i] = hashed((uint64_t)i), w[i] = hashed((uint64_t)i + 9999);
    CHECK_INT(tape_run(c, &(run_options){.from = PHASE_CONST}), 0);
    const double *found = tape_at(c, y)->data, *found_grad = tape_at(c, grad)->data;
    for (int64_t column = 0; column < GROUPS * WIDTH; column++) {
        double sum = 0, rest = 0;
        for (int64_t t = 0; t < n; t++) {
            int64_t i = (column / WIDTH * n + t) * WIDTH + column % WIDTH;
            int64_t j = (column / WIDTH * n + n - 1 - t) * WIDTH + column % WIDTH;
            sum += x[i], rest += w[j];
            worst = fmax(worst, fmax(fabs(found[i] - sum), fabs(found_grad[j] - rest)));
        }
    }
    CHECK_NEAR(worst, 0, 1e-12);
    tape_free(c);
}

/* In fp32 a weight below e^-64 of the largest is 0, so that no product with it is subnormal. */
static void check_far_weights(void)
{
    params none = {0};
    ab_ctx *c = tape_new(&none, &cpu_backend, F32, true);
    c->hook = AB_IN_REFERENCE;
    ab_t a = t_input(c, "a", F32, PHASE_STEP, 1, 1, 1, 4), y = h->softmax(c, a);
    t_keep(c, y, "y");
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    memcpy(tape_at(c, a)->data, (const float[]){0, -63, -65, -86}, 4 * sizeof(float));
    CHECK_INT(tape_run(c, &(run_options){.from = PHASE_CONST}), 0);
    const float *found = tape_at(c, y)->data;
    CHECK_NEAR(found[0], 1, 0);
    CHECK_NEAR(found[1], exp(-63), 1e-5 * exp(-63));
    CHECK_NEAR(found[2], 0, 0);
    CHECK_NEAR(found[3], 0, 0);
    tape_free(c);
}

int main(void)
{
    for (size_t k = 0; k < LENGTH(cases); k++) check_case(k);
    static const int64_t lengths[] = {64, 65, 96, 150, 1100}; /* sums in one part, in chunks of 32, with a rest */
    for (size_t k = 0; k < LENGTH(lengths); k++) check_long_sums(lengths[k]);
    check_far_weights();
    return test_end();
}
