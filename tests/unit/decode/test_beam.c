/* Beam search against scoring every possible output, against one full pass, and against itself in other batches. */
#include "models.h"

static beam_options options(int64_t beam, int64_t nbest)
{
    return (beam_options){.beam_size = beam, .length_penalty = 0.6, .max_extra_tokens = 4, .batch = 64, .nbest = nbest};
}

static hypothesis *decode(model *m, const pairs *p, const beam_options *o)
{
    err e = {0};
    hypothesis *h = xcalloc((size_t)(p->n * o->nbest), sizeof *h);
    if (beam_search(m, p, o, h, NULL, &e)) printf("beam_search: %s\n", e.text);
    CHECK_TEXT(e.text, "");
    return h;
}

static void discard(hypothesis *h, int64_t n)
{
    hypotheses_free(h, n);
    free(h);
}

static bool same_ids(const hypothesis *a, const hypothesis *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->ids, b->ids, (size_t)a->n * sizeof *a->ids));
}

static void check_same(const hypothesis *found, const hypothesis *expected)
{
    CHECK_INT(found->n, expected->n);
    CHECK(same_ids(found, expected));
    CHECK_INT(found->complete, expected->complete);
    CHECK_NEAR(found->score, expected->score, 0); /* bit for bit */
    CHECK_NEAR(found->log_prob, expected->log_prob, 0);
}

/* ---- any batch, any order ---- */

static pairs shuffled(const pairs *p, int64_t *order, rng *r)
{
    int64_t rows = p->src_at[p->n];
    int64_t *at = xcalloc((size_t)(p->n + 1 + rows), sizeof *at);
    int32_t *src = (int32_t *)(at + p->n + 1);
    for (int64_t i = 0; i < p->n; i++) order[i] = i;
    for (int64_t i = p->n - 1; i > 0; i--) {
        int64_t j = (int64_t)rng_below(r, (uint64_t)(i + 1)), x = order[i];
        order[i] = order[j], order[j] = x;
    }
    for (int64_t i = 0; i < p->n; i++) {
        int64_t n = p->src_at[order[i] + 1] - p->src_at[order[i]];
        memcpy(src + at[i], p->src + p->src_at[order[i]], (size_t)n * sizeof *src);
        at[i + 1] = at[i] + n;
    }
    return (pairs){.n = p->n, .src = src, .src_at = at, .block = at};
}

static void any_batch(model *m, int64_t n, const char *name)
{
    enum { MOST = 40, NBEST = 3 };
    int before = test_failed;
    pairs p = random_pairs(n, 1, 30, m->src_vocab, 77);
    beam_options o = options(4, NBEST);
    rng r = rng_seed(8, 8);
    hypothesis *all = decode(m, &p, &o);
    static const int64_t batches[] = {1, 3, 64};
    for (size_t k = 0; k < LENGTH(batches); k++) {
        int64_t order[MOST];
        pairs q = shuffled(&p, order, &r);
        o.batch = batches[k];
        hypothesis *h = decode(m, &q, &o);
        for (int64_t i = 0; i < n * NBEST; i++) check_same(&h[i], &all[order[i / NBEST] * NBEST + i % NBEST]);
        discard(h, n * NBEST);
        pairs_free(&q);
    }
    discard(all, n * NBEST);
    pairs_free(&p);
    if (test_failed > before) printf("  in %s\n", name);
}

/* ---- log P equals one full pass's log P, the score follows from log P, the list is sorted and has no output twice
 * ---- */

static double log_prob_of(model *m, const pairs *p, int64_t i, const hypothesis *h)
{
    int64_t src_at[2] = {0, p->src_at[i + 1] - p->src_at[i]}, tgt_at[2] = {0, h->n + 1};
    int32_t tgt[256];
    double losses[256], sum = 0;
    if (h->n) memcpy(tgt, h->ids, (size_t)h->n * sizeof *tgt);
    tgt[h->n] = VOCAB_EOS;
    pairs one = {.n = 1, .src = p->src + p->src_at[i], .tgt = tgt, .src_at = src_at, .tgt_at = tgt_at};
    full_pass(m, &one, 0, losses);
    for (int64_t j = 0; j < h->n + h->complete; j++) sum -= losses[j];
    return sum;
}

