/* steps.c - tapes that encode and decode step by step, and the memory that outlives them. */
#include "network/decode/steps.h"
#include "base/cleanup.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Guards tracing: streams share the model's tables of positions. */
static pthread_mutex_t tracing = PTHREAD_MUTEX_INITIALIZER;

enum { SEEN_STEP = 16 }; /* steps after which attention that reads the whole past as one tensor is traced again */

void steps_open(steps *s, model *m) { *s = (steps){.m = m, .grows = -1}; }

static void free_batch(steps *s)
{
    tape_free(s->tape);
    s->tape = NULL;
    free(s->src_ids);
    free(s->src_pos);
    free(s->src_offset);
    free(s->parents);
    if (s->ancestors) s->m->backend->release(s->ancestors), s->m->backend->release(s->spare);
    s->source.taken = s->source.read = false;
    s->src_ids = s->src_pos = s->src_offset = s->parents = s->ancestors = s->spare = NULL;
}

void steps_close(steps *s)
{
    free_batch(s);
    for (size_t i = 0; i < s->n_states; i++) {
        s->m->backend->release(s->state[i].data);
        free(s->state[i].name);
    }
    free(s->state);
    if (s->memory) s->m->backend->release(s->memory);
    source_values_free(&s->source);
    workspace_free(&s->work, s->m->backend);
    *s = (steps){0};
}

/* ---- inputs ---- */

static void place_all(ab_ctx *c, const char *name, int32_t value)
{
    ab_t x = tape_find(c, name);
    int64_t n = x.id ? node_count(tape_at(c, x)) : 0;
    AUTOFREE int32_t *all = xmalloc((size_t)n * sizeof *all + 1);
    for (int64_t i = 0; i < n; i++) all[i] = value;
    tape_set(c, name, all);
}

static int64_t longest_source(const steps *s)
{
    int64_t n = 0;
    for (int64_t b = 0; b < s->batch; b++)
        if (s->src_offset[b + 1] - s->src_offset[b] > n) n = s->src_offset[b + 1] - s->src_offset[b];
    return n;
}

static model_shape shape_of(const steps *s)
{
    return (model_shape){.batch = s->batch, .src_rows = s->src_rows, .src_time = longest_source(s)};
}

/* ---- the encoder ---- */

static void pack_sources(steps *s, const pairs *p, const int64_t *which)
{
    s->src_rows = 0;
    s->src_offset = xcalloc((size_t)s->batch + 1, sizeof(int32_t));
    if (!model_has_encoder(s->m)) return;
    for (int64_t b = 0; b < s->batch; b++) s->src_rows += p->src_at[which[b] + 1] - p->src_at[which[b]];
    s->src_ids = xmalloc((size_t)s->src_rows * sizeof(int32_t));
    s->src_pos = xmalloc((size_t)s->src_rows * sizeof(int32_t));
    int32_t row = 0;
    for (int64_t b = 0; b < s->batch; b++) {
        s->src_offset[b] = row;
        for (int64_t i = p->src_at[which[b]]; i < p->src_at[which[b] + 1]; i++, row++) {
            s->src_ids[row] = p->src[i];
            s->src_pos[row] = row - s->src_offset[b];
        }
    }
    s->src_offset[s->batch] = row;
}

static int encode(steps *s, err *e)
{
    double start = ticks();
    model_batch b = {.shape = shape_of(s), .src_ids = s->src_ids, .src_pos = s->src_pos, .src_offset = s->src_offset};
    pthread_mutex_lock(&tracing);
    CLEANUP(tape_end) ab_ctx *c = model_encode_tape(s->m, &b.shape, e);
    pthread_mutex_unlock(&tracing);
    if (!c) return -1;
    c->shared = &s->work;
    int bad = tape_plan(c, NULL, NULL);
    if (!bad) {
        model_encode_inputs(c, &b);
        bad = tape_run(c, &(run_options){.from = PHASE_CONST});
    }
    if (bad) {
        fail(e, "encoder: %s", c->error.text);
    } else {
        const node *y = tape_at(c, tape_find(c, "memory"));
        size_t bytes = (size_t)node_count(y) * dtype_size(y->type);
        if (s->memory_size < bytes) {
            if (s->memory) s->m->backend->release(s->memory);
            s->memory = s->m->backend->alloc(s->memory_size = bytes + bytes / 4);
        }
        backend_move(s->m->backend, s->memory, y->data, bytes);
    }
    s->encode_seconds += ticks() - start;
    return bad;
}

