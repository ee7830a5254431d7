/* elementwise.cu - ADD to WHERE and RELU_BACK with broadcasting, BROADCAST_TO, CAST, ASSIGN, STATE_WRITE.
 *
 * All are bound by memory: a thread moves 16 bytes at a time if the last axis and the addresses allow it.
 */
#include "tensor/cuda/vec8.h"
#include "tensor/cuda/functions.h"
#include "tensor/cuda/ops.h"
#include "tensor/cuda/threads.h"

namespace
{
/* Reads V adjacent numbers from p, or repeats the first one V times if `step` is 0. */
template <class T, int V> DEVICE void read(const T *p, int64_t step, float out[V])
{
    if (V > 1 && step) return load_lanes<V>(p, out);
    float one = load(p);
    UNROLL for (int j = 0; j < V; j++) out[j] = one;
}

/* y = what(x[0], x[1], x[2]) with broadcasting, `what` an operation of op.h. y is contiguous with axes `dim`;
 * step[i][a] is the stride of input i along axis a [elements], 0 if it repeats; the last step may be 0, 1, or any
 * number. MUL_SCALAR and ADD_SCALAR take `by`, MAP and MAP_BACK `function`. y may be x[0] if both have the same layout.
 */
struct elements {
    void *y;
    const void *x[3];
    int64_t dim[4], step[3][4];
    int what, function, n_in;
    float by;
};

/* ---- arithmetic ---- */

template <class T, int V>
DEVICE void combine(const elements &e, T *y, const T *a, const T *b, int64_t a_step, int64_t b_step)
{
    float u[V], v[V];
    read<T, V>(a, a_step, u);
    if (e.n_in > 1)
        read<T, V>(b, b_step, v);
    else
        UNROLL for (int j = 0; j < V; j++) v[j] = e.by;
    UNROLL for (int j = 0; j < V; j++) u[j] = arithmetic(e.what, u[j], v[j]);
    store_lanes<V>(y, u);
}

/* One line of n numbers, in groups of V; numbers behind the last whole group one by one. */
template <class T, int V> __global__ void elementwise_line(elements e, int64_t n)
{
    T *y = (T *)e.y;
    const T *a = (const T *)e.x[0], *b = (const T *)e.x[1];
    int64_t sa = e.step[0][3], sb = e.step[1][3], whole = n / V, rest = whole * V + my_thread();
    for (int64_t i = my_thread(); i < whole; i += all_threads()) {
        int64_t at = i * V;
        combine<T, V>(e, y + at, a + at * sa, b + at * sb, sa, sb);
    }
    if (V > 1 && rest < n) combine<T, 1>(e, y + rest, a + rest * sa, b + rest * sb, sa, sb);
}

/* Several axes, the last a multiple of V. */
template <class T, int V, class Index> __global__ void elementwise_axes(elements e, int64_t n)
{
    Index d1 = (Index)e.dim[1], d2 = (Index)e.dim[2], d3 = (Index)(e.dim[3] / V);
    for (int64_t i = my_thread(); i < n / V; i += all_threads()) {
        place<Index> p = place_of((Index)i, d1, d2, d3);
        p.i0 *= V;
        const T *a = (const T *)e.x[0] + offset_of(p, e.step[0]), *b = (const T *)e.x[1] + offset_of(p, e.step[1]);
        combine<T, V>(e, (T *)e.y + i * V, a, b, e.step[0][3], e.step[1][3]);
    }
}

/* ---- functions ---- */

template <int V> DEVICE void apply(const elements &e, int64_t at)
{
    const float *x = (const float *)e.x[0], *y = (const float *)e.x[1], *d = (const float *)e.x[2];
    float u[V], v[V], w[V];
    load_lanes<V>(x + at, u);
    if (e.what == OP_MAP) {
        UNROLL for (int j = 0; j < V; j++) u[j] = function_of(e.function, u[j]);
    } else {
        load_lanes<V>(y + at, v);
        load_lanes<V>(d + at, w);
        UNROLL for (int j = 0; j < V; j++) u[j] = gradient_of(e.function, u[j], v[j], w[j]);
    }
    store_lanes<V>((float *)e.y + at, u);
}
template <int V> __global__ void __launch_bounds__(THREADS, 8) map(elements e, int64_t n)
{
    int64_t whole = n / V, rest = whole * V + my_thread();
    for (int64_t i = my_thread(); i < whole; i += all_threads()) apply<V>(e, i * V);
    if (V > 1 && rest < n) apply<1>(e, rest);
}

/* Three inputs of any strides. */
template <class T, class Index> __global__ void where(elements e, int64_t n) /* T: float */
{
    Index d1 = (Index)e.dim[1], d2 = (Index)e.dim[2], d3 = (Index)e.dim[3];
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        place<Index> p = place_of((Index)i, d1, d2, d3);
        T x[3];
        UNROLL for (int k = 0; k < 3; k++) x[k] = ((const T *)e.x[k])[offset_of(p, e.step[k])];
        ((T *)e.y)[i] = where_of(x[0], x[1], x[2]);
    }
}

/* ---- choosing a kernel ---- */

