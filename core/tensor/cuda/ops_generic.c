/* ops_generic.c - elementwise operations, sums, copies and a plugin's own kernel, on a GPU. */
#include "tensor/cuda/generic.h"
#include "tensor/cuda/ops.h"

_Static_assert(GPU_SUB == OP_SUB - OP_ADD && GPU_MAP_BACK == OP_MAP_BACK - OP_ADD,
               "the order of the elementwise operations");
_Static_assert(GPU_PHILOX_ROUNDS == PHILOX_ROUNDS, "the CPU and the GPU drop the same elements");
_Static_assert((int)GPU_EXP == (int)AB_EXP && (int)GPU_RECIP == (int)AB_RECIP, "the numbers of the functions");

/* ---- elementwise ---- */

/* Joins adjacent axes that are contiguous in every input. */
static void join_axes(gpu_elementwise *g)
{
    gpu_elementwise j = *g;
    int at = 4;
    for (int a = 3; a >= 0; a--) {
        if (g->dim[a] == 1) continue;
        bool goes_on = at < 4;
        for (int i = 0; i < g->n_in && goes_on; i++) goes_on = g->step[i][a] == j.step[i][at] * j.dim[at];
        if (goes_on) {
            j.dim[at] *= g->dim[a];
            continue;
        }
        j.dim[--at] = g->dim[a];
        for (int i = 0; i < g->n_in; i++) j.step[i][at] = g->step[i][a];
    }
    while (--at >= 0) {
        j.dim[at] = 1;
        for (int i = 0; i < g->n_in; i++) j.step[i][at] = 0;
    }
    *g = j;
}

static int elementwise_by(const call *k, int what, int function, err *e)
{
    const view *y = &k->out[0];
    gpu_elementwise g = {.y = y->data,
                         .what = what,
                         .function = function,
                         .n_in = k->n_in,
                         .type = (int)y->type,
                         .by = what == GPU_MUL_SCALAR || what == GPU_ADD_SCALAR ? (float)k->a.MUL_SCALAR.by : 0};
    bool known = y->type == F32 || (y->type == BF16 && (what == GPU_ADD || what == GPU_RELU_BACK || what == GPU_COPY));
    memcpy(g.dim, y->dim, sizeof g.dim);
    for (int i = 0; i < k->n_in; i++) {
        if (!known || k->in[i].type != y->type) return no_kernel(k, e);
        g.x[i] = k->in[i].data;
        strides_of(&k->in[i], g.step[i]);
    }
    if (!count_of(y)) return 0;
    join_axes(&g);
    return launched(gpu_run_elementwise(&g), e);
}

static int elementwise(const call *k, int what, err *e) { return elementwise_by(k, what, 0, e); }
int cuda_WHERE(const call *k, err *e) { return elementwise_by(k, GPU_MAP_BACK, GPU_WHERE, e); }

#define ELEMENTWISE(NAME)                                                                                              \
    int cuda_##NAME(const call *k, err *e) { return elementwise(k, GPU_##NAME, e); }
ELEMENTWISE(ADD)
ELEMENTWISE(SUB)
ELEMENTWISE(MUL)
ELEMENTWISE(DIV)
ELEMENTWISE(MINIMUM)
ELEMENTWISE(LESS_THAN)
ELEMENTWISE(MUL_SCALAR)
ELEMENTWISE(ADD_SCALAR)
ELEMENTWISE(RELU_BACK)

static int function(const call *k, int what, err *e)
{
    if (k->a.MAP.function < AB_EXP || k->a.MAP.function > AB_RECIP)
        return fail(e, "unknown function number %lld", (long long)k->a.MAP.function);
    for (int i = 0; i < k->n_in; i++)
        if (memcmp(k->in[i].dim, k->out[0].dim, sizeof k->out[0].dim))
            return fail(e, "the shapes of input %d and the output differ", i);
    return elementwise_by(k, what, (int)k->a.MAP.function, e);
}
int cuda_MAP(const call *k, err *e) { return function(k, GPU_MAP, e); }
int cuda_MAP_BACK(const call *k, err *e) { return function(k, GPU_MAP_BACK, e); }
int cuda_BROADCAST_TO(const call *k, err *e) { return elementwise(k, GPU_COPY, e); }

