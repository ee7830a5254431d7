/* buckets.h - sums the gradient over ranks in pieces ("buckets") of the flat vector, while the backward pass still
 * computes the rest. */
#ifndef ABLATE_BUCKETS_H
#define ABLATE_BUCKETS_H
#include "tensor/comm/comm.h"
#include "tensor/graph/tape.h"

typedef struct buckets buckets;
/* Opens the buckets for gradients laid out like `p`. c and p must outlive the buckets. */
buckets *buckets_open(const comm *c, const params *p);
void buckets_close(buckets *b); /* b may be NULL */
/* Starts summing `grad` [p->total] over ranks. tape: the tape about to run, which writes its gradients there; a bucket
 * is sent when the last kernel that writes to it is done (buckets_after, for run_options.after). tape NULL: grad is
 * complete, and all buckets are sent now. */
int buckets_begin(buckets *b, void *grad, const ab_ctx *tape, err *e);
/* The nodes after which buckets_begin's tape sends a bucket, for run_options.stops; valid until buckets_begin. */
const int32_t *buckets_stops(const buckets *b, int *n);
int buckets_after(void *b, int32_t node, err *e);
int buckets_end(buckets *b, err *e); /* waits for all sums */
#endif
