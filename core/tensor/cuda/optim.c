/* optim.c - an optimizer's tape as a program for optim.cu, and the services over flat vectors of ops.h.
 *
 * The program depends only on the tape and the addresses of the vectors. It is built for each run (some microseconds)
 * and passed as the launch's argument, so that nothing kept can be out of date.
 */
#include "tensor/cuda/optim.h"
#include "tensor/cuda/ops.h"
#include "tensor/graph/score.h"
#include <math.h>
#include <stdlib.h>

/* ---- values of the tape, and where they are ---- */

typedef enum { NOT_YET, VECTOR, SCALAR, RESULT } where;
typedef struct { /* a node's value */
    where where;
    int index;    /* number of the vector, the scalar or the step */
    int last_use; /* the last step that reads the value; -1: no step reads it */
    int home;     /* the register that has the value; -1: no register */
} value;
typedef struct {
    ab_ctx *c;
    const tiling *t;
    update_program *u;
    value *v;                         /* value of every node */
    int32_t in[UPDATE_STEPS][3];      /* the nodes that a step reads */
    int32_t result[UPDATE_STEPS];     /* the node that each step computes; 0: no node */
    int32_t assigned[UPDATE_VECTORS]; /* the node assigned to each vector at the end; 0: no node */
} program;

/* Finds the node whose numbers `id` repeats: RESHAPE, BROADCAST_TO and a CAST to the same type change no number. */
static int32_t source_of(const ab_ctx *c, int32_t id)
{
    for (;;) {
        const node *v = &c->v[id];
        bool same = v->op == OP_RESHAPE || v->op == OP_BROADCAST_TO ||
                    (v->op == OP_CAST && v->type == c->v[v->i.RESHAPE.x].type);
        if (!same) return id;
        id = v->i.RESHAPE.x;
    }
}

static int find_vector(const tiling *t, int32_t id)
{
    for (int i = 0; i < t->n_vectors; i++)
        if (t->vector[i].id == id) return i;
    return -1;
}

/* Finds where an operand is; -1 and e if it is nowhere. */
static int locate(program *p, int32_t id, err *e)
{
    const node *n = &p->c->v[id];
    value *v = &p->v[id];
    if (v->where != NOT_YET) return 0;
    int vector = find_vector(p->t, id);
    if (vector >= 0) {
        v->where = VECTOR, v->index = v->home = vector;
        return 0;
    }
    char shape[64];
    if (n->op > OP_PART && n->phase == PHASE_STEP) return fail(e, "%s is read before it is computed", op_names[n->op]);
    if (node_count(n) != 1 || n->type != F32 || !n->data)
        return fail(e, "it reads %s %s, which is neither a vector of the update nor one fp32 number",
                    dtype_name(n->type), shape_text(n->dim, shape));
    if (p->u->n_scalars == UPDATE_SCALARS) return fail(e, "it reads more than %d scalars", UPDATE_SCALARS);
    v->where = SCALAR, v->index = p->u->n_scalars;
    p->u->scalar[p->u->n_scalars++] = n->data;
    return 0;
}

/* ---- nodes computed from scalars alone ---- */

static bool one_number(const ab_ctx *c, int32_t id) { return c->v[id].type == F32 && node_count(&c->v[id]) == 1; }
static bool is_constant_step(int what) { return what == OP_MUL_SCALAR || what == OP_ADD_SCALAR; }

/* Adds a node of phase SETUP. Returns 0; 1 if the kernel cannot compute the node; -1 and e. */
static int add_setup(program *p, int32_t id, err *e)
{
    const node *n = &p->c->v[id];
    update_program *u = p->u;
    if (source_of(p->c, id) != id) return 0;
    if (!op_elementwise(n->op) || !one_number(p->c, id) || u->n_setup == UPDATE_SETUP) return 1;
    update_step s = {.what = (uint8_t)n->op,
                     .function = (uint8_t)node_function(n),
                     .by = (float)node_by(n),
                     .vector = UPDATE_NOWHERE};
    for (int k = 0; k < 3; k++) {
        int32_t in = k < n->n_in ? source_of(p->c, n->in[k]) : 0;
        s.in[k] = k == 1 && is_constant_step(n->op) ? UPDATE_BY : UPDATE_NOWHERE;
        if (!in) continue;
        if (!one_number(p->c, in)) return 1;
        if (locate(p, in, e)) return -1;
        s.in[k] = (uint8_t)p->v[in].index;
    }
    if (u->n_scalars == UPDATE_SCALARS) return 1;
    p->v[id].where = SCALAR, p->v[id].index = s.out = (uint8_t)u->n_scalars;
    u->scalar[u->n_scalars++] = NULL;
    u->setup[u->n_setup++] = s;
    return 0;
}

