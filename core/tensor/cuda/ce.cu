/* ce.cu - label-smoothed cross-entropy (Szegedy et al. 2016) and its gradient in place, one block per row.
 *
 * With q the smoothed target, which sums to 1: loss = log sum e^x - q.x, d x = (softmax(x) - q) norm. The first pass
 * keeps a running maximum and the sum of e^(x - maximum) (Milakov and Gimelshein 2018), and the row itself in shared
 * memory if it fits; the second pass writes the gradient. Groups of eight are aligned within the whole tensor, so that
 * all but a row's ends are 16-byte moves, even for an odd vocabulary. A thread has the same groups in both passes.
 */
#include "tensor/cuda/ops.h"
#include "tensor/cuda/vec8.h"

enum { MOST_THREADS = 512, STAGED_BYTES = 96 << 10 };

template <class T> struct ce_call {
    int64_t width; /* the vocabulary */
    int64_t row;   /* elements from one row to the next; elements between rows are left unchanged */
    const T *logits;
    const int32_t *target;
    const float *norm;
    float *losses;
    T *grad;
    float on, others; /* probability added at the target; probability of every word */
    bool vector;      /* tensors begin at multiples of 16 bytes */
};

DEVICE float power_of(float x, float) { return expf(x); }
DEVICE float power_of(float x, bf16) { return __expf(x); }

/* Sums over some logits x: the maximum, the sum of e^(x - maximum), the sum of x. */
struct row_sums {
    float top, total, sum;
};
template <class T> DEVICE row_sums joined(row_sums a, row_sums b, T type)
{
    float m = fmaxf(a.top, b.top);
    row_sums s = {m, a.total * power_of(a.top - m, type) + b.total * power_of(b.top - m, type), a.sum + b.sum};
    return s;
}
/* Adds two groups of eight; WHOLE: all are logits, else missing ones are LOWEST. */
template <bool WHOLE, class T> DEVICE void take(row_sums &s, const float v[2][8], T type)
{
    float top = s.top;
    UNROLL for (int j = 0; j < 16; j++) top = fmaxf(top, v[j / 8][j % 8]);
    if (top > s.top) s.total *= power_of(s.top - top, type), s.top = top;
    UNROLL for (int j = 0; j < 16; j++)
    {
        float x = v[j / 8][j % 8];
        s.total += power_of(x - top, type);
        s.sum += WHOLE || x > LOWEST ? x : 0.f;
    }
}

/* Loads the eight elements at `at`, a multiple of 8; LOWEST for elements outside `first` to `end`. */
template <class T> DEVICE void part8(const T *p, int64_t at, int64_t first, int64_t end, bool vector, float v[8])
{
    if (vector && at >= first && at + 8 <= end)
        load8(p + at, v);
    else
        UNROLL for (int j = 0; j < 8; j++) v[j] = at + j >= first && at + j < end ? load(p + at + j) : LOWEST;
}
template <class T> DEVICE void store_part8(T *p, int64_t at, int64_t first, int64_t end, bool vector, const float v[8])
{
    if (vector && at >= first && at + 8 <= end)
        store8_device(p + at, v);
    else
        UNROLL for (int j = 0; j < 8; j++)
        {
            if (at + j >= first && at + j < end) store(p + at + j, v[j]);
        }
}

