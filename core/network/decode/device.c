/* device.c - a step of beam search that selects tokens on a device, where the logits stay: its inputs and results. */
#include "network/decode/search.h"
#include <math.h>
#include <omp.h>

static int64_t words_of(const search *s) { return (s->m->tgt_vocab + 31) / 32; }

void device_open_search(search *s)
{
    size_t rows = (size_t)(s->o->batch * s->o->beam_size);
    s->found = arena_alloc(&s->memory, (size_t)(s->o->batch * s->wanted) * sizeof *s->found);
    s->log_prob = arena_alloc(&s->memory, rows * sizeof *s->log_prob);
    if (!s->o->mask) return;
    s->line = arena_alloc(&s->memory, rows * (size_t)words_of(s) * sizeof *s->line);
    s->line_of = arena_alloc(&s->memory, rows * sizeof *s->line_of);
}

/* Packs [v] bytes (0 or not) as bits. */
static void place_bits(uint32_t *to, const uint8_t *from, int64_t v)
{
    for (int64_t i = 0; i < v; i += 32) {
        uint32_t word = 0;
        for (int64_t j = 0; j < 32 && i + j < v; j++) word |= (uint32_t)(from[i + j] != 0) << j;
        to[i / 32] = word;
    }
}

/* Writes a row of mask bits for each live hypothesis; returns how many rows it wrote. */
static int64_t place_masks(search *s)
{
    const decode_mask *mask = s->o->mask;
    int64_t rows = s->n_at * s->o->beam_size, v = s->m->tgt_vocab, words = words_of(s), n = 0;
    for (int64_t r = 0; r < rows; r++) s->line_of[r] = isinf(s->log_prob[r]) ? -1 : (int32_t)n++;
#pragma omp parallel for schedule(dynamic, 8)
    for (int64_t r = 0; r < rows; r++) {
        uint8_t *allowed = s->allowed + (size_t)omp_get_thread_num() * (size_t)s->m->tgt_vocab;
        if (s->line_of[r] < 0) continue;
        mask->allowed(mask->self, s->at[r / s->o->beam_size]->live[r % s->o->beam_size].state, allowed);
        place_bits(s->line + s->line_of[r] * words, allowed, v);
    }
    return n;
}

static choosing question(const search *s)
{
    return (choosing){.sentences = s->n_at,
                      .beam = s->o->beam_size,
                      .v = s->m->tgt_vocab,
                      .k = s->k,
                      .wanted = s->wanted,
                      .log_prob = s->log_prob,
                      .line = s->line,
                      .line_of = s->line_of,
                      .n_lines = s->n_lines};
}

int device_put(search *s, err *e)
{
    double start = ticks();
    int64_t beam = s->o->beam_size;
    for (int64_t r = 0; r < s->n_at * beam; r++) {
        const sentence *x = s->at[r / beam];
        s->log_prob[r] = x->over || r % beam >= x->n_live ? -INFINITY : x->live[r % beam].log_prob;
    }
    if (s->o->mask) s->n_lines = place_masks(s);
    choosing c = question(s);
    int rc = s->m->backend->put_choosing(&c, e);
    s->stats.select_seconds += ticks() - start;
    return rc;
}

int device_choose(search *s, const void *logits, err *e)
{
    choosing c = question(s);
    if (s->m->backend->choose(&c, logits, s->m->compute, s->found, e)) return -1;
    for (int64_t i = 0; i < s->n_at * s->wanted; i++)
        if (isnan(s->found[i].log_prob)) return fail(e, "decoding: the model's logits are not numbers");
    return 0;
}
