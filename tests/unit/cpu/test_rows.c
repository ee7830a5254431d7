/* test_rows.c - kernels on rows (sums, ReLU, embedding), norm and loss: against loops in double, and finite
 * differences. */
#include "fused_case.h"

static const int64_t widths[] = {1, 7, 16, 24, 100, 128, 513};

/* ---- sums, ReLU, embedding ---- */

static void check_sums(dtype type, int64_t rows, int64_t width)
{
    view x = random_view(type, rows, width, 1), y = random_view(sums_of(type), 1, width, 2),
         want = new_view(F64, 1, width);
    call c = {.op = OP_COLUMN_SUM, .n_in = 1, .n_out = 1, .in = {x}, .out = {y}};
    RUN(COLUMN_SUM, c);
    for (int64_t i = 0; i < rows * width; i++) set(&want, i % width, get(&want, i % width) + get(&x, i));
    CHECK_ROWS(y, want, type == F64 ? 1e-12 : 1e-5);
    view dy = random_view(type, rows, width, 3), dx = copy_as(&x, type), masked = new_view(F64, rows, width);
    set(&x, 0, 0);
    set(&dx, 0, 0);
    call r = {.op = OP_RELU_BACK, .n_in = 2, .n_out = 1, .in = {dx, dy}, .out = {dx}}; /* writes over dy */
    RUN(RELU_BACK, r);
    for (int64_t i = 0; i < rows * width; i++) set(&masked, i, get(&x, i) > 0 ? get(&dy, i) : 0);
    CHECK_ROWS(dx, masked, 0);
    free_views((view[]){x, y, want, dy, dx, masked}, 6);
}

static void check_embedding(dtype type, int64_t rows, int64_t width)
{
    enum { WORDS = 11 };
    view table = random_view(sums_of(type), WORDS, width, 4), ids = new_view(I32, 1, rows),
         y = random_view(type, rows, width, 5), want = new_view(F64, rows, width);
    view base = random_view(sums_of(type), WORDS, width, 6), sum = copy_as(&base, F64),
         dy = random_view(type, rows, width, 7);
    view alone = random_view(sums_of(type), WORDS, width, 8), alone_want = new_view(F64, WORDS, width);
    rng r = rng_seed(9, 0);
    for (int64_t i = 0; i < rows; i++) set(&ids, i, (double)rng_below(&r, WORDS + 1) - 1);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < width && get(&ids, i) >= 0; j++) {
            int64_t at = (int64_t)get(&ids, i) * width + j;
            set(&want, i * width + j, 3.5 * get(&table, at));
            set(&sum, at, get(&sum, at) + 3.5 * get(&dy, i * width + j));
            set(&alone_want, at, get(&alone_want, at) + 3.5 * get(&dy, i * width + j));
        }
    call c = {
        .op = OP_EMBED_TOKENS, .n_in = 2, .n_out = 1, .in = {table, ids}, .out = {y}, .a.EMBED_TOKENS = {.scale = 3.5}};
    RUN(EMBED_TOKENS, c);
    CHECK_ROWS(y, want, tolerance(type));
    call b = {.op = OP_EMBED_TOKENS_BACK,
              .n_in = 3,
              .n_out = 1,
              .in = {base, dy, ids},
              .out = {base},
              .a.EMBED_TOKENS = {.scale = 3.5}};
    RUN(EMBED_TOKENS_BACK, b);
    CHECK_ROWS(base, sum, type == F64 ? 1e-12 : 1e-5);
    b.in[0] = (view){0}, b.out[0] = alone;
    RUN(EMBED_TOKENS_BACK, b);
    CHECK_ROWS(alone, alone_want, type == F64 ? 1e-12 : 1e-5);
    if (rows) {
        err e = {""};
        set(&ids, rows - 1, WORDS);
        CHECK_INT(cpu_EMBED_TOKENS(&c, &e), -1);
        CHECK_HAS(e.text, "id 11");
    }
    free_views((view[]){table, ids, y, want, base, sum, dy, alone, alone_want}, 9);
}

/* ---- normalisation ---- */

typedef struct {
    view x, s, gain, bias, y, z, stats, dy, dz, ds, dgain, dbias;
    call forward, back;
} norm_case;

