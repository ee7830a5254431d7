/* search.c - decodes one batch of sentences and keeps track of their hypotheses. */
#include "network/decode/search.h"
#include "base/cleanup.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

double search_penalty(const search *s, int64_t length) { return pow((5 + (double)length) / 6, s->o->length_penalty); }

bool search_unscored(const search *s) { return s->o->unscored && s->o->beam_size == 1 && !s->o->n_others; }

/* ---- one sentence ---- */

static sentence *sentence_new(search *s, int64_t index)
{
    sentence *x = xcalloc(1, sizeof *x);
    const decode_mask *mask = s->o->mask;
    x->index = index;
    x->limit = s->p->src_at[index + 1] - s->p->src_at[index] - 1 + s->o->max_extra_tokens;
    x->live = xcalloc((size_t)s->o->beam_size, sizeof *x->live);
    x->next = xcalloc((size_t)s->o->beam_size, sizeof *x->next);
    for (int64_t h = 0; h < s->o->beam_size; h++) {
        x->live[h].ids = xmalloc((size_t)(x->limit + 1) * sizeof(int32_t));
        x->next[h].ids = xmalloc((size_t)(x->limit + 1) * sizeof(int32_t));
    }
    x->best = s->out + index * s->o->nbest;
    x->n_live = 1;
    if (mask) x->live[0].state = mask->start(mask->self, index);
    return x;
}

static void release_states(const search *s, prefix *p, int64_t n)
{
    const decode_mask *mask = s->o->mask;
    for (int64_t h = 0; mask && h < n; h++) mask->release(mask->self, p[h].state);
}

static void sentence_free(search *s, sentence *x)
{
    release_states(s, x->live, x->n_live);
    for (int64_t h = 0; h < s->o->beam_size; h++) {
        free(x->live[h].ids);
        free(x->next[h].ids);
    }
    free(x->live);
    free(x->next);
    free(x);
}

/* Inserts a hypothesis of n tokens among the sentence's nbest, if the hypothesis scores high enough. */
static void record(const search *s, sentence *x, const int32_t *ids, int64_t n, double log_prob, bool complete)
{
    int64_t length = n + complete, at = x->n_best;
    if (search_unscored(s)) log_prob = 0;
    double score = log_prob / search_penalty(s, length ? length : 1);
    while (at > 0 && complete && score > x->best[at - 1].score) at--;
    if (at == s->o->nbest) return;
    if (x->n_best == s->o->nbest) free(x->best[--x->n_best].ids);
    memmove(&x->best[at + 1], &x->best[at], (size_t)(x->n_best++ - at) * sizeof *x->best);
    x->best[at] = (hypothesis){xmalloc((size_t)(n + 1) * sizeof *ids), n, score, log_prob, complete};
    memcpy(x->best[at].ids, ids, (size_t)n * sizeof *ids);
}

/* Can the best live hypothesis, of t tokens, still enter the nbest? Its log P can only fall. */
static bool can_win(const search *s, const sentence *x, int64_t t)
{
    if (x->n_best < s->o->nbest) return true;
    return x->next[0].log_prob / fmax(search_penalty(s, t + 1), search_penalty(s, x->limit + 1)) >
           x->best[s->o->nbest - 1].score;
}

/* Finds the sentence's next most likely continuation: merges its rows' sorted choices, unless a device has done so.
 * Returns false if no continuation is left. */
static bool next_choice(search *s, const sentence *x, int64_t first_row, continuation *out)
{
    if (s->found) {
        *out = s->found[first_row / s->o->beam_size * s->wanted + s->cursor[0]++];
        return out->parent >= 0;
    }
    out->parent = -1;
    for (int64_t h = 0; h < x->n_live; h++) {
        int64_t r = first_row + h;
        if (s->cursor[h] == s->n_choices[r]) continue;
        const choice *c = &s->choices[r * s->k + s->cursor[h]];
        double log_prob = x->live[h].log_prob + (c->logit - s->log_sum[r]);
        if (out->parent >= 0 && log_prob <= out->log_prob) continue;
        *out = (continuation){log_prob, (int32_t)h, c->id};
    }
    if (out->parent >= 0) s->cursor[out->parent]++;
    return out->parent >= 0;
}

