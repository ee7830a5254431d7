/* test_limits.c - no batch exceeds batch.limits; if all sentences have the same length, a batch reaches these
 * limits. */
#include "text/data/batch.h"
#include "test.h"

typedef struct {
    int64_t src, tgt;
} lengths;

/* Makes pairs of these lengths; every token is VOCAB_EOS. */
static pairs pairs_of(const lengths *l, int64_t n)
{
    int64_t *src_at = xcalloc((size_t)n + 1, sizeof *src_at), *tgt_at = xcalloc((size_t)n + 1, sizeof *tgt_at);
    int64_t *example = xcalloc((size_t)n, sizeof *example);
    pairs p = {.n = n, .src_at = src_at, .tgt_at = tgt_at, .example = example};
    for (int64_t i = 0; i < n; i++) {
        src_at[i + 1] = src_at[i] + l[i].src, tgt_at[i + 1] = tgt_at[i] + l[i].tgt;
        example[i] = i;
    }
    int64_t most = src_at[n] > tgt_at[n] ? src_at[n] : tgt_at[n];
    int32_t *ids = xmalloc((size_t)most * sizeof *ids);
    for (int64_t i = 0; i < most; i++) ids[i] = VOCAB_EOS;
    p.src = p.tgt = ids;
    return p;
}

static void free_pairs(pairs *p)
{
    free((void *)p->src);
    free((void *)p->src_at);
    free((void *)p->tgt_at);
    free((void *)p->example);
}

/* Returns the maxima over the batches of these epochs; *said gets the limits that the first batch announces. */
static batch_limits most_in(batcher *b, int epochs, batch_limits *said)
{
    batch_limits most = {0};
    batch x;
    bool first = true;
    for (; batcher_next(b, &x) && x.epoch < epochs; first = false) {
        if (first) *said = x.limits;
        if (x.n_sentences > most.sentences) most.sentences = x.n_sentences;
        if (x.src_longest > most.src_longest) most.src_longest = x.src_longest;
        if (x.tgt_longest > most.tgt_longest) most.tgt_longest = x.tgt_longest;
        CHECK_INT(x.limits.sentences, said->sentences);
        CHECK_INT(x.limits.src_longest, said->src_longest);
        CHECK_INT(x.limits.tgt_longest, said->tgt_longest);
    }
    return most;
}

/* exact: some batch must reach the limit on sentences. */
static void check(const char *name, const lengths *l, int64_t n, const batch_options *o, int64_t sentences, bool exact)
{
    err e = {0};
    pairs p = pairs_of(l, n);
    batcher *b = batcher_new(&p, o, &e);
    CHECK_TEXT(e.text, "");
    if (!b) exit(test_end());
    batch_limits said = {0}, most = most_in(b, 4, &said);
    printf("%s: %lld sentences at most, %lld came\n", name, (long long)said.sentences, (long long)most.sentences);
    if (sentences) CHECK_INT(said.sentences, sentences);
    if (exact) CHECK_INT(most.sentences, said.sentences);
    CHECK(most.sentences <= said.sentences);
    CHECK_INT(most.src_longest, said.src_longest);
    CHECK_INT(most.tgt_longest, said.tgt_longest);
    batcher_free(b);
    free_pairs(&p);
}

static void check_random(uint64_t seed)
{
    enum { PAIRS = 2000 };
    lengths l[PAIRS];
    rng r = rng_seed(seed, 3);
    uint64_t spread = 1 + rng_below(&r, 40), ratio = 1 + rng_below(&r, 3);
    for (int i = 0; i < PAIRS; i++) {
        l[i].src = 1 + (int64_t)rng_below(&r, spread);
        l[i].tgt = 1 + l[i].src * (int64_t)ratio / 2 + (int64_t)rng_below(&r, 5);
    }
    batch_options o = {.batch_tokens = 100 + (int64_t)rng_below(&r, 400),
                       .seed = seed,
                       .train = seed % 2 == 0,
                       .pool = 1 + seed % 7,
                       .max_sentences = seed % 5 ? 0 : 11};
    check("random lengths", l, PAIRS, &o, 0, false);
}

int main(void)
{
    const lengths mixed[] = {{9, 1}, {1, 1}, {3, 1}, {2, 1}, {1, 1}}, short_targets[] = {{4, 1}, {4, 2}, {4, 3}};
    lengths equal[50];
    for (size_t i = 0; i < LENGTH(equal); i++) equal[i] = (lengths){2, 3};
    const batch_options o = {.batch_tokens = 12, .train = true, .seed = 1};
    check("sources 1 1 2 3 9 in 12 tokens", mixed, LENGTH(mixed), &o, 4, false);
    check("three that fit one batch", short_targets, LENGTH(short_targets), &o, 3, true);
    check("equal lengths", equal, LENGTH(equal), &o, 4, true);
    check("equal lengths, one pass", equal, LENGTH(equal), &(batch_options){.batch_tokens = 13}, 4, true);
    check("equal lengths, three at most", equal, LENGTH(equal),
          &(batch_options){.batch_tokens = 100, .max_sentences = 3}, 3, true);
    check("all of them", equal, LENGTH(equal), &(batch_options){.batch_tokens = 1000000, .train = true}, LENGTH(equal),
          true);
    for (uint64_t seed = 1; seed <= 30; seed++) check_random(seed);
    return test_end();
}
