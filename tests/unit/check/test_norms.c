/* Every shipped norm on three rows, against the formula of its paper, with parameters at their first values. */
#include "services.h"
#include "network/plugin/attention_context.h"
#include "network/settings/config.h"
#include "tensor/cpu/cpu.h"

enum { ROWS = 3, WIDTH = 4 };
static const double rows[ROWS][WIDTH] = {{1, 2, 3, 4}, {-5, 0, 0.25, 10}, {0.01, -0.02, 0, 0.03}};

typedef double formula(const double *x, int i);

static double layer_norm(const double *x, int i)
{
    double mean = 0, variance = 0;
    for (int k = 0; k < WIDTH; k++) mean += x[k] / WIDTH;
    for (int k = 0; k < WIDTH; k++) variance += (x[k] - mean) * (x[k] - mean) / WIDTH;
    return (x[i] - mean) / sqrt(variance + 1e-6);
}

static double rms_norm(const double *x, int i)
{
    double square = 0;
    for (int k = 0; k < WIDTH; k++) square += x[k] * x[k] / WIDTH;
    return x[i] / sqrt(square + 1e-6);
}

static double dyt(const double *x, int i) { return tanh(0.5 * x[i]); }
static double none(const double *x, int i) { return x[i]; }

static void test_norm(const char *name, formula *expected)
{
    err e = {0};
    arena memory = {0};
    params values = {0};
    const plugin *p = plugin_find(AB_NORM, name, &e);
    if (!p) broken("%s", e.text);
    void *cfg = arena_alloc(&memory, p->desc.cfg_size);
    CHECK_INT(config_bind(&(settings){0}, name, p->desc.params, cfg, &memory, &e), 0);
    ab_ctx *c = tape_new(&values, &cpu_backend, F64, false);
    ab_t x = t_input(c, "x", F64, PHASE_STEP, 1, 1, ROWS, WIDTH);
    attn_context k = {.info = {.d_model = WIDTH, .n_layers = 1}, .plugin = name, .x = x, .q_rows = ROWS};
    c->attn = &k, c->hook = AB_IN_NORM;
    ab_t y = p->iface.norm.forward(c, cfg, x);
    c->attn = NULL, c->hook = AB_IN_HOST;
    t_keep(c, y, "y");
    params_alloc(&values, F64, 0, 1, &cpu_backend);
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    memcpy(tape_at(c, x)->data, rows, sizeof rows);
    CHECK_INT(tape_run(c, &(run_options){.from = PHASE_CONST}), 0);
    CHECK_TEXT(c->error.text, "");
    const double *found = tape_at(c, tape_find(c, "y"))->data;
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < WIDTH; i++) CHECK_NEAR(found[r * WIDTH + i], expected(rows[r], i), 1e-12);
    tape_free(c);
    params_free(&values);
    arena_free(&memory);
}

int main(void)
{
    use_plugins();
    test_norm("layer_norm", layer_norm);
    test_norm("rms_norm", rms_norm);
    test_norm("dyt", dyt);
    test_norm("none", none);
    return test_end();
}
