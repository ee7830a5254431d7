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
void profile_print(FILE *f); /* one line per operation, largest first, with GFLOP/s and GB/s */
#endif
