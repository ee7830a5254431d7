/* warp.c - runs a warp. Lanes at the same instruction run together: first those inside of calls, then those at the
 * lowest instruction. At an exchange, a lane waits for all lanes in its mask. */
#include "warp.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define EACH(lanes)                                                                                                    \
    for (int l = 0; l < LANES; l++)                                                                                    \
        if ((lanes) >> l & 1)
enum { ALL = -1 };
static row *slot(const warp *w, int k) { return k < 0 ? NULL : &w->r[k]; }

bool block_fails(const warp *w, const instruction *i, int lane, const char *why)
{
    const block *b = w->b;
    int n = i->text ? (int)strcspn(i->text, ";\n") : 0;
    snprintf(b->why, 512, "%s: %s [block %u,%u,%u, thread %d, %s:%d: %.*s]", b->p->name, why, b->index[0], b->index[1],
             b->index[2], LANES * w->number + lane, i->file ? i->file : "?", i->line, n, i->text ? i->text : "");
    return false;
}

/* ---- memory ---- */

static bool inside(const void *p, size_t bytes, const void *of, size_t size)
{
    return (const char *)p >= (const char *)of && (const char *)p + bytes <= (const char *)of + size;
}
static uint8_t *touch_shared(const warp *w, const instruction *i, word at, size_t bytes, bool writes, int lane)
{
    block *b = w->b;
    const char *why = NULL;
    if (at + bytes > b->shared_bytes || at + bytes < at)
        why = "outside of shared memory";
    else if (b->shadows)
        why =
            order_shared(b->shadows, at, bytes, writes, (toucher){i, b->number, LANES * w->number + lane, 0}, &b->time);
    if (why) block_fails(w, i, lane, why);
    return why ? NULL : b->shared + at;
}
/* Returns the memory that a lane's access touches, or NULL after an error. */
static uint8_t *place(const warp *w, const instruction *i, size_t bytes, bool writes, int lane)
{
    block *b = w->b;
    word at = w->r[i->in[0]][lane] + (word)i->offset;
    uint8_t *p = (uint8_t *)(uintptr_t)at, *frame = w->frame + (size_t)lane * b->p->frame_bytes;
    if (at % bytes) return block_fails(w, i, lane, "an address that is no multiple of the access's size"), NULL;
    if (i->space == SHARED) return touch_shared(w, i, at, bytes, writes, lane);
    if (i->space != GLOBAL) {
        if (inside(p, bytes, frame, b->p->frame_bytes)) return p;
        if (!writes && inside(p, bytes, b->l->parameters, b->p->parameter_bytes)) return p;
        if (i->space == GENERIC && inside(p, bytes, b->shared, b->shared_bytes))
            return touch_shared(w, i, (word)(p - b->shared), bytes, writes, lane);
    }
    const char *why =
        i->space == GLOBAL || i->space == GENERIC
            ? memory_touch(p, bytes, writes, (toucher){i, b->number, LANES * w->number + lane, 0}, &b->time)
            : "outside of the thread's memory";
    if (why) block_fails(w, i, lane, why);
    b->p->bytes_moved += bytes;
    return why ? NULL : p;
}
static word extended(word v, size_t bytes)
{
    return bytes == 1 ? (word)(int8_t)v : bytes == 2 ? (word)(int16_t)v : bytes == 4 ? (word)(int32_t)v : v;
}
static bool load(const warp *w, const instruction *i, uint32_t lanes)
{
    EACH(lanes)
    {
        const uint8_t *p = place(w, i, (size_t)i->bytes * i->n_to, false, l);
        if (!p) return false;
        for (int k = 0; k < i->n_to; k++) {
            word v = 0;
            memcpy(&v, p + (size_t)k * i->bytes, i->bytes);
            if (i->to[k] >= 0) w->r[i->to[k]][l] = i->is_signed ? extended(v, i->bytes) : v;
        }
    }
    return true;
}
static bool store(const warp *w, const instruction *i, uint32_t lanes)
{
    EACH(lanes)
    {
        uint8_t *p = place(w, i, (size_t)i->bytes * (size_t)(i->n_in - 1), true, l);
        if (!p) return false;
        for (int k = 1; k < i->n_in; k++) memcpy(p + (size_t)(k - 1) * i->bytes, &w->r[i->in[k]][l], i->bytes);
    }
    return true;
}
static bool atomic_inc(const warp *w, const instruction *i, uint32_t lanes)
{
    EACH(lanes)
    {
        uint32_t *p = (uint32_t *)(uintptr_t)(w->r[i->in[0]][l] + (word)i->offset), most = (uint32_t)w->r[i->in[1]][l];
        if (!memory_has(p, 4)) return block_fails(w, i, l, "no memory is there");
        toucher who = {i, w->b->number, LANES * w->number + l, 0};
        order_atomic(&w->b->time, who, (uint64_t)(uintptr_t)p);
        if (i->to[0] >= 0) w->r[i->to[0]][l] = *p;
        *p = *p >= most ? 0 : *p + 1;
    }
    return true;
}
static void move(const warp *w, const instruction *i, uint32_t lanes)
{
    /* number of parts of the larger register */
    int parts = i->n_to == i->n_in ? 0 : i->n_to > i->n_in ? i->n_to : i->n_in;
    unsigned bits = parts ? 8u * i->bytes / (unsigned)parts : 0;
    word mask = ((word)1 << bits) - 1;
    EACH(lanes)
    {
        word v[MOST_IN] = {0}, whole = 0;
        for (int k = 0; k < i->n_in; k++) v[k] = w->r[i->in[k]][l];
        for (int k = 0; k < i->n_in && parts; k++) whole |= i->n_in > 1 ? (v[k] & mask) << bits * (unsigned)k : v[k];
        for (int k = 0; k < i->n_to; k++)
            if (i->to[k] >= 0)
                w->r[i->to[k]][l] = !parts ? v[k] : i->n_to > 1 ? whole >> bits * (unsigned)k & mask : whole;
    }
}

