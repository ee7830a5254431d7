/* select_best finds the k largest of a row and its log-sum-exp, equal to the results of sorting and of summing in
 * double. */
#include "test.h"
#include "base/vmath.h"
#include "network/decode/select.h"
#include "text/tokens/vocab.h"

static int by_logit(const void *a, const void *b)
{
    const choice *x = a, *y = b;
    if (x->logit != y->logit) return x->logit < y->logit ? 1 : -1;
    return x->id < y->id ? -1 : 1;
}

static double log_sum_of(const double *x, int64_t v)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < v; i++) most = x[i] > most ? x[i] : most;
    for (int64_t i = 0; i < v; i++) sum += exp(x[i] - most);
    return most + log(sum);
}

typedef struct {
    int64_t v, k;
    dtype type;
    bool ties, masked;
} setting_of_row;

static void check_row(const setting_of_row *s, rng *r)
{
    size_t n = (size_t)s->v;
    double *x = xmalloc(n * sizeof *x);
    void *row = xmalloc(n * 8);
    uint8_t *allowed = xmalloc(n);
    choice *want = xmalloc(n * sizeof *want), *got = xmalloc((size_t)s->k * sizeof *got);
    int64_t n_want = 0;
    for (int64_t i = 0; i < s->v; i++) {
        float y = s->ties ? (float)(int)rng_below(r, 5) : (float)(4 * rng_normal(r));
        if (s->type == BF16)
            ((uint16_t *)row)[i] = to_bf16(y), y = from_bf16(to_bf16(y));
        else if (s->type == F32)
            ((float *)row)[i] = y;
        else
            ((double *)row)[i] = y;
        x[i] = y;
        allowed[i] = rng_below(r, 3) > 0;
        if (i != VOCAB_PAD && i != VOCAB_BOS && (!s->masked || allowed[i])) want[n_want++] = (choice){y, (int32_t)i};
    }
    qsort(want, (size_t)n_want, sizeof *want, by_logit);
    double log_sum = 0;
    int64_t n_got = select_best(row, s->type, s->v, s->masked ? allowed : NULL, s->k, got, &log_sum);
    CHECK_INT(n_got, n_want < s->k ? n_want : s->k);
    for (int64_t i = 0; i < n_got; i++) {
        CHECK_INT(got[i].id, want[i].id);
        CHECK_NEAR(got[i].logit, want[i].logit, 0);
    }
    CHECK_NEAR(log_sum, log_sum_of(x, s->v), s->type == F64 ? 1e-12 : 2e-6);
    selection fast = select_begin(s->k, got);
    fast.unscored = true;
    select_more(&fast, row, s->type, s->v, s->masked ? allowed : NULL);
    CHECK_INT(select_end(&fast, &log_sum), n_got);
    for (int64_t i = 0; i < n_got; i++) CHECK_INT(got[i].id, want[i].id);
    CHECK_NEAR(log_sum, 0, 0);
    free(x);
    free(row);
    free(allowed);
    free(want);
    free(got);
}

static void odd_rows(void)
{
    float x[100];
    choice got[4];
    double log_sum;
    for (int i = 0; i < 100; i++) x[i] = -INFINITY;
    x[70] = 3;
    CHECK_INT(select_best(x, F32, 100, NULL, 4, got, &log_sum), 1);
    CHECK_INT(got[0].id, 70);
    CHECK_NEAR(log_sum, 3, 1e-6);
    x[VOCAB_PAD] = x[VOCAB_BOS] = 9; /* these count in the sum, but are never chosen */
    CHECK_INT(select_best(x, F32, 100, NULL, 4, got, &log_sum), 1);
    CHECK_NEAR(log_sum, 9 + log(2 + exp(-6)), 1e-6);
    for (int bad = 0; bad < 2; bad++) {
        x[99] = bad ? INFINITY : NAN;
        select_best(x, F32, 100, NULL, 4, got, &log_sum);
        CHECK(isnan(log_sum));
        selection fast = select_begin(4, got);
        fast.unscored = true;
        select_more(&fast, x, F32, 100, NULL);
        select_end(&fast, &log_sum);
        CHECK(isnan(log_sum));
    }
}

/* Given probabilities, select_best returns their logs, and log 1, as their sum is 1; tokens of probability 0 are not
 * chosen. */
static void probabilities(void)
{
    float p[2000] = {0};
    choice got[4];
    double log_sum = 5;
    p[9] = 0.25f, p[1500] = 0.5f, p[VOCAB_PAD] = 0.25f;
    selection s = select_begin(4, got);
    s.probabilities = true;
    select_more(&s, p, F32, 2000, NULL);
    CHECK_INT(select_end(&s, &log_sum), 2);
    CHECK_INT(got[0].id, 1500);
    CHECK_INT(got[1].id, 9);
    CHECK_NEAR(got[0].logit, log(0.5), 1e-15);
    CHECK_NEAR(got[1].logit, log(0.25), 1e-15);
    CHECK_NEAR(log_sum, 0, 0);
}

int main(void)
{
    static const int64_t sizes[] = {5, 16, 63, 64, 65, 200, 1000, 10007};
    static const int64_t best[] = {1, 2, 8, 42, 300};
    static const dtype types[] = {F32, F64, BF16};
    rng r = rng_seed(5, 0);
    for (size_t i = 0; i < LENGTH(sizes); i++)
        for (size_t j = 0; j < LENGTH(best); j++)
            for (size_t t = 0; t < LENGTH(types); t++)
                for (int mode = 0; mode < 4; mode++)
                    check_row(&(setting_of_row){sizes[i], best[j], types[t], mode & 1, mode & 2}, &r);
    odd_rows();
    probabilities();
    return test_end();
}
