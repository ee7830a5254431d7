/* order.c - device memory, and a race detector: two accesses to the same bytes, one of them a write, must be ordered.
 *
 *   between operations    by streams, events and waits of the host: clocks of cudart.c
 *   between blocks        by write, fence, atomic - atomic, fence, read, with a barrier where the threads differ
 *   between warps         by a barrier of the block
 *   between lanes         by a barrier of the warp
 *
 * A block's time grows at barriers and fences. An access is ordered after an earlier one if a barrier lies between
 * them. */
#include "ptx.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool order_watched;

/* ---- operations ---- */

typedef struct {
    int stream;
    uint32_t number; /* position of the operation in its stream, from 1 */
} operation;
static operation *operations;
static uint32_t current, last_number[STREAMS]; /* operation 0 stands for no operation */
static clock_of known;                         /* operations that ended before the current one */

void clock_join(clock_of *to, const clock_of *from)
{
    for (int s = 0; s < STREAMS; s++)
        if (from->ended[s] > to->ended[s]) to->ended[s] = from->ended[s];
}

typedef struct { /* a record that an atomic operation published the earlier writes of its block */
    uint64_t at;
    uint32_t block, fence, fence_barrier, *fenced;
    int thread;
} publication;
static publication *published;
static int n_published;
/* the current block has seen the first `count` publications, by an atomic operation of `thread` at `time` */
typedef struct {
    uint64_t at;
    int count, thread;
    uint32_t block, time;
} sight;
enum { MOST_SIGHTS = 8 };
static sight seen[MOST_SIGHTS];
static int n_seen;

void order_begin(int stream, clock_of *before)
{
    if (!(current & (current + 1))) operations = realloc(operations, 2 * (size_t)(current + 1) * sizeof *operations);
    if (!operations) abort();
    operations[++current] = (operation){stream, ++last_number[stream]};
    known = *before;
    before->ended[stream] = last_number[stream];
    for (int i = 0; i < n_published; i++) free(published[i].fenced);
    n_published = n_seen = 0;
}

/* ---- a block ---- */

void order_block(block_time *t, int threads)
{
    if (!t->fence) {
        t->fence = calloc((size_t)threads, sizeof *t->fence);
        t->fence_barrier = calloc((size_t)threads, sizeof *t->fence_barrier);
        t->fenced = calloc((size_t)threads, sizeof *t->fenced);
        t->warp_sync = calloc((size_t)threads / LANES + 1, sizeof *t->warp_sync);
    }
    t->threads = threads;
    memset(t->fence, 0, (size_t)threads * sizeof *t->fence);
    memset(t->fenced, 0, (size_t)threads * sizeof *t->fenced);
    memset(t->fence_barrier, 0, (size_t)threads * sizeof *t->fence_barrier);
    memset(t->warp_sync, 0, ((size_t)threads / LANES + 1) * sizeof *t->warp_sync);
    t->now = 1, t->barrier = 0, n_seen = 0;
}
void order_free(block_time *t) { free(t->fence), free(t->fence_barrier), free(t->fenced), free(t->warp_sync); }
void order_barrier(block_time *t)
{
    t->barrier = ++t->now;
    memcpy(t->fenced, t->fence, (size_t)t->threads * sizeof *t->fenced);
}
void order_fence(block_time *t, int thread)
{
    t->fence[thread] = ++t->now;
    t->fence_barrier[thread] = t->barrier;
}
void order_atomic(block_time *t, toucher who, uint64_t at)
{
    if (!order_watched) return;
    if (n_seen < MOST_SIGHTS) seen[n_seen++] = (sight){at, n_published, who.thread, who.block, ++t->now};
    publication p = {.at = at, .block = who.block, .thread = who.thread};
    p.fence = t->fence[who.thread], p.fence_barrier = t->fence_barrier[who.thread];
    p.fenced = malloc((size_t)t->threads * sizeof *p.fenced);
    published = realloc(published, (size_t)(n_published + 1) * sizeof *published);
    if (!p.fenced || !published) abort();
    memcpy(p.fenced, t->fenced, (size_t)t->threads * sizeof *p.fenced);
    published[n_published++] = p;
}

/* ---- pairs of accesses ---- */

static bool is_published(const publication *p, const stamp *s)
{
    bool by_barrier = s->time < p->fenced[s->thread] || s->time < p->fence_barrier;
    return p->block == s->block && (by_barrier || (p->thread == s->thread && s->time < p->fence));
}
static bool is_seen(const sight *s, toucher who, const block_time *t)
{
    bool own = s->thread == who.thread && t->fence[who.thread] > s->time;
    return own || t->fenced[s->thread] > s->time || t->fence_barrier[who.thread] > s->time;
}
static const char *between_blocks(const stamp *s, toucher who, const block_time *t)
{
    for (int k = 0; k < n_seen; k++)
        for (int i = 0; i < seen[k].count; i++)
            if (published[i].at == seen[k].at && is_published(&published[i], s) && is_seen(&seen[k], who, t))
                return NULL;
    return "no fence, atomic and fence between blocks";
}
static const char *within_block(const stamp *s, toucher who, const block_time *t)
{
    if (s->thread == who.thread || s->time < t->barrier) return NULL;
    int warp = who.thread / LANES;
    if (s->thread / LANES != warp) return "no barrier of the block between warps";
    return s->time < t->warp_sync[warp] ? NULL : "no barrier of the warp between lanes";
}
/* Returns NULL if the recorded access s happens before the current access of `who`, or if s touches another byte.
 * Otherwise returns the order that is missing. */
