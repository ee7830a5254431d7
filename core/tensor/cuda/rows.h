/* rows.h - launchers of the operations on packed rows (norm.cu, ce.cu, embed.cu): NORM, NORM_BACK, DROPOUT_ADD,
 * COLUMN_SUM, EMBED_TOKENS, EMBED_TOKENS_BACK and CE of op.h, for rows of type F32 (0) or BF16 (2); parameters,
 * statistics, sums and losses are float.
 *
 * Every pointer is device memory; a launcher returns 0, or -1 (message: gpu_error). Rows are contiguous, of any width;
 * they move 16 bytes at a time if the width is a multiple of 8 and all addresses are multiples of 16 bytes. Zero rows
 * are allowed. The order of sums depends only on the shape and the number of multiprocessors.
 */
#ifndef ABLATE_CUDA_ROWS_H
#define ABLATE_CUDA_ROWS_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct { /* the elements dropped at a place (op.h, DROPOUT family); the key comes from gpu_counters() */
    unsigned place;
    unsigned least; /* smallest 16-bit word that is kept; 0: keep everything */
    float scale;    /* factor on kept values */
} gpu_dropping;

/* y = LN(x + dropout(s)); s and z may be NULL; stats [rows,2]. */
int gpu_NORM(int type, int64_t rows, int64_t width, const void *x, const void *s, const float *gain, const float *bias,
             void *y, void *z, float *stats, float eps, gpu_dropping drop);
/* ds and ds_sums, the sums over rows of ds (of dz if ds is NULL), may be NULL. `sums`: gpu_norm_sums bytes of working
 * memory. */
int gpu_NORM_BACK(int type, int64_t rows, int64_t width, const void *z, const float *stats, const float *gain,
                  const void *dy, void *dz, void *ds, float *dgain, float *dbias, float *ds_sums, gpu_dropping drop,
                  float *sums);
size_t gpu_norm_sums(int64_t rows, int64_t width);

/* y = x + dropout(s) over n elements; y may be x or s. */
int gpu_DROPOUT_ADD(int type, int64_t n, const void *x, const void *s, void *y, gpu_dropping drop);

/* y [width] = sum over rows of x. `sums`: gpu_column_sums bytes of working memory. */
int gpu_COLUMN_SUM(int type, int64_t rows, int64_t width, const void *x, float *y, float *sums);
size_t gpu_column_sums(int64_t rows, int64_t width);

/* y [rows,width] = dropout(by * table[id] + positions[place]); zeros for id < 0, NaN for an id past the table's `words`
 * rows (which the host cannot check). positions [n,width] with place [rows] may be NULL; NaN for an invalid place. */
typedef struct {
    int type;
    int64_t rows, words, width, n;
    const float *table, *positions;
    const int32_t *id, *place;
    float by;
    void *y;
    gpu_dropping drop;
} gpu_embedding;
int gpu_EMBED_TOKENS(const gpu_embedding *e);

/* losses [rows,2] = smoothed and plain cross-entropy of logits [rows,width], row stride `row`; grad (NULL: not needed;
 * it may be the logits) = d logits times *norm. `on`: probability added at the target, `others`: of every word. A
 * target < 0 has zeros; one past the vocabulary has a loss of NaN. */
int gpu_CE(int type, int64_t rows, int64_t width, int64_t row, const void *logits, const int32_t *target,
           const float *norm, float *losses, void *grad, float on, float others);

#ifdef __cplusplus
}
#endif
#endif
