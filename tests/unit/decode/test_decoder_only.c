/* A model without an encoder: its parameters are the decoder's, counted by the formula; its gradient is its loss's
 * derivative; step-by-step decoding gives the losses of one full pass. */
#include "count_formula.h"
#include "models.h"
#include "network/decode/steps.h"

enum { VOCAB = 19, SENTENCES = 3, LONGEST = 12 };

static const kind_of_model alone[] = {
    {"scaled_dot", "learned", "block=pre_norm feed_forward=gelu"},
    {"scaled_dot", "rotary", "share_embeddings=none"},
    {"linear", "sinusoid", ""},
    {"recurrent", "none", "heads=1"}, /* cannot do cross-attention, which this model lacks */
    {"restricted", "alibi", "restricted.r=2"},
    {"convolutional", "sinusoid", "share_embeddings=target"},
};

/* ---- parameters ---- */

static void test_parameters(void)
{
    model m;
    random_model_of(&m, &alone[0], 0, VOCAB, F64, 1, 1);
    CHECK(!model_has_encoder(&m));
    CHECK_INT(params_count(&m.params),
              count_formula(&m.cfg, VOCAB, false) + m.cfg.d_model * 1024); /* learned.max_len */
    for (size_t i = 0; i < m.params.n; i++) {
        const char *name = m.params.p[i].name;
        CHECK_THAT(!strstr(name, "cross") && strncmp(name, "enc", 3) && strncmp(name, "src", 3),
                   "a decoder alone has %s", name);
    }
    double alone_flops = model_flops(&m, 0, 100), d = 24, layers = 2,
           per_token = layers * (4 * d * d + 2 * d * 40) + VOCAB * d;
    CHECK_NEAR(alone_flops, 6 * 100 * per_token, 1e-6);
    CHECK_NEAR(model_flops(&m, 100, 100), alone_flops, 0);
    model_free(&m);
    random_model_of(&m, &alone[1], 0, VOCAB, F64, 1, 1);
    CHECK_INT(params_count(&m.params), count_formula(&m.cfg, VOCAB, false));
    model_free(&m);
}

/* ---- gradient ---- */

static double loss(model *m, const pairs *p, double *each)
{
    double sum = 0;
    for (int64_t i = 0, n; i < p->n; i++, each += n) {
        full_pass(m, p, i, each);
        n = p->tgt_at[i + 1] - p->tgt_at[i];
        for (int64_t k = 0; k < n; k++) sum += each[k];
    }
    return sum;
}

static void gradient_of(model *m, const pairs *p, double *grad)
{
    memset(grad, 0, m->params.total * sizeof *grad);
    for (int64_t i = 0; i < p->n; i++) {
        int32_t in[64], pos[64], off[2] = {0, (int32_t)(p->tgt_at[i + 1] - p->tgt_at[i])};
        const int32_t *tgt = p->tgt + p->tgt_at[i];
        for (int32_t j = 0; j < off[1]; j++) pos[j] = j, in[j] = j ? tgt[j - 1] : VOCAB_BOS;
        model_batch b = {
            .shape = {1, 0, off[1], 0, off[1]}, .tgt_in = in, .tgt_out = tgt, .tgt_pos = pos, .tgt_offset = off};
        err e = {0};
        ab_ctx *c = model_loss_tape(m, &b.shape, true, &e);
        CHECK_TEXT(e.text, "");
        if (!c || tape_plan(c, NULL, NULL)) return;
        model_loss_inputs(c, &b, 1);
        CHECK_INT(tape_run(c, &(run_options){.from = PHASE_CONST}), 0);
        for (size_t k = 0; k < m->params.total; k++) grad[k] += ((const double *)m->params.grad)[k];
        tape_free(c);
    }
}

static void test_gradient(const kind_of_model *k)
{
    enum { PROBES = 12 };
    model m;
    kind_of_model plain = *k;
    char more[128];
    snprintf(more, sizeof more, "%s%slabel_smoothing=0 dropout=0", k->more, k->more[0] ? " " : "");
    plain.more = more;
    random_model_of(&m, &plain, 0, VOCAB, F64, 1, 3);
    pairs p = random_pairs(SENTENCES, 2, 6, VOCAB, 5);
    double each[SENTENCES * LONGEST], *grad = xcalloc(m.params.total, sizeof *grad), *value = m.params.value;
    gradient_of(&m, &p, grad);
    rng r = rng_seed(11, 2);
    for (int i = 0; i < PROBES; i++) {
        const param *at = &m.params.p[(size_t)i % m.params.n];
        size_t j = at->at + (size_t)rng_below(&r, at->count);
        double was = value[j], h = 1e-5;
        value[j] = was + h, m.params.version++;
        double up = loss(&m, &p, each);
        value[j] = was - h, m.params.version++;
        double down = loss(&m, &p, each);
        value[j] = was, m.params.version++;
        double found = grad[j], expected = (up - down) / (2 * h);
        CHECK_THAT(fabs(found - expected) <= 1e-5 * fmax(1, fabs(expected)),
                   "%s, %s: gradient %.9g, differences give %.9g", k->attention, at->name, found, expected);
    }
    free(grad);
    pairs_free(&p);
    model_free(&m);
}

/* ---- steps ---- */

static double loss_of(const double *x, int32_t id)
{
    double sum = 0;
    for (int i = 0; i < VOCAB; i++) sum += exp(x[i] - x[0]);
    return log(sum) + x[0] - x[id];
}

static void test_steps(const kind_of_model *k)
{
    model m;
    err e = {0};
    steps s;
    random_model_of(&m, k, 0, VOCAB, F64, 1.5, 7);
    pairs p = random_pairs(SENTENCES, 4, LONGEST - 1, VOCAB, 8);
    double each[SENTENCES][64];
    for (int64_t i = 0; i < SENTENCES; i++) full_pass(&m, &p, i, each[i]);
    steps_open(&s, &m);
    CHECK_INT(steps_start(&s, NULL, NULL, SENTENCES, 1, LONGEST + 1, &e), 0);
    for (int64_t t = 0; t < LONGEST; t++) {
        int32_t before[SENTENCES], same_rows[SENTENCES];
        for (int32_t i = 0; i < SENTENCES; i++) {
            bool inside = t && p.tgt_at[i] + t <= p.tgt_at[i + 1];
            before[i] = !t ? VOCAB_BOS : inside ? p.tgt[p.tgt_at[i] + t - 1] : VOCAB_EOS;
            same_rows[i] = i;
        }
        const double *logits = steps_run(&s, before, &e);
        CHECK_TEXT(e.text, "");
        if (!logits) break;
        for (int64_t i = 0; i < SENTENCES; i++)
            if (p.tgt_at[i] + t < p.tgt_at[i + 1])
                CHECK_NEAR(loss_of(logits + i * VOCAB, p.tgt[p.tgt_at[i] + t]), each[i][t], 1e-9);
        steps_follow(&s, same_rows);
    }
    steps_close(&s);
    pairs_free(&p);
    model_free(&m);
}

int main(void)
{
    test_parameters();
    for (size_t i = 0; i < LENGTH(alone); i++) {
        test_gradient(&alone[i]);
        test_steps(&alone[i]);
    }
    return test_end();
}
