/* Decoding step by step with given tokens gives the losses of one full pass, whichever rows the hypotheses move
 * through. */
#include "models.h"
#include "network/decode/steps.h"

enum { VOCAB = 19, BEAM = 3 };

static double loss_of(const void *logits, dtype type, int64_t row, int32_t id)
{
    double x[VOCAB], sum = 0;
    for (int i = 0; i < VOCAB; i++) {
        int64_t at = row * VOCAB + i;
        x[i] = type == F64 ? ((const double *)logits)[at] : (double)((const float *)logits)[at];
    }
    for (int i = 0; i < VOCAB; i++) sum += exp(x[i] - x[0]);
    return log(sum) + x[0] - x[id];
}

static int32_t token(const pairs *p, int64_t i, int64_t t) /* the decoder's input at time t; after the end any token */
{
    if (!t) return VOCAB_BOS;
    return p->tgt_at[i] + t - 1 < p->tgt_at[i + 1] ? p->tgt[p->tgt_at[i] + t - 1] : VOCAB_EOS;
}

typedef struct {
    /* which: sentences still decoded; row: the row that holds each sentence's true prefix */
    int64_t which[16], row[16], n;
    int64_t beam; /* number of rows per sentence in this step */
    double losses[16][64];
} forcing;

static int64_t length_of(const pairs *p, int64_t i) { return p->tgt_at[i + 1] - p->tgt_at[i]; }

static void check_step(const forcing *f, const pairs *p, const void *logits, dtype type, int64_t t, double tolerance)
{
    for (int64_t b = 0; b < f->n; b++) {
        int64_t i = f->which[b];
        if (t >= length_of(p, i)) continue;
        CHECK_NEAR(loss_of(logits, type, b * f->beam + f->row[b], p->tgt[p->tgt_at[i] + t]), f->losses[i][t],
                   tolerance);
    }
}

/* Moves each sentence's true prefix to a random row; the other rows continue random rows. */
static void wander(forcing *f, steps *s, rng *r)
{
    int32_t parents[16 * BEAM];
    for (int64_t b = 0; b < f->n; b++) {
        int64_t next = (int64_t)rng_below(r, BEAM);
        for (int64_t h = 0; h < BEAM; h++)
            parents[b * BEAM + h] =
                (int32_t)(b * BEAM + (h == next ? f->row[b] : (int64_t)rng_below(r, (uint64_t)f->beam)));
        f->row[b] = next;
    }
    steps_follow(s, parents);
    f->beam = BEAM;
}

static void leave(forcing *f, steps *s, const pairs *p, int64_t t)
{
    bool keep[16];
    int64_t n = 0;
    for (int64_t b = 0; b < f->n; b++) {
        keep[b] = t < length_of(p, f->which[b]);
        if (keep[b]) f->which[n] = f->which[b], f->row[n++] = f->row[b];
    }
    if (n < f->n) steps_keep(s, keep);
    f->n = n;
}

/* narrow: the first step has one row per sentence. */
static void forced(model *m, const pairs *p, bool narrow, double tolerance, const char *name)
{
    steps s;
    err e = {0};
    rng r = rng_seed(3, 3);
    forcing f = {.n = p->n, .beam = narrow ? 1 : BEAM};
    int64_t capacity = 0;
    for (int64_t i = 0; i < p->n; i++) {
        f.which[i] = i, f.row[i] = (int64_t)rng_below(&r, (uint64_t)f.beam);
        full_pass(m, p, i, f.losses[i]);
        if (length_of(p, i) > capacity) capacity = length_of(p, i);
    }
    int before = test_failed;
    steps_open(&s, m);
    CHECK_INT(steps_start(&s, p, f.which, f.n, BEAM, capacity, &e), 0);
    if (narrow) steps_narrow(&s);
    for (int64_t t = 0; f.n && t < capacity; t++) {
        int32_t tokens[16 * BEAM];
        for (int64_t q = 0; q < f.n * f.beam; q++) {
            int32_t noise = VOCAB_SPECIALS + (int32_t)rng_below(&r, VOCAB - VOCAB_SPECIALS);
            tokens[q] = q % f.beam == f.row[q / f.beam] ? token(p, f.which[q / f.beam], t) : noise;
        }
        const void *logits = steps_run(&s, tokens, &e);
        CHECK_TEXT(e.text, "");
        if (!logits) break;
        check_step(&f, p, logits, m->compute, t, tolerance);
        wander(&f, &s, &r);
        if (t % 4 == 3) leave(&f, &s, p, t + 1);
    }
    CHECK_INT(s.batch ? s.beam : BEAM, BEAM);
    steps_close(&s);
    if (test_failed > before) printf("  in %s\n", name);
}

/* Attention is one operation on packed rows, with a program if the position or the plugin changes scores; it is not
 * fused if a head's scores depend on other heads' scores. */
