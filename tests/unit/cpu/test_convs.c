/* DEPTHWISE_CONV and LONG_CONV with their gradients, and UNIT, against their definitions in double: sentences of many
 * lengths, short and long filters, widths that are no multiple of a vector. In a causal convolution, later positions
 * change no bit of earlier outputs; in any convolution, a sentence changes no bit of another sentence. */
#include "tensors.h"

enum { MOST = 5 };
typedef struct {
    int64_t n, taps, before; /* before: number of DEPTHWISE_CONV's taps before the current row */
    bool backwards, lengthy; /* lengthy: LONG_CONV */
    int32_t length[MOST];    /* lengths of the sentences; 0 ends the list */
} conv_case;

static int sentences_of(const conv_case *s, view *offsets)
{
    int n = 0;
    while (n < MOST && s->length[n]) n++;
    *offsets = tensor(I32, 1, 1, 1, n + 1);
    int32_t *at = offsets->data;
    at[0] = 0;
    for (int i = 0; i < n; i++) at[i + 1] = at[i] + s->length[i];
    return n;
}

/* Returns the row of x that tap i reads for row t of a sentence [begin, end); -1: the tap lies outside of the
 * sentence. */
static int64_t met(const conv_case *s, int64_t t, int64_t i, int64_t begin, int64_t end)
{
    int64_t at = s->lengthy ? (s->backwards ? t + i : t - i) : t + i - s->before;
    return at >= begin && at < end ? at : -1;
}

typedef struct {
    double *y, *dx, *dw;
} expected;

static expected define(const conv_case *s, const view *x, const view *w, const view *dy, const int32_t *offsets, int n)
{
    size_t rows = (size_t)size_of(x), taps = (size_t)size_of(w);
    expected e = {xcalloc(rows, sizeof(double)), xcalloc(rows, sizeof(double)), xcalloc(taps, sizeof(double))};
    for (int b = 0; b < n; b++)
        for (int64_t t = offsets[b]; t < offsets[b + 1]; t++)
            for (int64_t i = 0; i < s->taps; i++) {
                int64_t from = met(s, t, i, offsets[b], offsets[b + 1]);
                for (int64_t j = 0; j < s->n && from >= 0; j++) {
                    double g = get(dy, t * s->n + j), h = get(w, i * s->n + j), v = get(x, from * s->n + j);
                    e.y[t * s->n + j] += h * v;
                    e.dx[from * s->n + j] += h * g;
                    e.dw[i * s->n + j] += g * v;
                }
            }
    return e;
}

static void run_both(const conv_case *s, view *x, view *w, view *offsets, view *dy, view *y, view *dx, view *dw)
{
    attr a = {0}, other = {0};
    if (!s->lengthy) {
        a.DEPTHWISE_CONV.before = s->before;
        CHECK_INT(RUN(DEPTHWISE_CONV, &a, y, *x, *w, *offsets), 0);
        call k = {.op = OP_DEPTHWISE_CONV_BACK, .n_in = 4, .n_out = 2, .a = a, .in = {*x, *w, *offsets, *dy}};
        k.out[0] = *dx, k.out[1] = *dw;
        CHECK_INT(cpu_DEPTHWISE_CONV_BACK(&k, &call_error), 0);
    } else {
        a.LONG_CONV.backwards = s->backwards, other.LONG_CONV.backwards = !s->backwards;
        CHECK_INT(RUN(LONG_CONV, &a, y, *x, *w, *offsets), 0);
        CHECK_INT(RUN(LONG_CONV, &other, dx, *dy, *w, *offsets), 0);
        CHECK_INT(RUN(LONG_CONV_FILTER, &a, dw, *x, *dy, *offsets), 0);
    }
    CHECK_TEXT(call_error.text, "");
}

/* The first `kept` rows of the last sentence keep their bits in y when all later rows change, and when the sentence is
 * computed alone, with a filter as long as the sentence. */
static void check_past(const conv_case *s, const view *x, const view *w, view *offsets, const view *y, int n)
{
    const int32_t *at = offsets->data;
    int64_t begin = at[n - 1], length = at[n] - begin, kept = (length + 1) / 2;
    size_t size = (size_t)s->n * dtype_size(x->type);
    view changed = copy_of(x), again = like(x->type, x), alone = tensor(I32, 1, 1, 1, 2), one, out, filter;
    for (int64_t i = (begin + kept) * s->n; i < at[n] * s->n; i++) set(&changed, i, 100 * get(x, i) + 7);
    attr a = {0};
    CHECK_INT(RUN(LONG_CONV, &a, &again, changed, *w, *offsets), 0);
    CHECK(!memcmp((char *)again.data + (size_t)begin * size, (char *)y->data + (size_t)begin * size,
                  (size_t)kept * size));
    ((int32_t *)alone.data)[0] = 0, ((int32_t *)alone.data)[1] = (int32_t)length;
    one = tensor(x->type, 1, 1, length, s->n), out = tensor(x->type, 1, 1, length, s->n);
    filter = tensor(x->type, 1, 1, s->taps < length ? s->taps : length, s->n);
    memcpy(one.data, (char *)x->data + (size_t)begin * size, (size_t)length * size);
    memcpy(filter.data, w->data, (size_t)filter.dim[2] * size);
    CHECK_INT(RUN(LONG_CONV, &a, &out, one, filter, alone), 0);
    CHECK(!memcmp(out.data, (char *)y->data + (size_t)begin * size, (size_t)length * size));
    RELEASE(changed, again, alone, one, out, filter);
}