/* ---- states ---- */

static bool is_cache(const ab_ctx *c, int32_t state)
{
    for (int32_t i = 1; i < c->n; i++)
        if ((c->v[i].op == OP_ATTEND_STEP && c->v[i].i.ATTEND_STEP.cache == state) ||
            (c->v[i].op == OP_ATTEND_PROGRAM_STEP && c->v[i].i.ATTEND_PROGRAM_STEP.cache == state) ||
            (c->v[i].op == OP_KV_CACHE_APPEND && c->v[i].i.KV_CACHE_APPEND.cache == state))
            return true;
    return false;
}

static bool same_width(const step_state *x, const node *v)
{
    return !memcmp(x->dim + 1, v->dim + 1, 3 * sizeof *v->dim);
}

/* Widens a carried state, whose width is the number of keys, with zeros. Returns -1 if the state cannot grow. */
static int widen_state(steps *s, step_state *x, const node *v)
{
    size_t one = dtype_size(v->type), row = (size_t)(v->dim[1] * v->dim[2] * v->dim[3]) * one;
    const int64_t *d = x->dim, *to = v->dim;
    char before[64], now[64];
    if (x->cache || to[1] < d[1] || to[2] < d[2] || to[3] < d[3])
        return fail(&s->refused,
                    "state '%s' has shape %s in one step and %s in another: only what ab_running_sum, ab_scan and "
                    "ab_causal_kv_sum carry may grow with the number of keys",
                    x->name, shape_text(d, before), shape_text(to, now));
    const backend *b = s->m->backend;
    size_t size = row * (size_t)(s->batch * s->widest);
    char *data = b->alloc(size);
    backend_zero(b, data, size);
    for (int64_t r = 0; r < s->batch * s->beam; r++)
        for (int64_t i = 0; i < d[1] * d[2]; i++)
            backend_move(b, data + (size_t)r * row + (size_t)((i / d[2] * to[2] + i % d[2]) * to[3]) * one,
                         x->data + (size_t)r * x->row + (size_t)(i * d[3]) * one, (size_t)d[3] * one);
    b->release(x->data);
    x->data = data, x->size = size, x->row = row;
    memcpy(x->dim, to, sizeof x->dim);
    return 0;
}

/* Returns the memory of a state: the batch's existing memory, or new memory. Carried sums start from zero. */
static void *find_state(void *self, const char *name, size_t bytes)
{
    steps *s = self;
    step_state *x = NULL;
    for (size_t i = 0; i < s->n_states && !x; i++)
        if (same(s->state[i].name, name)) x = &s->state[i];
    if (!x) {
        s->state = grow(s->state, &s->states_cap, s->n_states + 1, sizeof *s->state);
        x = &s->state[s->n_states++];
        *x = (step_state){.name = xstrdup(name)};
    }
    ab_t id = tape_find(s->tape, name);
    const node *v = tape_at(s->tape, id);
    if (x->batch == s->n_batches) return same_width(x, v) || !widen_state(s, x, v) ? x->data : NULL;
    bool cache = is_cache(s->tape, id.id);
    if (!cache) bytes *= (size_t)(s->widest / s->beam);
    if (x->size < bytes) {
        if (x->data) s->m->backend->release(x->data);
        x->data = s->m->backend->alloc(bytes);
        x->size = bytes;
    }
    memcpy(x->dim, v->dim, sizeof x->dim);
    x->cache = cache;
    x->row = (size_t)(v->dim[1] * v->dim[2] * v->dim[3]) * dtype_size(v->type);
    x->batch = s->n_batches;
    if (!cache) backend_zero(s->m->backend, x->data, bytes);
    return x->data;
}

