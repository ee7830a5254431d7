/* branch.h - weight gradients beside the chain of the backward pass: products whose results are needed late run on a
 * side stream, and so on a branch of the step's graph, while the stream goes on to the next layer.
 *
 * The branch forks where such a node stands on the tape, after everything before it. Later nodes go to the stream. One
 * that reads what a pending node of the branch writes, or writes where one reads or writes, first waits for that node.
 * This is decided by the addresses of the planned tape, so it covers memory that was given to another value, operations
 * in place, and gradients that are added to. The branch is joined at the end, before a sum over ranks, the gradient's
 * norm or the optimizer can read anything. The branch has scratch memory, tickets and a workspace of cuBLASLt's of its
 * own (runtime.h). No sum changes its order: the bits are the same.
 */
#ifndef ABLATE_CUDA_BRANCH_H
#define ABLATE_CUDA_BRANCH_H
#include "tensor/cuda/runtime.h"
#include "tensor/graph/tape.h"

typedef struct {
    bool wanted;
    int32_t node[GPU_MARKS]; /* number k of the branch: node[k % GPU_MARKS], and so its mark */
    unsigned begun, joined;  /* joined .. begun - 1 are pending */
} branch;

bool branch_takes(op o); /* ABLATE_BRANCH=1: LINEAR_DW; else none. backend.beside */
/* For nodes of one tape in order; starts zeroed, but for `wanted`. Return 0 or -1. */
int branch_run(branch *b, ab_ctx *c, int32_t i, const run_options *o);
int branch_join(branch *b); /* after the last node, also after a failure */
#endif
