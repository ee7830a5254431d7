/* dnn_attend.h - the cuDNN functions for the rest of the backend; also in builds without cudnn.h. */
#ifndef ABLATE_CUDA_DNN_ATTEND_H
#define ABLATE_CUDA_DNN_ATTEND_H
#include "base/base.h"
#include "tensor/cuda/attention.h"

const char *dnn_library(void); /* "cuDNN 9.19.0 (/path)", or why there is none; static storage */
void dnn_close(void);

/* ABLATE_ATTENTION: who computes attention. For an unknown word, returns ATTEND_OWN and e. */
typedef enum { ATTEND_AUTO, ATTEND_OWN, ATTEND_CUDNN, ATTEND_WGMMA, ATTEND_WISHES } attend_wish;
attend_wish attention_wish(err *e);

typedef struct {
    int64_t queries, keys; /* upper bounds per sentence */
    struct {
        void *at;
        size_t bytes;
    } clear[2]; /* outputs to clear: cuDNN writes only rows of sentences */
} attend_extent;
/* Attention by cuDNN: 0 done; 1 not selected, or no plan for this; -1 an error. */
int dnn_attend(const gpu_attention *a, const attend_extent *x, bool backward, err *e);
void dnn_attend_close(void);

typedef struct {
    int64_t library, own, wgmma; /* wgmma: how many of `own` attend_wgmma.h computed */
} dnn_attend_count;              /* calls launched or captured */
void dnn_attend_count_wgmma(void);
dnn_attend_count dnn_attend_counts(void);
#endif