/* ---- exchanges ---- */

static bool shuffle(const warp *w, const instruction *i, uint32_t lanes)
{
    row out, found;
    row *x = slot(w, i->in[0]);
    EACH(lanes)
    {
        unsigned by = w->r[i->in[1]][l] & 31, clamp = w->r[i->in[2]][l] & 31, segment = w->r[i->in[2]][l] >> 8 & 31;
        unsigned lane = (unsigned)l, low = lane & segment, high = low | (clamp & ~segment & 31);
        int from = i->mode == 0   ? (int)(lane ^ by)
                   : i->mode == 1 ? (int)(low | (by & ~segment))
                   : i->mode == 2 ? (int)lane - (int)by
                                  : (int)(lane + by);
        found[l] = i->mode == 2 ? from >= (int)high : from <= (int)high;
        if (!found[l]) from = l;
        if (!(lanes >> from & 1)) return block_fails(w, i, l, "a shuffle from a lane that takes no part");
        out[l] = (*x)[from];
    }
    EACH(lanes)
    {
        if (i->to[0] >= 0) w->r[i->to[0]][l] = out[l];
        if (i->n_to > 1 && i->to[1] >= 0) w->r[i->to[1]][l] = found[l];
    }
    return true;
}
static void vote(const warp *w, const instruction *i, uint32_t lanes)
{
    uint32_t yes = 0;
    EACH(lanes) yes |= (uint32_t)(w->r[i->in[0]][l] != 0) << l;
    word result = i->mode == 0 ? yes != 0 : i->mode == 1 ? yes == lanes : yes;
    EACH(lanes) w->r[i->to[0]][l] = result;
}
static float half_of(word pair, int half) { return f32_of((pair >> 16 * half & 0xffff) << 16); }
/* d [16,8] = a [16,16] b [16,8] + c: sums over k in order, with unrounded products. A GPU sums in another, unknown
 * order. */