/* ---- the step tape ---- */

static bool has_op(const ab_ctx *c, op what)
{
    for (int32_t i = 1; i < c->n; i++)
        if (c->v[i].live && c->v[i].op == what) return true;
    return false;
}

/* Does an operation read the input? Cross-attention's mask does not count, because it reads lengths only. */
static bool is_read(const ab_ctx *c, const char *input)
{
    int32_t x = tape_find(c, input).id;
    for (int32_t i = 1; i < c->n && x; i++)
        for (int k = 0; k < c->v[i].n_in; k++)
            if (c->v[i].live && c->v[i].in[k] == x && (c->v[i].op != OP_MASK || c->v[i].a.MASK.causal)) return true;
    return false;
}

static int64_t wanted_seen(const steps *s)
{
    if (!s->grows) return s->capacity;
    int64_t n = (s->time + SEEN_STEP) / SEEN_STEP * SEEN_STEP;
    return n < s->capacity ? n : s->capacity;
}

static void setup_inputs(steps *s)
{
    if (!model_has_encoder(s->m)) return;
    AUTOFREE int32_t *length = xmalloc((size_t)s->batch * sizeof *length);
    for (int64_t b = 0; b < s->batch; b++) length[b] = s->src_offset[b + 1] - s->src_offset[b];
    tape_set(s->tape, "src.offset", s->src_offset);
    tape_set(s->tape, "src.len", length);
    const node *memory = tape_at(s->tape, tape_find(s->tape, "memory"));
    if (memory->live && memory->data && is_read(s->tape, "memory"))
        backend_move(s->m->backend, memory->data, s->memory, (size_t)node_count(memory) * dtype_size(memory->type));
}

/* Frees the tape, but keeps what it computed from the sources of the sentences with keep[b] (NULL: all). */
static void leave_tape(steps *s, const bool *keep)
{
    if (s->tape && s->ran && model_has_encoder(s->m) && !on_device(s->m->backend))
        source_values_borrow(&s->source, s->tape, s->src_offset, s->batch, keep);
    else if (keep)
        s->source.taken = s->source.read = false; /* `source` has values of other sentences */
    tape_free(s->tape);
    s->tape = NULL;
    s->ran = false;
}

static int trace(steps *s, err *e)
{
    leave_tape(s, NULL);
    s->seen = wanted_seen(s);
    model_shape shape = shape_of(s);
    model_step step = {.beam = s->beam,
                       .capacity = s->capacity,
                       .cache_rows = s->cache_rows,
                       .seen = s->seen,
                       .block = s->block,
                       .ahead = s->ahead};
    pthread_mutex_lock(&tracing);
    s->tape = model_step_tape(s->m, &shape, &step, e);
    pthread_mutex_unlock(&tracing);
    if (!s->tape) return -1;
    s->tape->shared = &s->work;
    s->refused.text[0] = 0;
    if (tape_plan(s->tape, find_state, s))
        return fail(e, "decoder step: %s", s->refused.text[0] ? s->refused.text : s->tape->error.text);
    s->traces++;
    if (s->grows < 0) { /* the first tape tells; without such attention, one tape serves all steps */
        s->grows = has_op(s->tape, OP_KV_CACHE_APPEND) /* reads the past as one tensor */;
        if (!s->grows) return trace(s, e);
    }
    source_values_return(&s->source, s->tape, s->src_rows);
    setup_inputs(s);
    return 0;
}

