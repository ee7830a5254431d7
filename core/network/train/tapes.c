#include "network/train/tapes.h"
#include <string.h>

static void tapes_free(tapes *t)
{
    for (int i = 0; i < t->n; i++) tape_free(t->at[i].tape);
    t->n = 0;
}

void tapes_close(tapes *t)
{
    tapes_free(t);
    workspace_free(&t->space, t->m->backend);
}

static int64_t rounded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* The shape of the tape for this batch. Both backends round times up to 4, so that dropout on [B,H,Tq,Tk] drops equal
 * elements. */
static model_shape shape_for(const model *m, const batch *b)
{
    model_shape s = {b->n_sentences, b->src_cap, b->tgt_cap, rounded(b->src_longest, 4), rounded(b->tgt_longest, 4)};
    if (!on_device(m->backend)) return s;
    int64_t sentences = 64;
    while (sentences < s.batch) sentences *= 2;
    s.batch = sentences;
    return s;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* The shape of a tape for all batches of this batch's batcher; `own` if the batcher does not know its limits. */
static model_shape shape_for_all(const batch *b, const model_shape *own)
{
    const batch_limits *l = &b->limits;
    if (!l->sentences) return *own;
    return (model_shape){larger(l->sentences, b->n_sentences), b->src_cap, b->tgt_cap,
                         larger(l->src_longest, b->src_longest), larger(l->tgt_longest, b->tgt_longest)};
}

static bool serves(const tapes *t, const model_shape *s, const model_shape *wanted)
{
    if (t->how != ONE_FOR_ALL) return !memcmp(s, wanted, sizeof *s);
    return s->src_rows == wanted->src_rows && s->tgt_rows == wanted->tgt_rows && s->batch >= wanted->batch &&
           s->src_time >= wanted->src_time && s->tgt_time >= wanted->tgt_time;
}

/* Frees the least recently used tape if the cache is full. */
static void make_room(tapes *t)
{
    int most = on_device(t->m->backend) ? TAPES : 1, oldest = 0;
    if (t->n < most) return;
    for (int i = 0; i < t->n; i++)
        if (t->at[i].used < t->at[oldest].used) oldest = i;
    tape_free(t->at[oldest].tape);
    t->at[oldest] = t->at[--t->n];
}

static ab_ctx *tapes_add(tapes *t, const model_shape *wanted, err *e)
{
    make_room(t);
    ab_ctx *c = model_loss_tape(t->m, wanted, t->training, e);
    if (!c) return NULL;
    c->shared = &t->space;
    const void *space = t->space.data;
    if (tape_plan(c, NULL, NULL)) {
        fail(e, "%s", c->error.text);
        tape_free(c);
        return NULL;
    }
    if (t->space.data != space) tapes_free(t); /* other tapes' values were in the old workspace */
    t->at[t->n++] = (shaped){*wanted, c, ++t->clock};
    return c;
}

ab_ctx *tapes_get(tapes *t, const batch *b, err *e)
{
    model_shape wanted = shape_for(t->m, b);
    if (on_device(t->m->backend)) {
        model_shape all = shape_for_all(b, &wanted);
        if (t->how == NOT_KNOWN)
            t->how = model_shape_independent(t->m, &wanted, &all, t->training) ? ONE_FOR_ALL : BY_SHAPE;
        if (t->how == ONE_FOR_ALL) wanted = all;
    }
    for (int i = 0; i < t->n; i++) {
        if (!serves(t, &t->at[i].shape, &wanted)) continue;
        t->at[i].used = ++t->clock;
        return t->at[i].tape;
    }
    return tapes_add(t, &wanted, e);
}

/* On a device all batches get equally many rows: each rank gets its share plus an eighth, because slices consist of
 * whole pairs. */
int64_t train_step_round(const model *m, int64_t batch_tokens, int64_t ranks)
{
    return !on_device(m->backend) ? 64 : ranks > 1 ? rounded(batch_tokens / ranks * 9 / 8, 64) : batch_tokens;
}