/* Computes SETUP in the kernel if it can, else by separate launches. */
static int set_up(program *p, const run_options *o, err *e)
{
    ab_ctx *c = p->c;
    int rc = 0;
    for (int32_t i = 1; i < c->n && !rc; i++)
        if (tape_is_call(&c->v[i]) && c->v[i].phase == PHASE_SETUP) rc = add_setup(p, i, e);
    if (rc <= 0) return rc;
    for (int32_t i = 1; i < c->n; i++) p->v[i].where = NOT_YET;
    p->u->n_setup = p->u->n_scalars = 0;
    return tape_run_phase(c, o, PHASE_SETUP) ? fail(e, "%s", c->error.text) : 0;
}

/* ---- steps ---- */

static int add_step(program *p, update_step s, const int32_t *in, int n_in, int32_t result, err *e)
{
    int i = p->u->n_steps;
    if (i == UPDATE_STEPS) return fail(e, "it needs more than %d operations", UPDATE_STEPS);
    for (int k = 0; k < n_in; k++) {
        p->in[i][k] = in[k];
        if (locate(p, in[k], e)) return -1;
        p->v[in[k]].last_use = i;
    }
    if (result) p->v[result].where = RESULT, p->v[result].index = i;
    p->result[i] = result;
    s.out = s.vector = UPDATE_NOWHERE;
    p->u->step[i] = s;
    p->u->n_steps++;
    return 0;
}

static int add_node(program *p, int32_t id, err *e)
{
    const node *n = &p->c->v[id];
    int32_t in[3] = {0};
    char shape[64];
    if (source_of(p->c, id) != id) return 0;
    if (!op_elementwise(n->op))
        return fail(e, "a GPU runs only elementwise updates, but this one has %s", op_names[n->op]);
    if (n->type != F32 || (node_count(n) != 1 && node_count(n) != p->t->tile))
        return fail(e, "%s gives %s %s, expected fp32, one number or %lld", op_names[n->op], dtype_name(n->type),
                    shape_text(n->dim, shape), (long long)p->t->tile);
    for (int k = 0; k < n->n_in; k++) in[k] = source_of(p->c, n->in[k]);
    update_step s = {.what = (uint8_t)n->op, .function = (uint8_t)node_function(n), .by = (float)node_by(n)};
    return add_step(p, s, in, n->n_in, id, e);
}

/* Assignments happen at the end, all at once: an assignment that reads a vector reads its old value. */
static int add_assignment(program *p, int32_t id, err *e)
{
    const node *n = &p->c->v[id];
    int to = find_vector(p->t, source_of(p->c, n->in[0]));
    int32_t value = source_of(p->c, n->in[1]);
    if (to < 0) return fail(e, "it assigns to something other than a vector of the update");
    p->assigned[to] = value;
    return locate(p, value, e);
}

/* Gives every assigned vector a step that writes it: the one that computes its value, or a copy. */
static int add_stores(program *p, err *e)
{
    for (int k = 0; k < p->t->n_vectors; k++) {
        int32_t id = p->assigned[k];
        if (!id) continue;
        update_step *by = p->v[id].where == RESULT ? &p->u->step[p->v[id].index] : NULL;
        if (by && by->vector == UPDATE_NOWHERE) {
            by->vector = (uint8_t)k;
            continue;
        }
        if (add_step(p, (update_step){.what = OP_BROADCAST_TO}, &id, 1, 0, e)) return -1;
        p->u->step[p->u->n_steps - 1].vector = (uint8_t)k;
    }
    return 0;
}

/* ---- registers ---- */

static uint8_t operand(const program *p, int step, int32_t id)
{
    const value *v = &p->v[id];
    if (v->where == SCALAR) return (uint8_t)(UPDATE_SCALAR + v->index);
    if (v->where == RESULT && v->index == step - 1) return UPDATE_LAST;
    return (uint8_t)v->home;
}

/* A vector has a register from the start, a result has a register from its step on (unless only the next step reads
 * it); both keep the register until their last use. */
