/* An optimizer's second gradient (shift, ab_second_gradient): by the same batch with the same dropout, at the point
 * that shift assigns, in tiles and by parameter; the losses are those of the first gradient. */
#include "tensor/cpu/cpu.h"
#include "test.h"
#include "network/plugin/plugin.h"
#include "network/train/optim.h"
#include "network/train/train.h"
#include "opened.h"
#include "world.h"
#include <math.h>

const ab_host *ab_host_ = &host_table;
enum { STEP = 3 };
static const double rho = 0.05;
static const char *const small[][2] = {{"task", "sequence"},    {"layers", "1"},
                                       {"d_model", "16"},       {"d_ff", "24"},
                                       {"heads", "2"},          {"dropout", "0.2"},
                                       {"batch_tokens", "200"}, {"clip_norm", "0"},
                                       {"optimizer", "sgd"},    {"activation_dropout", "0.1"}};

static ab_t measure(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)p, (void)slot, (void)lr, (void)step;
    ab_t sum = ab_map(c, g, AB_SQUARE);
    for (int axis = -4; axis < 0; axis++) sum = ab_sum_axis(c, sum, axis);
    return sum;
}
/* p + rho g / |g|, |g| over all parameters (Foret et al. 2021, eq. 2) */
static void shift(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)slot, (void)lr, (void)step;
    ab_t by = ab_map(c, ab_map(c, ab_measured(c, 0), AB_SQRT), AB_RECIP);
    ab_assign(c, p, ab_add(c, p, ab_mul_scalar(c, ab_mul(c, g, by), rho)));
}
/* p - g / 4 - second */
static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)slot, (void)lr, (void)step;
    ab_assign(c, p, ab_sub(c, ab_sub(c, p, ab_mul_scalar(c, g, 0.25)), ab_second_gradient(c)));
}
static void without(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)g, (void)slot, (void)lr, (void)step;
    ab_assign(c, p, ab_second_gradient(c));
}

static void open_model(world *w, model *m, const plugin *by)
{
    err e = {0};
    if (train_open_model(m, &w->set, w->src, w->tgt, F64, &cpu_backend, &e)) broken("%s", e.text);
    if (by) m->optimizer = by;
}

/* The gradient of the batch at the model's parameters; the caller frees. */
static double *gradient(train_step *s, const model *m, const batch *b, double *loss)
{
    err e = {0};
    const double(*sums)[2] = NULL;
    double tokens = (double)b->predicted, *g = xmalloc(m->params.learned * sizeof *g);
    CHECK_INT(train_step_gradient(s, b, STEP, &e), 0);
    CHECK_INT(train_step_losses(s, &sums, &e), 1);
    *loss = sums ? sums[0][0] : NAN;
    for (size_t i = 0; i < m->params.learned; i++) g[i] = ((const double *)m->params.grad)[i] / tokens;
    return g;
}

static void test_update(world *w, const batch *b, const plugin *by)
{
    model m, plain;
    err e = {0};
    double loss = 0, expected_loss = 0, at_point = 0, tokens = (double)b->predicted, length = 0;
    open_model(w, &m, by), open_model(w, &plain, NULL);
    train_step *s = train_step_open(&m, &e), *t = train_step_open(&plain, &e), *u = train_step_open(&plain, &e);
    CHECK_TEXT(e.text, "");
    free(gradient(s, &m, b, &loss));
    CHECK_INT(train_step_update(s, tokens, STEP, &e), 0);
    CHECK_TEXT(e.text, "");

    size_t n = m.params.learned;
    double *p = plain.params.value, *before = xmalloc(n * sizeof *p), *g = gradient(t, &plain, b, &expected_loss);
    memcpy(before, p, n * sizeof *p);
    for (size_t i = 0; i < n; i++) length += g[i] * g[i];
    for (size_t i = 0; i < n; i++) p[i] += rho * g[i] / sqrt(length);
    plain.params.version++;
    double *second = gradient(u, &plain, b, &at_point), worst = 0, moved = 0;
    for (size_t i = 0; i < n; i++) {
        double expected = before[i] - g[i] / 4 - second[i];
        worst = fmax(worst, fabs(((const double *)m.params.value)[i] - expected));
        moved = fmax(moved, fabs(second[i] - g[i]));
    }
    CHECK_NEAR(worst, 0, 1e-12);
    CHECK(moved > 1e-4); /* the two gradients differ */
    CHECK_NEAR(loss, expected_loss, 1e-9);
    CHECK(at_point > expected_loss); /* uphill */
    free(before), free(g), free(second);
    train_step_close(s), train_step_close(t), train_step_close(u);
    model_free(&m), model_free(&plain);
}

static void test_refused(world *w, const plugin *by)
{
    model m;
    err e = {0};
    put(w, "gradient_accumulation", "2");
    open_model(w, &m, by);
    CHECK(!train_step_open(&m, &e));
    CHECK_TEXT(e.text,
               "gradient_accumulation = 2: optimizer 'second' takes a second gradient of each batch, expected 1");
    put(w, "gradient_accumulation", "1");
    model_free(&m);

    plugin no_shift = *by;
    no_shift.iface.optimizer.shift = NULL, no_shift.iface.optimizer.update = without;
    err other = {0};
    open_model(w, &m, &no_shift);
    CHECK(!train_step_open(&m, &other));
    CHECK_HAS(other.text, "ab_second_gradient: expected a call from update, of an optimizer with shift");
    model_free(&m);
}

int main(void)
{
    world w;
    err e = {0};
    batch b;
    plugin_add_folder(BUILD_DIR "/plugins");
    world_open(&w, small, LENGTH(small), "64");
    model m;
    open_model(&w, &m, NULL);
    batch_options o = {200, train_step_round(&m, 200, 1), .seed = 1, .train = true};
    batcher *all = batcher_new(&w.data.split[AB_TRAIN], &o, &e);
    CHECK(all && batcher_next(all, &b));
    model_free(&m);
    for (uint32_t flags = 0; flags <= AB_ELEMENTWISE; flags++) {
        plugin by = {.desc = {.name = "second", .kind = AB_OPTIMIZER},
                     .iface.optimizer = {.flags = flags, .measure = measure, .shift = shift, .update = update}};
        test_update(&w, &b, &by);
        test_refused(&w, &by);
    }
    batcher_free(all);
    world_close(&w);
    return test_end();
}
