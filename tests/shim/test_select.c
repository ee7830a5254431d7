/* test_select.c - beam search's choice on the device. The likeliest tokens of many rows equal those of select_best
 * (decode/select.h), row by row: ids, logits and the log of the sum, with ties and masks. Merging a sentence's rows
 * gives what a search through all of them gives. Rows' pasts follow their parents. */
#include "tensor/cuda/select.h"
#include "tensor/cuda/runtime.h"
#include "network/decode/select.h"
#include "shim_test.h"
#include "text/tokens/vocab.h"

typedef struct {
    int64_t rows, v;
    int k;
    bool ties, masked;
    int shift; /* distance of the logits from a multiple of 16 bytes [elements] */
} setting;

static void check_row(const char *name, dtype type, const setting *s, int64_t r, const view *logits,
                      const uint8_t *allowed, const gpu_choice *found, double found_sum)
{
    choice want[SELECT_MOST];
    double sum = 0;
    const char *row = (const char *)logits->data + (size_t)(s->shift + r * s->v) * dtype_size(type);
    int64_t n = select_best(row, type, s->v, allowed ? allowed + r * s->v : NULL, s->k, want, &sum);
    for (int64_t i = 0; i < s->k; i++) {
        choice w = i < n ? want[i] : (choice){-INFINITY, -1};
        CHECK_THAT(found[i].id == w.id && (double)found[i].logit == w.logit,
                   "%s, row %lld, choice %lld: found %d (%g), expected %d (%g)", name, (long long)r, (long long)i,
                   found[i].id, (double)found[i].logit, w.id, w.logit);
    }
    bool same = found_sum == sum || (isnan(found_sum) && isnan(sum)) || fabs(found_sum - sum) <= 1e-6 * (1 + fabs(sum));
    CHECK_THAT(same, "%s, row %lld, log of the sum: found %.9g, expected %.9g", name, (long long)r, found_sum, sum);
}

/* Packs bytes into bits, with the lines of the mask in another order than the rows. */
static choosing masks_of(const setting *s, const uint8_t *allowed)
{
    int64_t words = (s->v + 31) / 32, n = s->rows * words;
    uint32_t *line = xcalloc((size_t)n + 1, sizeof *line);
    int32_t *line_of = xcalloc((size_t)s->rows + 1, sizeof *line_of);
    for (int64_t r = 0; r < s->rows; r++) {
        line_of[r] = (int32_t)(s->rows - 1 - r);
        for (int64_t i = 0; i < s->v; i++)
            line[line_of[r] * words + i / 32] |= (uint32_t)allowed[r * s->v + i] << i % 32;
    }
    choosing l = {.line = gpu_copy_of(line, (size_t)n * sizeof *line),
                  .line_of = gpu_copy_of(line_of, (size_t)s->rows * sizeof *line_of)};
    free(line), free(line_of);
    return l;
}

static void check_rows(const char *name, dtype type, const setting *s, const view *logits, const uint8_t *allowed)
{
    const int32_t never[2] = {VOCAB_PAD, VOCAB_BOS};
    int64_t out = s->rows * s->k;
    char *x = gpu_copy_of(logits->data, bytes_of_view(logits));
    choosing c = {0};
    if (allowed) c = masks_of(s, allowed);
    c.sentences = s->rows, c.beam = 1, c.v = s->v, c.k = s->k;
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
        int rc = gpu_select_best(type, &c, x + (size_t)s->shift * dtype_size(type), never, best, log_sum, NULL);
        CHECK_THAT(!rc, "%s: %s", name, rc ? gpu_error() : "");
        gpu_copy_out(host[run], best, bytes);
        gpu_copy_out(sums[run], log_sum, (size_t)s->rows * sizeof *log_sum);
        gpu_release(best), gpu_release(log_sum);
    }
#ifdef GPU_ON_CPU
    gpu_reversed = 0;
#endif
    CHECK_THAT(!memcmp(host[0], host[1], (size_t)out * sizeof **host), "%s: other choices with the fibers reversed",
               name);
    CHECK_THAT(!memcmp(sums[0], sums[1], (size_t)s->rows * sizeof **sums), "%s: other sums with the fibers reversed",
               name);
    for (int64_t r = 0; r < s->rows; r++) check_row(name, type, s, r, logits, allowed, host[0] + r * s->k, sums[0][r]);
    gpu_release(x), gpu_release((void *)c.line), gpu_release((void *)c.line_of);
    for (int run = 0; run < 2; run++) free(host[run]), free(sums[run]);
}