static void extend(const search *s, sentence *x, const continuation *c, int64_t t)
{
    const decode_mask *mask = s->o->mask;
    const prefix *from = &x->live[c->parent];
    prefix *to = &x->next[x->n_next++];
    memcpy(to->ids, from->ids, (size_t)t * sizeof *to->ids);
    to->ids[t] = c->id;
    to->log_prob = c->log_prob;
    if (mask) to->state = mask->advance(mask->self, from->state, c->id);
}

/* Fills the nbest with the most likely unfinished hypotheses if too few have ended. */
static void give_up(search *s, sentence *x, int64_t t, const bool *ended)
{
    for (int64_t h = 0; h < x->n_live && x->n_best < s->o->nbest; h++)
        if (!ended[h]) record(s, x, x->live[h].ids, t, x->live[h].log_prob, false);
}

/* Extends hypotheses of t tokens to hypotheses of t + 1. */
static void advance(search *s, sentence *x, int64_t first_row, int64_t t)
{
    int64_t beam = s->o->beam_size, n = 0;
    AUTOFREE bool *ended = xcalloc((size_t)beam, sizeof *ended);
    continuation c;
    memset(s->cursor, 0, (size_t)beam * sizeof *s->cursor);
    for (x->n_next = 0; n < s->wanted && next_choice(s, x, first_row, &c); n++) {
        if (c.id == VOCAB_EOS) {
            record(s, x, x->live[c.parent].ids, t, c.log_prob, true);
            ended[c.parent] = true;
        } else if (x->n_next < beam && t < x->limit) {
            s->parents[first_row + x->n_next] = (int32_t)(first_row + c.parent);
            s->tokens[first_row + x->n_next] = c.id;
            extend(s, x, &c, t);
        }
    }
    x->over = !x->n_next || !can_win(s, x, t + 1);
    if (!x->n_next) give_up(s, x, t, ended);
    release_states(s, x->live, x->n_live);
    prefix *old = x->live;
    x->live = x->next, x->next = old;
    x->n_live = x->n_next;
}

/* ---- one batch ---- */

/* The search's row of the hypothesis in row i of the step; -1: the row is unused. */
static int64_t row_in_use(const search *s, int64_t i)
{
    int64_t b = i / s->steps.beam, h = i % s->steps.beam;
    return s->at[b]->over || h >= s->at[b]->n_live ? -1 : b * s->o->beam_size + h;
}

/* These column readers take logits while a step computes them: choose_among for one model, weigh for an ensemble. */
static void choose_among(void *self, const float *block, int64_t row, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    search *s = self;
    (void)j0;
    for (int64_t i = i0; i < i1; i++) {
        int64_t r = row_in_use(s, i);
        if (r >= 0) select_more(&s->chosen[r], block + (i - i0) * row, F32, j1, NULL);
    }
}
static void weigh(void *self, const float *block, int64_t row, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    member *m = self;
    (void)j0;
    for (int64_t i = i0; i < i1; i++) {
        int64_t r = row_in_use(m->s, i);
        if (r >= 0) opinion_more(&m->row[r], block + (i - i0) * row, F32, j1);
    }
}

static const model *model_at(const search *s, int64_t k) { return k ? s->o->others[k - 1] : s->m; }
static steps *steps_at(search *s, int64_t k) { return k ? &s->others[k - 1] : &s->steps; }

/* Chooses from the columns of row r (row i of the step) that the readers have not seen. False: a logit is NaN. */
static bool choose_rest(search *s, int64_t r, int64_t i, const uint8_t *allowed)
{
    int64_t v = s->m->tgt_vocab, n = 1 + s->o->n_others;
    const opinion *of[1 + MOST_OTHERS];
    for (int64_t k = 0; k < n; k++) {
        dtype type = model_at(s, k)->compute;
        int64_t *seen = s->members ? &s->members[k].row[r].seen : &s->chosen[r].seen;
        const char *left = (const char *)s->logits[k] + (size_t)(i * v + *seen) * dtype_size(type);
        if (s->members)
            opinion_more(&s->members[k].row[r], left, type, v), of[k] = &s->members[k].row[r];
        else
            select_more(&s->chosen[r], left, type, v, allowed);
    }
    return !s->members || select_from_all(&s->chosen[r], of, n, v, allowed);
}

