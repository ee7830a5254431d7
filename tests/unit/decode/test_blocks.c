/* Blockwise decoding gives greedy decoding's outputs, bit for bit, for right and wrong proposals of the head; right
 * proposals save steps; unsuitable models are refused. The head learns the true tokens in every type. */
#include "models.h"

static const kind_of_model blocked[] = {
    {"scaled_dot", "sinusoid", "head=multi_token multi_token.ahead=4"},
    {"scaled_dot", "learned", "head=multi_token multi_token.ahead=4 block=pre_norm bias=false learned.max_len=48"},
    {"dot", "none", "head=multi_token multi_token.ahead=4 heads=2 d_k=7 d_v=5"},
    {"scaled_dot", "sinusoid",
     "head=multi_token multi_token.ahead=4 attention_cross=additive attention_encoder=linear"},
    {"scaled_dot", "learned", "head=multi_token multi_token.ahead=4 feed_forward=swiglu norm=rms_norm"},
};
enum { VOCAB = 19 };

static hypothesis *decode(model *m, const pairs *p, int64_t block, int64_t batch, beam_stats *stats)
{
    err e = {0};
    beam_options o = {
        .beam_size = 1, .length_penalty = 0.6, .max_extra_tokens = 9, .batch = batch, .nbest = 1, .block = block};
    hypothesis *h = xcalloc((size_t)p->n, sizeof *h);
    if (beam_search(m, p, &o, h, stats, &e)) printf("beam_search: %s\n", e.text);
    CHECK_TEXT(e.text, "");
    return h;
}

static void discard(hypothesis *h, int64_t n)
{
    hypotheses_free(h, n);
    free(h);
}

static void check_same(const hypothesis *found, const hypothesis *expected, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        CHECK_INT(found[i].n, expected[i].n);
        for (int64_t t = 0; t < found[i].n && t < expected[i].n; t++) CHECK_INT(found[i].ids[t], expected[i].ids[t]);
        CHECK_INT(found[i].complete, expected[i].complete);
        CHECK_NEAR(found[i].score, expected[i].score, 0); /* bit for bit */
        CHECK_NEAR(found[i].log_prob, expected[i].log_prob, 0);
    }
}

/* Checks outputs for several block sizes, and returns the most tokens accepted per step and sentence. */
static double same_as_greedy(model *m, const pairs *p)
{
    static const int64_t sizes[] = {2, 5, 3, 4}, batches[] = {7, 64, 1};
    double most = 0;
    hypothesis *greedy = decode(m, p, 0, 64, NULL);
    for (size_t k = 0; k < (test_long() ? LENGTH(sizes) : 2); k++)
        for (size_t b = 0; b < (test_long() ? LENGTH(batches) : 2); b++) {
            beam_stats stats;
            hypothesis *h = decode(m, p, sizes[k], batches[b], &stats);
            check_same(h, greedy, p->n);
            double per_step = (double)stats.accepted / (double)stats.blocks;
            CHECK_THAT(per_step > 0.9 && per_step <= (double)sizes[k], "%g tokens per step in blocks of %d", per_step,
                       (int)sizes[k]); /* below 1 is possible: a last step at the length limit may accept no token */
            most = per_step > most ? per_step : most;
            discard(h, p->n);
        }
    discard(greedy, p->n);
    return most;
}

static void all_models(dtype type)
{
    double most = 0;
    pairs p = random_pairs(test_long() ? 70 : 16, 1, 20, VOCAB, 5);
    for (size_t k = 0; k < LENGTH(blocked); k++)
        for (uint64_t seed = 1; seed < 3; seed++) {
            int before = test_failed;
            model m;
            random_model(&m, &blocked[k], VOCAB, type, seed == 1 ? 1 : 2, seed);
            double per_step = same_as_greedy(&m, &p);
            most = per_step > most ? per_step : most;
            model_free(&m);
            if (test_failed > before) printf("  in model %d, seed %d\n", (int)k, (int)seed);
        }
    CHECK_THAT(most > 1.2, "at most %g tokens per step of any model, expected some proposals to be right", most);
    pairs_free(&p);
}