template <class T, int V> int run(const elements &e, int64_t n)
{
    bool one_line = e.dim[0] * e.dim[1] * e.dim[2] == 1, wide = aligned16(e.y);
    for (int i = 0; i < e.n_in; i++) wide = wide && (e.step[i][3] == 0 || (e.step[i][3] == 1 && aligned16(e.x[i])));
    if (one_line && wide && n >= V) return LAUNCH((elementwise_line<T, V>), blocks_for(n / V), THREADS, 0, e, n);
    if (one_line) return LAUNCH((elementwise_line<T, 1>), blocks_for(n), THREADS, 0, e, n);
    if (wide && e.dim[3] % V == 0)
        return COUNTS_IN_32(n) ? LAUNCH((elementwise_axes<T, V, unsigned>), blocks_for(n / V), THREADS, 0, e, n)
                               : LAUNCH((elementwise_axes<T, V, uint64_t>), blocks_for(n / V), THREADS, 0, e, n);
    return LAUNCH_INDEX(elementwise_axes, T WITH 1, n, e, n);
}

int run_elementwise(const elements &e, dtype type, int64_t n)
{
    if (e.what == OP_WHERE) return LAUNCH_INDEX(where, float, n, e, n);
    if (e.what == OP_MAP || e.what == OP_MAP_BACK) {
        bool wide = n >= 4 && (e.what == OP_MAP ? aligned16(e.y, e.x[0]) : aligned16(e.y, e.x[0], e.x[1], e.x[2]));
        return wide ? LAUNCH_OVER(map<4>, n / 4, e, n) : LAUNCH_OVER(map<1>, n, e, n);
    }
    return type == BF16 ? run<bf16, 8>(e, n) : run<float, 4>(e, n);
}

/* ---- CAST: eight at a time ---- */

template <bool VECTOR, class To, class From> __global__ void cast(To *y, const From *x, int64_t n)
{
    for (int64_t i = 8 * my_thread(); i < n; i += 8 * all_threads()) {
        float v[8];
        get_some8<VECTOR>(x + i, n - i, v);
        put_some8<VECTOR>(y + i, n - i, v);
    }
}
template <class To, class From> int run_cast(void *y, const void *x, int64_t n)
{
    dim3 grid = blocks_for((n + 7) / 8);
    return aligned16(x, y) ? LAUNCH((cast<true, To, From>), grid, THREADS, 0, (To *)y, (const From *)x, n)
                           : LAUNCH((cast<false, To, From>), grid, THREADS, 0, (To *)y, (const From *)x, n);
}

} // namespace

static int elementwise(const call *k, err *e)
{
    const view *y = &k->out[0];
    elements g = {};
    g.y = y->data, g.what = k->op, g.n_in = k->n_in;
    if (k->op == OP_MUL_SCALAR || k->op == OP_ADD_SCALAR) g.by = (float)k->a.MUL_SCALAR.by;
    if (k->op == OP_MAP || k->op == OP_MAP_BACK) g.function = (int)k->a.MAP.function;
    bool known =
        y->type == F32 || (y->type == BF16 && (k->op == OP_ADD || k->op == OP_RELU_BACK || k->op == OP_BROADCAST_TO));
    memcpy(g.dim, y->dim, sizeof g.dim);
    for (int i = 0; i < k->n_in; i++) {
        if (!known || k->in[i].type != y->type) return no_kernel(k, e);
        g.x[i] = k->in[i].data;
        strides_of(&k->in[i], g.step[i]);
    }
    if (!count_of(y)) return launched(gpu_launched(), e);
    join_axes(g.dim, g.step, g.n_in);
    return launched(run_elementwise(g, y->type, count_of(y)), e);
}
#define ELEMENTWISE(NAME)                                                                                              \
    int cuda_##NAME(const call *k, err *e) { return elementwise(k, e); }
ELEMENTWISE(ADD)
ELEMENTWISE(SUB)
ELEMENTWISE(MUL)
ELEMENTWISE(DIV)
ELEMENTWISE(MINIMUM)
ELEMENTWISE(LESS_THAN)
ELEMENTWISE(MUL_SCALAR)
ELEMENTWISE(ADD_SCALAR)
ELEMENTWISE(WHERE)
ELEMENTWISE(RELU_BACK)
ELEMENTWISE(BROADCAST_TO)

static int apply_map(const call *k, err *e)
{
    if (want_function(k, e)) return -1;
    for (int i = 0; i < k->n_in; i++)
        if (memcmp(k->in[i].dim, k->out[0].dim, sizeof k->out[0].dim))
            return fail(e, "the shapes of input %d and the output differ", i);
    return elementwise(k, e);
}
int cuda_MAP(const call *k, err *e) { return apply_map(k, e); }
int cuda_MAP_BACK(const call *k, err *e) { return apply_map(k, e); }

/* ---- CAST, ASSIGN, STATE_WRITE: copies ---- */

static int copy(const call *k, const view *to, const view *from, err *e)
{
    bool known = to->type == from->type ? to->type != F64 : is_row_type(to->type) && is_row_type(from->type);
    if (!known) return fail(e, "the GPU has no copy from %s to %s", dtype_name(from->type), dtype_name(to->type));
    if (want_count_of(k, to, from, e)) return -1;
    int64_t n = count_of(to);
    if (n && to->type != from->type)
        return launched(to->type == BF16 ? run_cast<bf16, float>(to->data, from->data, n)
                                         : run_cast<float, bf16>(to->data, from->data, n),
                        e);
    if (n && to->data != from->data) gpu_copy(to->data, from->data, bytes_of(to));
    return launched(gpu_launched(), e);
}
int cuda_CAST(const call *k, err *e) { return copy(k, &k->o.CAST.y, &k->i.CAST.x, e); }
int cuda_ASSIGN(const call *k, err *e) { return copy(k, &k->i.ASSIGN.to, &k->i.ASSIGN.value, e); }
int cuda_STATE_WRITE(const call *k, err *e) { return copy(k, &k->i.STATE_WRITE.state, &k->i.STATE_WRITE.value, e); }
