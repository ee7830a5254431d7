/* The mean of models' probabilities against the definition in double. */
#include "base/vmath.h"
#include "network/decode/select.h"
#include "test.h"
#include <math.h>

enum { MODELS = 3, ROWS = 4, V = 77 };

static double p_of(const double *x, int i)
{
    double sum = 0;
    for (int k = 0; k < V; k++) sum += exp(x[k]);
    return exp(x[i]) / sum;
}

int main(void)
{
    double logits[MODELS][ROWS][V];
    float narrow[ROWS][V], out[V], alone[V], work[2 * V];
    bf16 short_[ROWS][V];
    for (int k = 0; k < MODELS; k++)
        for (int r = 0; r < ROWS; r++)
            for (int i = 0; i < V; i++)
                logits[k][r][i] = (float)(int)(4096 * 9 * sin(1 + k + 2.3 * r + 0.77 * i)) / 4096;
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < V; i++) {
            narrow[r][i] = (float)logits[1][r][i];
            short_[r][i] = to_bf16((float)logits[2][r][i]);
            logits[2][r][i] = (double)from_bf16(short_[r][i]);
        }
    const opinion of[MODELS] = {{logits[0], F64}, {narrow, F32}, {short_, BF16}};
    for (int r = 0; r < ROWS; r++) {
        double all = 0;
        CHECK(ensemble_row(out, of, MODELS, r, V, work));
        for (int i = 0; i < V; i++) {
            double p = (p_of(logits[0][r], i) + p_of(logits[1][r], i) + p_of(logits[2][r], i)) / MODELS;
            CHECK_NEAR(log((double)out[i]), log(p), 2e-6);
            all += (double)out[i];
        }
        CHECK_NEAR(all, 1, 1e-5);
        ensemble_row(alone, &(opinion){logits[0][r], F64}, 1, 0, V, work); /* one model: its own */
        for (int i = 0; i < V; i++) CHECK_NEAR(log((double)alone[i]), log(p_of(logits[0][r], i)), 2e-6);
    }
    narrow[2][V - 1] = NAN;
    CHECK(!ensemble_row(out, of, MODELS, 2, V, work));
    CHECK(ensemble_row(out, of, MODELS, 3, V, work));
    return test_end();
}