static void refused(const kind_of_model *k, int64_t block, int64_t beam, const char *expected)
{
    model m;
    err e = {0};
    hypothesis h[4];
    pairs p = random_pairs(4, 2, 5, VOCAB, 6);
    beam_options o = {.beam_size = beam, .max_extra_tokens = 4, .nbest = 1, .block = block};
    random_model(&m, k, VOCAB, F32, 1, 3);
    CHECK_INT(beam_search(&m, &p, &o, h, NULL, &e), -1);
    CHECK_HAS(e.text, expected);
    model_free(&m);
    pairs_free(&p);
}

static void all_refused(void)
{
#define MULTI "head=multi_token multi_token.ahead=2"
    static const kind_of_model plain = {"scaled_dot", "sinusoid", ""}, multi = {"scaled_dot", "sinusoid", MULTI},
                               rotary = {"scaled_dot", "rotary", MULTI}, linear = {"linear", "sinusoid", MULTI},
                               near = {"restricted", "sinusoid", MULTI}, additive = {"additive", "sinusoid", MULTI},
                               shift = {"scaled_dot", "sinusoid", MULTI " feed_forward=token_shift"},
                               cross = {"scaled_dot", "sinusoid", MULTI " attention_cross=restricted"};
    refused(&plain, 2, 1, "head softmax proposes 0 tokens after the next one, expected 1");
    refused(&multi, 4, 1, "head multi_token proposes 2 tokens after the next one, expected 3");
    refused(&multi, 18, 1, "blocks of 18 tokens: expected at most 17");
    refused(&multi, -1, 1, "blocks of -1 tokens: expected at least 0");
    refused(&multi, 2, 4, "blockwise decoding is greedy: expected a beam of 1");
    refused(&rotary, 2, 1, "this decoder reads positions in self-attention");
    refused(&near, 2, 1, "this decoder reads positions in self-attention");
    refused(&cross, 2, 1, "this decoder reads positions in cross-attention");
    refused(&linear, 2, 1, "this decoder carries sums from step to step");
    refused(&shift, 2, 1, "this decoder carries sums from step to step");
    refused(&additive, 2, 1, "this decoder reads all keys as one tensor");
}

/* The loss of the head's further tokens, in a model that is sure of its wrong proposals. */
static double loss_ahead(dtype type, int64_t vocab)
{
    static const kind_of_model kind = {"scaled_dot", "sinusoid", "head=multi_token dropout=0"};
    enum { LENGTH_OF = 12 };
    int32_t ids[LENGTH_OF], pos[LENGTH_OF], offset[2] = {0, LENGTH_OF};
    model m;
    err e = {0};
    random_model(&m, &kind, vocab, type, 3, 4);
    for (int i = 0; i < LENGTH_OF; i++) ids[i] = (int32_t)vocab - 1 - 7 * i, pos[i] = i;
    model_batch b = {.shape = {1, LENGTH_OF, LENGTH_OF, LENGTH_OF, LENGTH_OF},
                     .src_ids = ids,
                     .src_pos = pos,
                     .src_offset = offset,
                     .tgt_in = ids,
                     .tgt_out = ids,
                     .tgt_pos = pos,
                     .tgt_offset = offset};
    ab_ctx *c = model_loss_tape(&m, &b.shape, true, &e);
    if (!c || tape_plan(c, NULL, NULL)) broken("%s", c ? c->error.text : e.text);
    model_loss_inputs(c, &b, 1);
    if (tape_run(c, &(run_options){.from = PHASE_CONST})) printf("%s\n", c->error.text);
    CHECK_TEXT(c->error.text, "");
    const node *v = &c->v[tape_find(c, RECORDED "multi_token.ahead_1").id];
    double loss = v->type == F64 ? *(const double *)v->data : *(const float *)v->data;
    tape_free(c);
    model_free(&m);
    return loss;
}

/* bf16 holds integers exactly only up to 256, so ids of targets must not be stored in it. */
static void test_targets(void)
{
    for (int64_t vocab = 300; vocab < 40000; vocab *= test_long() ? 5 : 25) {
        double exact = loss_ahead(F64, vocab);
        CHECK_NEAR(loss_ahead(F32, vocab), exact, 1e-3 * exact);
        CHECK_NEAR(loss_ahead(BF16, vocab), exact, 0.06 * exact);
    }
}

int main(void)
{
    test_targets();
    all_models(F32);
    all_models(BF16);
    if (test_long()) all_models(F64);
    all_refused();
    return test_end();
}