/* At least two blocks per multiprocessor: without the bound ptxas uses only 32 registers and spills. */
template <class T, bool STAGED> __global__ void __launch_bounds__(MOST_THREADS, 2) ce_rows(ce_call<T> a)
{
    DYN_SMEM(T, staged); /* [eights][8] */
    __shared__ row_sums part[MOST_THREADS / 32];
    const T type = T();
    int64_t row = blockIdx.x, first = row * a.row, end = first + a.width;
    int64_t from = first / 8, n = (end + 7) / 8 - from; /* eights */
    int target = a.target[row];
    float *loss = a.losses + 2 * row;
    if (target < 0) {
        const float zeros[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        if (!threadIdx.x) loss[0] = loss[1] = 0;
        for (int64_t i = threadIdx.x; a.grad && i < n; i += blockDim.x)
            store_part8(a.grad, 8 * (from + i), first, end, a.vector, zeros);
        return;
    }
    float at_target = 0;
    if (!threadIdx.x) at_target = target < a.width ? load(a.logits + first + target) : NAN;

    row_sums s = {LOWEST, 0, 0};
    /* groups 1 .. whole - 1 lie inside the row and are moved as a whole */
    int64_t step = blockDim.x, whole = a.vector ? n - 1 : 0;
    for (int64_t i = threadIdx.x; i < n; i += 2 * step) {
        float v[2][8];
        if (i > 0 && i + step < whole) { /* two loads at a time */
            load8(a.logits + 8 * (from + i), v[0]);
            load8(a.logits + 8 * (from + i + step), v[1]);
        } else {
            UNROLL for (int u = 0; u < 2; u++) part8(a.logits, 8 * (from + i + u * step), first, end, a.vector, v[u]);
        }
        if (STAGED) store8(staged + 8 * i, v[0]);
        if (STAGED && i + step < n) store8(staged + 8 * (i + step), v[1]);
        if (i > 0 && i + step < whole)
            take<true>(s, v, type);
        else
            take<false>(s, v, type);
    }
    for (int o = 16; o; o >>= 1) {
        row_sums other = {__shfl_xor_sync(0xffffffffu, s.top, o), __shfl_xor_sync(0xffffffffu, s.total, o),
                          __shfl_xor_sync(0xffffffffu, s.sum, o)};
        s = joined(s, other, type);
    }
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    s = part[0];
    for (int w = 1; w < (int)blockDim.x / 32; w++) s = joined(s, part[w], type);
    if (!threadIdx.x) {
        float lse = s.top + logf(s.total);
        loss[0] = lse - a.on * at_target - a.others * s.sum;
        loss[1] = lse - at_target;
    }
    if (!a.grad) return;

    float norm = *a.norm, scale = norm / s.total, off = norm * a.others, on = norm * a.on;
    for (int64_t i = threadIdx.x; i < n; i += step) {
        float v[8];
        int64_t at = 8 * (from + i), hit = first + target - at;
        bool inside = i > 0 && i < whole;
        if (STAGED)
            load8(staged + 8 * i, v);
        else
            part8(a.logits, at, first, end, a.vector, v);
        UNROLL for (int j = 0; j < 8; j++) v[j] = power_of(v[j] - s.top, type) * scale - off;
        if (hit >= 0 && hit < 8) /* the target is among these eight */
            UNROLL for (int j = 0; j < 8; j++) v[j] -= hit == j ? on : 0.f;
        if (inside)
            store8_device(a.grad + at, v);
        else
            store_part8(a.grad, at, first, end, a.vector, v);
    }
}

template <class T> static int ce_typed(const call *k)
{
    const view *x = &k->i.CE.logits;
    int64_t words = width_of(x) - k->a.CE.padding, eights = words / 8 + 2;
    double eps = k->a.CE.smoothing,
           others = k->a.CE.others ? eps / (double)(words > 1 ? words - 1 : 1) : eps / (double)words;
    ce_call<T> a = {};
    a.width = words, a.row = width_of(x), a.logits = data_of(x);
    a.target = data_of(&k->i.CE.targets), a.norm = data_of(&k->i.CE.norm);
    a.losses = data_of(&k->o.CE.losses), a.grad = k->a.CE.gradient ? (T *)k->o.CE.d_logits.data : nullptr;
    a.on = (float)(1 - eps - (k->a.CE.others ? others : 0)), a.others = (float)others;
    a.vector = aligned16(a.logits, a.grad);
    size_t bytes = (size_t)eights * 8 * sizeof(T);
    dim3 grid((unsigned)rows_of(x)), block(eights >= 1024 ? MOST_THREADS : eights >= 256 ? 256 : 128);
    return a.grad && bytes <= STAGED_BYTES ? LAUNCH((ce_rows<T, true>), grid, block, bytes, a)
                                           : LAUNCH((ce_rows<T, false>), grid, block, 0, a);
}

/* A target past the vocabulary has a loss of NaN. */
int cuda_CE(const call *k, err *e)
{
    const view *x = &k->i.CE.logits;
    if (want_types(k, "rif", k->a.CE.gradient ? "fr" : "f", e) || want_count("cross-entropy", rows_of(x), e)) return -1;
    if (!rows_of(x) || width_of(x) <= k->a.CE.padding) return launched(gpu_launched(), e);
    return launched(x->type == BF16 ? ce_typed<bf16>(k) : ce_typed<float>(k), e);
}
