/* layers.cu - rows and parameters as cuDNN takes them for layers along sentences. */
#include "tensor/cuda/vec8.h"
#include "tensor/cuda/layers.h"
#include "tensor/cuda/threads.h"

namespace
{

/* ---- rows of sentences as cells of a padded batch ---- */

__device__ __forceinline__ int64_t length_of(const gpu_sentences &s, int64_t sentence)
{
    int64_t n = (int64_t)s.offset[sentence + 1] - s.offset[sentence];
    return n < s.time ? n : s.time;
}

/* The row of a cell, or -1. */
__device__ __forceinline__ int64_t row_of(const gpu_sentences &s, int64_t sentence, int64_t t)
{
    int64_t n = length_of(s, sentence), row = s.offset[sentence] + (s.reverse ? n - 1 - t : t);
    return t < n && row >= 0 && row < s.rows ? row : -1;
}

/* The last sentence that begins at this row or before, or -1. */
__device__ __forceinline__ int64_t sentence_of(const gpu_sentences &s, int64_t row)
{
    int64_t low = -1, high = s.batch;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (s.offset[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The cell of a row, or -1. */
__device__ __forceinline__ int64_t cell_of(const gpu_sentences &s, int64_t row)
{
    int64_t sentence = sentence_of(s, row);
    if (sentence < 0) return -1;
    int64_t n = length_of(s, sentence), t = row - s.offset[sentence];
    if (t >= n) return -1;
    if (s.reverse) t = n - 1 - t;
    return s.time_major ? t * s.batch + sentence : sentence * s.time + t;
}

/* A thread has eight columns of a cell; eights: of a cell, n: of all. */
template <class To, class From, bool VECTOR, class Index>
__global__ void __launch_bounds__(THREADS) pad(gpu_sentences s, To *cells, const From *rows, int64_t eights, int64_t n)
{
    Index inner = (Index)(s.time_major ? s.batch : s.time);
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        Index cell = (Index)i / (Index)eights, outer = cell / inner, within = cell - outer * inner;
        int64_t column = 8 * (int64_t)((Index)i - cell * (Index)eights);
        int64_t row =
            s.time_major ? row_of(s, (int64_t)within, (int64_t)outer) : row_of(s, (int64_t)outer, (int64_t)within);
        float v[8];
        get8<VECTOR>(rows + (row < 0 ? 0 : row * s.width + column), row < 0 ? 0 : s.width - column, v);
        put8<VECTOR>(cells + (int64_t)cell * s.width + column, s.width - column, v);
    }
}

/* A warp writes a row. */
template <class To, class From, bool VECTOR>
__global__ void __launch_bounds__(THREADS) unpad(gpu_sentences s, To *rows, const From *cells)
{
    for (int64_t row = my_warp(); row < s.rows; row += all_warps()) {
        int64_t cell = cell_of(s, row);
        for (int64_t column = 8 * my_lane(); column < s.width; column += 8 * 32) {
            float v[8];
            get8<VECTOR>(cells + (cell < 0 ? 0 : cell * s.width + column), cell < 0 ? 0 : s.width - column, v);
            put8<VECTOR>(rows + row * s.width + column, s.width - column, v);
        }
    }
}

template <class To, class From, bool VECTOR> int run_pad(const gpu_sentences &s, To *cells, const From *rows)
{
    int64_t eights = (s.width + 7) / 8, n = s.batch * s.time * eights;
    return COUNTS_IN_32(n)
               ? LAUNCH((pad<To, From, VECTOR, unsigned>), blocks_for(n), THREADS, 0, s, cells, rows, eights, n)
               : LAUNCH((pad<To, From, VECTOR, uint64_t>), blocks_for(n), THREADS, 0, s, cells, rows, eights, n);
}
template <class To, class From> int pad_of(const gpu_sentences &s, To *cells, const From *rows)
{
    return s.width % 8 == 0 && aligned16(cells, rows) ? run_pad<To, From, true>(s, cells, rows)
                                                      : run_pad<To, From, false>(s, cells, rows);
}
template <class To, class From> int unpad_of(const gpu_sentences &s, To *rows, const From *cells)
{
    dim3 grid = blocks_for_warps(s.rows);
    return s.width % 8 == 0 && aligned16(rows, cells)
               ? LAUNCH((unpad<To, From, true>), grid, THREADS, 0, s, rows, cells)
               : LAUNCH((unpad<To, From, false>), grid, THREADS, 0, s, rows, cells);
}

/* ---- matrices turned ---- */

enum { SIDE = 32 };
struct matrices {
    gpu_matrix at[GPU_MATRICES];
    unsigned first[GPU_MATRICES + 1]; /* block of each */
};

__host__ __device__ __forceinline__ int64_t squares(int64_t n) { return (n + SIDE - 1) / SIDE; }

/* A block moves a square of 32 x 32, so that both reads and writes are of neighbours; of a single row, 32 numbers. */
template <class To> __global__ void __launch_bounds__(THREADS) transpose(matrices m)
{
    __shared__ float square[SIDE][SIDE + 1];
    int which = 0, lane = my_lane(), warp = (int)threadIdx.x / 32;
    while (blockIdx.x >= m.first[which + 1]) which++;
    const gpu_matrix &a = m.at[which];
    int64_t rows = a.rows, cols = a.cols, from_row = a.from_row, to_row = a.to_row, b = blockIdx.x - m.first[which];
    int64_t across = squares(cols), j0 = b % across * SIDE, i0 = b / across * SIDE;
    const float *from = (const float *)a.from;
    To *to = (To *)a.to;
    if (rows == 1) {
        if (warp == 0 && j0 + lane < cols) store(to + (j0 + lane) * to_row, from[j0 + lane]);
        return;
    }
    for (int k = warp; k < SIDE; k += WARPS)
        if (i0 + k < rows && j0 + lane < cols) square[k][lane] = from[(i0 + k) * from_row + j0 + lane];
    __syncthreads();
    for (int k = warp; k < SIDE; k += WARPS)
        if (i0 + lane < rows && j0 + k < cols) store(to + (j0 + k) * to_row + i0 + lane, square[lane][k]);
}
} // namespace

extern "C" int gpu_pad(const gpu_sentences *s, void *cells, int cell_type, const void *rows, int row_type)
{
    if (s->batch * s->time * s->width <= 0) return gpu_launched();
    if (cell_type == 2 && row_type == 2) return pad_of(*s, (bf16 *)cells, (const bf16 *)rows);
    if (cell_type == 0 && row_type == 2) return pad_of(*s, (float *)cells, (const bf16 *)rows);
    if (cell_type == 0 && row_type == 0) return pad_of(*s, (float *)cells, (const float *)rows);
    return gpu_refuse("gpu_pad: no kernel for bf16 cells of fp32 rows");
}

extern "C" int gpu_unpad(const gpu_sentences *s, void *rows, int row_type, const void *cells, int cell_type)
{
    if (s->rows * s->width <= 0) return gpu_launched();
    if (row_type == 2 && cell_type == 2) return unpad_of(*s, (bf16 *)rows, (const bf16 *)cells);
    if (row_type == 2 && cell_type == 0) return unpad_of(*s, (bf16 *)rows, (const float *)cells);
    if (row_type == 0 && cell_type == 0) return unpad_of(*s, (float *)rows, (const float *)cells);
    return gpu_refuse("gpu_unpad: no kernel for fp32 rows of bf16 cells");
}

extern "C" int gpu_transpose(int n, const gpu_matrix *m, int to_type)
{
    matrices all = {};
    int64_t blocks = 0;
    if (n > GPU_MATRICES) return gpu_refuse("gpu_transpose: too many matrices");
    for (int i = 0; i < n; i++) {
        all.at[i] = m[i];
        all.first[i] = (unsigned)blocks;
        blocks += squares(m[i].rows) * squares(m[i].cols);
        if (blocks > INT32_MAX) return gpu_refuse("gpu_transpose: a matrix with more than 2^41 numbers");
    }
    for (int i = n; i <= GPU_MATRICES; i++) all.first[i] = (unsigned)blocks;
    if (!blocks) return gpu_launched();
    dim3 grid((unsigned)blocks);
    return to_type == 2 ? LAUNCH(transpose<bf16>, grid, THREADS, 0, all)
                        : LAUNCH(transpose<float>, grid, THREADS, 0, all);
}
