/* test_select.c - the likeliest tokens of many rows on the device against select_best of decode/select.h, row by row: the same
 * ids and logits, ties and masks and all, and the log of the sum. */
#include "cuda/select.h"
#include "decode/select.h"
#include "shim_test.h"
#include "text/vocab.h"

typedef struct {
    int64_t rows, v;
    int k;
    bool ties, masked;
    int shift; /* numbers by which the logits begin behind a multiple of 16 bytes */
} setting;

static void check_row(const char *name, dtype type, const setting *s, int64_t r, const view *logits, const uint8_t *allowed,
                      const gpu_choice *found, double found_sum)
{
    choice want[SELECT_MOST];
    double sum = 0;
    void *scratch = xmalloc(select_scratch(s->v));
    const char *row = (const char *)logits->data + (size_t)(s->shift + r * s->v) * dtype_size(type);
    int64_t n = select_best(row, type, s->v, allowed ? allowed + r * s->v : NULL, s->k, want, &sum, scratch);
    for (int64_t i = 0; i < s->k; i++) {
        choice w = i < n ? want[i] : (choice){-INFINITY, -1};
        CHECK_THAT(found[i].id == w.id && (double)found[i].logit == w.logit, "%s, row %lld, choice %lld: found %d (%g), expected %d (%g)", name,
                   (long long)r, (long long)i, found[i].id, (double)found[i].logit, w.id, w.logit);
    }
    bool same = found_sum == sum || (isnan(found_sum) && isnan(sum)) || fabs(found_sum - sum) <= 1e-6 * (1 + fabs(sum));
    CHECK_THAT(same, "%s, row %lld, log of the sum: found %.9g, expected %.9g", name, (long long)r, found_sum, sum);
    free(scratch);
}

static void check_rows(const char *name, dtype type, const setting *s, const view *logits, const uint8_t *allowed)
{
    const int32_t never[2] = {VOCAB_PAD, VOCAB_BOS};
    int64_t n = s->rows * s->v, out = s->rows * s->k;
    char *x = gpu_copy_of(logits->data, bytes_of_view(logits));
    uint8_t *mask = allowed ? gpu_copy_of(allowed, (size_t)n) : NULL;
    gpu_choice *host[2];
    double *sums[2];
    for (int run = 0; run < 2; run++) {
        size_t bytes = (size_t)out * sizeof **host;
        gpu_choice *best = gpu_alloc(bytes);
        double *log_sum = gpu_alloc((size_t)s->rows * sizeof *log_sum);
        host[run] = xmalloc(bytes + 1), sums[run] = xmalloc((size_t)s->rows * sizeof **sums + 1);
#ifdef GPU_ON_CPU
        gpu_reversed = run;
#endif
        int rc = gpu_select_best((int)type, s->rows, s->v, x + (size_t)s->shift * dtype_size(type), mask, never, s->k, best, log_sum);
        CHECK_THAT(!rc, "%s: %s", name, rc ? gpu_error() : "");
        gpu_copy_out(host[run], best, bytes);
        gpu_copy_out(sums[run], log_sum, (size_t)s->rows * sizeof *log_sum);
        gpu_release(best), gpu_release(log_sum);
    }
#ifdef GPU_ON_CPU
    gpu_reversed = 0;
#endif
    CHECK_THAT(!memcmp(host[0], host[1], (size_t)out * sizeof **host), "%s: other choices with the fibers reversed", name);
    CHECK_THAT(!memcmp(sums[0], sums[1], (size_t)s->rows * sizeof **sums), "%s: other sums with the fibers reversed", name);
    for (int64_t r = 0; r < s->rows; r++) check_row(name, type, s, r, logits, allowed, host[0] + r * s->k, sums[0][r]);
    gpu_release(x), gpu_release(mask);
    for (int run = 0; run < 2; run++) free(host[run]), free(sums[run]);
}