static void product(const warp *w, const instruction *i)
{
    float a[16][16], b[16][8], c[16][8];
    for (int l = 0; l < LANES; l++)
        for (int k = 0; k < 4; k++) {
            int g = l / 4, t = l % 4;
            for (int h = 0; h < 2; h++) {
                a[g + 8 * (k % 2)][2 * t + 8 * (k / 2) + h] = half_of(w->r[i->in[k]][l], h);
                if (k < 2) b[2 * t + 8 * k + h][g] = half_of(w->r[i->in[4 + k]][l], h);
            }
            c[g + 8 * (k / 2)][2 * t + k % 2] = f32_of(w->r[i->in[6 + k]][l]);
        }
    for (int m = 0; m < 16; m++)
        for (int k = 0; k < 16; k++)
            for (int n = 0; n < 8; n++) c[m][n] = fmaf(a[m][k], b[k][n], c[m][n]);
    for (int l = 0; l < LANES; l++)
        for (int k = 0; k < 4; k++) w->r[i->to[k]][l] = of_f32(c[l / 4 + 8 * (k / 2)][2 * (l % 4) + k % 2]);
    w->b->p->products++;
}
static bool exchange(warp *w, const instruction *i, uint32_t lanes)
{
    if (i->kind == SHUFFLE) return shuffle(w, i, lanes);
    if (i->kind == VOTE) {
        vote(w, i, lanes);
    } else if (i->kind == PRODUCT) {
        if (lanes != (uint32_t)ALL) return block_fails(w, i, 0, "a product without all lanes");
        product(w, i);
    } else {
        w->b->time.warp_sync[w->number] = ++w->b->time.now;
    }
    return true;
}
/* Returns the mask of lanes that an exchange waits for. */
static uint32_t named(const warp *w, const instruction *i, int lane)
{
    int k = i->kind == SHUFFLE ? 3 : i->kind == VOTE ? 1 : i->kind == WARP_BARRIER ? 0 : ALL;
    return k == ALL ? (uint32_t)ALL : (uint32_t)w->r[i->in[k]][lane];
}
/* Lets lanes that wait for each other at one instruction go on. Returns 1; 0 if no lanes wait; -1 after an error. */
static int meet(warp *w)
{
    uint32_t waiting = 0, live = 0;
    for (int l = 0; l < LANES; l++)
        waiting |= (uint32_t)(w->state[l] == AT_WARP) << l, live |= (uint32_t)(w->state[l] != ENDED) << l;
    if (!waiting) return 0;
    EACH(waiting)
    {
        const instruction *i = &w->b->p->code[w->at[l]];
        uint32_t here = 0, mask = w->waits_for[l];
        for (int j = 0; j < LANES; j++)
            here |= (uint32_t)(w->state[j] == AT_WARP && w->at[j] == w->at[l] && w->waits_for[j] == mask) << j;
        if (mask & ~here & live) continue;
        if (mask & ~here) return block_fails(w, i, l, "an exchange with lanes that have ended"), -1;
        if (!exchange(w, i, here)) return -1;
        for (int j = 0; j < LANES; j++)
            if (here >> j & 1) w->state[j] = RUNS, w->at[j]++;
        return 1;
    }
    int first = __builtin_ctz(waiting);
    return block_fails(w, &w->b->p->code[w->at[first]], first, "lanes wait for each other at different places"), -1;
}

/* ---- one instruction ---- */

