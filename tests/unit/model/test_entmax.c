/* The weights of ab_entmax equal their definition, p = max(0, (alpha - 1) s - tau)^(1 / (alpha - 1)), with tau found by
 * bisection; they sum to 1, and hidden scores have weight 0. */
#include "tensor/cpu/cpu.h"
#include "network/plugin/attention_context.h"
#include "test.h"

enum { LINES = 40, KEYS = 24 };

static double hashed(uint64_t i)
{
    uint64_t z = i * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (double)((z ^ z >> 31) >> 40) / 8388608.0 - 1;
}

static double sum_above(const double *s, double alpha, double tau)
{
    double sum = 0;
    for (int i = 0; i < KEYS; i++) sum += pow(fmax(0, (alpha - 1) * s[i] - tau), 1 / (alpha - 1));
    return sum;
}

static double tau_of(const double *s, double alpha)
{
    double low = -100, high = 100;
    for (int i = 0; i < 200; i++) {
        double middle = (low + high) / 2;
        if (sum_above(s, alpha, middle) >= 1)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

/* Lines of scores with different spreads: some with equal scores, a single one, or hidden ones. */
static double score(int line, int key)
{
    if (line == 0) return 0.25;
    if (line == 1) return key ? -1.0 / 0.0 : 3;
    if (line % 4 == 2 && key > line % KEYS) return -1.0 / 0.0;
    double s = hashed((uint64_t)(line * KEYS + key)) * pow(1.3, line % 20 - 8);
    return line % 4 == 3 ? round(s * 4) / 4 : s;
}

static void check_alpha(double alpha, dtype type, double allowed)
{
    params none = {0};
    ab_ctx *c = tape_new(&none, &cpu_backend, type, false);
    ab_t s = t_input(c, "s", type, PHASE_STEP, 1, 1, LINES, KEYS), p;
    c->hook = AB_IN_REFERENCE; /* any context will do, since ab_entmax does not use it */
    t_keep(c, p = host_entmax(c, s, alpha), "p");
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    CHECK_TEXT(c->error.text, "");
    for (int i = 0; i < LINES * KEYS; i++) {
        double x = score(i / KEYS, i % KEYS);
        if (type == F64)
            ((double *)tape_at(c, s)->data)[i] = x;
        else
            ((float *)tape_at(c, s)->data)[i] = (float)x;
    }
    CHECK_INT(tape_run(c, &(run_options){.from = PHASE_CONST}), 0);
    int zeros = 0;
    double worst = 0;
    for (int r = 0; r < LINES; r++) {
        double line[KEYS], sum = 0;
        for (int i = 0; i < KEYS; i++) line[i] = score(r, i);
        double tau = tau_of(line, alpha);
        for (int i = 0; i < KEYS; i++) {
            const void *data = tape_at(c, p)->data;
            double found =
                type == F64 ? ((const double *)data)[r * KEYS + i] : (double)((const float *)data)[r * KEYS + i];
            double expected = pow(fmax(0, (alpha - 1) * line[i] - tau), 1 / (alpha - 1));
            worst = fmax(worst, fabs(found - expected));
            sum += found;
            zeros += found == 0;
            if (isinf(line[i])) CHECK_NEAR(found, 0, 0);
        }
        CHECK_NEAR(sum, 1, allowed);
    }
    printf("alpha %g: %.2g from its definition, %d of %d weights are 0\n", alpha, worst, zeros, LINES * KEYS);
    CHECK_NEAR(worst, 0, allowed);
    CHECK(zeros > LINES * KEYS / 4 && zeros < LINES * KEYS);
    tape_free(c);
    params_free(&none);
}

int main(void)
{
    check_alpha(1.5, F64, 1e-12);
    check_alpha(2, F64, 1e-12);
    check_alpha(1.5, F32, 1e-5);
    check_alpha(2, F32, 1e-5);
    return test_end();
}
