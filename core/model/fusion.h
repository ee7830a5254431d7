/* fusion.h - does a model's attention run as one operation, or as it was composed? */
#ifndef ABLATE_FUSION_H
#define ABLATE_FUSION_H
#include "model/model.h"

/* "fused", "fused with a score program", "composed", "part fused, part composed", "none"; static storage. Looked up on the traced tape of a
 * training step, so that it holds whatever a plugin traced. NULL and e when the model cannot be traced. */
const char *model_fusion(model *m, err *e);
/* The same of a step of decoding. */
const char *model_step_fusion(model *m, err *e);
/* Puts the attention of that name into every place it serves, or the positions. 0, or -1 and words: there is none. */
int model_choose_plugin(settings *set, const char *name, arena *a, err *e);
/* The same of a small model with this attention or these positions and, for the rest, the defaults, and of its steps of decoding. CPU and
 * GPUs fuse the same (tests/shim/test_score.c). NULL and e. */
const char *plugin_fusion(const char *name, const char **step, err *e);
#endif