/* ---- CAST, ASSIGN, STATE_WRITE: the same numbers in another place ---- */

static int copy(const call *k, const view *to, const view *from, err *e)
{
    bool known = to->type == from->type ? to->type != F64 : is_row_type(to->type) && is_row_type(from->type);
    if (!known) return fail(e, "the GPU has no copy from %s to %s", dtype_name(from->type), dtype_name(to->type));
    if (count_of(to) != count_of(from))
        return fail(e, "%s: %lld numbers do not fit into %lld", op_names[k->op], (long long)count_of(from),
                    (long long)count_of(to));
    return launched(gpu_CAST(to->data, (int)to->type, from->data, (int)from->type, count_of(to)), e);
}
int cuda_CAST(const call *k, err *e) { return copy(k, &k->o.CAST.y, &k->i.CAST.x, e); }
int cuda_ASSIGN(const call *k, err *e) { return copy(k, &k->i.ASSIGN.to, &k->i.ASSIGN.value, e); }
int cuda_STATE_WRITE(const call *k, err *e) { return copy(k, &k->i.STATE_WRITE.state, &k->i.STATE_WRITE.value, e); }

int cuda_DROPOUT(const call *k, err *e)
{
    const view *x = &k->i.DROPOUT.x, *y = &k->o.DROPOUT.y;
    double p = k->training ? k->a.DROPOUT.p : 0;
    uint32_t least = (uint32_t)(p * 65536);
    if (!is_row_type(y->type) || x->type != y->type) return no_kernel(k, e);
    if (!least) return copy(k, y, x, e);
    return launched(gpu_DROPOUT(y->data, x->data, (int)y->type, count_of(y), (unsigned)k->a.DROPOUT.place, least,
                                (float)(1 / (1 - p))),
                    e);
}

/* ---- sums ---- */

/* Axes that are all summed or all kept and lie behind each other become one; of each kind at most two remain. */
int cuda_SUM_TO(const call *k, err *e)
{
    const view *x = &k->i.SUM_TO.x, *y = &k->o.SUM_TO.y;
    if (x->type != F32 || y->type != F32) return no_kernel(k, e);
    gpu_sums s = {.y = y->data, .x = x->data, .keep = {1, 1}, .sum = {1, 1}, .lines = 1, .exact = k->batch_invariant};
    int64_t step = 1;
    int before = -1, kept = 2, summed = 2; /* the kind of the axis behind; places still free in keep and sum */
    for (int i = 3; i >= 0; i--) {
        int64_t n = x->dim[i];
        if (n == 1) continue;
        int now = y->dim[i] == 1;
        int64_t *length = now ? s.sum : s.keep, *steps = now ? s.sum_step : s.keep_step;
        int *at = now ? &summed : &kept;
        if (before < 0) s.lines = now;
        if (now == before)
            length[*at] *= n;
        else
            length[--*at] = n, steps[*at] = step;
        before = now;
        step *= n;
    }
    return launched(gpu_SUM_TO(&s), e);
}

/* ---- a plugin's fused operation ---- */

static ab_view plugin_view(const view *v)
{
    ab_view w = {.data = v->data, .dtype = (int32_t)v->type};
    memcpy(w.dim, v->dim, sizeof w.dim);
    return w;
}

/* Operations without a CUDA kernel are traced as their reference; this one is for those that have one. */
int cuda_CALL(const call *k, err *e)
{
    ab_view in[MAX_IN];
    if (!k->call->cuda) return fail(e, "operation '%s' has no CUDA kernel", k->call->name);
    for (int i = 0; i < k->n_in; i++) in[i] = plugin_view(&k->in[i]);
    ab_run r = {
        .in = in, .n_in = k->n_in, .out = plugin_view(&k->o.CALL.y), .attr = k->call_attr, .stream = gpu_stream()};
    if (k->call->cuda(&r))
        return fail(e, "the CUDA kernel of '%s' declines %s", k->call->name, dtype_name(k->o.CALL.y.type));
    return launched(gpu_launched(), e);
}
