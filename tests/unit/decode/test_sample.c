/* Sampling from a decoder-only model: each greedy token is the likeliest one in a full pass, also when the text is
 * longer than the window. Random draws follow the softmax. */
#include "models.h"
#include "network/decode/sample.h"

enum { VOCAB = 17, WINDOW = 8 };

static const kind_of_model kind = {"scaled_dot", "learned", "learned.max_len=8 block=pre_norm"};

/* -ln p of `id` after read[n], in a full pass. read[0] may be VOCAB_BOS. */
static double cost_after(model *m, const int32_t *read, int64_t n, int32_t id)
{
    int32_t out[WINDOW], pos[WINDOW], offset[2] = {0, (int32_t)n};
    err e = {0};
    for (int32_t i = 0; i < n; i++) pos[i] = i, out[i] = i + 1 < n ? read[i + 1] : id;
    model_batch b = {.shape = {1, 0, n, 0, n}, .tgt_in = read, .tgt_out = out, .tgt_pos = pos, .tgt_offset = offset};
    ab_ctx *c = model_loss_tape(m, &b.shape, false, &e);
    if (!c || tape_plan(c, NULL, NULL)) broken("%s", c ? c->error.text : e.text);
    model_loss_inputs(c, &b, 1);
    if (tape_run(c, &(run_options){.from = PHASE_CONST})) broken("%s", c->error.text);
    double loss = ((const double *)tape_at(c, tape_find(c, "losses"))->data)[2 * (n - 1) + 1];
    tape_free(c);
    return loss;
}

static int32_t likeliest_after(model *m, const int32_t *read, int64_t n)
{
    int32_t best = VOCAB_EOS;
    double least = cost_after(m, read, n, VOCAB_EOS);
    for (int32_t id = VOCAB_SPECIALS; id < VOCAB; id++) {
        double cost = cost_after(m, read, n, id);
        if (cost < least) least = cost, best = id;
    }
    return best;
}

static void put(id_list *text, int32_t id)
{
    text->id = grow(text->id, &text->cap, (size_t)text->n + 1, sizeof *text->id);
    text->id[text->n++] = id;
}

static void test_greedy(model *m, int64_t prompt)
{
    enum { TOKENS = 21 };
    id_list text = {0};
    err e = {0};
    for (int32_t i = 0; i < prompt; i++) put(&text, VOCAB_SPECIALS + i % 5);
    CHECK_INT(sample_text(m, &(sample_options){.tokens = TOKENS, .window = WINDOW}, &text, NULL, &e), 0);
    CHECK_INT(text.n, prompt + TOKENS);
    /* number of the first token in the window */
    int64_t from = prompt >= WINDOW ? prompt - WINDOW + 1 : 0;
    for (int64_t i = prompt; i < text.n; i++) {
        if (i - from + 1 > WINDOW) from = i - WINDOW / 2;
        int32_t read[WINDOW];
        int64_t n = i - from + 1; /* the token before the window, and the window so far */
        for (int64_t k = 0; k < n; k++) read[k] = from + k ? text.id[from + k - 1] : VOCAB_BOS;
        CHECK_INT(text.id[i], likeliest_after(m, read, n));
    }
    id_list_free(&text);
}

static void test_draws(model *m)
{
    enum { DRAWS = 400, TOP = 3 };
    int count[VOCAB] = {0};
    err e = {0};
    const int32_t start = VOCAB_BOS;
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        id_list text = {0};
        CHECK_INT(sample_text(
                      m,
                      &(sample_options){.tokens = 1, .temperature = 0.7, .top_k = TOP, .seed = seed, .window = WINDOW},
                      &text, NULL, &e),
                  0);
        count[text.id[0]]++;
        id_list_free(&text);
    }
    double p[VOCAB] = {0}, sum = 0;
    int drawn = 0;
    for (int32_t id = VOCAB_EOS; id < VOCAB; id++) drawn += count[id] > 0;
    CHECK_INT(drawn, TOP);
    for (int32_t id = VOCAB_EOS; id < VOCAB; id++)
        if (count[id]) sum += p[id] = exp(-cost_after(m, &start, 1, id) / 0.7);
    for (int32_t id = VOCAB_EOS; id < VOCAB; id++) {
        double expected = DRAWS * p[id] / sum, spread = sqrt(expected * (1 - p[id] / sum));
        CHECK_THAT(fabs(count[id] - expected) <= 4 * spread, "token %d was drawn %d times, expected %.0f", id,
                   count[id], expected);
    }
}

/* A model of lines without ends samples as many tokens as requested, up to its number of positions. */
static void test_endless(model *m)
{
    enum { DRAWS = 12 };
    err e = {0};
    int ends = 0;
    for (uint64_t seed = 0; seed < DRAWS; seed++)
        for (int endless = 0; endless < 2; endless++) {
            id_list text = {0};
            sample_options o = {.tokens = WINDOW, .temperature = 100, .seed = seed, .endless = endless};
            CHECK_INT(sample_text(m, &o, &text, NULL, &e), 0);
            if (endless) CHECK_INT(text.n, WINDOW);
            ends += !endless && text.n < WINDOW;
            id_list_free(&text);
        }
    CHECK_THAT(ends > 0, "with ends, %d of %d samples ended, expected some", ends, DRAWS);
    id_list text = {0};
    CHECK_INT(sample_text(m, &(sample_options){.tokens = WINDOW + 1}, &text, NULL, &e), -1);
    CHECK_HAS(e.text, "learned.max_len = 8: expected at least 9");
    id_list_free(&text);
}

/* A model whose logits are NaN gives an error; it does not just end its text. */
static void test_no_numbers(model *m)
{
    err e = {0};
    id_list text = {0};
    for (size_t i = 0; i < m->params.total; i++) ((double *)m->params.value)[i] = NAN;
    m->params.version++;
    CHECK_INT(sample_text(m, &(sample_options){.tokens = 3}, &text, NULL, &e), -1);
    CHECK_HAS(e.text, "sampling: the model's logits are not numbers");
    CHECK_INT(text.n, 0);
    id_list_free(&text);
}

int main(void)
{
    model m;
    random_model_of(&m, &kind, 0, VOCAB, F64, 2, 4);
    test_greedy(&m, 0);
    test_greedy(&m, 3);
    test_greedy(&m, 12);
    test_draws(&m);
    test_endless(&m);
    test_no_numbers(&m);
    model_free(&m);
    return test_end();
}
