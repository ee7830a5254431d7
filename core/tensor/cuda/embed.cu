/* embed.cu - rows of a table by id, positions, dropout (EMBED_TOKENS); its gradient is gpu_sum_rows_by_id of
 * generic.h. */
#include "tensor/cuda/gpu.h"
#include "tensor/cuda/vec8.h"
#include "tensor/cuda/rows.h"

/* Eight columns of row `row` of a table; zeros for a row below 0, NaN for one past the end. */
template <bool VECTOR>
__device__ __forceinline__ void take_row(const float *table, int64_t rows, int64_t width, int64_t row, int64_t column,
                                         float v[8])
{
    if (row < 0 || row >= rows)
        UNROLL for (int j = 0; j < 8; j++) v[j] = row < 0 ? 0.f : NAN;
    else
        get8<VECTOR>(table + row * width + column, width - column, v);
}

/* A thread has eight columns of a row; eights: of a row. */
template <class T, bool VECTOR>
__global__ void __launch_bounds__(256) embed_rows(gpu_embedding e, int64_t eights, const gpu_counter *counter)
{
    philox_key key = key_of(counter, e.drop.place);
    for (int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x; i < e.rows * eights; i += (int64_t)gridDim.x * 256) {
        int64_t row = i / eights, column = 8 * (i % eights), n = e.width - column;
        float v[8], p[8];
        take_row<VECTOR>(e.table, e.words, e.width, e.id[row], column, v);
        UNROLL for (int j = 0; j < 8; j++) v[j] *= e.by;
        if (e.positions) {
            take_row<VECTOR>(e.positions, e.n, e.width, e.place[row], column, p);
            UNROLL for (int j = 0; j < 8; j++) v[j] += p[j];
        }
        if (e.drop.least) {
            unsigned keep = keep8((uint64_t)(row * e.width + column), key, e.drop.least);
            UNROLL for (int j = 0; j < 8; j++) v[j] = keep >> j & 1 ? v[j] * e.drop.scale : 0.f;
        }
        put8<VECTOR>((T *)e.y + row * e.width + column, n, v);
    }
}

template <class T> static int embed_of(const gpu_embedding &e)
{
    int64_t eights = (e.width + 7) / 8, blocks = (e.rows * eights + 255) / 256,
            most = 16 * (int64_t)gpu_multiprocessors();
    dim3 grid((unsigned)(blocks < most ? blocks : most));
    return e.width % 8 == 0 && aligned16(e.table, e.positions, e.y)
               ? LAUNCH((embed_rows<T, true>), grid, 256, 0, e, eights, gpu_counters())
               : LAUNCH((embed_rows<T, false>), grid, 256, 0, e, eights, gpu_counters());
}

extern "C" int gpu_EMBED_TOKENS(const gpu_embedding *e)
{
    if (!e->rows || !e->width) return gpu_launched();
    return e->type == 2 ? embed_of<bf16>(*e) : embed_of<float>(*e);
}
