/* races.h - the accesses that the race detector (races.cc) records, for its report (races_report.cc). */
#ifndef RACES_H
#define RACES_H
#include "gpu_watch.h"

struct race_access {
    uint32_t launch; /* index of the access's launch in `launches`; 0: no access yet */
    uint32_t block;  /* number of the block, counted in the order x, y, z */
    /* number of barriers that the thread had passed. epoch: barriers of the block; warp_epoch: of the warp */
    uint32_t epoch, warp_epoch;
    uint16_t thread, fences; /* fences: how many the thread had passed */
    uint8_t writes, atomic, bytes;
    const void *pc; /* return address of the access's call; NULL for work that is no kernel */
};
struct race_launch {
    std::string label, name;
    dim3 grid, block;
    int lane;
    gpu_clock clock;
};
/* Which order is missing between two accesses. */
enum race_class { RACE_BLOCK, RACE_WARP, RACE_GRID, RACE_STREAMS };
/* Prints a race between a and b and ends the program with status 66. With ABLATE_RACES_ALL it prints each pair of
 * source lines once, and ends with 66 at the end. place: describes the accessed memory. */
void race_report(race_class c, const race_access &a, const race_launch &of_a, const race_access &b,
                 const race_launch &of_b, const std::string &place);
#endif