int steps_start(steps *s, const pairs *p, const int64_t *which, int64_t n, int64_t beam, int64_t capacity, err *e)
{
    free_batch(s);
    s->beam = s->widest = beam, s->capacity = capacity, s->batch = n, s->time = 0;
    s->cache_rows = n * beam;
    s->n_batches++;
    pack_sources(s, p, which);
    size_t rows = (size_t)(n * beam), all = rows * (size_t)capacity;
    s->parents = xmalloc(rows * sizeof(int32_t));
    const backend *b = s->m->backend;
    s->ancestors = b->alloc(all * sizeof(int32_t));
    s->spare = b->alloc(all * sizeof(int32_t));
    s->follows = false;
    backend_zero(b, s->ancestors, all * sizeof(int32_t));
    backend_zero(b, s->spare, all * sizeof(int32_t));
    for (size_t r = 0; r < rows; r++) s->parents[r] = (int32_t)r;
    return model_has_encoder(s->m) ? encode(s, e) : 0;
}

static void swap_ancestors(steps *s)
{
    int32_t *old = s->ancestors;
    s->ancestors = s->spare;
    s->spare = old;
}

static void place_ancestors(steps *s)
{
    const backend *b = s->m->backend;
    int64_t rows = s->batch * s->beam;
    if (!on_device(b)) {
        tape_set(s->tape, "ancestors", s->ancestors);
        return;
    }
    const node *x = tape_at(s->tape, tape_find(s->tape, "ancestors"));
    void *read = x->live ? x->data : NULL;
    if (s->follows) {
        b->follow(s->spare, read, s->ancestors, s->parents, rows, s->capacity, s->time - 1);
        swap_ancestors(s);
        s->follows = false;
    } else if (read) {
        b->copy(read, s->ancestors, (size_t)(rows * s->capacity) * sizeof *s->ancestors);
    }
}

/* Runs the tape. fresh: this is the first run, which also computes keys and values of the encoder's output. */
static const void *run_tape(steps *s, bool fresh, const column_reader *reader, double start, err *e)
{
    ab_ctx *c = s->tape;
    if (tape_run(c, &(run_options){.from = fresh ? PHASE_CONST : PHASE_STEP, .reader = reader}))
        return fail(e, "decoder step %lld: %s", (long long)s->time, c->error.text), NULL;
    s->ran = true;
    s->time++;
    s->rows_run += s->batch * s->beam;
    s->step_seconds += ticks() - start;
    return tape_at(c, tape_find(c, "logits"))->data;
}

const void *steps_run(steps *s, const int32_t *tokens, err *e)
{
    double start = ticks();
    if (s->time >= s->capacity) {
        fail(e, "decoder step %lld, but the caches have room for %lld", (long long)s->time, (long long)s->capacity);
        return NULL;
    }
    bool fresh = !s->tape || s->time >= s->seen;
    if (fresh && trace(s, e)) return NULL;
    ab_ctx *c = s->tape;
    int32_t t = (int32_t)s->time;
    tape_set(c, "tgt.ids", tokens);
    tape_set(c, "parents", s->parents);
    place_all(c, "time", t);
    place_all(c, "pos", t);
    place_all(c, "beam.pos", t);
    place_ancestors(s);
    s->reader.node = tape_find(c, "logits").id;
    return run_tape(s, fresh, s->reader.columns ? &s->reader : NULL, start, e);
}

/* ---- a block of tokens in one step ---- */

/* Checks that a row depends only on its ancestors' keys and values, and that no node reads one time for all rows. */
static int check_block(const ab_ctx *c, err *e)
{
    const char *why = has_op(c, OP_KV_CACHE_APPEND) ? "reads all keys as one tensor"
                      : is_read(c, "parents")       ? "carries sums from step to step"
                      : has_op(c, OP_ATTEND_PROGRAM_STEP) || is_read(c, "one.time")
                          ? "reads positions in self-attention"
                      : is_read(c, "beam.pos") ? "reads positions in cross-attention"
                                               : NULL;
    if (!why) return 0;
    return fail(e,
                "blockwise decoding: this decoder %s; expected attention such as scaled_dot, with position sinusoid, "
                "learned or none",
                why);
}

