/* patch.c - ablate patch: shows where a model's output is decided. */
#include "cli/options.h"
#include "lab/study/patch.h"

static int patch(const invocation *c, void *options)
{
    const patch_options *o = options;
    err e = {0};
    if (o->out && !has_suffix(o->out, ".svg") && !has_suffix(o->out, ".pdf") && !has_suffix(o->out, ".png"))
        return call_usage(c, "-o %s: expected .svg, .pdf or .png", o->out);
    return patch_print(o, c->word[0], &c->p, c->verbosity < 0, &e) ? call_failed(c, &e) : 0;
}

#define AT(field) offsetof(patch_options, field)
static const option options[] = {
    {"--from", "LINE", "the sentence that provides activations", OPTION_TEXT, AT(from), .required = true},
    {"--to", "LINE", "the sentence that gets the activations, with as many tokens as --from", OPTION_TEXT, AT(to),
     .required = true},
    {"--target", "LINE",
     "the text whose loss is measured: a translation, or a continuation [the model's output for --to; for a language "
     "model --to itself]",
     OPTION_TEXT, AT(target)},
    {"--at", "PLACE",
     "only at this place: enc, dec, a layer such as dec.0, or a sublayer such as dec.2.self [enc, else dec]",
     OPTION_TEXT, AT(at)},
    {"--output -o", "FILE", "also a heat map: .svg, .pdf or .png", OPTION_TEXT, AT(out)},
    {"--threads", "N", "processor threads [all]", OPTION_COUNT, AT(threads), 1, MOST_THREADS},
    OPTION_PLUGIN_PATH,
    OPTION_DATABASE,
    {0}};
const command patch_command = {
    .name = "patch",
    .part = FOR_MODELS,
    .does = "show where a model decides its output: put activations of one sentence into the run of another",
    .about =
        "Prints, separated by tabs, the target's mean loss [nats per token] given --to and given --from. Then prints,\n"
        "for each sublayer (row) and token (column), the change of the loss given --to when the sublayer's output at\n"
        "that token is replaced by its output for --from.",
    .arguments = "RUN",
    .missing = "expected a trained run: its number, EXPERIMENT/ROW or EXPERIMENT/ROW@SEED",
    .choices = CHOICES_RUNS,
    .options = options,
    .size = sizeof(patch_options),
    .run = patch,
    .example = "ablate patch quick/base --from \"a small bird sings\" --to \"a small dog sings\" -o patch.svg"};
