/* The whole model against PyTorch: loss, every gradient, ten training steps, in fp64, fp32 and bf16.
 *
 * Allowed errors relative to PyTorch in fp64 (for a gradient, to its tensor's norm): fp64 1e-7 (the golden numbers have
 * nine digits); fp32 1e-5, and 1e-4 for the losses of ten steps; bf16 5e-3 for a loss (8e-2 after ten steps) and 0.25
 * for gradients. PyTorch's own autocast differs by up to 2.2e-3, and 0.11 in the norm of the difference. */
#include "count_formula.h"
#include "golden.h"
#include "network/train/optim.h"

static double tensor_at(const model *m, const void *v, size_t i)
{
    return m->params.type == F64 ? ((const double *)v)[i] : (double)((const float *)v)[i];
}

static void check_gradient(const model *m, const golden_line *l, double tokens, double allowed)
{
    const param *p = params_find(&m->params, l->word[2]);
    uint64_t stream = strtoull(l->word[1], NULL, 10);
    double norm = strtod(l->word[5], NULL), projection = strtod(l->word[7], NULL), squares = 0, sum = 0;
    for (size_t j = 0; j < p->count; j++) {
        double g = tensor_at(m, m->params.grad, p->at + j) / tokens;
        squares += g * g;
        sum += hashed(5000 + stream, j) * g;
    }
    double scale = norm > 1e-12 ? norm : 1;
    CHECK_NEAR(sqrt(squares) / scale, norm / scale, allowed);
    CHECK_NEAR(sum / scale, projection / scale, allowed);
    for (int i = 8; i < l->n; i++) {
        char *colon = strchr(l->word[i], ':');
        size_t j = (size_t)strtoull(l->word[i], NULL, 10);
        CHECK_NEAR(tensor_at(m, m->params.grad, p->at + j) / tokens / scale, strtod(colon + 1, NULL) / scale, allowed);
    }
}

static void check_file(const char *name, dtype compute, double allowed_loss, double allowed_grad, double allowed_steps)
{
    golden g;
    golden_batch b;
    model m;
    settings set = {0};
    arena a = {0};
    err e = {0};
    char path[512];
    snprintf(path, sizeof path, SOURCE_DIR "/tests/oracle/golden/%s.txt", name);
    golden_read(&g, path);
    golden_settings(&g, &set, &a);
    golden_make_batch(&g, &b, compute == F64 ? 1 : 64);
    int64_t vocab = strtoll(golden_config(&g, "vocab"), NULL, 10);
    printf("%s %s\n", name, dtype_name(compute));
    if (model_open(&m, &set, vocab, vocab, compute, &cpu_backend, &e)) {
        printf("%s\n", e.text);
        CHECK(!"the model opens");
        return;
    }
    CHECK_INT(params_count(&m.params), count_formula(&m.cfg, vocab, true));
    golden_weights(&g, &m);
    train_step *s = train_step_open(&m, &e);
    double tokens = (double)b.b.tgt_rows;
    size_t at = 0;
    const golden_line *l;
    for (int step = 1; (l = golden_find(&g, &at, "step", NULL)); step++) {
        const double(*sums)[2] = NULL;
        if (train_step_gradient(s, &b.b, step, &e) || train_step_losses(s, &sums, &e) != 1) printf("%s\n", e.text);
        CHECK_TEXT(e.text, "");
        double smoothed = sums ? sums[0][0] : 0, plain = sums ? sums[0][1] : 0;
        double expected = strtod(l->word[3], NULL);
        CHECK_NEAR(smoothed / tokens / expected, 1, step == 1 ? allowed_loss : allowed_steps);
        if (step == 1) {
            CHECK_NEAR(plain / tokens / golden_value(&g, "ce"), 1, allowed_loss);
            size_t from = 0;
            for (const golden_line *t; (t = golden_find(&g, &from, "grad", NULL));)
                check_gradient(&m, t, tokens, allowed_grad);
        }
        CHECK_NEAR(schedule_lr(&m, step) / strtod(l->word[2], NULL), 1, 1e-8);
        CHECK_INT(train_step_update(s, tokens, step, &e), 0);
    }
    train_step_close(s);
    model_free(&m);
    arena_free(&a);
    golden_free(&g);
}

int main(void)
{
    static const char *const files[] = {"post", "pre", "odd", "others"};
    plugin_add_folder(BUILD_DIR "/plugins");
    for (size_t i = 0; i < LENGTH(files); i++) {
        check_file(files[i], F64, 1e-8, 1e-7, 1e-6);
        check_file(files[i], F32, 1e-5, 1e-5, 1e-4);
        check_file(files[i], BF16, 5e-3, 0.25, 8e-2);
    }
    return test_end();
}