static norm_case norm_new(dtype type, int64_t rows, int64_t d, bool has_s, double p)
{
    dtype t = sums_of(type);
    norm_case n = {.x = random_view(type, rows, d, 10),
                   .s = random_view(type, rows, d, 11),
                   .gain = random_view(t, 1, d, 12),
                   .bias = random_view(t, 1, d, 13),
                   .y = new_view(type, rows, d),
                   .z = new_view(type, rows, d),
                   .stats = new_view(t, rows, 2),
                   .dy = random_view(type, rows, d, 14),
                   .dz = new_view(type, rows, d),
                   .ds = new_view(type, rows, d),
                   .dgain = new_view(t, 1, d),
                   .dbias = new_view(t, 1, d)};
    attr a = {.NORM = {.p = p, .eps = 1e-5, .place = 3, .has_sublayer = has_s}};
    view none = {0};
    n.forward = (call){.op = OP_NORM,
                       .n_in = 4,
                       .n_out = 3,
                       .in = {n.x, has_s ? n.s : none, n.gain, n.bias},
                       .out = {n.y, has_s ? n.z : none, n.stats},
                       .a = a,
                       .training = p > 0,
                       .seed = 77,
                       .step = 5};
    n.back = (call){.op = OP_NORM_BACK,
                    .n_in = 4,
                    .n_out = 4,
                    .in = {has_s ? n.z : n.x, n.stats, n.gain, n.dy},
                    .out = {n.dz, has_s && p > 0 ? n.ds : none, n.dgain, n.dbias},
                    .a = a,
                    .training = p > 0,
                    .seed = 77,
                    .step = 5};
    return n;
}
static void norm_free(norm_case *n)
{
    free_views((view[]){n->x, n->s, n->gain, n->bias, n->y, n->z, n->stats, n->dy, n->dz, n->ds, n->dgain, n->dbias},
               12);
}

/* y by loops; keep [rows,d]: dropout's factors */
static void check_norm(dtype type, int64_t rows, int64_t d, bool has_s, double p)
{
    norm_case n = norm_new(type, rows, d, has_s, p);
    view keep = new_view(F64, rows, d), ones = new_view(F64, rows, d), z = new_view(F64, rows, d),
         y = new_view(F64, rows, d), stats = new_view(F64, rows, 2);
    for (int64_t i = 0; i < rows * d; i++) set(&ones, i, 1);
    call drop = {.op = OP_DROPOUT,
                 .n_in = 1,
                 .n_out = 1,
                 .in = {ones},
                 .out = {keep},
                 .a = {.DROPOUT = {.p = n.forward.a.NORM.p, .place = n.forward.a.NORM.place}},
                 .training = p > 0,
                 .seed = 77,
                 .step = 5};
    RUN(DROPOUT, drop);
    RUN(NORM, n.forward);
    for (int64_t r = 0; r < rows; r++) {
        double mean = 0, var = 0;
        for (int64_t j = r * d; j < (r + 1) * d; j++) {
            set(&z, j, get(&n.x, j) + (has_s ? get(&n.s, j) * get(&keep, j) : 0));
            mean += get(&z, j) / (double)d;
        }
        for (int64_t j = r * d; j < (r + 1) * d; j++) var += (get(&z, j) - mean) * (get(&z, j) - mean) / (double)d;
        set(&stats, 2 * r, mean);
        set(&stats, 2 * r + 1, 1 / sqrt(var + 1e-5));
        for (int64_t j = 0; j < d; j++)
            set(&y, r * d + j, (get(&z, r * d + j) - mean) / sqrt(var + 1e-5) * get(&n.gain, j) + get(&n.bias, j));
    }
    CHECK_ROWS(n.y, y, tolerance(type));
    CHECK_ROWS(n.stats, stats, type == F64 ? 1e-12 : 1e-4);
    if (has_s) CHECK_ROWS(n.z, z, tolerance(type));

    /* the gradient, compared with F64 from the same rounded inputs */
    norm_case exact = norm_new(F64, rows, d, has_s, p);
    RUN(NORM_BACK, n.back);
    view zd = copy_as(&n.back.in[0], F64), sd = copy_as(&n.stats, F64), gd = copy_as(&n.gain, F64),
         dd = copy_as(&n.dy, F64);
    exact.back.in[0] = zd, exact.back.in[1] = sd, exact.back.in[2] = gd, exact.back.in[3] = dd;
    RUN(NORM_BACK, exact.back);
    CHECK_ROWS(n.dz, exact.dz, tolerance(type));
    CHECK_ROWS(n.dgain, exact.dgain, type == F64 ? 1e-12 : 1e-4);
    CHECK_ROWS(n.dbias, exact.dbias, type == F64 ? 1e-12 : 1e-5);
    if (has_s && p > 0) {
        for (int64_t i = 0; i < rows * d; i++) set(&z, i, get(&exact.dz, i) * get(&keep, i));
        CHECK_ROWS(n.ds, z, tolerance(type));
    }
    norm_free(&n);
    norm_free(&exact);
    free_views((view[]){keep, ones, z, y, stats, zd, sd, gd, dd}, 9);
}

