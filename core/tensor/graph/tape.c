/* tape.c - nodes, errors, named values. */
#include "tensor/graph/tape.h"
#include <stdlib.h>
#include <string.h>

#define OP_NAME(name, n_in, n_out, in_place, doc)    [OP_##name] = #name,
#define OP_DOC(name, n_in, n_out, in_place, doc)     [OP_##name] = doc,
#define OP_OUTPUTS(name, n_in, n_out, in_place, doc) [OP_##name] = n_out,
#define OP_PLACE(name, n_in, n_out, in_place, doc)   [OP_##name] = in_place,
const char *const op_names[OP_COUNT] = {OPS(OP_NAME)};
const char *const op_docs[OP_COUNT] = {OPS(OP_DOC)};
const bool op_in_place[OP_COUNT] = {OPS(OP_PLACE)};
static const uint8_t op_outputs[OP_COUNT] = {OPS(OP_OUTPUTS)};

size_t dtype_size(dtype t) { return t == F64 ? 8 : t == BF16 ? 2 : 4; }
const char *dtype_name(dtype t)
{
    static const char *const names[] = {"fp32", "fp64", "bf16", "int32"};
    return names[t];
}

char *shape_text(const int64_t dim[4], char out[64])
{
    int first = 0;
    while (first < 3 && dim[first] == 1) first++;
    int n = 0;
    for (int i = first; i < 4; i++)
        n += snprintf(out + n, 64 - (size_t)n, "%s%lld", i == first ? "[" : ",", (long long)dim[i]);
    snprintf(out + n, 64 - (size_t)n, "]");
    return out;
}

ab_ctx *tape_latest;

ab_ctx *tape_new(params *s, const backend *b, dtype compute, bool training)
{
    ab_ctx *c = tape_latest = xcalloc(1, sizeof *c);
    c->params = s;
    c->backend = b;
    c->compute = compute;
    c->training = training;
    c->scope = "";
    c->v = grow(c->v, &c->cap, 256, sizeof *c->v);
    memset(&c->v[0], 0, sizeof c->v[0]);
    c->n = 1;
    return c;
}

void tape_free(ab_ctx *c)
{
    if (!c) return;
    if (tape_latest == c) tape_latest = NULL;
    if (c->device && c->backend->drop_graph) c->backend->drop_graph(c);
    if (c->consts) c->backend->release(c->consts);
    if (c->buffer && !c->shared) c->backend->release(c->buffer);
    arena_free(&c->memory);
    free(c->grad);
    free(c->v);
    free(c);
}

ab_t tape_fail(ab_ctx *c, const char *fmt, ...)
{
    if (!c->error.text[0]) {
        char words[1024];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(words, sizeof words, fmt, ap);
        va_end(ap);
        if (c->file)
            fail(&c->error, "%s:%d: %s", c->file, c->line, words);
        else
            fail(&c->error, "%s", words);
    }
    return (ab_t){0};
}

bool tape_owns(ab_ctx *c, ab_t x)
{
    if (x.id >= 0 && x.id < c->n) return true;
    tape_fail(c,
              "tensor %d does not belong to this context, which has %d: was it kept from another call, or never set?",
              x.id, c->n);
    return false;
}

ab_t tape_given(ab_ctx *c, ab_t x, const char *who, const char *name)
{
    if (!tape_owns(c, x)) return (ab_t){0};
    return x.id ? x : tape_fail(c, "%s '%s' returned the failed tensor without a reason", who, name);
}

static uint8_t highest_phase(const ab_ctx *c, int n_in, const ab_t *in)
{
    uint8_t ph = PHASE_CONST;
    for (int k = 0; k < n_in; k++)
        if (in[k].id && c->v[in[k].id].phase > ph) ph = c->v[in[k].id].phase;
    return ph;
}

static bool random_op(const ab_ctx *c, op o, const attr *a)
{
    if (o == OP_RANDOM) return true;
    if (!c->training) return false;
    if (o == OP_EMBED_TOKENS) return a->f[1] > 0;
    return (o == OP_DROPOUT || o == OP_NORM || o == OP_DROPOUT_ADD || o == OP_ATTEND || o == OP_ATTEND_PROGRAM) &&
           a->f[0] > 0;
}

