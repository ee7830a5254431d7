/* score_likelihood.c - ablate score likelihood: computes a model's probability of a given target. */
#include "cli/pairs.h"
#include "network/train/train.h"

typedef struct {
    pairs_options from;
} likelihood_options;

static int score(void *self, model *m, const vocab *src, const vocab *tgt, const pairs *p, size_t first, err *e)
{
    (void)self, (void)src, (void)tgt, (void)first;
    AUTOFREE double(*nll)[2] = xcalloc((size_t)p->n + 1, sizeof *nll);
    train_score(m, p, nll[0], NULL, e);
    for (int64_t i = 0; i < p->n && !e->text[0]; i++) printf("%.6f\t%.0f\n", -nll[i][0], nll[i][1]);
    return e->text[0] ? -1 : 0;
}

static int likelihood(const invocation *c, void *options)
{
    const likelihood_options *o = options;
    return pairs_read(c, &o->from, score, NULL);
}

static const option options[] = {PAIRS_OPTIONS(likelihood_options, from), OPTION_DATABASE, {0}};
const command score_likelihood_command = {
    .name = "score likelihood",
    .part = FOR_MODELS,
    .does = "print log P(target | source) and its tokens for each line SOURCE<tab>TARGET of standard input",
    .about = "Natural logarithm, summed over the target's tokens, including the end. Of two targets for one source (a\n"
             "contrastive pair) the model prefers the one with the larger number.",
    .options = options,
    .size = sizeof(likelihood_options),
    .run = likelihood,
    .example = "paste text.en text.de | ablate score likelihood --run quick/base"};
