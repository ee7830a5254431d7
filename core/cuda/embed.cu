/* embed.cu - rows of a table by id (EMBED_TOKENS); its gradient is gpu_sum_rows_by_id of generic.h. */
#include "cuda/gpu.h"
#include "cuda/vec8.h"
#include "cuda/rows.h"

/* A thread has eight columns of a row; eights: of a row. */
template <class T, bool VECTOR>
__global__ void __launch_bounds__(256) embed_rows(int64_t rows, int64_t words, int64_t width, int64_t eights, const float *table,
                                                  const int32_t *id, float by, T *y)
{
    for (int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x; i < rows * eights; i += (int64_t)gridDim.x * 256) {
        int64_t row = i / eights, column = 8 * (i % eights), n = width - column, word = id[row];
        float v[8];
        if (word < 0 || word >= words)
            UNROLL for (int j = 0; j < 8; j++) v[j] = word < 0 ? 0.f : NAN;
        else
            get8<VECTOR>(table + word * width + column, n, v);
        UNROLL for (int j = 0; j < 8; j++) v[j] *= by;
        put8<VECTOR>(y + row * width + column, n, v);
    }
}

template <class T> static int embed_of(int64_t rows, int64_t words, int64_t width, const float *table, const int32_t *id, float by, T *y)
{
    int64_t eights = (width + 7) / 8, blocks = (rows * eights + 255) / 256, most = 16 * (int64_t)gpu_multiprocessors();
    dim3 grid((unsigned)(blocks < most ? blocks : most));
    return width % 8 == 0 && aligned16(table, y)
               ? LAUNCH((embed_rows<T, true>), grid, 256, 0, rows, words, width, eights, table, id, by, y)
               : LAUNCH((embed_rows<T, false>), grid, 256, 0, rows, words, width, eights, table, id, by, y);
}

extern "C" int gpu_embed(int type, int64_t rows, int64_t words, int64_t width, const float *table, const int32_t *id, float by, void *y)
{
    if (!rows || !width) return gpu_launched();
    return type == 2 ? embed_of(rows, words, width, table, id, by, (bf16 *)y) : embed_of(rows, words, width, table, id, by, (float *)y);
}
