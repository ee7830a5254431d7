/* buckets.h - the gradient's sum over ranks, in pieces ("buckets") of the flat vector that are under way while the backward pass still
 * computes the rest. */
#ifndef ABLATE_BUCKETS_H
#define ABLATE_BUCKETS_H
#include "comm/comm.h"
#include "graph/tape.h"

typedef struct buckets buckets;
/* For gradients laid out as those of `p`; c and p outlive it. */
buckets *buckets_open(const comm *c, const params *p);
void buckets_close(buckets *b); /* b may be NULL */
/* The sum of `grad` [p->total] begins. tape: the one about to run, which writes its gradients there: each bucket sets out once the last
 * kernel that writes to it is done (buckets_after, the hook of run_options). NULL: grad is complete, and all set out now. */
int buckets_begin(buckets *b, void *grad, const ab_ctx *tape, err *e);
/* After buckets_begin with a tape: the nodes after which some bucket sets out, for run_options.stops; valid until the next one. */
const int32_t *buckets_stops(const buckets *b, int *n);
int buckets_after(void *b, int32_t node, err *e);
int buckets_end(buckets *b, err *e); /* waits for all */
#endif
