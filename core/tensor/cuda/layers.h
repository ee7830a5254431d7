/* layers.h - layers along sentences (GRU, CONV and their gradients, see op.h) with cuDNN: the calls (dnn_gru.c,
 * dnn_conv.c), and the launchers that convert rows and parameters to its layouts (layers.cu).
 *
 * Every pointer is device memory; a `type` is 0 F32 or 2 BF16. A launcher returns 0, or -1 (message: gpu_error), and
 * launches nothing if there is nothing to write.
 */
#ifndef ABLATE_CUDA_LAYERS_H
#define ABLATE_CUDA_LAYERS_H
#include "tensor/cuda/runtime.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- layers.cu ---- */

/* Packed rows [rows,width], and the same as cells [batch,time,width], or [time,batch,width] (time_major). Cell t of
 * sentence b has row offset[b] + t; with `reverse` a sentence's last row comes first, so that padding is at the end in
 * both orders. */
typedef struct {
    const int32_t *offset; /* [batch + 1] */
    int64_t rows, batch, time, width;
    int time_major, reverse;
} gpu_sentences;
/* Cells from rows; 0 past the end of a sentence. */
int gpu_pad(const gpu_sentences *s, void *cells, int cell_type, const void *rows, int row_type);
/* Rows from cells; 0 in rows without a sentence. Rows are F32 from F32, BF16 from either. */
int gpu_unpad(const gpu_sentences *s, void *rows, int row_type, const void *cells, int cell_type);

/* to[j][i] = from[i][j], i < rows, j < cols, F32 or BF16 from F32; from_row and to_row are row strides in elements. Up
 * to GPU_MATRICES, which must not overlap, in one launch. */
enum { GPU_MATRICES = 9 };
typedef struct {
    const void *from;
    void *to;
    int64_t rows, cols, from_row, to_row;
} gpu_matrix;
int gpu_transpose(int n, const gpu_matrix *m, int to_type);

#ifdef __cplusplus
}
#else
#include "base/base.h"

/* A part of one call's scratch memory: its start. */
static inline size_t layer_part(size_t *used, size_t bytes)
{
    enum { ALIGNMENT = 256 };
    size_t at = *used;
    *used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

/* ---- dnn_gru.c, dnn_conv.c: a layer's views in op.h's terms. Return 0, or -1 and why. No length, width or number of
 * sentences is 0. ---- */

typedef struct {
    int type; /* of x, y, dy, dx */
    int backwards;
    int64_t rows, n, d, batch, time;
    const int32_t *offset;
    const void *x, *dy;
    const float *w, *b, *u;
    void *y, *dx;
    float *dw, *db, *du;
} gru_call;
int dnn_gru_run(const gru_call *c, err *e);
int dnn_gru_back(const gru_call *c, err *e);

typedef struct {
    int type; /* of x, y, dy, dx */
    int64_t rows, n, d, batch, time, before, behind;
    const int32_t *offset;
    const void *x, *dy;
    const float *w;
    void *y, *dx;
    float *dw;
} conv_call;
int dnn_conv_run(const conv_call *c, err *e);
int dnn_conv_back(const conv_call *c, err *e);

/* Key of a convolution's plan; type: of the rows. */
typedef enum { CONV_FORWARD, CONV_DX, CONV_DW } conv_kind;
typedef struct {
    int64_t which, type, n, d, batch, time, before, behind;
} conv_shape;
/* Does cuDNN have an engine for it on a described device (dnn_plan)? 0: yes, 1: no, -1: an error. */
int dnn_conv_supported(const conv_shape *s, const char *device, err *e);
#endif
#endif
