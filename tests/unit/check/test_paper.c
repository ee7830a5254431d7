/* Statements of "Attention Is All You Need" that no experiment shows: PE(pos + k) is a linear function of PE(pos)
 * (section 3.5), q k' has the variance d_k (footnote 4), the feed-forward is two convolutions of width 1 (section 3.3).
 * docs/paper.md names these tests. */
#include "network/check/internal.h"
#include "services.h"
#include "network/plugin/attention_context.h"
#include "network/settings/config.h"
#include <math.h>

enum { D = 6, FF = 5, ROWS = 40 };

typedef struct {
    params values;
    ab_ctx *c;
    double x[ROWS * D], y[ROWS * D];
} desk;

/* Runs the plugin: a position's embedding of positions 0, 1, 2 ..., or a feed-forward of x. */
static void open_desk(desk *d, ab_kind kind, const char *name)
{
    err e = {0};
    int32_t pos[ROWS];
    const plugin *p = plugin_find(kind, name, &e);
    CHECK_TEXT(e.text, "");
    if (!p) exit(test_end());
    arena memory = {0};
    void *cfg = arena_alloc(&memory, p->desc.cfg_size + 16);
    CHECK_INT(config_bind(&(settings){0}, name, p->desc.params, cfg, &memory, &e), 0);
    ab_ctx *c = d->c = tape_new(&d->values, &cpu_backend, F64, false);
    ab_t x = t_input(c, "x", F64, PHASE_STEP, 1, 1, ROWS, D);
    for (int i = 0; i < ROWS; i++) pos[i] = i;
    attn_context context = {.info = {.heads = 1, .d_k = D, .d_v = D, .d_model = D, .d_ff = FF, .n_layers = 1},
                            .plugin = name,
                            .x = x,
                            .q_rows = ROWS};
    c->attn = &context, c->scope = "";
    c->hook = kind == AB_POSITION ? AB_IN_EMBED : AB_IN_FEED_FORWARD;
    t_keep(c,
           kind == AB_POSITION ? p->iface.position.embed(c, cfg, x, t_ids(c, ROWS, pos))
                               : p->iface.feed_forward.forward(c, cfg, x),
           "y");
    c->attn = NULL, c->hook = AB_IN_HOST;
    params_alloc(&d->values, F64, 0, 3, &cpu_backend);
    for (size_t i = 0; i < d->values.total; i++) ((double *)d->values.value)[i] = check_hashed(2, i);
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    tape_write(c, tape_find(c, "x"), d->x, sizeof d->x);
    CHECK_INT(tape_run(c, &(run_options){.from = PHASE_CONST}), 0);
    CHECK_TEXT(c->error.text, "");
    CHECK_INT(tape_read(c, tape_find(c, "y"), d->y, sizeof d->y, &e), 0);
    arena_free(&memory);
}

static void close_desk(desk *d)
{
    tape_free(d->c);
    params_free(&d->values);
}

/* For each k, one matrix maps each pair (sin, cos) of PE(pos) to that of PE(pos + k): a rotation by k times its
 * frequency. */
static void test_positions(void)
{
    desk d = {0};
    open_desk(&d, AB_POSITION, "sinusoid");
    for (int k = 1; k <= 12; k++)
        for (int i = 0; i < D; i += 2) {
            double angle = k * pow(10000, -(double)i / D), c = cos(angle), s = sin(angle);
            for (int pos = 0; pos + k < ROWS; pos++) {
                const double *from = d.y + pos * D + i, *to = d.y + (pos + k) * D + i;
                CHECK_NEAR(to[0], c * from[0] + s * from[1], 1e-12);
                CHECK_NEAR(to[1], c * from[1] - s * from[0], 1e-12);
            }
        }
    close_desk(&d);
}

/* For vectors of independent elements with mean 0 and variance 1, the mean of (q k')^2 is d_k. */
static void test_variance(void)
{
    enum { PAIRS = 20000 };
    static const int widths[] = {4, 16, 64};
    rng r = rng_seed(1, 2);
    for (size_t w = 0; w < LENGTH(widths); w++) {
        double sum = 0, square = 0;
        for (int i = 0; i < PAIRS; i++) {
            double dot = 0;
            for (int j = 0; j < widths[w]; j++) {
                double q = rng_normal(&r);
                dot += q * rng_normal(&r);
            }
            sum += dot, square += dot * dot;
        }
        double mean = sum / PAIRS, variance = square / PAIRS - mean * mean;
        CHECK_NEAR(variance / widths[w], 1, 0.05);
        CHECK_NEAR(mean / sqrt(widths[w]), 0, 0.03);
    }
}

/* out[t] = b + sum over taps k < width of in[t + k - width / 2] w[k]; rows of `in` have n columns, rows of `out` m. */
static void convolve(const double *in, int n, const double *w, const double *b, int width, int m, double *out)
{
    for (int t = 0; t < ROWS; t++)
        for (int j = 0; j < m; j++) {
            out[t * m + j] = b[j];
            for (int k = 0; k < width; k++) {
                int at = t + k - width / 2;
                for (int i = 0; i < n && at >= 0 && at < ROWS; i++)
                    out[t * m + j] += in[at * n + i] * w[(k * n + i) * m + j];
            }
        }
}

static const double *values(const desk *d, const char *name)
{
    const param *p = params_find(&d->values, name);
    CHECK_THAT(p, "no parameter '%s'", name);
    if (!p) exit(test_end());
    return (const double *)d->values.value + p->at;
}

static void test_convolutions(void)
{
    desk d = {0};
    double inner[ROWS * FF], out[ROWS * D];
    for (int i = 0; i < ROWS * D; i++) d.x[i] = check_hashed(1, (uint64_t)i);
    open_desk(&d, AB_FEED_FORWARD, "relu");
    convolve(d.x, D, values(&d, "1.w"), values(&d, "1.b"), 1, FF, inner);
    for (int i = 0; i < ROWS * FF; i++) inner[i] = fmax(inner[i], 0);
    convolve(inner, FF, values(&d, "2.w"), values(&d, "2.b"), 1, D, out);
    for (int i = 0; i < ROWS * D; i++) CHECK_NEAR(d.y[i], out[i], 1e-12);
    close_desk(&d);
}

int main(void)
{
    use_plugins();
    test_positions();
    test_variance();
    test_convolutions();
    return test_end();
}