static void check_setting(dtype type, const setting *s)
{
    char name[128];
    snprintf(name, sizeof name, "%lld of %lld, best %d%s%s, %s", (long long)s->rows, (long long)s->v, s->k,
             s->ties ? ", ties" : "", s->masked ? ", masked" : "", dtype_name(type));
    view logits = tensor(type, 1, 1, 1, s->shift + s->rows * s->v);
    uint8_t *allowed = s->masked ? xmalloc((size_t)(s->rows * s->v) + 1) : NULL;
    for (int64_t i = 0; i < size_of(&logits); i++)
        set(&logits, i,
            s->ties                ? (double)rng_below(&dice, 3) - 1
            : rng_below(&dice, 50) ? 4 * rng_normal(&dice)
                                   : -INFINITY);
    for (int64_t i = 0; allowed && i < s->rows * s->v; i++) allowed[i] = rng_below(&dice, i / s->v % 2 ? 20 : 3) == 0;
    check_rows(name, type, s, &logits, allowed);
    free(allowed);
    free(logits.data);
}

/* Checks rows with almost no candidates, values that no model should give, and zeros of both signs. */
static void check_odd_rows(dtype type)
{
    enum { V = 160, ODD = 7 };
    setting s = {.rows = ODD, .v = V, .k = 5};
    view x = tensor(type, 1, 1, ODD, V);
    for (int64_t i = 0; i < ODD * V; i++) set(&x, i, -INFINITY);
    set(&x, 0 * V + 70, 3);
    /* PAD and BOS count in the sum, but are never chosen */
    set(&x, 1 * V + 70, 3), set(&x, 1 * V + VOCAB_PAD, 9), set(&x, 1 * V + VOCAB_BOS, 9);
    for (int64_t i = 0; i < V; i++)
        set(&x, 3 * V + i, i % 2 ? 0. : -0.), set(&x, 4 * V + i, -1e30), set(&x, 5 * V + i, (double)i * 100);
    /* all of the best lie in a few threads' share */
    for (int64_t i = 0; i < 20; i++) set(&x, 6 * V + 8 * i, (double)(i + 1));
    check_rows(type == F32 ? "odd rows, fp32" : "odd rows, bf16", type, &s, &x, NULL);
    set(&x, 2 * V + 80, NAN);
    double *log_sum = gpu_alloc(sizeof *log_sum), sum = 0;
    gpu_choice *best = gpu_alloc(sizeof *best), one;
    char *at = gpu_copy_of((char *)x.data + (size_t)(2 * V) * dtype_size(type), (size_t)V * dtype_size(type));
    choosing c = {.sentences = 1, .beam = 1, .v = V, .k = 1};
    CHECK_THAT(!gpu_select_best(type, &c, at, (int32_t[]){-1, -1}, best, log_sum, NULL), "%s", gpu_error());
    gpu_copy_out(&sum, log_sum, sizeof sum), gpu_copy_out(&one, best, sizeof one);
    CHECK_THAT(isnan(sum), "a logit that is no number: the log of the sum is %g, expected no number", sum);
    CHECK_THAT(one.id == -1, "a logit that is no number: chosen is %d, expected none", one.id);
    gpu_release(at), gpu_release(best), gpu_release(log_sum);
    free(x.data);
}

/* ---- several hypotheses ---- */

enum { BEAM = 5, WANTED = 2 * BEAM, SENTENCES = 9, V = 300, ROWS = BEAM * SENTENCES };

/* Returns the next-best continuation of a sentence, chosen as search.c chooses. */
static continuation next_of(const double *log_prob, const gpu_choice *best, const double *log_sum, int *taken)
{
    continuation most = {-INFINITY, -1, -1};
    for (int h = 0; h < BEAM; h++) {
        gpu_choice c = taken[h] < WANTED ? best[h * WANTED + taken[h]] : (gpu_choice){0, -1};
        double then = log_prob[h] + ((double)c.logit - log_sum[h]);
        if (!isinf(log_prob[h]) && c.id >= 0 && (most.parent < 0 || then > most.log_prob))
            most = (continuation){then, h, c.id};
    }
    if (most.parent >= 0) taken[most.parent]++;
    return most;
}

/* All rows of the last sentences are equal, so that their sums are equal. Sentence 0 has no hypothesis, sentence 1 has
 * one; row 3 of sentence 2 may continue with three tokens only; one logit of sentence 3 is NaN. */