static int choose(search *s, err *e)
{
    double start = ticks();
    if (on_device(s->m->backend)) {
        int rc = device_choose(s, s->logits[0], e);
        s->stats.select_seconds += ticks() - start;
        return rc;
    }
    int64_t rows = s->n_at * s->steps.beam, bad = 0;
    const decode_mask *mask = s->o->mask;
#pragma omp parallel for schedule(dynamic, 8) reduction(+ : bad)
    for (int64_t i = 0; i < rows; i++) {
        int64_t r = row_in_use(s, i);
        if (r < 0) continue;
        const prefix *p = &s->at[i / s->steps.beam]->live[i % s->steps.beam];
        uint8_t *allowed = mask ? s->allowed + omp_get_thread_num() * s->m->tgt_vocab : NULL;
        if (mask) mask->allowed(mask->self, p->state, allowed);
        bad += !choose_rest(s, r, i, allowed);
        s->n_choices[r] = select_end(&s->chosen[r], &s->log_sum[r]);
        bad += isnan(s->log_sum[r]);
    }
    s->stats.select_seconds += ticks() - start;
    return bad ? fail(e, "decoding: the model's logits are not numbers") : 0;
}

/* Unused rows continue themselves; in the first step they continue the sentence's only row. */
static void idle_rows(search *s, int64_t b, int64_t from)
{
    for (int64_t h = from; h < s->o->beam_size; h++) {
        int64_t r = b * s->o->beam_size + h;
        s->parents[r] = (int32_t)(b * s->o->beam_size + h % s->steps.beam);
        s->tokens[r] = VOCAB_EOS;
    }
}

static void advance_all(search *s, int64_t t)
{
    double start = ticks();
    for (int64_t b = 0; b < s->n_at; b++) {
        sentence *x = s->at[b];
        if (!x->over) advance(s, x, b * s->o->beam_size, t);
        idle_rows(s, b, x->over ? 0 : x->n_live);
    }
    s->stats.select_seconds += ticks() - start;
}

static int64_t still_live(const search *s)
{
    int64_t n = 0;
    for (int64_t b = 0; b < s->n_at; b++) n += !s->at[b]->over;
    return n;
}

/* A smaller batch pays after this many steps wasted on finished sentences, although it needs a new tape and copies of
 * the other sentences' keys and values (in models of a few million parameters). */
static int64_t worth_shrinking(const search *s) { return 1 + s->n_at / 12; }

static void shrink(search *s)
{
    AUTOFREE bool *keep = xmalloc((size_t)s->n_at * sizeof *keep);
    size_t beam = (size_t)s->o->beam_size;
    int64_t n = 0;
    for (int64_t b = 0; b < s->n_at; b++) {
        sentence *x = s->at[b];
        keep[b] = !x->over;
        if (x->over) {
            sentence_free(s, x);
            continue;
        }
        memmove(s->tokens + (size_t)n * beam, s->tokens + (size_t)b * beam, beam * sizeof *s->tokens);
        s->at[n++] = x;
    }
    for (int64_t k = 0; k <= s->o->n_others; k++) steps_keep(steps_at(s, k), keep);
    s->n_at = n;
    s->idle = 0;
}

static int run_models(search *s, err *e)
{
    for (int64_t r = 0; r < s->n_at * s->o->beam_size; r++) {
        s->chosen[r] = select_begin(s->k, &s->choices[r * s->k]);
        s->chosen[r].unscored = search_unscored(s);
        for (int64_t k = 0; k <= s->o->n_others && s->members; k++) s->members[k].row[r].seen = 0;
    }
    for (int64_t k = 0; k <= s->o->n_others; k++) {
        s->logits[k] = steps_run(steps_at(s, k), s->tokens, e);
        if (!s->logits[k]) return -1;
    }
    return 0;
}

/* Frees the sentences still in the batch. On a device, where batches do not shrink, all sentences are still there. */
static void end_batch(search *s)
{
    while (s->n_at) sentence_free(s, s->at[--s->n_at]);
}

