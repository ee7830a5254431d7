/* char_ngrams adds the mean of a token's n-gram vectors to its source embedding: the model equals a model whose
 * embedding table has these means added, in outputs and gradients. A decoder-only model, which has no source, refuses
 * char_ngrams. */
#include "network/check/internal.h"
#include "test.h"
#include <math.h>
#include <string.h>

enum { BUCKETS = 5, N = 9 };
static const int32_t id[N] = {0, 1, 1, 4, 2, 0, 0, 3, 3},
                     /* n-gram id[i] belongs to token[i]; token 8 has no n-gram, tokens 12 and 9 share one */
    token[N] = {4, 4, 5, 5, 5, 7, 7, 12, 9};

static double *values_of(model *m, const char *name, bool gradient)
{
    const param *p = params_find(&m->params, name);
    CHECK(p != NULL);
    if (!p) exit(test_end());
    return (double *)(gradient ? m->params.grad : m->params.value) + p->at;
}

static double loss_of(model *m)
{
    sentences s;
    pass p = {0};
    err e = {0};
    check_sentences(&s);
    CHECK_INT(pass_open(&p, m, &s, true, 2, 0, &e), 0);
    CHECK_INT(pass_run(&p, 1, &e), 0);
    CHECK_TEXT(e.text, "");
    double loss = pass_loss(&p);
    pass_close(&p);
    return loss;
}

static void open_one(model *m, const pairing *w)
{
    err e = {0};
    CHECK_INT(check_model_open(m, w, &(model_kind){.compute = F64}, &e), 0);
    CHECK_TEXT(e.text, "");
    if (e.text[0]) exit(test_end());
}

/* Number of n-grams of token[i]. */
static int shared_by(int i)
{
    int all = 0;
    for (int k = 0; k < N; k++) all += token[k] == token[i];
    return all;
}

/* Adds to each row of x [CHECK_VOCAB, d] the mean of those rows of `mean` [BUCKETS, d] that belong to the token's
 * n-grams. */
static void add_means(model *m, const double *mean, double *x)
{
    int64_t d = m->cfg.d_model;
    for (int i = 0; i < N; i++)
        for (int64_t j = 0; j < d; j++) x[token[i] * d + j] += mean[id[i] * d + j] / shared_by(i);
}

static void compare(const char *position)
{
    model composed, plain;
    pairing with = {.position = position, .key = "char_ngrams", .value = "5"}, without = {.position = position};
    open_one(&composed, &with);
    open_one(&plain, &without);
    model_set_ngrams(&composed, id, token, N);
    for (size_t k = 0; k < plain.params.n; k++) {
        const param *p = &plain.params.p[k];
        memcpy((double *)plain.params.value + p->at, values_of(&composed, p->name, false), p->count * sizeof(double));
    }
    add_means(&composed, values_of(&composed, "src.ngrams", false), values_of(&plain, "src.embed", false));
    composed.params.version++, plain.params.version++;
    double expected = loss_of(&plain), found = loss_of(&composed);
    CHECK_NEAR(found, expected, 1e-10 * fabs(expected));
    const double *table = values_of(&plain, "src.embed", true), *vectors = values_of(&composed, "src.ngrams", true);
    int64_t d = plain.cfg.d_model, bad = 0;
    double sums[BUCKETS][64] = {0}, size = 0;
    for (int i = 0; i < N; i++)
        for (int64_t j = 0; j < d; j++) sums[id[i]][j] += table[token[i] * d + j] / shared_by(i);
    for (int b = 0; b < BUCKETS; b++)
        for (int64_t j = 0; j < d; j++)
            bad += !(fabs(sums[b][j] - vectors[b * d + j]) < 1e-10), size += fabs(sums[b][j]);
    CHECK_INT(bad, 0);
    CHECK(size > 0.01);
    model_free(&composed);
    model_free(&plain);
}

static void check_decoder_only(void)
{
    arena a = {0};
    settings set = {0};
    err e = {0};
    model m;
    for (const ab_option *p = config_params; p->name; p++) settings_set(&set, p->name, param_default(p, &a), &a);
    settings_set(&set, "char_ngrams", "8", &a);
    CHECK_INT(model_open(&m, &set, 0, 20, F32, &cpu_backend, &e), -1);
    CHECK_TEXT(e.text,
               "char_ngrams composes tokens of the source, which a decoder-only model lacks: found 8, expected 0");
    arena_free(&a);
}

int main(void)
{
    plugin_add_folder(BUILD_DIR "/plugins");
    compare("rotary");
    compare("sinusoid");
    compare("learned");
    check_decoder_only();
    return test_end();
}
