/* decode.c - compares step-by-step decoding with the full pass, while hypotheses are reordered. */
#include "network/check/internal.h"
#include "network/decode/steps.h"
#include <math.h>
#include <string.h>

enum { SOURCES = 3, BEAM = 2, HYPOTHESES = SOURCES * BEAM };

/* Source b has the hypotheses 2 b and 2 b + 1. Every hypothesis has its own target; all targets have one length. */
static void two_targets_each(sentences *s, int32_t length)
{
    static const int32_t source[SOURCES] = {6, 2, 9};
    *s = (sentences){.n = HYPOTHESES};
    for (int i = 0; i < HYPOTHESES; i++) {
        s->src_n[i] = source[i / BEAM], s->tgt_n[i] = length;
        for (int32_t j = 0; j < length; j++) {
            s->src[i][j] = check_token(201, (uint64_t)(i / BEAM * 256 + j));
            s->tgt[i][j] = check_token(202, (uint64_t)(i * 256 + j));
        }
    }
}

/* Returns the sources as pairs; the caller frees. */
static pairs sources(const sentences *s)
{
    int64_t *at = xcalloc(SOURCES + 1 + SOURCES * MOST_TOKENS, sizeof *at);
    int32_t *ids = (int32_t *)(at + SOURCES + 1);
    for (int64_t b = 0; b < SOURCES; b++) {
        memcpy(ids + at[b], s->src[b * BEAM], (size_t)s->src_n[b * BEAM] * sizeof *ids);
        at[b + 1] = at[b] + s->src_n[b * BEAM];
    }
    return (pairs){.n = SOURCES, .src = ids, .src_at = at, .block = at};
}

/* holder[r]: the hypothesis in row r. After odd steps the two hypotheses of every sentence swap rows; after every third
 * step, only the two hypotheses of the second sentence swap rows. */
static void change_places(int t, int32_t holder[HYPOTHESES], int32_t parents[HYPOTHESES])
{
    for (int r = 0; r < HYPOTHESES; r++) parents[r] = r;
    for (int b = 0; b < SOURCES; b++) {
        if (!(t % 2 || (t % 3 == 0 && b == 1))) continue;
        int32_t r = b * BEAM, h = holder[r];
        holder[r] = holder[r + 1], holder[r + 1] = h;
        parents[r] = r + 1, parents[r + 1] = r;
    }
}

static void compare_row(const double *step, const double *full, int t, const pairing *w, check_result *r)
{
    double worst = 0, size = 1;
    for (int j = 0; j < CHECK_VOCAB; j++) {
        worst = check_larger(worst, fabs(step[j] - full[j]));
        size = fmax(size, fabs(full[j]));
    }
    if (check_beyond(r, worst / size))
        check_fail(r,
                   "%s: decoding step %d has logits that differ from the full pass by %.2g: values that mix positions "
                   "must come from ab_key, ab_value (remembered), ab_causal_kv_sum, ab_running_sum or ab_scan",
                   w->name, t, worst);
}

static void step_through(model *m, const sentences *s, const double *full, const pairing *w, check_result *r)
{
    err e = {0};
    CLEANUP(steps_close) steps d;
    int32_t length = s->tgt_n[0];
    CLEANUP(pairs_free) pairs p = sources(s);
    int64_t which[SOURCES] = {0, 1, 2};
    int32_t holder[HYPOTHESES], parents[HYPOTHESES], tokens[HYPOTHESES];
    for (int i = 0; i < HYPOTHESES; i++) holder[i] = i;
    steps_open(&d, m);
    bool bad = steps_start(&d, &p, which, SOURCES, BEAM, length + 9, &e); /* no step knows the target's length */
    steps_narrow(&d);
    for (int t = 0; t < length && !bad && r->outcome != CHECK_FAIL; t++) {
        int beam = (int)d.beam; /* steps_narrow makes this 1 in the first step, except on a device */
        for (int i = 0; i < HYPOTHESES; i++) tokens[i] = t ? s->tgt[holder[i]][t - 1] : VOCAB_BOS;
        const double *logits = steps_run(&d, tokens, &e);
        bad = !logits;
        for (int i = 0; i < HYPOTHESES && logits; i++)
            compare_row(logits + (i / BEAM * beam + i % beam) * CHECK_VOCAB,
                        full + (holder[i] * length + t) * CHECK_VOCAB, t, w, r);
        change_places(t, holder, parents);
        for (int i = 0; i < HYPOTHESES; i++) parents[i] = parents[i] / BEAM * BEAM + parents[i] % beam;
        if (!bad) steps_follow(&d, parents);
    }
    if (bad) check_fail(r, "%s: decoding step by step: %s", w->name, e.text);
}

static void decode_with(const pairing *w, const model_kind *k, int32_t length, check_result *r)
{
    CLEANUP(model_free) model m;
    CLEANUP(pass_close) pass p = {0};
    sentences s;
    err e = {0};
    two_targets_each(&s, length);
    if (!check_has_model(&m, w, k, r)) return;
    if (pass_open(&p, &m, &s, false, 0, 0, &e) || pass_run(&p, 1, &e))
        check_fail(r, "%s: %s", w->name, e.text);
    else
        step_through(&m, &s, tape_at(p.c, tape_find(p.c, "logits"))->data, w, r);
}

void check_decode(const pairing *w, check_result *r)
{
    enum { LENGTH = 18 };
    decode_with(w, &(model_kind){.compute = F64}, LENGTH, r);
    if (r->outcome != CHECK_FAIL) decode_with(w, &(model_kind){.compute = F64, .square = true}, LENGTH, r);
}

static void decode_long(const pairing *w, check_result *r) { decode_with(w, &(model_kind){.compute = F64}, 128, r); }
void check_long_decode(const plugin *p, check_result *r) { check_one_partner(p, decode_long, 128, r); }
