/* profile.h - time, FLOPs and bytes per operation over all runs since profile_enable. One per process. */
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
/* Prints one line per operation, largest first, with GFLOP/s and GB/s. If flops and bytes, the machine's peak rates per
 * second, are not 0, also prints what share of its peak each operation reaches: the larger of its operations / flops
 * and its bytes / bytes per second, divided by its time. Operations that read from caches, or use a faster bf16 unit,
 * can exceed 100 %. */
void profile_print(FILE *f, double flops, double bytes);
#endif