static double score_of(double log_prob, int64_t length, double alpha)
{
    return log_prob / pow((5 + (double)length) / 6, alpha);
}

static void true_scores(model *m, const char *name)
{
    enum { N = 6, NBEST = 4 };
    int before = test_failed;
    pairs p = random_pairs(N, 1, 12, m->src_vocab, 5);
    beam_options o = options(4, NBEST);
    hypothesis *all = decode(m, &p, &o);
    for (int64_t i = 0; i < N; i++)
        for (int64_t k = 0; k < NBEST; k++) {
            hypothesis *h = all + i * NBEST + k;
            if (!h->ids) continue;
            CHECK_NEAR(h->log_prob, log_prob_of(m, &p, i, h), m->compute == F64 ? 1e-9 : 1e-4 * (double)(h->n + 1));
            CHECK_NEAR(h->score, score_of(h->log_prob, h->n + h->complete, o.length_penalty), 1e-12);
            CHECK(h->n <= p.src_at[i + 1] - p.src_at[i] - 1 + o.max_extra_tokens);
            if (k) CHECK((h[-1].complete && !h->complete) || h[-1].score >= h->score);
            for (int64_t j = 0; j < k; j++) CHECK(!same_ids(h, all + i * NBEST + j));
        }
    discard(all, N * NBEST);
    pairs_free(&p);
    if (test_failed > before) printf("  in %s\n", name);
}

/* ---- every output of a tiny vocabulary ---- */

enum { TINY = VOCAB_SPECIALS + 2, LONGEST = 3, OUTPUTS = 1 + 3 + 9 + 27 }; /* UNK and two tokens, up to length 3 */

static int best_first(const void *a, const void *b)
{
    const hypothesis *x = a, *y = b;
    return x->score < y->score ? 1 : x->score > y->score ? -1 : 0;
}

static void every_output(double alpha, uint64_t seed)
{
    enum { BEST = 12 };
    model m;
    random_model(&m, &kinds[0], TINY, F64, 1.5, seed);
    pairs p = random_pairs(4, 1, 1, TINY, seed);
    beam_options o = {
        .beam_size = 60, .length_penalty = alpha, .max_extra_tokens = LONGEST - 1, .batch = 2, .nbest = BEST};
    hypothesis *found = decode(&m, &p, &o);
    for (int64_t i = 0; i < p.n; i++) {
        static const int32_t tokens[] = {VOCAB_UNK, VOCAB_SPECIALS, VOCAB_SPECIALS + 1};
        hypothesis all[OUTPUTS];
        int32_t ids[OUTPUTS][LONGEST];
        for (int64_t k = 0, n = 0, at = 0, count = 1; k < OUTPUTS; k++, at++) {
            if (at == count) n++, at = 0, count *= 3;
            for (int64_t j = 0, x = at; j < n; j++, x /= 3) ids[k][j] = tokens[x % 3];
            all[k] = (hypothesis){.ids = ids[k], .n = n, .complete = true};
            all[k].log_prob = log_prob_of(&m, &p, i, &all[k]);
            all[k].score = score_of(all[k].log_prob, n + 1, alpha);
        }
        qsort(all, OUTPUTS, sizeof *all, best_first);
        for (int64_t k = 0; k < BEST; k++) {
            CHECK_NEAR(found[i * BEST + k].score, all[k].score, 1e-9);
            CHECK(same_ids(&found[i * BEST + k], &all[k]));
        }
    }
    discard(found, p.n * BEST);
    pairs_free(&p);
    model_free(&m);
}

/* ---- settings ---- */

static double mean_length(model *m, const pairs *p, double alpha)
{
    beam_options o = options(6, 1);
    double sum = 0;
    o.length_penalty = alpha;
    o.max_extra_tokens = 20;
    hypothesis *h = decode(m, p, &o);
    for (int64_t i = 0; i < p->n; i++) sum += (double)h[i].n;
    discard(h, p->n);
    return sum / (double)p->n;
}