static void copy_frame(const warp *w, const instruction *i, uint32_t lanes)
{
    EACH(lanes)
    {
        uint8_t *frame = w->frame + (size_t)l * w->b->p->frame_bytes;
        memcpy(frame + i->in[0], frame + i->offset, (size_t)i->in[1]);
    }
}
static void to_space(const warp *w, const instruction *i, uint32_t lanes)
{
    word window = i->space == SHARED ? (word)(uintptr_t)w->b->shared : 0;
    EACH(lanes) w->r[i->to[0]][l] = w->r[i->in[0]][l] + (i->from_generic ? 0 - window : window);
}
/* Runs an instruction after which all lanes are at the next one. Returns false after an error. */
static bool step(warp *w, const instruction *i, uint32_t lanes)
{
    switch (i->kind) {
    case COMPUTE:
        i->compute(i, slot(w, i->to[0]), slot(w, i->in[0]), i->n_in > 1 ? slot(w, i->in[1]) : NULL,
                   i->n_in > 2 ? slot(w, i->in[2]) : NULL, i->n_in > 3 ? slot(w, i->in[3]) : NULL, lanes);
        return true;
    case MOVE: move(w, i, lanes); return true;
    case LOAD: return load(w, i, lanes);
    case STORE: return store(w, i, lanes);
    case ATOMIC_INC: return atomic_inc(w, i, lanes);
    case TO_SPACE: to_space(w, i, lanes); return true;
    case FENCE: EACH(lanes) order_fence(&w->b->time, LANES * w->number + l); return true;
    case COPY_FRAME: copy_frame(w, i, lanes); return true;
    default: return true; /* NOTHING */
    }
}
static bool is_exchange(const instruction *i) { return i->kind >= WARP_BARRIER && i->kind <= PRODUCT; }

/* Runs an instruction that may send lanes to different ones. taken: lanes whose predicate holds. Returns false after an
 * error. */
static bool turn(warp *w, const instruction *i, int at, uint32_t lanes, uint32_t taken)
{
    bool waits = is_exchange(i) || i->kind == BARRIER;
    EACH(lanes)
    {
        w->at[l] = at + !waits;
        if (!(taken >> l & 1)) {
            w->at[l] = at + 1;
        } else if (i->kind == BRANCH) {
            w->at[l] = i->target;
        } else if (i->kind == CALL) {
            w->r[i->in[0]][l] = (word)at + 1, w->at[l] = i->target, w->depth[l]++;
        } else if (i->kind == RETURN) {
            w->at[l] = (int)w->r[i->in[0]][l], w->depth[l]--;
        } else if (i->kind == EXIT) {
            w->state[l] = ENDED;
        } else {
            w->state[l] = i->kind == BARRIER ? AT_BARRIER : AT_WARP;
            w->waits_for[l] = i->kind == BARRIER ? 0 : named(w, i, l);
            if (is_exchange(i) && !(w->waits_for[l] >> l & 1))
                return block_fails(w, i, l, "an exchange that does not name the lane itself");
        }
    }
    return true;
}
/* Chooses the lanes that run next, and sets *at to their instruction. */
static uint32_t chosen(const warp *w, int *at)
{
    int deep = -1, low = 0;
    uint32_t lanes = 0;
    for (int l = 0; l < LANES; l++) {
        if (w->state[l] != RUNS) continue;
        if (w->depth[l] > deep || (w->depth[l] == deep && w->at[l] < low))
            deep = w->depth[l], low = w->at[l], lanes = 0;
        if (w->depth[l] == deep && w->at[l] == low) lanes |= 1u << l;
    }
    *at = low;
    return lanes;
}
/* Runs these lanes until they part or could meet others. Returns false after an error. */
static bool go(warp *w, uint32_t lanes, int at)
{
    program *p = w->b->p;
    for (;;) {
        const instruction *i = &p->code[at];
        uint32_t taken = lanes;
        if (i->predicate >= 0) EACH(lanes) if ((w->r[i->predicate][l] != 0) == i->unless) taken &= ~(1u << l);
        p->lane_instructions += (unsigned)__builtin_popcount(taken);
        bool together = is_exchange(i) && taken == lanes;
        if (together) EACH(lanes) together = together && named(w, i, l) == lanes;
        if (together) {
            if (!exchange(w, i, lanes)) return false;
        } else if (i->kind >= BRANCH) {
            return turn(w, i, at, lanes, taken);
        } else if (taken && !step(w, i, taken)) {
            return false;
        }
        if (p->label[++at]) break;
    }
    EACH(lanes) w->at[l] = at;
    return true;
}
bool warp_run(warp *w)
{
    for (;;) {
        int at, met;
        uint32_t lanes = chosen(w, &at);
        if (lanes) {
            if (!go(w, lanes, at)) return false;
        } else if ((met = meet(w)) <= 0) {
            return met == 0;
        }
    }
}