const void *steps_run_block(steps *s, const int32_t *tokens, const int32_t *times, err *e)
{
    double start = ticks();
    bool fresh = !s->tape;
    if (fresh && (trace(s, e) || check_block(s->tape, e))) return NULL;
    ab_ctx *c = s->tape;
    tape_set(c, "tgt.ids", tokens);
    tape_set(c, "time", times);
    tape_set(c, "pos", times);
    tape_set(c, "ancestors", s->ancestors);
    return run_tape(s, fresh, NULL, start, e);
}

const void *steps_proposal(const steps *s, int64_t by)
{
    char name[32];
    snprintf(name, sizeof name, "proposal.%d", (int)by);
    const ab_ctx *c = s->tape;
    return c->v[tape_find(c, name).id].data;
}

/* ---- reordering rows ---- */

static void move_states(steps *s, int64_t from, int64_t to)
{
    for (size_t i = 0; i < s->n_states; i++) {
        step_state *x = &s->state[i];
        if (x->batch == s->n_batches && !x->cache)
            memmove(x->data + (size_t)to * x->row, x->data + (size_t)from * x->row, x->row);
    }
}

void steps_narrow(steps *s)
{
    if (!on_device(s->m->backend)) s->beam = 1;
}

static void widen(steps *s)
{
    for (int64_t b = s->batch - 1; b > 0; b--) move_states(s, b, b * s->widest);
    s->beam = s->widest;
    leave_tape(s, NULL);
}

void steps_follow(steps *s, const int32_t *parents)
{
    int64_t narrow = s->widest / s->beam; /* number of rows that continue each row of the last step */
    if (narrow > 1) widen(s);
    int64_t rows = s->batch * s->beam, cap = s->capacity, t = s->time;
    if (on_device(s->m->backend)) {
        memcpy(s->parents, parents, (size_t)rows * sizeof *parents);
        s->follows = true;
        return;
    }
    for (int64_t r = 0; r < rows; r++) {
        int32_t p = s->parents[r] = parents[r];
        memcpy(s->spare + r * cap, s->ancestors + p * cap, (size_t)(t - 1) * sizeof(int32_t));
        s->spare[r * cap + t - 1] = (int32_t)(p / narrow);
    }
    swap_ancestors(s);
}

/* ---- fewer sentences ---- */

static void move_step_rows(steps *s, int64_t from, int64_t to)
{
    int32_t up = (int32_t)((from - to) * s->beam);
    for (int64_t h = 0; h < s->beam; h++) {
        int64_t r = from * s->beam + h, q = to * s->beam + h;
        s->parents[q] = s->parents[r] - up;
        memcpy(s->ancestors + q * s->capacity, s->ancestors + r * s->capacity, (size_t)s->time * sizeof *s->ancestors);
    }
}

static void move_source(steps *s, int64_t from, int64_t to)
{
    if (!model_has_encoder(s->m)) return;
    size_t width = (size_t)s->m->cfg.d_model * dtype_size(s->m->compute);
    int32_t n = s->src_offset[from + 1] - s->src_offset[from], at = s->src_offset[from], row = s->src_offset[to];
    memmove(s->memory + (size_t)row * width, s->memory + (size_t)at * width, (size_t)n * width);
    s->src_offset[to + 1] = row + n;
}

void steps_keep(steps *s, const bool *keep)
{
    int64_t n = 0;
    leave_tape(s, keep);
    for (int64_t b = 0; b < s->batch; b++) {
        if (!keep[b]) continue;
        if (n < b) {
            for (int64_t h = 0; h < s->beam; h++) move_states(s, b * s->beam + h, n * s->beam + h);
            move_step_rows(s, b, n);
            move_source(s, b, n);
        }
        n++;
    }
    s->batch = n;
    s->src_rows = s->src_offset[n];
}