/* A mask that lets outputs end after one token or after twelve: for many steps the early end looks best. The state is
 * the number of tokens. */
static void *no_tokens(void *self, int64_t sentence)
{
    (void)self, (void)sentence;
    return NULL;
}
static void *one_more(void *self, void *state, int32_t token)
{
    (void)self, (void)token;
    return (void *)((intptr_t)state + 1);
}
static void early_or_late(void *self, const void *state, uint8_t *mask)
{
    intptr_t n = (intptr_t)state;
    memset(mask, n != 1, *(size_t *)self);
    mask[VOCAB_SPECIALS] = mask[VOCAB_SPECIALS + 1] = 1;
    mask[VOCAB_EOS] = n == 1 || n > 11;
}
static void nothing_to_do(void *self, void *state) { (void)self, (void)state; }

/* The best hypothesis is the same if one hypothesis or the whole beam is requested. If the whole beam is requested, the
 * search takes more steps. */
static void fewer_asked(double spread, double alpha)
{
    enum { N = 30, BEAM = 5 };
    model m;
    size_t words = 15;
    decode_mask mask = {&words, no_tokens, one_more, early_or_late, nothing_to_do};
    random_model(&m, &kinds[0], (int64_t)words, F32, spread, 12);
    pairs p = random_pairs(N, 2, 12, (int64_t)words, 41);
    beam_options one = options(BEAM, 1), all = options(BEAM, BEAM);
    one.length_penalty = all.length_penalty = alpha;
    one.max_extra_tokens = all.max_extra_tokens = 15;
    one.mask = all.mask = &mask;
    hypothesis *a = decode(&m, &p, &one), *b = decode(&m, &p, &all);
    for (int64_t i = 0; i < N; i++) check_same(&a[i], &b[BEAM * i]);
    discard(a, N);
    discard(b, BEAM * N);
    pairs_free(&p);
    model_free(&m);
}

/* With a beam of 1 every token is the likeliest one after the tokens before it; the output ends if EOS is the
 * likeliest. */
static void greedy(model *m, const pairs *p)
{
    beam_options o = options(1, 1);
    hypothesis *h = decode(m, p, &o);
    for (int64_t i = 0; i < p->n; i++) {
        for (int64_t t = 0; t < h[i].n + h[i].complete; t++) {
            hypothesis head = {.ids = h[i].ids, .n = t};
            int32_t chosen = t < h[i].n ? h[i].ids[t] : VOCAB_EOS, next[256];
            if (t) memcpy(next, h[i].ids, (size_t)t * sizeof *next);
            double before = log_prob_of(m, p, i, &head), best = -INFINITY, of_chosen = 0;
            for (int32_t id = 0; id < m->tgt_vocab; id++) {
                if (id == VOCAB_PAD || id == VOCAB_BOS) continue;
                next[t] = id;
                double x = log_prob_of(m, p, i, &(hypothesis){.ids = next, .n = t + 1}) - before;
                best = x > best ? x : best;
                if (id == chosen) of_chosen = x;
            }
            CHECK_NEAR(of_chosen, best, 1e-9);
        }
        if (!h[i].complete) CHECK_INT(h[i].n, p->src_at[i + 1] - p->src_at[i] - 1 + o.max_extra_tokens);
    }
    o.unscored = true; /* without scores the tokens must be the same */
    hypothesis *fast = decode(m, p, &o);
    for (int64_t i = 0; i < p->n; i++) {
        CHECK(same_ids(&fast[i], &h[i]) && fast[i].complete == h[i].complete);
        CHECK_NEAR(fast[i].score, 0, 0);
        CHECK_NEAR(fast[i].log_prob, 0, 0);
    }
    discard(h, p->n);
    discard(fast, p->n);
    o.beam_size = 3; /* scores decide */
    h = decode(m, p, &o);
    for (int64_t i = 0; i < p->n; i++) CHECK(h[i].score < 0);
    discard(h, p->n);
}

