/* Constrained decoding, and decoding from text to text. */
#include "models.h"

/* A mask for alternating tokens: odd ids at even positions, even ids at odd ones; EOS after an even number. */
typedef struct {
    int64_t vocab, made, released;
} alternation;
typedef struct {
    int64_t length;
} place;

static place *new_place(alternation *a, int64_t length)
{
    place *p = xmalloc(sizeof *p);
    p->length = length;
    a->made++;
    return p;
}
static void *start(void *self, int64_t sentence)
{
    (void)sentence;
    return new_place(self, 0);
}
static void *advance(void *self, void *state, int32_t token)
{
    const place *p = state;
    CHECK((token + p->length) % 2 == 1);
    return new_place(self, p->length + 1);
}
static void allowed(void *self, const void *state, uint8_t *mask)
{
    const alternation *a = self;
    const place *p = state;
    for (int64_t i = 0; i < a->vocab; i++) mask[i] = (i + p->length) % 2 == 1;
    mask[VOCAB_EOS] = p->length > 0 && p->length % 2 == 0;
}
static void release(void *self, void *state)
{
    ((alternation *)self)->released++;
    free(state);
}

static void alternating(dtype type)
{
    enum { V = 90, N = 30, NBEST = 3 };
    model m;
    err e = {0};
    alternation a = {.vocab = V};
    decode_mask mask = {&a, start, advance, allowed, release};
    pairs p = random_pairs(N, 1, 9, V, 2);
    beam_options o = {
        .beam_size = 4, .length_penalty = 0.6, .max_extra_tokens = 5, .batch = 8, .nbest = NBEST, .mask = &mask};
    hypothesis h[N * NBEST], alone[N * NBEST];
    random_model(&m, &kinds[0], V, type, 1, 6);
    CHECK_INT(beam_search(&m, &p, &o, h, NULL, &e), 0);
    o.batch = 1;
    CHECK_INT(beam_search(&m, &p, &o, alone, NULL, &e), 0);
    for (int64_t i = 0; i < N * NBEST; i++) {
        for (int64_t j = 0; j < h[i].n; j++) CHECK((h[i].ids[j] + j) % 2 == 1);
        CHECK(!h[i].complete || (h[i].n > 0 && h[i].n % 2 == 0));
        CHECK_INT(h[i].n, alone[i].n);
        CHECK_NEAR(h[i].score, alone[i].score, 0);
    }
    CHECK(a.made > 2 * N);
    CHECK_INT(a.released, a.made);
    hypotheses_free(h, N * NBEST);
    hypotheses_free(alone, N * NBEST);
    pairs_free(&p);
    model_free(&m);
}

/* A mask that allows no token: the search returns the output so far, marked as incomplete. */
static void nothing(void *self, const void *state, uint8_t *mask)
{
    allowed(self, state, mask);
    mask[VOCAB_EOS] = 0;
    if (((const place *)state)->length == 3) memset(mask, 0, (size_t)((alternation *)self)->vocab);
}
static void dead_end(void)
{
    enum { V = 30 };
    model m;
    err e = {0};
    alternation a = {.vocab = V};
    decode_mask mask = {&a, start, advance, nothing, release};
    pairs p = random_pairs(4, 3, 9, V, 2);
    beam_options o = {
        .beam_size = 4, .length_penalty = 0.6, .max_extra_tokens = 5, .batch = 8, .nbest = 2, .mask = &mask};
    hypothesis h[8];
    random_model(&m, &kinds[0], V, F32, 1, 6);
    CHECK_INT(beam_search(&m, &p, &o, h, NULL, &e), 0);
    for (int64_t i = 0; i < 8; i++) {
        CHECK_INT(h[i].n, 3);
        CHECK(!h[i].complete);
    }
    CHECK_INT(a.released, a.made);
    hypotheses_free(h, 8);
    pairs_free(&p);
    model_free(&m);
}

/* ---- text ---- */

static int64_t told, of;
static void progress(void *self, int64_t done, int64_t total)
{
    CHECK(done > told);
    *(int64_t *)self += 1;
    told = done;
    of = total;
}