ab_t tape_push(ab_ctx *c, op o, dtype type, const int64_t dim[4], int n_in, const ab_t *in, const attr *a)
{
    int64_t shape[4]; /* copies: the arguments may lie in nodes, which move when the tape grows */
    attr constants = a ? *a : (attr){.f = {0}};
    memcpy(shape, dim, sizeof shape);
    int n_out = op_outputs[o];
    c->v = grow(c->v, &c->cap, (size_t)(c->n + n_out), sizeof *c->v);
    ab_t first = {c->n};
    for (int k = 0; k < n_out; k++) {
        node *v = &c->v[c->n];
        memset(v, 0, sizeof *v);
        v->op = k ? OP_PART : o;
        v->type = type;
        memcpy(v->dim, shape, sizeof v->dim);
        v->alias = c->n;
        v->param = -1;
        v->n_out = 1;
        v->scope = c->scope;
        c->n++;
    }
    node *v = tape_at(c, first);
    v->n_in = (uint8_t)n_in;
    v->n_out = (uint8_t)n_out;
    v->a = constants;
    v->phase = random_op(c, o, &constants) ? PHASE_STEP : highest_phase(c, n_in, in);
    for (int k = 0; k < n_in; k++) {
        v->in[k] = in[k].id;
        v->needs |= in[k].id && c->v[in[k].id].needs;
    }
    for (int k = 1; k < n_out; k++) {
        node *part = v + k;
        part->n_in = 1;
        part->in[0] = first.id;
        part->a.i[0] = k;
        part->phase = v->phase;
    }
    return first;
}

ab_t tape_part(ab_ctx *c, ab_t of, int k)
{
    (void)c;
    return of.id ? (ab_t){of.id + k} : of;
}

static ab_t named(ab_ctx *c, op o, const char *name, dtype type, phase ph, const int64_t dim[4])
{
    ab_t y = tape_push(c, o, type, dim, 0, NULL, NULL);
    tape_at(c, y)->name = arena_strdup(&c->memory, name);
    tape_at(c, y)->phase = (uint8_t)ph;
    return y;
}

ab_t t_input(ab_ctx *c, const char *name, dtype type, phase ph, int64_t a, int64_t b, int64_t d, int64_t e)
{
    return named(c, OP_INPUT, name, type, ph, (int64_t[4]){a, b, d, e});
}

ab_t t_state(ab_ctx *c, const char *name, dtype type, int64_t a, int64_t b, int64_t d, int64_t e)
{
    ab_t old = tape_find(c, name);
    if (old.id) return old;
    return named(c, OP_STATE, name, type, PHASE_STEP, (int64_t[4]){a, b, d, e});
}

ab_t t_const(ab_ctx *c, const int64_t dim[4], const double *v)
{
    dtype type = c->compute == F64 ? F64 : F32;
    ab_t y = tape_push(c, OP_CONST, type, dim, 0, NULL, NULL);
    size_t n = (size_t)node_count(tape_at(c, y));
    void *data = arena_alloc(&c->memory, n * dtype_size(type));
    for (size_t i = 0; i < n; i++) {
        if (type == F64)
            ((double *)data)[i] = v[i];
        else
            ((float *)data)[i] = (float)v[i];
    }
    tape_at(c, y)->data = data;
    return y;
}

ab_t t_const_at(ab_ctx *c, const int64_t dim[4], void *data)
{
    ab_t y = tape_push(c, OP_CONST, c->compute == F64 ? F64 : F32, dim, 0, NULL, NULL);
    tape_at(c, y)->data = data;
    return y;
}

ab_t t_ids(ab_ctx *c, int64_t n, const int32_t *v)
{
    ab_t y = tape_push(c, OP_CONST, I32, (int64_t[4]){1, 1, 1, n}, 0, NULL, NULL);
    void *data = arena_alloc(&c->memory, (size_t)n * sizeof *v);
    memcpy(data, v, (size_t)n * sizeof *v);
    tape_at(c, y)->data = data;
    return y;
}

void t_keep(ab_ctx *c, ab_t x, const char *name)
{
    if (!x.id) return;
    tape_at(c, x)->live = true;
    tape_at(c, x)->name = arena_strdup(&c->memory, name);
}

ab_t tape_find(const ab_ctx *c, const char *name)
{
    for (int32_t i = 1; i < c->n; i++)
        if (c->v[i].name && same(c->v[i].name, name)) return (ab_t){i};
    return (ab_t){0};
}
