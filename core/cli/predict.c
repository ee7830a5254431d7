/* predict.c - ablate predict and its two older names, translate and parse: applies a trained run to standard input. */
#include "cli/options.h"
#include "lab/study/predict.h"
#include "network/decode/beam.h"

static int apply(const invocation *c, predict_options *o, enum predict_work work)
{
    err e = {0};
    if (!o->run.n) return call_usage(c, "expected either --run or --model");
    o->quiet = c->verbosity < 0;
    int bad = predict(o, work, &c->p, &e);
    if (e.text[0]) call_failed(c, &e);
    return bad ? 1 : 0;
}

static int as_the_model(const invocation *c, void *options) { return apply(c, options, AS_THE_MODEL); }
static int translate(const invocation *c, void *options) { return apply(c, options, TRANSLATE); }
static int parse(const invocation *c, void *options) { return apply(c, options, PARSE); }

#define AT(field) offsetof(predict_options, field)
static const predict_options defaults = {.device = "auto", .length_penalty = -1};
static const option options[] = {
    {"--run --model", "RUN",
     "a trained run (number, EXPERIMENT/ROW or EXPERIMENT/ROW@SEED) or a model file (.safetensors); repeat for an "
     "ensemble",
     OPTION_LIST, AT(run), .choices = CHOICES_RUNS},
    {"--beam-size", "N", "hypotheses per sentence [the run's; 21 for trees]", OPTION_COUNT, AT(beam_size), 1,
     MOST_BEAM},
    {"--length-penalty", "X", "length penalty [the run's; 0.3 for trees]", OPTION_REAL, AT(length_penalty), 0, 0},
    {"--nbest", "N", "print the N best outputs of each line, with line number and score (not for trees)", OPTION_COUNT,
     AT(nbest), 1, MOST_BEAM},
    {"--alignment", NULL, "also print each output's word alignment, as `ablate align` does: OUTPUT ||| 0-0 2-1",
     OPTION_FLAG, AT(alignment)},
    {"--blockwise", "K",
     "decode greedily in blocks of K tokens, with the same outputs; for models trained with head = multi_token and "
     "multi_token.ahead of K - 1 or more",
     OPTION_COUNT, AT(blockwise), 2, MOST_BLOCK},
    {"--batch", "N", "sentences decoded together", OPTION_COUNT, AT(batch), 1, MOST_BATCH},
    {"--threads", "N", "processor threads [all]", OPTION_COUNT, AT(threads), 1, MOST_THREADS},
    {"--device", "auto|cpu|cuda|cuda:N", "device to compute on [auto]", OPTION_TEXT, AT(device)},
    {"--precision", "run|fp32|bf16|int8",
     "number format [run: as in training]; int8 is faster and rounds weights (CPU)", OPTION_WORD, AT(precision)},
    {"-s", "TASK.KEY=VALUE", "a parameter of the task, overriding the run's", OPTION_LIST, AT(set),
     .choices = CHOICES_KEYS},
    OPTION_PLUGIN_PATH,
    OPTION_DATABASE,
    {0}};
#define PREDICTION .options = options, .defaults = &defaults, .size = sizeof defaults
const command predict_command = {
    .name = "predict",
    .part = FOR_MODELS,
    .does = "apply a trained run to standard input: translations, or trees if its task is parsing",
    PREDICTION,
    .run = as_the_model,
    .example = "ablate predict --run quick/base < sentences"};
const command translate_command = {.name = "translate",
                                   .part = FOR_MODELS,
                                   .does = "translate standard input with a trained run, line by line",
                                   PREDICTION,
                                   .run = translate,
                                   .example = "ablate translate --run quick/base --beam-size 4 < text.en > text.de"};
const command parse_command = {.name = "parse",
                               .part = FOR_MODELS,
                               .does = "parse sentences into trees with a trained run of the task parsing",
                               .about = "One sentence per line: words, or word_TAG, separated by blanks.",
                               PREDICTION,
                               .run = parse,
                               .example = "ablate parse --run parsing-gum/base < sentences > trees"};