static double norm_loss(norm_case *n)
{
    double sum = 0;
    RUN(NORM, n->forward);
    for (int64_t i = 0; i < count(&n->y); i++) sum += get(&n->y, i) * get(&n->dy, i);
    return sum;
}
#define DIFFER(case_, loss, x, dx, h)                                                                                  \
    for (int64_t i_ = 0; i_ < count(&(x)); i_++) {                                                                     \
        double old_ = get(&(x), i_);                                                                                   \
        set(&(x), i_, old_ + (h));                                                                                     \
        double up_ = loss(case_);                                                                                      \
        set(&(x), i_, old_ - (h));                                                                                     \
        double slope_ = (up_ - loss(case_)) / (2 * (h));                                                               \
        set(&(x), i_, old_);                                                                                           \
        CHECK_NEAR(get(&(dx), i_), slope_, 1e-6 * (1 + fabs(slope_)));                                                 \
    }
static void check_norm_differences(int64_t d, double p)
{
    norm_case n = norm_new(F64, 3, d, true, p);
    norm_loss(&n);
    RUN(NORM_BACK, n.back);
    DIFFER(&n, norm_loss, n.x, n.dz, 1e-5)
    if (p > 0) DIFFER(&n, norm_loss, n.s, n.ds, 1e-5)
    DIFFER(&n, norm_loss, n.gain, n.dgain, 1e-5)
    DIFFER(&n, norm_loss, n.bias, n.dbias, 1e-5)
    norm_free(&n);
}

/* ---- loss ---- */

typedef struct {
    view x, target, norm, loss, grad;
    call c;
} ce_case;

static ce_case ce_new(dtype type, int64_t rows, int64_t v, double eps, int others, bool grad)
{
    ce_case k = {.x = random_view(type, rows, v, 20),
                 .target = new_view(I32, 1, rows),
                 .norm = new_view(sums_of(type), 1, 1),
                 .loss = new_view(sums_of(type), rows, 2)};
    set(&k.norm, 0, 0.25);
    for (int64_t i = 0; i < count(&k.x); i++) set(&k.x, i, 3 * get(&k.x, i));
    for (int64_t r = 0; r < rows; r++) set(&k.target, r, r % 4 == 3 ? -1 : (double)((r * 7 + v - 1) % v));
    k.grad = grad ? copy_as(&k.x, type) : (view){0};
    k.c = (call){.op = OP_CE,
                 .n_in = 3,
                 .n_out = 2,
                 .in = {grad ? k.grad : k.x, k.target, k.norm},
                 .out = {k.loss, k.grad},
                 .a = {.CE = {.smoothing = eps, .others = others, .gradient = grad}},
                 .training = true};
    return k;
}
static void ce_free(ce_case *k) { free_views((view[]){k->x, k->target, k->norm, k->loss, k->grad}, 5); }

