/* arithmetic.c - sums for decoder-only models. modular: arithmetic modulo a prime, learned from a part of the table of
 * results (Power et al. 2022, "Grokking"; Nanda et al. 2023). addition: two numbers of many digits, digit by digit. */
#include "ab_plugin.h"
#include "tasks/lines.h"
#include "tasks/random.h"
#include "tasks/reject.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODULAR, ADDITION };
enum { ADD, SUBTRACT, MULTIPLY, DIVIDE };
enum { MOST_DIGITS = 18 }; /* an operand may have this many digits: sums fit into 64 bits */

typedef struct {
    int64_t kind, operation, modulus, digits, reversed, train_examples, test_examples, data_seed;
    double train_part, short_part;
} config;

#define AT(field) offsetof(config, field)
static const ab_option params[] = {
    {"kind", AB_CHOICE, AT(kind), MODULAR, 0, 0, "modular|addition",
     "modular: `a b =` with one answer, a o b modulo `modulus`; addition: the digits of `a + b =`, answered digit by "
     "digit"},
    {"operation", AB_CHOICE, AT(operation), ADD, 0, 0, "add|subtract|multiply|divide",
     "modular: the operation o; divide: a times the inverse of b, with b from 1"},
    {"modulus", AB_INT, AT(modulus), 113, 2, 2000, NULL, "modular: the modulus, a prime for divide [numbers]"},
    {"train_part", AB_REAL, AT(train_part), 0.3, 0.001, 0.999, NULL,
     "modular: share of all pairs that training sees [share]"},
    {"digits", AB_INT, AT(digits), 10, 1, MOST_DIGITS, NULL,
     "addition: digits of both numbers, with leading zeros; the sum has one more [digits]"},
    {"reversed", AB_BOOL, AT(reversed), 1, 0, 0, NULL, "addition: the sum begins with its last digit"},
    {"short_part", AB_REAL, AT(short_part), 0.5, 0, 1, NULL,
     "addition: share of training examples whose numbers are below 10^n, with n drawn from 1 to `digits` [share]"},
    {"train_examples", AB_INT, AT(train_examples), 200000, 1, 100000000, NULL,
     "addition: size of the training set [examples]"},
    {"test_examples", AB_INT, AT(test_examples), 2000, 1, 10000000, NULL,
     "size of the dev set and of the test set; modular: each at most half of the pairs that training does not see "
     "[examples]"},
    {"data_seed", AB_INT, AT(data_seed), 1, 0, 4294967295.0, "run", "seed of the data; run = the run's own seed"},
    {0}};

static int64_t below(uint64_t *state, int64_t n) { return (int64_t)(splitmix(state) % (uint64_t)n); }

/* ---- modular ---- */

static int64_t power(int64_t x, int64_t n, int64_t modulus)
{
    int64_t y = 1 % modulus;
    for (; n; n /= 2, x = x * x % modulus)
        if (n % 2) y = y * x % modulus;
    return y;
}

static int64_t answer(const config *c, int64_t a, int64_t b)
{
    int64_t p = c->modulus;
    switch (c->operation) {
    case ADD: return (a + b) % p;
    case SUBTRACT: return (a - b + p) % p;
    case MULTIPLY: return a * b % p;
    default: return a * power(b, p - 2, p) % p; /* Fermat's little theorem */
    }
}

static int is_prime(int64_t n)
{
    for (int64_t d = 2; d * d <= n; d++)
        if (n % d == 0) return 0;
    return n > 1;
}

static void make_modular(lines_task *t, const config *c, uint64_t *random)
{
    enum { WIDTH = 48 };
    int64_t first = c->operation == DIVIDE, rows = c->modulus - first, n = c->modulus * rows, used = 0;
    int64_t *pair = need(malloc((size_t)n * sizeof *pair));
    random_order(random, n, pair);
    int64_t train = (int64_t)((double)n * c->train_part + 0.5);
    if (train < 1) train = 1;
    if (train > n - 2) train = n - 2;
    int64_t rest = (n - train) / 2, test = c->test_examples < rest ? c->test_examples : rest;
    for (int s = 0; s < AB_SPLITS; s++) {
        int64_t want = s == AB_TRAIN ? train : test;
        lines_reserve(&t->split[s], want);
        for (int64_t i = 0; i < want; i++, used++) {
            char src[WIDTH], tgt[WIDTH];
            int64_t a = pair[used] / rows, b = first + pair[used] % rows;
            snprintf(src, sizeof src, "%d %d =", (int)a, (int)b);
            snprintf(tgt, sizeof tgt, AB_NO_LABEL " " AB_NO_LABEL " %d", (int)answer(c, a, b));
            lines_add(&t->split[s], need(strdup(src)), need(strdup(tgt)));
        }
    }
    free(pair);
}