static void text_to_text(void)
{
    static const char *const train[] = {"the cat sees the dog", "a dog sees a bird", "birds sing"};
    static const char *const lines[] = {"the dog", "", "a bird sees the cat", "birds"};
    err e = {0};
    model m;
    vocab *v = vocab_train(TOKENS_WORDS, 0, false, train, 3, &e);
    CHECK_TEXT(e.text, "");
    random_model(&m, &kinds[0], vocab_size(v), F32, 1, 3);
    int64_t calls = 0;
    beam_options o = {.beam_size = 3,
                      .length_penalty = 0.6,
                      .max_extra_tokens = 3,
                      .batch = 2,
                      .nbest = 2,
                      .progress = progress,
                      .progress_self = &calls};
    char **out = NULL;
    double scores[8];
    beam_stats stats;
    CHECK_INT(decode_lines(&m, v, v, lines, 4, &o, &out, scores, &stats, &e), 0);
    CHECK_TEXT(e.text, "");
    pairs p;
    hypothesis h[8];
    o.progress = NULL;
    CHECK_INT(pairs_encode(&p, lines, NULL, 4, v, v, &e), 0);
    CHECK_INT(beam_search(&m, &p, &o, h, NULL, &e), 0);
    int64_t tokens = 0;
    for (int i = 0; i < 8; i++) {
        str text = {0};
        vocab_decode(v, h[i].ids, h[i].n, &text);
        CHECK((out[i] != NULL) == (h[i].ids != NULL));
        if (out[i]) CHECK_TEXT(out[i], str_text(&text));
        CHECK_NEAR(scores[i], h[i].score, 0);
        if (i % 2 == 0) tokens += h[i].n + h[i].complete;
        str_free(&text);
    }
    CHECK_TEXT(out[2], "");
    CHECK(!out[3]); /* an empty line has one hypothesis */
    CHECK(*out[0] || *out[1]);
    CHECK_INT(stats.sentences, 4);
    CHECK_INT(stats.tokens, tokens);
    CHECK(stats.steps > 0 && stats.rows >= stats.steps && stats.seconds > 0);
    CHECK(calls > 0);
    CHECK_INT(of, 4);
    decoded_free(out, 8);
    CHECK_INT(decode_lines(&m, v, v, (const char *const[]){"ok", "bad \xff"}, 2, &o, &out, NULL, NULL, &e), -1);
    CHECK_HAS(e.text, "line 2");
    CHECK(!out);
    hypotheses_free(h, 8);
    pairs_free(&p);
    model_free(&m);
    vocab_free(v);
}

/* Checks that a position's table covers the line and the longest possible output. */
static void reach(void)
{
    static const char *const train[] = {"a b"};
    static const kind_of_model eight = {"scaled_dot", "learned", "learned.max_len=8"};
    static const struct {
        const char *line, *words;
    } cases[] = {
        {"", ""},
        {"a b a", ""},
        {"bad \xff bad bad bad bad bad bad bad", ""}, /* invalid UTF-8, which the encoding refuses */
        {"a b a b",
         "learned.max_len = 8: expected at least 9, because outputs may be max_extra_tokens = 4 tokens longer than the "
         "line, which has 5"},
        {"a b a b a b a b",
         "learned.max_len = 8: expected at least 9, because the line has that many tokens, including EOS"},
    };
    err e = {0};
    model m, endless;
    vocab *v = vocab_train(TOKENS_WORDS, 0, false, train, 1, &e);
    beam_options o = {.beam_size = 2, .max_extra_tokens = 4, .batch = 2, .nbest = 1};
    random_model(&m, &eight, vocab_size(v), F32, 1, 3);
    random_model(&endless, &kinds[2], vocab_size(v), F32, 1, 3);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        e = (err){0};
        CHECK_INT(decode_check_reach(&m, v, cases[i].line, &o, &e), *cases[i].words ? -1 : 0);
        CHECK_TEXT(e.text, cases[i].words);
        CHECK_INT(decode_check_reach(&endless, v, cases[i].line, &o, NULL), 0);
    }
    model_free(&m);
    model_free(&endless);
    vocab_free(v);
}

int main(void)
{
    cpu_threads(1);
    alternating(F32);
    alternating(BF16);
    dead_end();
    text_to_text();
    reach();
    return test_end();
}