static void check(const conv_case *s, dtype type)
{
    char what[128];
    view offsets;
    int n = sentences_of(s, &offsets);
    int64_t rows = ((int32_t *)offsets.data)[n] + 3;
    dtype wide = type == F64 ? F64 : F32;
    view x = randoms(tensor(type, 1, 1, rows, s->n)), dy = randoms(like(type, &x)),
         w = randoms(tensor(wide, 1, 1, s->taps, s->n)), y = like(type, &x), dx = like(type, &x), dw = like(wide, &w);
    run_both(s, &x, &w, &offsets, &dy, &y, &dx, &dw);
    expected e = define(s, &x, &w, &dy, offsets.data, n);
    double of_sum = s->lengthy ? 2e-4 : 1e-5;
    for (int k = 0; k < 3; k++) {
        static const char *const names[] = {"y", "dx", "dw"};
        snprintf(what, sizeof what, "%lld taps, %d sentences, the first of %d%s: %s", (long long)s->taps, n,
                 s->length[0], s->backwards ? ", backwards" : "", names[k]);
        double tolerance = allowed(k == 2 ? wide : type, of_sum);
        if (k == 2) tolerance = allowed(wide, 1e-3); /* sums over all rows */
        compare(s->lengthy ? OP_LONG_CONV : OP_DEPTHWISE_CONV, (const view *[]){&y, &dx, &dw}[k],
                (const double *[]){e.y, e.dx, e.dw}[k], tolerance, what);
    }
    if (s->lengthy && !s->backwards) check_past(s, &x, &w, &offsets, &y, n);
    view y3 = like(type, &y), dx3 = like(type, &dx), dw3 = like(wide, &dw);
    omp_set_num_threads(3);
    run_both(s, &x, &w, &offsets, &dy, &y3, &dx3, &dw3);
    omp_set_num_threads(1);
    CHECK(same_bits(&y, &y3) && same_bits(&dx, &dx3) && same_bits(&dw, &dw3));
    free(e.y), free(e.dx), free(e.dw);
    RELEASE(x, dy, w, y, dx, dw, y3, dx3, dw3, offsets);
}

static void check_unit(dtype type, int64_t n)
{
    view x = randoms(tensor(type, 2, 1, 3, n)), dy = randoms(like(type, &x)), y = like(type, &x), dx = like(type, &x),
         factor = tensor(type, 2, 1, 3, 1);
    double *wanted = xcalloc((size_t)size_of(&x), sizeof *wanted), *slope = xcalloc((size_t)size_of(&x), sizeof *slope);
    for (int64_t i = 0; i < 6; i++) {
        double squares = 0.25, along = 0;
        for (int64_t j = i * n; j < i * n + n; j++) squares += get(&x, j) * get(&x, j);
        for (int64_t j = i * n; j < i * n + n; j++) along += get(&x, j) * get(&dy, j);
        for (int64_t j = i * n; j < i * n + n; j++) {
            wanted[j] = get(&x, j) / sqrt(squares);
            slope[j] = get(&dy, j) / sqrt(squares) - get(&x, j) * along / (squares * sqrt(squares));
        }
    }
    call k = {.op = OP_UNIT, .n_in = 1, .n_out = 2, .a = {.UNIT = {.eps = 0.25}}, .in = {x}, .out = {y, factor}};
    CHECK_INT(cpu_UNIT(&k, &call_error), 0);
    CHECK_INT(RUN(UNIT_BACK, NULL, &dx, y, factor, dy), 0);
    compare(OP_UNIT, &y, wanted, allowed(type, 1e-6), "y");
    compare(OP_UNIT_BACK, &dx, slope, allowed(type, 1e-5), "dx");
    free(wanted), free(slope);
    RELEASE(x, dy, y, dx, factor);
}

int main(void)
{
    static const conv_case cases[] = {
        {5, 1, 0, false, false, {3, 1}},
        {16, 4, 3, false, false, {7, 1, 40}},
        {40, 5, 2, false, false, {9, 2, 70, 1}},
        {33, 3, 0, false, false, {5}},
        {1, 1, 0, false, true, {1}},
        {5, 3, 0, false, true, {3, 1, 7}},
        {17, 64, 0, false, true, {64, 2, 63}},
        {33, 65, 0, false, true, {5, 65}},
        {7, 129, 0, true, true, {129, 66}},
        {70, 200, 0, false, true, {130, 1, 200, 100}},
        {16, 400, 0, false, true, {400, 300}},
        {16, 40, 0, false, true, {150, 70}},
        {3, 300, 0, true, true, {300, 256, 257}},
        {3, 700, 0, false, true, {3, 513, 64, 700}},
    };
    dice = rng_seed(33, 0);
    for (int isa = 0; cpu_isa_name(isa); isa++) {
        err e = {""};
        if (cpu_isa_lacks(isa)) continue;
        CHECK_INT(cpu_use(cpu_isa_name(isa), &e), 0);
        for (size_t i = 0; i < LENGTH(cases); i++)
            for (dtype type = F32; type <= BF16; type++)
                if (type != I32 && (type != BF16 || !cases[i].lengthy)) check(&cases[i], type);
        for (size_t i = 0; i < 6; i++)
            for (dtype type = F32; type <= F64; type++) check_unit(type, (const int64_t[]){1, 3, 16, 32, 33, 128}[i]);
    }
    print_errors();
    return test_end();
}
