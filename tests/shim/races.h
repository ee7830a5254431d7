/* races.h - the race detector's (races.cc) records of accesses, for its report (races_report.cc). */
#ifndef RACES_H
#define RACES_H
#include "gpu_watch.h"

struct race_access {
    uint32_t launch;            /* index of launches, 0: none */
    uint32_t block;             /* in the order x, y, z */
    uint32_t epoch, warp_epoch; /* barriers that the thread had passed: the block's; its warp's */
    uint16_t thread, fences;    /* fences: that it had passed */
    uint8_t writes, atomic, bytes;
    const void *pc; /* return address of the access; NULL for the work as a whole */
};
struct race_launch {
    std::string label, name;
    dim3 grid, block;
    int lane;
    gpu_clock clock;
};
/* The order that is missing between two accesses. */
enum race_class { RACE_BLOCK, RACE_WARP, RACE_GRID, RACE_STREAMS };
/* Prints a race between a and b and ends the program with 66; with ABLATE_RACES_ALL it goes on, prints each pair of
 * places once and ends so. place: the accessed memory, in words. */
void race_report(race_class c, const race_access &a, const race_launch &of_a, const race_access &b,
                 const race_launch &of_b, const std::string &place);
#endif
