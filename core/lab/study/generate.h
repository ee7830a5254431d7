/* generate.h - text that a trained language model writes. */
#ifndef ABLATE_STUDY_GENERATE_H
#define ABLATE_STUDY_GENERATE_H
#include "lab/sweep/setup.h"

typedef struct {
    const char *run, *device, *prompt;
    int64_t tokens, top_k, seed, threads;
    double temperature;
} generate_options;
/* Prints the prompt and its continuation; prompt "-": each line of standard input is a prompt. -1 and e. */
int generate_print(const generate_options *o, const places *p, bool quiet, err *e);
#endif