static int assign_registers(program *p, err *e)
{
    update_program *u = p->u;
    int32_t holder[UPDATE_REGISTERS] = {0};                               /* the node in a register */
    int most = gpu_shared_most(gpu_capability()) / UPDATE_REGISTER_BYTES; /* a block's registers are in shared memory */
    if (most > UPDATE_REGISTERS) most = UPDATE_REGISTERS;
    u->n_registers = u->n_vectors;
    for (int k = 0; k < p->t->n_vectors; k++) {
        int32_t id = p->t->vector[k].id;
        if (p->v[id].where == VECTOR && p->v[id].last_use >= 0) holder[k] = id, u->read |= 1u << k;
    }
    for (int i = 0; i < u->n_steps; i++) {
        update_step *s = &u->step[i];
        for (int k = 0; k < 3; k++)
            s->in[k] = p->in[i][k]                           ? operand(p, i, p->in[i][k])
                       : k == 1 && is_constant_step(s->what) ? UPDATE_BY
                                                             : UPDATE_NOWHERE;
        for (int r = 0; r < UPDATE_REGISTERS; r++)
            if (holder[r] && p->v[holder[r]].last_use <= i) holder[r] = 0;
        int32_t id = p->result[i];
        if (!id || p->v[id].last_use <= i + 1) continue;
        int r = 0;
        while (r < most && holder[r]) r++;
        if (r == most) return fail(e, "it keeps more than %d numbers of an element at once", most);
        holder[r] = id;
        p->v[id].home = s->out = (uint8_t)r;
        if (r >= u->n_registers) u->n_registers = r + 1;
    }
    return 0;
}

static int build(program *p, const run_options *o, err *e)
{
    ab_ctx *c = p->c;
    if (set_up(p, o, e)) return -1;
    for (int32_t i = 1; i < c->n; i++)
        if (tape_is_call(&c->v[i]) && c->v[i].phase == PHASE_STEP && c->v[i].op != OP_ASSIGN && add_node(p, i, e))
            return -1;
    for (int32_t i = 1; i < c->n; i++)
        if (tape_is_call(&c->v[i]) && c->v[i].phase == PHASE_STEP && c->v[i].op == OP_ASSIGN && add_assignment(p, i, e))
            return -1;
    return add_stores(p, e) || assign_registers(p, e) ? -1 : 0;
}

/* Also updates the bf16 copy if the updated vector is the values or a part of them. shadow_version becomes the next
 * version: the caller increments params.version after all parts are updated. */
static void add_shadow(const tiling *t, const program *p)
{
    params *s = p->c->params;
    for (int k = 0; k < t->n_vectors; k++) {
        const float *from = t->vector[k].data, *values = s->value;
        if (!s->shadow || !values || from < values || from >= values + s->total || !p->assigned[k]) continue;
        p->u->shadow = (char *)s->shadow + (size_t)(from - values) * dtype_size(BF16), p->u->shadowed = k;
        s->shadow_version = s->version + 1;
    }
}

int cuda_run_tiled(ab_ctx *c, const tiling *t, const run_options *o)
{
    if (t->type != F32) return fail(&c->error, "a GPU updates only fp32 parameters, found %s", dtype_name(t->type));
    if (t->n_vectors > UPDATE_VECTORS)
        return fail(&c->error, "an update of %d vectors, expected at most %d", t->n_vectors, UPDATE_VECTORS);
    update_program u = {.count = t->count, .n_vectors = t->n_vectors, .shadowed = UPDATE_NOWHERE};
    program p = {.c = c, .t = t, .u = &u, .v = xcalloc((size_t)c->n, sizeof *p.v)};
    for (int32_t i = 0; i < c->n; i++) p.v[i].last_use = p.v[i].home = -1;
    for (int k = 0; k < t->n_vectors; k++) u.vector[k] = t->vector[k].data;
    err e = {{0}};
    int rc = build(&p, o, &e);
    free(p.v);
    if (rc) return fail(&c->error, "the update: %s", e.text);
    add_shadow(t, &p);
    return launched(gpu_run_update(&u), &c->error);
}

/* ---- sums ---- */

static int want_f32(dtype type) { return type == F32 ? 0 : gpu_refuse("a sum over a vector that is not fp32"); }

double cuda_sum_squares(const void *v, int64_t n, dtype type)
{
    double sum = NAN, *at = gpu_scratch(SCRATCH_OPTIM, sizeof *at);
    if (want_f32(type) || gpu_sum_squares_to(at, v, n) || gpu_copy_out(&sum, at, sizeof sum)) return NAN;
    return sum;
}

void cuda_accumulate(void *sum, const void *v, int64_t n, dtype type)
{
    view y = {.data = sum, .dim = {1, 1, 1, n}, .type = type, .param = -1}, x = y;
    err e = {{0}};
    x.data = (void *)(uintptr_t)v;
    if (!want_f32(type)) cuda_ADD(&(call){.op = OP_ADD, .n_in = 2, .n_out = 1, .in = {y, x}, .out = {y}}, &e);
}
