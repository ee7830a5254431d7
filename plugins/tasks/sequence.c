/* sequence.c - copy, reverse and sort: tiny tasks that distinguish positional encodings within a minute; the test set
 * has lengths that training never showed. recall measures how far a stack of layers carries one symbol. */
#include "ab_plugin.h"
#include "tasks/lines.h"
#include "tasks/random.h"
#include "tasks/reject.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COPY, REVERSE, SORT, RECALL };

typedef struct {
    int64_t kind, alphabet, min_length, max_length, test_length, test_step, train_examples, test_examples, data_seed;
} config;

#define AT(field) offsetof(config, field)
static const ab_option params[] = {
    {"kind", AB_CHOICE, AT(kind), COPY, 0, 0, "copy|reverse|sort|recall",
     "output: copy = the input; reverse = the input backwards; sort = the input sorted; recall = the only symbol in an "
     "input of blanks; every such input has the longest length of its split or test range, and the symbol stands at "
     "position min_length or later"},
    {"alphabet", AB_INT, AT(alphabet), 20, 2, 10000, NULL, "number of different symbols [symbols]"},
    {"min_length", AB_INT, AT(min_length), 1, 1, 10000, NULL, "shortest input [symbols]"},
    {"max_length", AB_INT, AT(max_length), 20, 1, 10000, NULL, "longest input in training and dev [symbols]"},
    {"test_length", AB_INT, AT(test_length), 30, 1, 10000, NULL,
     "longest input in the test set [symbols]; lengths beyond max_length are scored in two halves, acc_near and "
     "acc_far, or in steps of test_step"},
    {"test_step", AB_INT, AT(test_step), 0, 0, 10000, NULL,
     "number of lengths beyond max_length scored together [symbols], as one point of a curve over length, named by its "
     "longest length (acc_12); 0 = two halves"},
    {"train_examples", AB_INT, AT(train_examples), 20000, 1, 10000000, NULL, "size of the training set [examples]"},
    {"test_examples", AB_INT, AT(test_examples), 600, 1, 1000000, NULL,
     "size of the dev set and of each length range of the test set [examples]"},
    {"data_seed", AB_INT, AT(data_seed), 1, 0, 4294967295.0, "run", "seed of the data; run = the run's own seed"},
    {0}};

/* Length ranges in the test set: as in training, then longer, in two halves or in steps. */
enum { MOST_RANGES = 13 };
typedef struct {
    char metric[24]; /* "acc_in" */
    int64_t low, high;
} range;

typedef struct {
    lines_task base;
    int64_t kind, longest; /* longest: number of symbols in an input */
    int n_ranges;
    range range[MOST_RANGES];
    int64_t from[MOST_RANGES + 1]; /* test examples from[r] .. from[r+1]-1 are of range r */
} task;

/* ---- making examples ---- */

