/* dnn_attend.h - what the rest of the backend calls of cuDNN; also where this was built without cudnn.h. */
#ifndef ABLATE_CUDA_DNN_ATTEND_H
#define ABLATE_CUDA_DNN_ATTEND_H
#include "base/base.h"
#include "cuda/attention.h"

const char *dnn_library(void); /* "cuDNN 9.19.0 (/path)", or why there is none; static storage */
void dnn_close(void);

typedef struct {
    int64_t queries, keys; /* of a sentence, at most */
    struct { void *at; size_t bytes; } clear[2]; /* the outputs, of which cuDNN writes only what belongs to a sentence */
} attend_extent;
/* Attention by cuDNN: 0 done; 1 not wanted here, or it has no plan for this; -1 an error. */
int dnn_attend(const gpu_attention *a, const attend_extent *x, bool backward, err *e);
void dnn_attend_close(void);

typedef struct { int64_t library, own; } dnn_attend_count; /* calls launched or written into a graph */
dnn_attend_count dnn_attend_counts(void);

/* Has cuDNN a plan for this on a device that need not be there (`described`: its properties in JSON)? 0, 1: no; -1 an error.
 * For tests; only where this was built with cudnn.h. */
int dnn_attend_supported(const gpu_attention *a, const attend_extent *x, bool backward, const char *described, size_t *workspace, err *e);
#endif
