/* attention.c - ablate attention: shows what each head attends to in one sentence. */
#include "cli/options.h"
#include "lab/study/attention.h"
#include "lab/study/predict.h"

static int attention(const invocation *c, void *options)
{
    attention_options *o = options;
    err e = {0};
    if (!o->run) return call_usage(c, "expected either --run or --model");
    if (o->figure < 0 && (o->word || o->part >= 0 || o->head > 0))
        return call_usage(c, "--word, --part and --head are only valid with --figure");
    if ((o->figure == 3 || o->figure == 4) && !o->word)
        return call_usage(c, "--figure %lld: expected --word, the token that the figure is about",
                          (long long)o->figure);
    if (o->figure > 0 && !has_suffix(o->out, ".svg") && !has_suffix(o->out, ".pdf") && !has_suffix(o->out, ".png"))
        return call_usage(c, "-o %s: expected .svg, .pdf or .png for a figure", o->out);
    AUTOFREE char *path = run_model_path(o->run, &c->p, &e);
    return !path || attention_show(o, path, &e) ? call_failed(c, &e) : 0;
}

#define AT(field) offsetof(attention_options, field)
static const attention_options defaults = {.part = -1, .layer = -1, .head = -1, .figure = -1};
static const option options[] = {
    OPTION_RUN(AT(run)),
    {"--text", "LINE", "the sentence, or the text of a decoder-only model", OPTION_TEXT, AT(text), .required = true},
    {"--output -o", "FILE", "output file: .html; for a figure: .svg, .pdf or .png", OPTION_TEXT, AT(out),
     .required = true},
    {"--target", "LINE", "the target sentence [the model's own output]", OPTION_TEXT, AT(target)},
    {"--figure", "N",
     "a figure like the paper's figure 3 (one word in all heads), 4 (head H in full, one word in heads H and H+1) or 5 "
     "(heads H and H+1 in full); --head sets H",
     OPTION_COUNT, AT(figure), 3, 5},
    {"--word", "WORD", "the token shown in figure 3 or 4", OPTION_TEXT, AT(word)},
    {"--part", "encoder|decoder|source",
     "the attention shown in the figure [encoder; decoder if the model has no encoder]", OPTION_WORD, AT(part)},
    {"--layer", "N", "only this layer, from 1 [all; in a figure the last but one]", OPTION_COUNT, AT(layer), 1, 1e6},
    {"--head", "N", "the figure's first head, from 1", OPTION_COUNT, AT(head), 1, 1e6},
    OPTION_PLUGIN_PATH,
    OPTION_DATABASE,
    {0}};
const command attention_command = {
    .name = "attention",
    .part = FOR_MODELS,
    .does = "show what each head attends to in a sentence: a page, or a figure as SVG, PDF or PNG",
    .about =
        "Shows the weights of a softmax over keys. Without such a softmax, shows each key's influence: the norm of\n"
        "the derivative of a query's output with respect to the key's value (or to the key's input if the attention\n"
        "sums no values), divided by the sum of these norms over the keys (docs/pictures.md).",
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .run = attention,
    .example = "ablate attention --run quick/base --text \"a small bird sings\" -o attention.html"};
