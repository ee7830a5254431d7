/* launch.c - runs a kernel's blocks one after another, and between barriers the warps of a block one after another.
 * PTX_ORDER=reversed begins with the last block and the last warp, which must not change results. */
#include "warp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static word special(const block *b, word what, unsigned thread)
{
    const unsigned *n = b->l->block, *grid = b->l->grid;
    unsigned t[3] = {thread % n[0], thread / n[0] % n[1], thread / n[0] / n[1]};
    return what >= LANEID     ? thread % LANES
           : what >= NCTAID_X ? grid[what - NCTAID_X]
           : what >= CTAID_X  ? b->index[what - CTAID_X]
           : what >= NTID_X   ? n[what - NTID_X]
                              : t[what];
}
static void start_warp(warp *w, unsigned threads)
{
    const program *p = w->b->p;
    for (int l = 0; l < LANES; l++) {
        unsigned thread = (unsigned)(LANES * w->number + l);
        w->state[l] = thread < threads ? RUNS : ENDED, w->at[l] = w->depth[l] = 0;
        for (int i = 0; i < p->n_start; i++) {
            const start_value *s = &p->start[i];
            w->r[s->slot][l] = s->what == IS_CONSTANT  ? s->value
                               : s->what == IS_SPECIAL ? special(w->b, s->value, thread)
                               : s->what == IS_LOCAL
                                   ? (word)(uintptr_t)(w->frame + (size_t)l * p->frame_bytes) + s->value
                                   : (word)(uintptr_t)w->b->l->parameters + s->value;
        }
    }
}
/* All threads that have not ended must wait at the same barrier, and pass it. Returns 1, 0 if all have ended, or -1. */
static int pass_barrier(block *b)
{
    int at = -1, ended = 0;
    warp *first = NULL;
    for (warp *w = b->w; w < b->w + b->n_warps; w++)
        for (int l = 0; l < LANES; l++) {
            unsigned thread = (unsigned)(LANES * w->number + l);
            if (w->state[l] == ENDED) {
                ended += thread < b->l->block[0] * b->l->block[1] * b->l->block[2];
                continue;
            }
            if (at < 0) at = w->at[l], first = w;
            if (at != w->at[l])
                return block_fails(w, &b->p->code[at], l, "threads of a block wait at different barriers"), -1;
        }
    if (at < 0) return 0;
    if (ended)
        return block_fails(first, &b->p->code[at], 0, "a barrier that threads which have ended do not reach"), -1;
    for (warp *w = b->w; w < b->w + b->n_warps; w++)
        for (int l = 0; l < LANES; l++)
            if (w->state[l] == AT_BARRIER) w->state[l] = RUNS, w->at[l]++;
    order_barrier(&b->time);
    return 1;
}
static bool run_block(block *b, uint32_t number, bool reversed)
{
    unsigned threads = b->l->block[0] * b->l->block[1] * b->l->block[2];
    const unsigned *grid = b->l->grid;
    b->number = number;
    b->index[0] = number % grid[0], b->index[1] = number / grid[0] % grid[1], b->index[2] = number / grid[0] / grid[1];
    memset(b->shared, 0xff, b->shared_bytes);
    order_block(&b->time, b->n_warps * LANES);
    for (int k = 0; k < b->n_warps; k++) start_warp(&b->w[k], threads);
    int passed;
    do {
        for (int k = 0; k < b->n_warps; k++)
            if (!warp_run(&b->w[reversed ? b->n_warps - 1 - k : k])) return false;
        passed = pass_barrier(b);
    } while (passed > 0);
    return !passed;
}

int ptx_launch(program *p, const launch *l, char why[512])
{
    const char *order = getenv("PTX_ORDER");
    bool reversed = order && !strcmp(order, "reversed"), good = true;
    block b = {.p = p, .l = l, .why = why, .shared_bytes = p->shared_bytes + l->shared};
    b.n_warps = (int)((l->block[0] * l->block[1] * l->block[2] + LANES - 1) / LANES);
    b.shared = aligned_alloc(1024, (b.shared_bytes + 1024) / 1024 * 1024);
    b.w = calloc((size_t)b.n_warps, sizeof *b.w);
    if (order_watched) b.shadows = calloc(b.shared_bytes / 2 + 1, sizeof *b.shadows);
    for (int k = 0; k < b.n_warps; k++) {
        warp *w = &b.w[k];
        w->b = &b, w->number = k;
        w->r = calloc((size_t)p->n_slots + 1, sizeof *w->r);
        w->frame = aligned_alloc(64, LANES * p->frame_bytes + 64);
        if (!w->r || !w->frame) abort();
    }
    uint32_t blocks = l->grid[0] * l->grid[1] * l->grid[2];
    for (uint32_t k = 0; k < blocks && good; k++) good = run_block(&b, reversed ? blocks - 1 - k : k, reversed);
    p->launches++;
    for (int k = 0; k < b.n_warps; k++) free(b.w[k].r), free(b.w[k].frame);
    order_free(&b.time);
    free(b.w), free(b.shared), free(b.shadows);
    return good ? 0 : -1;
}