static void fused(void)
{
    static const struct {
        kind_of_model kind;
        op step;
        int64_t cached; /* KV_CACHE_APPENDs per layer of decoder self-attention, beside fused attention's caches */
    } cases[] = {{{"scaled_dot", "sinusoid", ""}, OP_ATTEND_STEP, 0},
                 {{"scaled_dot", "rotary", ""}, OP_ATTEND_STEP, 0},
                 {{"dot", "rotary", "d_k=6 d_v=5"}, OP_ATTEND_STEP, 0},
                 {{"scaled_dot", "alibi", "attention_cross=dot"}, OP_ATTEND_PROGRAM_STEP, 0},
                 {{"restricted", "rotary", "attention_cross=dot"}, OP_ATTEND_PROGRAM_STEP, 0},
                 {{"cosine_similarity", "none", "attention_cross=dot"}, OP_ATTEND_PROGRAM_STEP, 1}, /* keys' lengths */
                 {{"talking_heads", "none", "attention_cross=dot"}, OP_KV_CACHE_APPEND, 2}}; /* keys and values */
    for (size_t k = 0; k < LENGTH(cases); k++) {
        model m;
        steps s;
        err e = {0};
        pairs p = random_pairs(2, 3, 5, VOCAB, 7);
        int64_t which[] = {0, 1}, found[OP_COUNT] = {0}, layers = 2;
        random_model(&m, &cases[k].kind, VOCAB, F32, 1, 3);
        steps_open(&s, &m);
        CHECK_INT(steps_start(&s, &p, which, 2, 1, 8, &e), 0);
        CHECK(steps_run(&s, (int32_t[]){VOCAB_BOS, VOCAB_BOS}, &e) != NULL);
        for (int32_t i = 1; i < s.tape->n; i++) found[s.tape->v[i].op] += s.tape->v[i].live;
        static const op ways[] = {OP_ATTEND_STEP, OP_ATTEND_PROGRAM_STEP};
        for (size_t i = 0; i < LENGTH(ways); i++) CHECK_INT(found[ways[i]], cases[k].step == ways[i] ? layers : 0);
        CHECK_INT(found[OP_KV_CACHE_APPEND], cases[k].cached * layers);
        CHECK_INT(found[OP_ATTEND], layers); /* cross attention */
        steps_close(&s);
        model_free(&m);
        pairs_free(&p);
    }
}

/* Keys and values of the source are computed once: when sentences end, the next tape inherits each layer's product of
 * the encoder's rows, unless other operations lie between this product and the steps. */
static void sources_once(void)
{
    static const struct {
        kind_of_model kind;
        int64_t given;
    } cases[] = {{{"scaled_dot", "sinusoid", ""}, 2}, {{"scaled_dot", "sinusoid", "attention_cross=talking_heads"}, 0}};
    for (size_t k = 0; k < LENGTH(cases); k++) {
        model m;
        steps s;
        err e = {0};
        pairs p = random_pairs(3, 3, 5, VOCAB, 7);
        int64_t given = 0;
        random_model(&m, &cases[k].kind, VOCAB, F32, 1, 3);
        steps_open(&s, &m);
        CHECK_INT(steps_start(&s, &p, (int64_t[]){0, 1, 2}, 3, 1, 8, &e), 0);
        CHECK(steps_run(&s, (int32_t[]){VOCAB_BOS, VOCAB_BOS, VOCAB_BOS}, &e) != NULL);
        steps_follow(&s, (int32_t[]){0, 1, 2});
        steps_keep(&s, (bool[]){true, false, true});
        CHECK(steps_run(&s, (int32_t[]){VOCAB_EOS, VOCAB_EOS}, &e) != NULL);
        for (int32_t i = 1; i < s.tape->n; i++) {
            const node *v = &s.tape->v[i];
            given += v->op == OP_LINEAR && v->phase == PHASE_SETUP && v->last == s.tape->n && !v->live;
        }
        CHECK_INT(given, cases[k].given);
        steps_close(&s);
        model_free(&m);
        pairs_free(&p);
    }
}

int main(void)
{
    cpu_threads(1);
    fused();
    sources_once();
    for (size_t k = 0; k < LENGTH(kinds); k++)
        for (int f64 = 0; f64 < 2; f64++) {
            model m;
            pairs p = random_pairs(6, 1, 37, VOCAB, 100 + k);
            char name[128];
            snprintf(name, sizeof name, "%s %s %s %s", kinds[k].attention, kinds[k].position, kinds[k].more,
                     f64 ? "fp64" : "fp32");
            random_model(&m, &kinds[k], VOCAB, f64 ? F64 : F32, 1.5, 20 + k);
            forced(&m, &p, false, f64 ? 1e-9 : 1e-4, name);
            forced(&m, &p, true, f64 ? 1e-9 : 1e-4, name);
            model_free(&m);
            pairs_free(&p);
        }
    return test_end();
}