static const char *unordered(const stamp *s, toucher who, const block_time *t)
{
    if (!s->operation || (s->byte && who.byte && s->byte != who.byte)) return NULL;
    if (s->operation == current && t)
        return s->block == who.block ? within_block(s, who, t) : between_blocks(s, who, t);
    const operation *o = &operations[s->operation];
    bool ended = s->operation == current || known.ended[o->stream] >= o->number;
    return ended ? NULL : "no event or wait between streams";
}
static const char *described(const stamp *s, const char *why)
{
    static char words[256];
    snprintf(words, sizeof words, "a race, %s: %s:%d, block %u, thread %d", why, s->by ? s->by->file : "a copy",
             s->by ? s->by->line : 0, s->block, s->thread);
    return words;
}

static const char *touch(shadow *s, bool writes, toucher who, const block_time *t)
{
    const char *why = unordered(&s->writer, who, t);
    if (why) return described(&s->writer, why);
    stamp now = {who.by, current, who.block, t ? t->now : 0, who.thread, who.byte};
    if (!writes) { /* keeps two readers if neither happens before the other */
        s->reader[unordered(&s->reader[0], who, t) ? 1 : 0] = now;
        return NULL;
    }
    for (int k = 0; k < 2; k++)
        if ((why = unordered(&s->reader[k], who, t))) return described(&s->reader[k], why);
    *s = (shadow){.writer = now};
    return NULL;
}
const char *order_shared(shadow *s, uint64_t at, size_t bytes, bool writes, toucher who, const block_time *t)
{
    const char *why = NULL;
    who.byte = bytes == 1 ? 1 + (int)(at % 2) : 0;
    for (uint64_t k = at / 2; k <= (at + bytes - 1) / 2 && !why; k++) {
        if (s[k].writer.operation != current || s[k].writer.block != who.block) s[k].writer.operation = 0;
        for (int i = 0; i < 2; i++)
            if (s[k].reader[i].operation != current || s[k].reader[i].block != who.block) s[k].reader[i].operation = 0;
        why = touch(&s[k], writes, who, t);
    }
    return why;
}

/* ---- device memory ---- */

typedef struct {
    char *data;
    size_t bytes;
    shadow *shadows; /* NULL until the race detector is on */
} piece;
static piece *pieces; /* sorted by address */
static int n_pieces, last_piece;

static int piece_of(const void *p) /* index of the last piece that starts at or before p; -1: no piece does */
{
    int low = 0, high = n_pieces;
    if (last_piece >= 0 && last_piece < n_pieces && pieces[last_piece].data <= (const char *)p &&
        (const char *)p < pieces[last_piece].data + pieces[last_piece].bytes)
        return last_piece;
    while (low < high) {
        int k = (low + high) / 2;
        if (pieces[k].data <= (const char *)p)
            low = k + 1;
        else
            high = k;
    }
    return last_piece = low - 1;
}
void *memory_alloc(size_t bytes)
{
    enum { APART = 256 }; /* unused bytes before and after an allocation */
    char *p = aligned_alloc(256, (bytes + 255) / 256 * 256 + (size_t)2 * APART);
    if (!p) return NULL;
    memset(p, 0xff, bytes + APART);
    piece *more = realloc(pieces, (size_t)(n_pieces + 1) * sizeof *pieces);
    if (!more) abort();
    pieces = more;
    int k = piece_of(p) + 1;
    memmove(pieces + k + 1, pieces + k, (size_t)(n_pieces++ - k) * sizeof *pieces);
    pieces[k] = (piece){p + APART, bytes, NULL};
    if (order_watched) pieces[k].shadows = calloc(bytes / 2 + 1, sizeof(shadow));
    return p + APART;
}
void memory_free(void *p)
{
    int k = piece_of(p);
    if (k < 0 || pieces[k].data != p) abort();
    free(pieces[k].data - 256), free(pieces[k].shadows);
    memmove(pieces + k, pieces + k + 1, (size_t)(--n_pieces - k) * sizeof *pieces);
    last_piece = 0;
}
static const piece *piece_with(const void *p, size_t bytes)
{
    int k = piece_of(p);
    bool inside = k >= 0 && (const char *)p + bytes <= pieces[k].data + pieces[k].bytes;
    return inside ? &pieces[k] : NULL;
}
bool memory_has(const void *p, size_t bytes) { return piece_with(p, bytes) != NULL; }
const char *memory_touch(const void *p, size_t bytes, bool writes, toucher who, const block_time *t)
{
    const char *why = NULL;
    if (!bytes) return NULL;
    const piece *at = piece_with(p, bytes);
    if (!at) return "no memory is there";
    if (!order_watched || !at->shadows) return NULL;
    size_t from = (size_t)((const char *)p - at->data);
    who.byte = bytes == 1 ? 1 + (int)(from % 2) : 0;
    for (size_t k = from / 2; k <= (from + bytes - 1) / 2 && !why; k++) why = touch(&at->shadows[k], writes, who, t);
    return why;
}
