/* patch.h - activation patching: where a model's output is decided. */
#ifndef ABLATE_STUDY_PATCH_H
#define ABLATE_STUDY_PATCH_H
#include "lab/sweep/setup.h"

typedef struct {
    const char *from, *to, *target, *at, *out;
    int64_t threads;
} patch_options;
/* Prints the change of the target's loss by sublayer and token, and with o->out draws it. -1 and e. */
int patch_print(const patch_options *o, const char *run, const places *p, bool quiet, err *e);
#endif