int search_batch(search *s, const int64_t *which, int64_t n, err *e)
{
    int64_t beam = s->o->beam_size, capacity = 0, live = n;
    end_batch(s);
    s->idle = 0;
    for (s->n_at = 0; s->n_at < n; s->n_at++) {
        sentence *x = s->at[s->n_at] = sentence_new(s, which[s->n_at]);
        if (x->limit + 1 > capacity) capacity = x->limit + 1;
    }
    for (int64_t i = 0; i <= s->o->n_others; i++) {
        if (steps_start(steps_at(s, i), s->p, which, n, beam, capacity, e)) return -1;
        steps_narrow(steps_at(s, i));
    }
    for (int64_t r = 0; r < n * beam; r++) s->tokens[r] = VOCAB_BOS;
    for (int64_t t = 0; live; t++) {
        if (on_device(s->m->backend) && device_put(s, e)) return -1;
        if (run_models(s, e) || choose(s, e)) return -1;
        advance_all(s, t);
        for (int64_t i = 0; i <= s->o->n_others; i++) steps_follow(steps_at(s, i), s->parents);
        int64_t left = still_live(s);
        if (left < live) streams_progress(s->all, live - left);
        live = left;
        s->stats.steps++;
        s->idle += s->n_at - live;
        if (s->idle > worth_shrinking(s) && !on_device(s->m->backend)) shrink(s);
    }
    return 0;
}

/* ---- a stream's memory ---- */

static void open_members(search *s, size_t rows)
{
    size_t v = (size_t)s->m->tgt_vocab, size = v + NUMBERS_OF_CHUNK * ((v + CHUNK - 1) / CHUNK);
    s->members = arena_alloc(&s->memory, ((size_t)s->o->n_others + 1) * sizeof *s->members);
    for (int64_t k = 0; k <= s->o->n_others; k++) {
        member *m = &s->members[k];
        m->s = s;
        m->row = arena_alloc(&s->memory, rows * sizeof *m->row);
        float *numbers = arena_alloc(&s->memory, rows * size * sizeof *numbers);
        for (size_t r = 0; r < rows; r++) m->row[r] = opinion_in(numbers + r * size, (int64_t)v);
        steps_at(s, k)->reader = (column_reader){0, weigh, m};
    }
}

void search_open(search *s)
{
    size_t rows = (size_t)(s->o->batch * s->o->beam_size), v = (size_t)s->m->tgt_vocab;
    s->wanted = s->o->beam_size == 1 ? 1 : 2 * s->o->beam_size;
    s->k = s->wanted < s->m->tgt_vocab ? s->wanted : s->m->tgt_vocab;
    s->at = arena_alloc(&s->memory, (size_t)s->o->batch * sizeof *s->at);
    s->tokens = arena_alloc(&s->memory, rows * sizeof *s->tokens);
    s->parents = arena_alloc(&s->memory, rows * sizeof *s->parents);
    s->choices = arena_alloc(&s->memory, rows * (size_t)s->k * sizeof *s->choices);
    s->chosen = arena_alloc(&s->memory, rows * sizeof *s->chosen);
    s->n_choices = arena_alloc(&s->memory, rows * sizeof *s->n_choices);
    s->log_sum = arena_alloc(&s->memory, rows * sizeof *s->log_sum);
    s->cursor = arena_alloc(&s->memory, (size_t)s->o->beam_size * sizeof *s->cursor);
    s->logits = arena_alloc(&s->memory, ((size_t)s->o->n_others + 1) * sizeof *s->logits);
    if (s->o->mask) s->allowed = arena_alloc(&s->memory, (size_t)omp_get_max_threads() * v);
    if (on_device(s->m->backend)) device_open_search(s);
    steps_open(&s->steps, s->m);
    if (!s->o->mask) s->steps.reader = (column_reader){0, choose_among, s};
    s->steps.block = s->o->block > 1;
    s->steps.ahead = s->steps.block ? s->o->block - 1 : 0;
    if (!s->o->n_others) return;
    s->others = arena_alloc(&s->memory, (size_t)s->o->n_others * sizeof *s->others);
    for (int64_t i = 0; i < s->o->n_others; i++) steps_open(&s->others[i], s->o->others[i]);
    open_members(s, rows);
}

void search_close(search *s)
{
    end_batch(s);
    s->stats.encode_seconds = s->steps.encode_seconds;
    s->stats.step_seconds = s->steps.step_seconds;
    s->stats.rows = s->steps.rows_run;
    s->stats.traces = s->steps.traces;
    for (int64_t k = 0; k <= s->o->n_others; k++) steps_close(steps_at(s, k));
    arena_free(&s->memory);
}
