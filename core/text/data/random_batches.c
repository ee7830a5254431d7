#include "text/data/random_batches.h"
#include "base/cleanup.h"
#include <stdlib.h>
#include <string.h>

/* Returns random ids [cap] of consecutive sentences. *pos: each token's position in its sentence; *off: first rows.
 * first >= 0: every sentence begins with id `first`; else it ends with EOS. Rows after the last sentence are 0. */
static int32_t *side(arena *a, rng *r, int64_t vocab, const int32_t *len, int64_t n, int64_t cap, int32_t **pos,
                     int32_t **off, int32_t first)
{
    int32_t *ids = arena_alloc(a, (size_t)cap * sizeof *ids), at = 0;
    *pos = arena_alloc(a, (size_t)cap * sizeof **pos);
    *off = arena_alloc(a, (size_t)(n + 1) * sizeof **off);
    for (int64_t i = 0; i < n; i++) {
        (*off)[i] = at;
        for (int32_t t = 0; t < len[i]; t++, at++) {
            (*pos)[at] = t;
            ids[at] = t == 0 && first >= 0 ? first
                      : t == len[i] - 1 && first < 0
                          ? VOCAB_EOS
                          : (int32_t)(VOCAB_SPECIALS + (int64_t)rng_below(r, (uint64_t)(vocab - VOCAB_SPECIALS)));
        }
    }
    (*off)[n] = at;
    return ids;
}

static int64_t total(const int32_t *len, int64_t n, int64_t *longest)
{
    int64_t sum = 0;
    *longest = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += len[i];
        if (len[i] > *longest) *longest = len[i];
    }
    return sum;
}

static void add_batch(recorded *r, rng *random, int64_t vocab, const sentence_lengths *l, int64_t src_cap,
                      int64_t tgt_cap)
{
    int32_t *pos, *off, *out;
    batch b = {.n_sentences = l->n};
    b.src_rows = total(l->src, l->n, &b.src_longest);
    b.tgt_rows = total(l->tgt, l->n, &b.tgt_longest);
    b.src_cap = src_cap ? src_cap : (b.src_rows + 63) / 64 * 64;
    b.tgt_cap = tgt_cap ? tgt_cap : (b.tgt_rows + 63) / 64 * 64;
    b.src_ids = side(&r->memory, random, vocab, l->src, l->n, b.src_cap, &pos, &off, -1);
    b.src_pos = pos, b.src_offset = off;
    b.tgt_in = side(&r->memory, random, vocab, l->tgt, l->n, b.tgt_cap, &pos, &off, VOCAB_BOS);
    b.tgt_pos = pos, b.tgt_offset = off;
    out = side(&r->memory, random, vocab, l->tgt, l->n, b.tgt_cap, &pos, &off, -1);
    for (int64_t i = b.tgt_rows; i < b.tgt_cap; i++) out[i] = -1;
    b.tgt_out = out;
    r->b[r->n++] = b;
}

void recorded_count(recorded *r, const sentence_lengths *l)
{
    int64_t longest, src = total(l->src, l->n, &longest), tgt = total(l->tgt, l->n, &longest);
    r->sentences += l->n, r->src_rows += src, r->tgt_rows += tgt;
    if (src > r->src_most) r->src_most = src;
    if (tgt > r->tgt_most) r->tgt_most = tgt;
}

void recorded_build(recorded *r, rng *random, int64_t vocab, const sentence_lengths *l, size_t n, int64_t src_cap,
                    int64_t tgt_cap)
{
    batch_limits most = {0};
    r->b = xcalloc(n + 1, sizeof *r->b);
    for (size_t i = 0; i < n; i++)
        if (l[i].n) add_batch(r, random, vocab, &l[i], src_cap, tgt_cap);
    for (size_t i = 0; i < r->n; i++) {
        const batch *b = &r->b[i];
        if (b->n_sentences > most.sentences) most.sentences = b->n_sentences;
        if (b->src_longest > most.src_longest) most.src_longest = b->src_longest;
        if (b->tgt_longest > most.tgt_longest) most.tgt_longest = b->tgt_longest;
    }
    for (size_t i = 0; i < r->n; i++) r->b[i].limits = most;
}

void recorded_make(recorded *r, int64_t sentences, int64_t src_length, int64_t tgt_length, int64_t vocab)
{
    rng random = rng_seed(1, 7);
    CLEANUP(arena_free) arena a = {0};
    sentence_lengths l = {arena_alloc(&a, (size_t)(sentences + 1) * sizeof *l.src),
                          arena_alloc(&a, (size_t)(sentences + 1) * sizeof *l.tgt), sentences};
    for (int64_t i = 0; i < sentences; i++) l.src[i] = (int32_t)src_length, l.tgt[i] = (int32_t)tgt_length;
    recorded_count(r, &l);
    recorded_build(r, &random, vocab, &l, 1, 0, 0);
}

void recorded_free(recorded *r)
{
    free(r->b);
    arena_free(&r->memory);
    *r = (recorded){0};
}