/* ---- addition ---- */

static int64_t ten_to(int64_t n)
{
    int64_t y = 1;
    while (n--) y *= 10;
    return y;
}

/* Writes n digits of x, each followed by a blank. */
static char *write_digits(char *at, int64_t x, int64_t n, int reversed)
{
    for (int64_t i = 0; i < n; i++, x /= 10) {
        char *place = at + 2 * (reversed ? i : n - 1 - i);
        place[0] = (char)('0' + x % 10);
        place[1] = ' ';
    }
    return at + 2 * n;
}

static void add_sum(lines *s, const config *c, int64_t a, int64_t b)
{
    enum { LONGEST = 2 * (3 * MOST_DIGITS + 4) };
    char src[LONGEST], tgt[LONGEST], sum[LONGEST], *x = src, *y = tgt;
    int64_t d = c->digits, asked = 2 * d + 1; /* the first answer is predicted at "=" */
    x = write_digits(x, a, d, 0);
    *x++ = '+', *x++ = ' ';
    x = write_digits(x, b, d, 0);
    *x++ = '=', *x++ = ' ';
    char *end = write_digits(sum, a + b, d + 1, c->reversed != 0);
    memcpy(x, sum, (size_t)(end - sum) - 2); /* the last digit is an answer, not an input */
    x += end - sum - 2;
    for (int64_t i = 0; i < asked; i++) memcpy(y, AB_NO_LABEL " ", 2), y += 2;
    memcpy(y, sum, (size_t)(end - sum));
    y += end - sum;
    x[-1] = y[-1] = 0;
    lines_add(s, need(strdup(src)), need(strdup(tgt)));
}

static void make_addition(lines_task *t, const config *c, uint64_t seed)
{
    for (int s = 0; s < AB_SPLITS; s++) {
        int64_t n = s == AB_TRAIN ? c->train_examples : c->test_examples;
        uint64_t random = seed + (uint64_t)s + 1;
        lines_reserve(&t->split[s], n);
        while (t->split[s].n < n) {
            int is_short = s == AB_TRAIN && uniform(&random) < c->short_part;
            int64_t limit = ten_to(is_short ? 1 + below(&random, c->digits) : c->digits);
            int64_t a = below(&random, limit);
            add_sum(&t->split[s], c, a, below(&random, limit));
        }
    }
}

/* ---- the task ---- */

static int open_task(void **self, const void *cfg, const ab_host *host, const ab_env *env, char *err, size_t n_err)
{
    (void)host;
    const config *c = cfg;
    if (c->kind == MODULAR && c->operation == DIVIDE && !is_prime(c->modulus))
        return reject(err, n_err, "arithmetic.modulus = %d: expected a prime, since arithmetic.operation = divide",
                      (int)c->modulus);
    lines_task *t = need(calloc(1, sizeof *t));
    uint64_t seed = lines_seed(c->data_seed, env);
    if (!env->no_data && c->kind == MODULAR) make_modular(t, c, &seed);
    if (!env->no_data && c->kind == ADDITION) make_addition(t, c, seed);
    int64_t numbers = c->kind == MODULAR ? c->modulus : 10;
    t->symbol = number_words(numbers, 2);
    t->n_symbols = numbers;
    if (c->kind == ADDITION) t->symbol[t->n_symbols++] = need(strdup("+"));
    t->symbol[t->n_symbols++] = need(strdup("="));
    *self = t;
    return 0;
}

/* Counts answers whose every digit is the likeliest, given the true digits before it: greedy decoding writes these
 * answers. */
static int score(void *self, ab_split split, const ab_likelihood *x, int64_t n, ab_metric *out, int max, char *err,
                 size_t n_err)
{
    (void)split, (void)err, (void)n_err;
    lines_task *t = self;
    t->stats = need(realloc(t->stats, (size_t)n * 2 * sizeof *t->stats + 1));
    for (int64_t i = 0; i < n; i++) {
        t->stats[2 * i] = x[i].right == x[i].tokens;
        t->stats[2 * i + 1] = 1;
    }
    if (max < 1) return 0;
    out[0] = ratio_metric("solved", "%", "answers with every digit right", t->stats, n);
    return 1;
}

static const ab_task_plugin self = LINES_TASK(open_task, lines_vocabs, score);

AB_PLUGIN(config, params, &self, .name = "arithmetic",
          .doc = "modular arithmetic from a part of its table, and addition of long numbers digit by digit, for "
                 "decoder-only models; scored by answers that are right as a whole",
          .paper = "Power et al. 2022; Nanda et al. 2023", .version = "1.0");
