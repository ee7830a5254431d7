/* profile.h - time, FLOPs and bytes per operation over all runs since the profile was switched on. One per process. */
#ifndef ABLATE_PROFILE_H
#define ABLATE_PROFILE_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    double seconds, flops, bytes;
    int64_t calls;
} op_profile;
void profile_enable(bool on);
bool profile_is_on(void);
/* One line per operation, largest first, with GFLOP/s and GB/s, and where floors are given (operations and bytes a second; else 0): which share of its floor each
 * reaches, that is the larger of its operations over the processor's rate in fp32 and of its bytes over memory's, divided by the time it took.
 * What is read from caches, or multiplied by a faster unit for bf16, goes past 100 %. */
void profile_print(FILE *f, double flops, double bytes);
#endif
