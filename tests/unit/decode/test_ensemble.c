/* An ensemble's mean of probabilities equals the definition in double. */
#include "base/vmath.h"
#include "network/decode/select.h"
#include "test.h"
#include "text/tokens/vocab.h"
#include <math.h>

enum { MODELS = 3, ROWS = 4, V = 77 };

static double p_of(const double *x, int i)
{
    double sum = 0;
    for (int k = 0; k < V; k++) sum += exp(x[k]);
    return exp(x[i]) / sum;
}

/* Computes the mean probabilities p by selecting all tokens. Returns the number found, or -1 if a logit is NaN. */
static int64_t mean_of(const opinion *const *of, int64_t n, double *p)
{
    choice got[V];
    double log_sum;
    selection s = select_begin(V, got);
    if (!select_from_all(&s, of, n, V, NULL)) return -1;
    int64_t found = select_end(&s, &log_sum);
    for (int i = 0; i < V; i++) p[i] = 0;
    for (int64_t i = 0; i < found; i++) p[got[i].id] = exp(got[i].logit);
    CHECK_NEAR(log_sum, 0, 0);
    return found;
}

/* Finds the few best of many columns, most of which are too improbable to be examined, and compares with a full
 * sort. */
static void few_of_many(double spread)
{
    enum { MANY = 9001, K = 8 };
    static float row[2][MANY], numbers[2][MANY + NUMBERS_OF_CHUNK * (MANY / CHUNK + 1)];
    static choice all[MANY];
    choice best[K];
    double none, sum[2] = {0};
    rng r = rng_seed(3, (uint64_t)spread);
    opinion o[2];
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < MANY; i++) row[k][i] = (float)(spread * rng_normal(&r));
        row[k][k ? 8999 : 7000] = (float)(4 * spread); /* large values, behind chunks without a candidate */
        for (int i = CHUNK; i < 2 * CHUNK && !k; i++) row[k][i] = -INFINITY;
        for (int i = 0; i < MANY; i++) sum[k] += exp((double)row[k][i]);
        o[k] = opinion_in(numbers[k], MANY);
        opinion_more(&o[k], row[k], F32, 4096);
        opinion_more(&o[k], row[k] + 4096, F32, MANY);
    }
    const opinion *of[] = {&o[0], &o[1]};
    selection s = select_begin(K, best), whole = select_begin(MANY, all);
    CHECK(select_from_all(&s, of, 2, MANY, NULL) && select_from_all(&whole, of, 2, MANY, NULL));
    CHECK_INT(select_end(&s, &none), K);
    CHECK(select_end(&whole, &none) >= K);
    for (int i = 0; i < K; i++) {
        CHECK_INT(best[i].id, all[i].id);
        CHECK_NEAR(best[i].logit, all[i].logit, 0);
        double p = 0;
        for (int k = 0; k < 2; k++) p += exp((double)row[k][best[i].id]) / sum[k] / 2;
        CHECK_NEAR(best[i].logit, log(p), 2e-6);
    }
}

int main(void)
{
    for (double spread = 1; spread < 10; spread += 2) few_of_many(spread);
    double logits[MODELS][ROWS][V];
    float narrow[ROWS][V], numbers[MODELS][V + NUMBERS_OF_CHUNK];
    double p[V];
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
    for (int r = 0; r < ROWS; r++) {
        opinion o[MODELS];
        for (int k = 0; k < MODELS; k++) o[k] = opinion_in(numbers[k], V);
        opinion_more(&o[0], logits[0][r], F64, V);
        opinion_more(&o[1], narrow[r], F32, V);
        opinion_more(&o[2], short_[r], BF16, V);
        /* all tokens but PAD and BOS */
        CHECK_INT(mean_of((const opinion *[]){&o[0], &o[1], &o[2]}, MODELS, p), V - 2);
        for (int i = 0; i < V; i++) {
            double mean = (p_of(logits[0][r], i) + p_of(logits[1][r], i) + p_of(logits[2][r], i)) / MODELS;
            if (i != VOCAB_PAD && i != VOCAB_BOS) CHECK_NEAR(log(p[i]), log(mean), 2e-6);
        }
        /* an ensemble of one model has this model's probabilities */
        CHECK_INT(mean_of((const opinion *[]){&o[0]}, 1, p), V - 2);
        for (int i = 0; i < V; i++)
            if (i != VOCAB_PAD && i != VOCAB_BOS) CHECK_NEAR(log(p[i]), log(p_of(logits[0][r], i)), 2e-6);
        narrow[r][V - 1] = NAN;
        o[1].seen = 0;
        opinion_more(&o[1], narrow[r], F32, V);
        CHECK_INT(mean_of((const opinion *[]){&o[0], &o[1]}, 2, p), -1);
    }
    return test_end();
}
