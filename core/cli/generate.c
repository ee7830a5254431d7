/* generate.c - ablate generate: continues a prompt with a trained language model. */
#include "cli/options.h"
#include "lab/study/generate.h"

static int generate(const invocation *c, void *options)
{
    const generate_options *o = options;
    err e = {0};
    if (!o->run) return call_usage(c, "expected either --run or --model");
    return generate_print(o, &c->p, c->verbosity < 0, &e) ? call_failed(c, &e) : 0;
}

#define AT(field) offsetof(generate_options, field)
static const generate_options defaults = {
    .device = "auto", .prompt = "", .tokens = 500, .temperature = 0.8, .top_k = 200, .seed = 1};
static const option options[] = {
    OPTION_RUN(AT(run)),
    {"--prompt", "TEXT", "start of the text; -: each line of standard input, continued to its end [empty]", OPTION_TEXT,
     AT(prompt)},
    {"--tokens", "N", "maximum number of tokens to generate [500]", OPTION_COUNT, AT(tokens), 1, 1e7},
    {"--temperature", "T", "divide logits by this; 0: always take the likeliest token [0.8]", OPTION_REAL,
     AT(temperature), 0, 100},
    {"--top-k", "K", "sample only from the K likeliest tokens; 0: all [200]", OPTION_COUNT, AT(top_k), 0, 1e7},
    {"--seed", "S", "random seed; the same seed gives the same text [1]", OPTION_COUNT, AT(seed), 0, 9e15},
    {"--threads", "N", "processor threads [all]", OPTION_COUNT, AT(threads), 1, MOST_THREADS},
    {"--device", "auto|cpu|cuda|cuda:N", "device to compute on [auto]", OPTION_TEXT, AT(device)},
    OPTION_PLUGIN_PATH,
    OPTION_DATABASE,
    {0}};
const command generate_command = {
    .name = "generate",
    .part = FOR_MODELS,
    .does = "generate text with a trained language model (task lm), or images (task image)",
    .about = "Prints the prompt and its continuation on standard output. "
             "When text fills the model's window, generation continues from the window's last half.",
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .run = generate,
    .example = "ablate generate --run shakespeare/base --prompt \"ROMEO:\" --tokens 300 --seed 2"};