static int64_t between(uint64_t *state, int64_t low, int64_t high)
{
    return low + (int64_t)((splitmix(state) >> 11) % (uint64_t)(high - low + 1));
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

enum { BLANK = -1 };

/* Writes symbols as words of equal width, so that sorting the words as text sorts the symbols. */
static char *to_line(const int64_t *symbols, int64_t n)
{
    enum { WIDTH = 6 }; /* "s0017 ", "blank " */
    char *line = need(malloc((size_t)n * WIDTH + 2));
    for (int64_t i = 0; i < n; i++) {
        if (symbols[i] == BLANK)
            snprintf(line + i * WIDTH, WIDTH + 2, "blank ");
        else
            snprintf(line + i * WIDTH, WIDTH + 2, "s%04d ", (int)symbols[i]);
    }
    line[n * WIDTH - 1] = 0;
    return line;
}

/* Draws the symbol's position for recall, log-uniformly in training, so that a stack with a short reach sees enough
 * near positions. */
static int64_t draw_place(uint64_t *rng, int64_t nearest, int64_t farthest)
{
    int64_t n = (int64_t)((double)nearest * pow((double)(farthest + 1) / (double)nearest, uniform(rng)));
    return n < farthest ? n : farthest;
}

static void make_recall(lines *s, const config *c, ab_split which, uint64_t *rng, int64_t nearest, int64_t length,
                        int64_t *symbols)
{
    int64_t place = which == AB_TEST ? nearest + s->n % (length - nearest + 1) : draw_place(rng, nearest, length);
    for (int64_t i = 0; i < length; i++) symbols[i] = BLANK;
    symbols[place - 1] = between(rng, 0, c->alphabet - 1);
    lines_add(s, to_line(symbols, length), to_line(symbols + place - 1, 1));
}

static void make(lines *s, const config *c, uint64_t *rng, int64_t shortest, int64_t longest, int64_t *symbols)
{
    int64_t n = between(rng, shortest, longest);
    for (int64_t i = 0; i < n; i++) symbols[i] = between(rng, 0, c->alphabet - 1);
    char *src = to_line(symbols, n);
    if (c->kind == SORT) qsort(symbols, (size_t)n, sizeof *symbols, by_value);
    for (int64_t i = 0; c->kind == REVERSE && i < n / 2; i++) {
        int64_t t = symbols[i];
        symbols[i] = symbols[n - 1 - i];
        symbols[n - 1 - i] = t;
    }
    lines_add(s, src, to_line(symbols, n));
}

static void make_many(task *t, const config *c, ab_split which, uint64_t *rng, int64_t shortest, int64_t longest,
                      int64_t n)
{
    lines *s = &t->base.split[which];
    int64_t *symbols = need(malloc((size_t)longest * sizeof *symbols));
    lines_reserve(s, n);
    for (int64_t i = 0; i < n; i++)
        if (c->kind == RECALL)
            make_recall(s, c, which, rng, shortest, longest, symbols);
        else
            make(s, c, rng, shortest, longest, symbols);
    free(symbols);
}

/* ---- the task ---- */

static void add_range(task *t, const char *name, int64_t low, int64_t high)
{
    if (low > high) return;
    range *r = &t->range[t->n_ranges++];
    *r = (range){.low = low, .high = high};
    snprintf(r->metric, sizeof r->metric, "acc_%s", name);
}

static void find_ranges(task *t, const config *c)
{
    int64_t middle = c->max_length + (c->test_length - c->max_length + 1) / 2;
    add_range(t, "in", c->min_length, c->max_length);
    if (!c->test_step) {
        add_range(t, "near", c->max_length + 1, middle);
        add_range(t, "far", middle + 1, c->test_length);
        return;
    }
    for (int64_t low = c->max_length + 1; low <= c->test_length; low += c->test_step) {
        char name[16];
        int64_t high = low + c->test_step - 1 < c->test_length ? low + c->test_step - 1 : c->test_length;
        snprintf(name, sizeof name, "%d", (int)high);
        add_range(t, name, low, high);
    }
}

static int open_task(void **self, const void *cfg, const ab_host *host, const ab_env *env, char *err, size_t n_err)
{
    (void)host;
    const config *c = cfg;
    if (c->min_length > c->max_length || c->max_length > c->test_length)
        return reject(err, n_err,
                      "sequence.min_length = %lld, max_length = %lld, test_length = %lld: expected ascending lengths",
                      (long long)c->min_length, (long long)c->max_length, (long long)c->test_length);
    int64_t steps = c->test_step ? (c->test_length - c->max_length + c->test_step - 1) / c->test_step : 0;
    if (steps >= MOST_RANGES)
        return reject(
            err, n_err,
            "sequence.test_step = %lld makes %lld steps from max_length = %lld to test_length = %lld; expected at "
            "most %d",
            (long long)c->test_step, (long long)steps, (long long)c->max_length, (long long)c->test_length,
            MOST_RANGES - 1);
    task *t = need(calloc(1, sizeof *t));
    t->kind = c->kind, t->longest = c->test_length;
    find_ranges(t, c);
    uint64_t seed = lines_seed(c->data_seed, env), train = seed + 1, dev = seed + 2, test = seed + 3;
    make_many(t, c, AB_TRAIN, &train, c->min_length, c->max_length, c->train_examples);
    make_many(t, c, AB_DEV, &dev, c->min_length, c->max_length, c->test_examples);
    for (int r = 0; r < t->n_ranges; r++) {
        make_many(t, c, AB_TEST, &test, t->range[r].low, t->range[r].high, c->test_examples);
        t->from[r + 1] = t->base.split[AB_TEST].n;
    }
    *self = t;
    return 0;
}

/* Exact matches among examples from .. to-1, in percent. stats [n][2], per example: right, counted; both 0 outside the
 * range, so that sums over all rows are sums over the range. */
static ab_metric accuracy(const char *name, const lines *x, const char *const *hyp, int64_t from, int64_t to,
                          double *stats)
{
    for (int64_t i = 0; i < x->n; i++) {
        int counted = i >= from && i < to;
        stats[2 * i] = counted && !strcmp(hyp[i], x->tgt[i]);
        stats[2 * i + 1] = counted;
    }
    return ratio_metric(name, "%", "match:whole line", stats, x->n);
}

/* The largest distance up to which at least 90 % of the symbols are right at every distance. */
static ab_metric reach(const task *t, const lines *x, const char *const *hyp)
{
    ab_metric m = {.name = "reach", .unit = "tokens"};
    int64_t *right = need(calloc((size_t)(2 * t->longest), sizeof *right)), *all = right + t->longest;
    for (int64_t i = 0; i < x->n; i++) {
        size_t distance = strcspn(x->src[i], "s") / 6; /* a blank position is as wide as a symbol and has no s */
        all[distance]++;
        right[distance] += !strcmp(hyp[i], x->tgt[i]);
    }
    for (int64_t d = 0; d < t->longest && 10 * right[d] >= 9 * all[d]; d++)
        if (all[d]) m.value = (double)d;
    free(right);
    snprintf(m.signature, sizeof m.signature, "distance up to which, at each one, 90 %% of the symbols are right");
    return m;
}

static int score(void *self, ab_split s, const char *const *hyp, int64_t n, ab_metric *out, int max, char *err,
                 size_t n_err)
{
    task *t = self;
    const lines *x = &t->base.split[s];
    if (n != x->n) return reject(err, n_err, "%lld lines to score, expected %lld", (long long)n, (long long)x->n);
    size_t numbers = (size_t)n * 2 * ((size_t)t->n_ranges + 1); /* [n_ranges + 1][n][2] */
    double *stats = t->base.stats = need(realloc(t->base.stats, numbers * sizeof *stats));
    int made = 0;
    if (made < max) out[made++] = accuracy("acc", x, hyp, 0, n, stats);
    for (int r = 0; r < t->n_ranges && s == AB_TEST; r++)
        if (made < max)
            out[made++] = accuracy(t->range[r].metric, x, hyp, t->from[r], t->from[r + 1],
                                   stats + (size_t)(r + 1) * (size_t)n * 2);
    if (t->kind == RECALL && s == AB_TEST && made < max) out[made++] = reach(t, x, hyp);
    return made;
}

static const ab_task_plugin self = {.flags = AB_SHARED_VOCAB,
                                    .src_vocab = AB_VOCAB_WORDS,
                                    .tgt_vocab = AB_VOCAB_WORDS,
                                    .open = open_task,
                                    .count = lines_count,
                                    .get = lines_get,
                                    .score = score,
                                    .close = lines_close};

AB_PLUGIN(config, params, &self, .name = "sequence",
          .doc = "copy, reverse or sort symbols, or recall one symbol over a distance, with lengths beyond training in "
                 "the test set; scored by exact matches");
