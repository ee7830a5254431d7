/* warp.h - the state of a block while it runs, for warp.c and launch.c. */
#ifndef PTX_WARP_H
#define PTX_WARP_H
#include "ptx.h"

typedef struct block block;
typedef enum { RUNS, AT_BARRIER, AT_WARP, ENDED } lane_state; /* AT_WARP: the lane waits for other lanes of its warp */
typedef struct {
    block *b;
    row *r;         /* [n_slots] */
    uint8_t *frame; /* [LANES][frame_bytes] */
    int at[LANES], depth[LANES] /* at: index of the next instruction; depth: of calls around it */, number;
    lane_state state[LANES];
    uint32_t waits_for[LANES];
} warp;
struct block {
    program *p;
    const launch *l;
    unsigned index[3];
    uint32_t number;
    uint8_t *shared;
    size_t shared_bytes;
    shadow *shadows; /* for shared memory; NULL: the race detector is off */
    warp *w;
    int n_warps;
    block_time time;
    char *why; /* [512] */
};
/* Reports an error at an instruction; returns false. */
bool block_fails(const warp *w, const instruction *i, int lane, const char *why);
/* Runs a warp until every lane has ended or waits at a barrier of the block. Returns false after an error. */
bool warp_run(warp *w);
#endif