static void check_merging(dtype type)
{
    const int32_t never[2] = {VOCAB_PAD, VOCAB_BOS};
    view logits = tensor(type, 1, 1, ROWS, V);
    double log_prob[ROWS], log_sum[ROWS];
    for (int64_t i = 0; i < size_of(&logits); i++) set(&logits, i, (double)rng_below(&dice, 4));
    for (int r = 0; r < ROWS; r++)
        log_prob[r] = r < BEAM || (r > BEAM && r < 2 * BEAM) ? -INFINITY : -(double)rng_below(&dice, 3);
    for (int64_t r = 5 * BEAM; r < ROWS; r++) {
        int64_t first = r / BEAM * BEAM;
        log_prob[r] = log_prob[first];
        for (int64_t i = 0; i < V; i++) set(&logits, r * V + i, get(&logits, first * V + i));
    }
    for (int64_t i = 4; i < V - 3; i++) set(&logits, (2 * BEAM + 3) * V + i, -INFINITY);
    set(&logits, (3 * BEAM + 1) * V + 17, NAN);
    uint32_t mask[(V + 31) / 32] = {[1] = 0xf0, [9] = 1 << 8}; /* mask of the last row: ids 36 to 39 and 296 */
    int32_t line_of[ROWS];
    for (int r = 0; r < ROWS; r++) line_of[r] = r == ROWS - 1 ? 0 : -1;
    gpu_choice *best = gpu_alloc(ROWS * WANTED * sizeof *best), found_best[ROWS * WANTED];
    double *sums = gpu_alloc(ROWS * sizeof *sums), *so_far = gpu_copy_of(log_prob, sizeof log_prob);
    continuation *out = gpu_alloc(SENTENCES * WANTED * sizeof *out), found[SENTENCES * WANTED];
    choosing c = {.sentences = SENTENCES,
                  .beam = BEAM,
                  .v = V,
                  .k = WANTED,
                  .wanted = WANTED,
                  .log_prob = so_far,
                  .line = gpu_copy_of(mask, sizeof mask),
                  .line_of = gpu_copy_of(line_of, sizeof line_of)};
    void *x = gpu_copy_of(logits.data, bytes_of_view(&logits));
    int rc = gpu_select_best(type, &c, x, never, best, sums, out);
    CHECK_THAT(!rc, "merging: %s", rc ? gpu_error() : "");
    gpu_copy_out(found, out, sizeof found), gpu_copy_out(log_sum, sums, sizeof log_sum),
        gpu_copy_out(found_best, best, sizeof found_best);
    for (int i = 0; i < 2 * BEAM * WANTED; i++)
        CHECK_THAT(i / WANTED == BEAM || found_best[i].id == -1, "row %d has no hypothesis, but choice %d", i / WANTED,
                   found_best[i].id);
    for (int i = 0; i < WANTED; i++) {
        int id = found_best[(ROWS - 1) * WANTED + i].id;
        CHECK_THAT(i < 5 ? (id >= 36 && id < 40) || id == 296 : id == -1, "masked row, choice %d: found %d", i, id);
    }
    for (int b = 0; b < SENTENCES; b++) {
        int taken[BEAM] = {0};
        for (int i = 0; i < WANTED; i++) {
            continuation is = found[b * WANTED + i];
            continuation want = next_of(log_prob + b * BEAM, found_best + b * BEAM * WANTED, log_sum + b * BEAM, taken);
            if (b == 3) {
                CHECK_THAT(isnan(is.log_prob), "a logit is no number: found %g, expected no number", is.log_prob);
                continue;
            }
            bool alike = is.parent == want.parent && is.id == want.id && is.log_prob == want.log_prob;
            CHECK_THAT(alike, "%s, sentence %d, %d: found %d of %d (%.17g), expected %d of %d (%.17g)",
                       dtype_name(type), b, i, is.id, is.parent, is.log_prob, want.id, want.parent, want.log_prob);
        }
    }
    gpu_release(best), gpu_release(sums), gpu_release(so_far), gpu_release(out), gpu_release(x);
    gpu_release((void *)c.line), gpu_release((void *)c.line_of);
    free(logits.data);
}