static void settings_and_errors(void)
{
    model m;
    err e = {0};
    random_model(&m, &kinds[0], 15, F64, 1.3, 4);
    pairs p = random_pairs(12, 2, 9, 15, 4), tiny = random_pairs(2, 2, 5, 15, 6);
    double none = mean_length(&m, &p, 0), some = mean_length(&m, &p, 1), much = mean_length(&m, &p, 4);
    CHECK(none <= some && some <= much && none < much);
    if (!(none <= some && some <= much && none < much)) printf("  mean lengths %g, %g, %g\n", none, some, much);
    /* spread 1: the model is unsure of the next token; a larger spread makes the model surer */
    for (double spread = 1; spread < 4; spread += 0.5)
        for (double alpha = 0; alpha <= 3; alpha++) fewer_asked(spread, alpha);
    greedy(&m, &tiny);
    hypothesis h[36];
    beam_options o = options(2, 3);
    CHECK_INT(beam_search(&m, &p, &o, h, NULL, &e), -1);
    CHECK_HAS(e.text, "nbest = 3: expected 1 to beam_size = 2");
    e = (err){0};
    o = options(2, 1);
    ((double *)m.params.value)[params_find(&m.params, "embed")->at + 200] = NAN;
    m.params.version++;
    CHECK_INT(beam_search(&m, &p, &o, h, NULL, &e), -1);
    CHECK_HAS(e.text, "not numbers");
    CHECK(!h[0].ids);
    e = (err){0};
    o = options(1, 1), o.unscored = true;
    CHECK_INT(beam_search(&m, &p, &o, h, NULL, &e), -1);
    CHECK_HAS(e.text, "not numbers");
    model_free(&m);
    pairs_free(&p);
    pairs_free(&tiny);
}

static void empty_sources(void)
{
    static const int32_t src[] = {VOCAB_EOS, 5, 6, VOCAB_EOS, VOCAB_EOS};
    static const int64_t at[] = {0, 1, 4, 5};
    model m;
    random_model(&m, &kinds[0], 15, F32, 1, 4);
    pairs p = {.n = 3, .src = src, .src_at = at}, one = {.n = 1, .src = src + 1, .src_at = (int64_t[]){0, 3}};
    beam_options o = options(2, 2);
    hypothesis *h = decode(&m, &p, &o), *alone = decode(&m, &one, &o);
    CHECK_INT(h[0].n, 0);
    CHECK(h[0].ids && h[0].complete && !h[1].ids && h[4].ids);
    CHECK_NEAR(h[0].score, 0, 0);
    check_same(&h[2], &alone[0]);
    check_same(&h[3], &alone[1]);
    discard(h, 6);
    discard(alone, 2);
    model_free(&m);
}

int main(void)
{
    const char *set = getenv("ABLATE_ISA");
    /* slow: AMX's instructions are emulated, and the generic kernels take twice as long as AVX2 */
    bool slow = TEST_SANITIZED || (set && (same(set, "amx") || same(set, "generic")));
    cpu_threads(1); /* these models are too small for several threads */
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        if (k && slow && !test_drawn(k, 4)) continue;
        static const dtype types[] = {F32, BF16, F64};
        for (size_t t = 0; t < LENGTH(types); t++) {
            model m;
            char name[128];
            snprintf(name, sizeof name, "%s %s %s %s", kinds[k].attention, kinds[k].position, kinds[k].more,
                     dtype_name(types[t]));
            random_model(&m, &kinds[k], 23, types[t], 1.2, 40 + k);
            if (types[t] != F64) any_batch(&m, 40, name);
            if (types[t] != F64 && !k) { /* several threads share the rows */
                cpu_threads(2);
                any_batch(&m, 8, name);
                cpu_threads(3);
                any_batch(&m, 24, name); /* in streams */
                m.params.int8 = types[t] == F32;
                if (m.params.int8) any_batch(&m, 16, "int8");
                m.params.int8 = false;
                cpu_threads(1);
            }
            if (types[t] != BF16) true_scores(&m, name);
            model_free(&m);
        }
    }
    for (uint64_t seed = 1; seed <= 3; seed++) {
        every_output(0, seed);
        every_output(0.6, seed);
        every_output(2, seed);
    }
    settings_and_errors();
    empty_sources();
    return test_end();
}
