/* heads.c - ablate heads: reports what each attention head does and what pruning it costs. */
#include "cli/options.h"
#include "lab/study/heads.h"

static int heads(const invocation *c, void *options)
{
    err e = {0};
    return heads_print(options, c->word[0], &c->p, c->verbosity < 0, &e) ? call_failed(c, &e) : 0;
}

#define AT(field) offsetof(heads_options, field)
static const heads_options defaults = {.sentences = 200};
static const option options[] = {
    {"--sentences", "N", "use the first N sentences of the dev set [200]", OPTION_COUNT, AT(sentences), 2, 1e9},
    {"--no-prune", NULL, "do not measure dev perplexity with each head pruned", OPTION_FLAG, AT(no_prune)},
    {"--coreference", "FILE.conllu",
     "measure instead the weight from each pronoun to its antecedent in the sentences of this file (CoNLL-U with "
     "CorefUD's Entity=)",
     OPTION_TEXT, AT(coreference)},
    OPTION_JSON(AT(json)),
    OPTION_PLUGIN_PATH,
    OPTION_DATABASE,
    {0}};
const command heads_command = {
    .name = "heads",
    .part = FOR_MODELS,
    .does = "measure what attention heads attend to, and the cost of pruning each",
    .about = "RUN (EXPERIMENT/ROW@SEED or a number): each head of the run's model. EXPERIMENT/ROW: roles of heads over "
             "the row's seeds. EXPERIMENT: gradient and entropy of the softmax, for all rows. With --coreference: "
             "heads that attend from pronouns to their antecedents. If an attention has no softmax over keys, each "
             "key's influence replaces its weight (docs/pictures.md).",
    .arguments = "RUN | EXPERIMENT/ROW | EXPERIMENT",
    .missing = "expected a run, EXPERIMENT/ROW or EXPERIMENT",
    .choices = CHOICES_RUNS,
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .run = heads,
    .example = "ablate heads quick/base@1"};
