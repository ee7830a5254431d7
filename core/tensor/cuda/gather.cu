/* gather.cu - GATHER and SCATTER_ADD: numbers chosen by ids, and added by ids. */
#include "tensor/cuda/vec8.h"
#include "tensor/cuda/ops.h"
#include "tensor/cuda/threads.h"

namespace
{
/* Ids [..,n_q,n_k] of 0 .. n - 1 for rows [a,heads,n_q]; step[i]: rows of ids per index of axis i, 0: shared. */
struct chosen {
    const int32_t *ids;
    int64_t n_q, n_k, heads, step[2], n;
};

/* The ids of row r. */
template <class Index> DEVICE const int32_t *ids_of_row(const chosen &by, Index r)
{
    Index plane = r / (Index)by.n_q, a = plane / (Index)by.heads;
    int64_t row = (int64_t)(r - plane * (Index)by.n_q) + (int64_t)a * by.step[0] +
                  (int64_t)(plane - a * (Index)by.heads) * by.step[1];
    return by.ids + row * by.n_k;
}

template <class T, class Index> /* T: float */
__global__ void gather(T *y, const T *x, chosen by, int64_t n)
{
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        Index r = (Index)i / (Index)by.n_k;
        int64_t id = ids_of_row<Index>(by, r)[(int64_t)((Index)i - r * (Index)by.n_k)];
        y[i] = id >= 0 && id < by.n ? x[(int64_t)r * by.n + id] : __uint_as_float(0x7fffffffu);
    }
}
/* One warp per row: it reads 32 keys at a time, and every lane sums the numbers that belong to its EACH ids. */
template <int EACH> __global__ void scatter_add(float *y, const float *x, int64_t rows, chosen by)
{
    const int64_t n_k = by.n_k, n = by.n;
    __shared__ float value[WARPS][32];
    __shared__ int32_t of[WARPS][32];
    int lane = my_lane(), w = (int)threadIdx.x / 32;
    for (int64_t r = my_warp(); r < rows; r += all_warps())
        for (int64_t first = 0; first < n; first += 32 * EACH) {
            float sum[EACH] = {0};
            for (int64_t k = 0; k < n_k; k += 32) {
                bool there = k + lane < n_k;
                value[w][lane] = there ? x[r * n_k + k + lane] : 0.f;
                of[w][lane] = there ? ids_of_row<uint64_t>(by, (uint64_t)r)[k + lane] : -1;
                __syncwarp();
                UNROLL for (int i = 0; i < 32; i++)
                    UNROLL for (int j = 0; j < EACH; j++) if (of[w][i] == first + 32 * j + lane) sum[j] += value[w][i];
                __syncwarp();
            }
            UNROLL for (int j = 0; j < EACH; j++) if (first + 32 * j + lane < n) y[r * n + first + 32 * j + lane] =
                sum[j];
        }
}

chosen chosen_by(const view *x, const view *ids, int64_t n)
{
    chosen by = {data_of(ids), ids->dim[2], ids->dim[3], x->dim[1], {}, n};
    int64_t step[4];
    strides_of(ids, step);
    for (int i = 0; i < 2; i++) by.step[i] = by.n_k ? step[i] / by.n_k : 0;
    return by;
}
} // namespace

/* NaN for an invalid id. */
int cuda_GATHER(const call *k, err *e)
{
    const view *x = &k->i.GATHER.x, *ids = &k->i.GATHER.ids, *y = &k->o.GATHER.y;
    if (y->type != F32 || x->type != F32 || ids->type != I32) return no_kernel(k, e);
    chosen by = chosen_by(x, ids, width_of(x));
    int64_t n = rows_of(y) * by.n_k;
    return launched(LAUNCH_INDEX(gather, float, n, data_of(y), data_of(x), by, n), e);
}

/* Sums run in the order of keys. */
int cuda_SCATTER_ADD(const call *k, err *e)
{
    const view *p = &k->i.SCATTER_ADD.p, *ids = &k->i.SCATTER_ADD.ids, *out = &k->o.SCATTER_ADD.y;
    if (out->type != F32 || p->type != F32 || ids->type != I32) return no_kernel(k, e);
    chosen by = chosen_by(p, ids, width_of(out));
    int64_t rows = rows_of(out);
    if (!count_of(out)) return launched(gpu_launched(), e);
    dim3 grid = blocks_for_warps(rows);
    return launched(by.n <= 32   ? LAUNCH(scatter_add<1>, grid, THREADS, 0, data_of(out), data_of(p), rows, by)
                    : by.n <= 64 ? LAUNCH(scatter_add<2>, grid, THREADS, 0, data_of(out), data_of(p), rows, by)
                                 : LAUNCH(scatter_add<4>, grid, THREADS, 0, data_of(out), data_of(p), rows, by),
                    e);
}
