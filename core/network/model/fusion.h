/* fusion.h - reports whether a model's attention runs fused or composed. */
#ifndef ABLATE_FUSION_H
#define ABLATE_FUSION_H
#include "network/model/model.h"

/* Returns "fused", "fused with a score program", "composed", "part fused, part composed" or "none" (static storage),
 * read from the traced tape of a training step. NULL and e if the model cannot be traced. why (may be NULL): the first
 * reason why a part is composed, such as "MATMUL at mine.c:14 is not elementwise". */
const char *model_fusion(model *m, str *why, err *e);
/* model_fusion for a decoding step instead of a training step. */
const char *model_step_fusion(model *m, err *e);
/* Sets this attention in every role that it supports, or this position. Returns 0, or -1 and e: no such plugin. */
int model_choose_plugin(settings *set, const char *name, arena *a, err *e);
/* model_fusion of a small model with this attention or position and other settings at their defaults; *step: the same
 * for a decoding step. CPU and GPUs fuse alike (tests/shim/test_score.c). Returns NULL and e on failure. */
const char *plugin_fusion(const char *name, const char **step, str *why, err *e);
#endif