/* Every row gets its parent's past up to STEP. Behind that stands the parent's number, and then 0. */
static void check_following(void)
{
    enum { CAPACITY = 37, STEP = 20 };
    int32_t from[ROWS * CAPACITY], parents[ROWS], found[ROWS * CAPACITY];
    int64_t wrong = 0;
    for (int i = 0; i < ROWS * CAPACITY; i++) from[i] = (int32_t)rng_below(&dice, 1000);
    for (int r = 0; r < ROWS; r++) parents[r] = (int32_t)(r / BEAM * BEAM + (int)rng_below(&dice, BEAM));
    int32_t *device_from = gpu_copy_of(from, sizeof from), *to = gpu_alloc(sizeof found),
            *copy = gpu_alloc(sizeof found);
    gpu_follow(to, copy, device_from, parents, ROWS, CAPACITY, STEP);
    for (int which = 0; which < 2; which++) {
        gpu_copy_out(found, which ? copy : to, sizeof found);
        for (int i = 0; i < ROWS * CAPACITY; i++) {
            int r = i / CAPACITY, t = i % CAPACITY;
            wrong += found[i] != (t < STEP ? from[parents[r] * CAPACITY + t] : t == STEP ? parents[r] : 0);
        }
    }
    CHECK_THAT(!wrong, "following: %lld of %d places are wrong", (long long)wrong, 2 * ROWS * CAPACITY);
    gpu_release(device_from), gpu_release(to), gpu_release(copy);
}

/* gpu_follow uses entries written before its call, but no later ones. A row can follow a row that has itself followed
 * another. */
static void check_order_of_following(void)
{
    enum { ROWS_OF_ALL = 4, CAPACITY = 3 };
    int32_t before[ROWS_OF_ALL][CAPACITY] = {{10, 11}, {20, 21}, {30, 31}, {40, 41}},
            after[ROWS_OF_ALL][CAPACITY] = {{0}}, found[ROWS_OF_ALL][CAPACITY];
    static const int32_t turned[] = {3, 2, 1, 0},
                         expected[ROWS_OF_ALL][CAPACITY] = {{10, 0, 3}, {20, 1, 2}, {30, 2, 1}, {40, 3, 0}};
    int32_t *from = gpu_alloc(sizeof before), *to = gpu_alloc(sizeof before), *last = gpu_alloc(sizeof before),
            *other = gpu_alloc(sizeof before), *aside = gpu_alloc(sizeof before);
    gpu_copy_in(other, before, sizeof before);
    gpu_copy_in(from, before, sizeof before);
    gpu_follow(to, NULL, from, turned, ROWS_OF_ALL, CAPACITY, 1);
    gpu_follow(aside, NULL, other, turned, ROWS_OF_ALL, CAPACITY, 0);
    gpu_copy_in(from, after, sizeof after);
    gpu_follow(last, NULL, to, turned, ROWS_OF_ALL, CAPACITY, 2);
    gpu_copy_out(found, last, sizeof found);
    for (int r = 0; r < ROWS_OF_ALL; r++)
        for (int t = 0; t < CAPACITY; t++)
            CHECK_THAT(found[r][t] == expected[r][t], "row %d, time %d: found %d, expected %d", r, t, found[r][t],
                       expected[r][t]);
    gpu_release(from), gpu_release(to), gpu_release(last), gpu_release(other), gpu_release(aside);
}

#ifdef GPU_ON_CPU
/* Rows that have followed do not split later uploads, wherever they lie: two uploads are one launch. */
static void check_launches_after_following(void)
{
    enum { N = 24 };
    int32_t numbers[N] = {0};
    static const int32_t parents[] = {1, 0};
    int32_t *around = gpu_alloc(sizeof numbers), *other = gpu_alloc(sizeof numbers);
    gpu_follow(around + N / 2, NULL, other, parents, 2, 2, 1);
    gpu_flush();
    int64_t before = gpu_done.launches;
    gpu_copy_in(other, numbers, sizeof numbers);
    gpu_copy_in(around, numbers, sizeof numbers);
    gpu_flush();
    CHECK_THAT(gpu_done.launches == before + 1, "two uploads after following: %lld launches, expected 1",
               (long long)(gpu_done.launches - before));
    gpu_release(around), gpu_release(other);
}
#endif

int main(void)
{
    start();
    static const setting settings[] = {
        {1, 5, 8, false, false, 0},     {3, 16, 64, false, false, 0},  {2, 63, 4, false, true, 0},
        {2, 1000, 8, false, false, 0},  {2, 1000, 64, true, true, 0},  {2, 1001, 42, true, false, 0},
        {3, 4096, 8, false, true, 0},   {1, 5003, 8, false, false, 0}, {1, 10240, 8, false, false, 0},
        {1, 10240, 16, true, false, 0}, {2, 1024, 8, false, false, 1}, {5, 200, 1, true, true, 3},
        {0, 100, 4, false, false, 0},   {2, 100, 0, false, false, 0},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        check_setting(F32, &settings[i]);
        check_setting(BF16, &settings[i]);
    }
    check_odd_rows(F32);
    check_odd_rows(BF16);
    check_merging(F32);
    check_merging(BF16);
    check_following();
    check_order_of_following();
#ifdef GPU_ON_CPU
    check_launches_after_following();
#endif
    return finish();
}