static void check_setting(dtype type, const setting *s)
{
    char name[128];
    snprintf(name, sizeof name, "%lld of %lld, best %d%s%s, %s", (long long)s->rows, (long long)s->v, s->k, s->ties ? ", ties" : "",
             s->masked ? ", masked" : "", dtype_name(type));
    view logits = tensor(type, 1, 1, 1, s->shift + s->rows * s->v);
    uint8_t *allowed = s->masked ? xmalloc((size_t)(s->rows * s->v) + 1) : NULL;
    for (int64_t i = 0; i < size_of(&logits); i++)
        set(&logits, i, s->ties ? (double)rng_below(&dice, 3) - 1 : rng_below(&dice, 50) ? 4 * rng_normal(&dice) : -INFINITY);
    for (int64_t i = 0; allowed && i < s->rows * s->v; i++) allowed[i] = rng_below(&dice, i / s->v % 2 ? 20 : 3) == 0;
    check_rows(name, type, s, &logits, allowed);
    free(allowed);
    free(logits.data);
}

/* All but nothing, what no step of a model should give, and zeros of both signs. */
static void check_odd_rows(dtype type)
{
    enum { V = 160, ODD = 7 };
    setting s = {.rows = ODD, .v = V, .k = 5};
    view x = tensor(type, 1, 1, ODD, V);
    for (int64_t i = 0; i < ODD * V; i++) set(&x, i, -INFINITY);
    set(&x, 0 * V + 70, 3);
    set(&x, 1 * V + 70, 3), set(&x, 1 * V + VOCAB_PAD, 9), set(&x, 1 * V + VOCAB_BOS, 9); /* count, but are never chosen */
    for (int64_t i = 0; i < V; i++) set(&x, 3 * V + i, i % 2 ? 0. : -0.), set(&x, 4 * V + i, -1e30), set(&x, 5 * V + i, (double)i * 100);
    for (int64_t i = 0; i < 20; i++) set(&x, 6 * V + 8 * i, (double)(i + 1)); /* all of the best in few threads' parts */
    check_rows(type == F32 ? "odd rows, fp32" : "odd rows, bf16", type, &s, &x, NULL);
    set(&x, 2 * V + 80, NAN);
    double *log_sum = gpu_alloc(sizeof *log_sum), sum = 0;
    gpu_choice *best = gpu_alloc(sizeof *best), one;
    char *at = gpu_copy_of((char *)x.data + (size_t)(2 * V) * dtype_size(type), (size_t)V * dtype_size(type));
    CHECK_THAT(!gpu_select_best((int)type, 1, V, at, NULL, (int32_t[]){-1, -1}, 1, best, log_sum), "%s", gpu_error());
    gpu_copy_out(&sum, log_sum, sizeof sum), gpu_copy_out(&one, best, sizeof one);
    CHECK_THAT(isnan(sum), "a logit that is no number: the log of the sum is %g, expected no number", sum);
    CHECK_THAT(one.id == -1, "a logit that is no number: chosen is %d, expected none", one.id);
    gpu_release(at), gpu_release(best), gpu_release(log_sum);
    free(x.data);
}

int main(void)
{
    start();
    static const setting settings[] = {
        {1, 5, 8, false, false, 0},      {3, 16, 64, false, false, 0},   {2, 63, 4, false, true, 0},      {2, 1000, 8, false, false, 0},
        {2, 1000, 64, true, true, 0},    {2, 1001, 42, true, false, 0},  {3, 4096, 8, false, true, 0},    {1, 5003, 8, false, false, 0},
        {1, 10240, 8, false, false, 0},  {1, 10240, 16, true, false, 0}, {2, 1024, 8, false, false, 1},   {5, 200, 1, true, true, 3},
        {0, 100, 4, false, false, 0},    {2, 100, 0, false, false, 0},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        check_setting(F32, &settings[i]);
        check_setting(BF16, &settings[i]);
    }
    check_odd_rows(F32);
    check_odd_rows(BF16);
    return finish();
}
