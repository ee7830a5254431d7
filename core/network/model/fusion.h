/* fusion.h - reports whether a model's attention runs fused or composed. */
#ifndef ABLATE_FUSION_H
#define ABLATE_FUSION_H
#include "network/model/model.h"

/* "fused", "fused with a score program", "composed", "part fused, part composed", "none"; static storage. Determined
 * from the traced tape of a training step, so it is true for any plugin. NULL and e if the model cannot be traced. why
 * (may be NULL) gets the first reason why a part is composed: "MATMUL at mine.c:14 is not elementwise". */
const char *model_fusion(model *m, str *why, err *e);
/* model_fusion for a decoding step. */
const char *model_step_fusion(model *m, err *e);
/* Sets the attention of that name in every role it supports, or the position. 0, or -1 and e: no such plugin. */
int model_choose_plugin(settings *set, const char *name, arena *a, err *e);
/* model_fusion of a small model with this attention or position and defaults otherwise; *step: of its decoding steps.
 * CPU and GPUs fuse the same (tests/shim/test_score.c). NULL and e on failure. */
const char *plugin_fusion(const char *name, const char **step, str *why, err *e);
#endif
