/* tape.c - nodes, errors, named values. */
#include "tensor/graph/tape.h"
#include <stdlib.h>
#include <string.h>

#define OP_NAME(name, in, out, where, place, attributes, doc)  [OP_##name] = #name,
#define OP_PLACE(name, in, out, where, place, attributes, doc) [OP_##name] = place,
#define SIZE_NO_IN                                             0
#define SIZE_IN(...)                                           sizeof(BYTES_IN(__VA_ARGS__))
#define SIZE_OUT(...)                                          sizeof(BYTES_IN(__VA_ARGS__))
#define OP_IN(name, in, out, where, place, attributes, doc)    [OP_##name] = SIZE_##in,
#define OP_OUT(name, in, out, where, place, attributes, doc)   [OP_##name] = SIZE_##out,
#define SIZE_NO_ATTR                                           0
#define SIZE_ATTR(...)                                         sizeof(FIELDS_ATTR(__VA_ARGS__))
#define SIZE_ATTR_OF(name)                                     sizeof(((attr *)0)->name)
#define OP_SIZE(name, in, out, where, place, attributes, doc)  [OP_##name] = SIZE_##attributes,
const char *const op_names[OP_COUNT] = {OPS(OP_NAME)};
const uint8_t op_n_in[OP_COUNT] = {OPS(OP_IN)}, op_n_out[OP_COUNT] = {OPS(OP_OUT)};
const bool op_in_place[OP_COUNT] = {OPS(OP_PLACE)};
static const uint8_t attr_size[OP_COUNT] = {OPS(OP_SIZE)};

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

__thread ab_ctx *tape_latest;

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
    free(c->joints);
    free(c->slabs);
    free(c->grad);
    free(c->v);
    free(c);
}

ab_t tape_fail(ab_ctx *c, const char *fmt, ...)
{
    if (!c->error.text[0]) {
        char text[1024];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        if (c->file)
            fail(&c->error, "%s:%d: %s", c->file, c->line, text);
        else
            fail(&c->error, "%s", text);
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
    switch (o) {
    case OP_EMBED_TOKENS: return a->EMBED_TOKENS.p > 0;
    case OP_DROPOUT:
    case OP_DROPOUT_ADD: return a->DROPOUT.p > 0;
    case OP_NORM: return a->NORM.p > 0;
    case OP_ATTEND:
    case OP_ATTEND_PROGRAM: return a->ATTEND.p > 0;
    default: return false;
    }
}

ab_t tape_push(ab_ctx *c, op o, dtype type, const int64_t dim[4], int n_in, const ab_t *in, const attr *a)
{
    int64_t shape[4]; /* copies: the arguments may lie in nodes, which move when the tape grows */
    attr constants;
    memset(&constants, 0, sizeof constants); /* zeroes all bytes, so that memcmp can compare attrs */
    if (a) memcpy(&constants, a, attr_size[o]);
    memcpy(shape, dim, sizeof shape);
    if (n_in != op_n_in[o] && o != OP_CALL)
        return tape_fail(c, "%s: %d inputs, expected %d", op_names[o], n_in, op_n_in[o]);
    int n_out = op_n_out[o];
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
        v->file = c->hook == AB_IN_HOST ? NULL : c->file, v->line = c->line;
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
        part->a.PART.output = k;
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

static ab_t kept_value(ab_ctx *c, const char *name, const int64_t dim[4], double scale, double fill, bool buffer)
{
    params *s = c->params;
    param *p = params_find(s, name);
    char found[64], wanted[64];
    if (!p && s->frozen) return tape_fail(c, "parameter '%s' did not exist when the model was made", name);
    if (!p) {
        p = params_add(s, name, dim, scale, fill, c->hook);
        p->buffer = buffer;
    }
    if (p->buffer != buffer) return tape_fail(c, "'%s' is requested both as a learned value and as a buffer", name);
    if (memcmp(p->dim, dim, sizeof p->dim))
        return tape_fail(c, "parameter '%s' is requested with shape %s but was created with %s", name,
                         shape_text(dim, wanted), shape_text(p->dim, found));
    int32_t index = (int32_t)(p - s->p);
    for (int32_t i = 1; i < c->n; i++)
        if (c->v[i].op == OP_PARAM && c->v[i].param == index) return (ab_t){i};
    ab_t y = tape_push(c, OP_PARAM, c->compute == F64 ? F64 : F32, dim, 0, NULL, NULL);
    node *v = tape_at(c, y);
    v->param = index;
    v->needs = !buffer;
    v->phase = PHASE_SETUP;
    return y;
}

ab_t t_param(ab_ctx *c, const char *name, const int64_t dim[4], double scale, double fill)
{
    return kept_value(c, name, dim, scale, fill, false);
}

/* ---- buffers ---- */

ab_t t_buffer(ab_ctx *c, const char *name, const int64_t dim[4], double fill)
{
    return kept_value(c, name, dim, 0, fill, true);
}

void t_set_buffer(ab_ctx *c, ab_t buffer, ab_t value)
{
    char wanted[64], found[64];
    if (!buffer.id || !value.id) return;
    node to = *tape_at(c, buffer);
    param *p = to.param >= 0 ? &c->params->p[to.param] : NULL;
    if (!p || !p->buffer) {
        tape_fail(c, "ab_set_buffer: the first tensor is not one that ab_buffer returned");
        return;
    }
    if (memcmp(to.dim, tape_at(c, value)->dim, sizeof to.dim)) {
        tape_fail(c, "ab_set_buffer: '%s' has shape %s, its next value %s", p->name, shape_text(to.dim, wanted),
                  shape_text(tape_at(c, value)->dim, found));
        return;
    }
    for (const buffer_value *n = c->sets; n; n = n->next)
        if (n->param == to.param) {
            tape_fail(c, "ab_set_buffer: '%s' is set twice in one step", p->name);
            return;
        }
    buffer_value *n = arena_alloc(&c->memory, sizeof *n);
    *n = (buffer_value){to.param, value, c->sets};
    c->sets = n;
    if (c->training) p->sets = true;
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