static void check_ce(dtype type, int64_t rows, int64_t v, double eps, int others)
{
    ce_case k = ce_new(type, rows, v, eps, others, true), plain = ce_new(type, rows, v, eps, others, false);
    view loss = new_view(F64, rows, 2), grad = new_view(F64, rows, v);
    for (int64_t r = 0; r < rows; r++) {
        int64_t t = (int64_t)get(&k.target, r);
        double sum = 0, q_x = 0;
        if (t < 0) continue;
        for (int64_t j = 0; j < v; j++) sum += exp(get(&k.x, r * v + j));
        for (int64_t j = 0; j < v; j++) {
            double q = others ? (j == t ? 1 - eps : eps / (double)(v - 1)) : (j == t ? 1 - eps : 0) + eps / (double)v;
            q_x += q * get(&k.x, r * v + j);
            set(&grad, r * v + j, 0.25 * (exp(get(&k.x, r * v + j)) / sum - q));
        }
        set(&loss, 2 * r, log(sum) - q_x);
        set(&loss, 2 * r + 1, log(sum) - get(&k.x, r * v + t));
    }
    RUN(CE, k.c);
    RUN(CE, plain.c);
    CHECK_ROWS(k.loss, loss, type == F64 ? 1e-12 : 1e-5);
    CHECK_ROWS(k.grad, grad, tolerance(type));
    CHECK_SAME_BITS(plain.loss, k.loss);
    for (int64_t r = 3; r < rows; r += 4) {
        CHECK_NEAR(get(&k.loss, 2 * r), 0, 0);
        for (int64_t j = 0; j < v; j++) CHECK_NEAR(get(&k.grad, r * v + j), 0, 0);
    }
    ce_free(&k);
    ce_free(&plain);
    free_views((view[]){loss, grad}, 2);
}

static double ce_loss(ce_case *k)
{
    double sum = 0;
    RUN(CE, k->c);
    for (int64_t r = 0; r < k->loss.dim[2]; r++) sum += get(&k->loss, 2 * r) * get(&k->norm, 0);
    return sum;
}

/* ---- a row's bits do not depend on other rows ---- */

static void check_rows_alone(dtype type, int64_t d)
{
    norm_case all = norm_new(type, 400, d, true, 0), one = norm_new(type, 1, d, true, 0);
    RUN(NORM, all.forward);
    size_t row = (size_t)d * dtype_size(type);
    for (int64_t r = 0; r < 400; r += 57) {
        one.forward.in[0].data = (char *)all.x.data + (size_t)r * row;
        one.forward.in[1].data = (char *)all.s.data + (size_t)r * row;
        RUN(NORM, one.forward);
        CHECK_INT(memcmp(one.y.data, (char *)all.y.data + (size_t)r * row, row), 0);
    }
    norm_free(&all);
    norm_free(&one);
}

int main(void)
{
    const int64_t rows[] = {1, 5, 64, 333};
    for (size_t t = 0; t < LENGTH(row_types); t++)
        for (size_t w = 0; w < LENGTH(widths); w++)
            for (size_t r = 0; r < LENGTH(rows); r++) {
                check_sums(row_types[t], rows[r], widths[w]);
                check_embedding(row_types[t], rows[r], widths[w]);
                if (widths[w] > 1) {
                    check_norm(row_types[t], rows[r], widths[w], false, 0);
                    check_norm(row_types[t], rows[r], widths[w], true, 0);
                    check_norm(row_types[t], rows[r], widths[w], true, 0.3);
                }
            }
    check_norm_differences(24, 0.3);
    check_norm_differences(7, 0);
    const int64_t vocabularies[] = {2, 17, 64, 1000, 10007};
    for (size_t t = 0; t < LENGTH(row_types); t++)
        for (size_t v = 0; v < LENGTH(vocabularies); v++)
            for (int others = 0; others < 2; others++) {
                check_ce(row_types[t], 9, vocabularies[v], 0.1, others);
                check_ce(row_types[t], 9, vocabularies[v], 0, others);
            }
    for (int others = 0; others < 2; others++) {
        ce_case with = ce_new(F64, 5, 19, 0.1, others, true), k = ce_new(F64, 5, 19, 0.1, others, false);
        RUN(CE, with.c);
        DIFFER(&k, ce_loss, k.x, with.grad, 1e-5)
        ce_free(&with);
        ce_free(&k);
    }
    for (size_t t = 0; t < LENGTH(row_types); t++) check_rows_alone(row_types[t], 100);
    return test_end();
}
