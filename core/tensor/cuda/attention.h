/* attention.h - launchers of attention on packed rows (attend.cu, attend_back.cu, attend_step.cu, attend_tiles.cu):
 * ATTEND, ATTEND_BACK and ATTEND_STEP of op.h, for rows of type F32 or BF16.
 *
 * Every pointer is device memory; a launcher returns 0, or -1 (message: gpu_error). Sentences may have any length,
 * heads any width up to ATTEND_WIDEST, rows any address and stride: rows not aligned for 16-byte loads are copied first
 * (attend_pack.cu). The order of sums depends only on the shapes.
 */
#ifndef ABLATE_CUDA_ATTENTION_H
#define ABLATE_CUDA_ATTENTION_H
#include "tensor/cuda/runtime.h"
#include "tensor/graph/op.h"
C_BEGIN

enum {
    ATTEND_WIDEST = 512, /* columns of a head */
    ATTEND_TILE = 16,
    ATTEND_WHOLE = 64, /* up to this many queries and keys, a sentence's backward pass takes one block per head */
    ATTEND_TABLES = 16 /* a launch fills at most this many tables of tiles */
};
enum { /* attend_wgmma.h: rows of a tile of queries and of keys; slots of its ring; threads */
       ATTEND_WGMMA_QUERIES = 128,
       ATTEND_WGMMA_KEYS = 64,
       ATTEND_WGMMA_SLOTS = 4,
       ATTEND_WGMMA_THREADS = 3 * 128
};

/* ---- the tiles of a batch (attend_tile.h) ---- */

typedef struct {                         /* determines a table of tiles; compared as bytes */
    const int32_t *own, *other;          /* [sentences + 1] first rows on the tiled side and on the other */
    int sentences, own_rows, other_rows; /* rows including the dummies */
    int rows;                            /* rows of a tile */
    int both;  /* 0: tiles of the tiled side only; 1: tiles of both sides, as many as the longer side needs */
    int whole; /* for `both`: a sentence of at most `whole` rows on each side is one tile; 0: no sentence is */
} gpu_tile_shape;
size_t gpu_tile_bytes(const gpu_tile_shape *s); /* bytes of a table, a multiple of 16 */
/* Writes n tables, in one launch if there are no more than ATTEND_TABLES. */
int gpu_list_tiles(int n, const gpu_tile_shape *s, int32_t *const *tables);

/* ---- attention ---- */

typedef struct { /* head 0's first column in row 0, `width` columns per head; row stride in numbers */
    void *at;
    int64_t stride;
} gpu_columns;

/* The parameter of all kernels, also of kernels compiled at run time. attend_pack.cu replaces the columns by copies. */
typedef struct {
    dtype type;
    int heads, d_k, d_v;
    int sentences, rows, keys; /* rows of q's and of k's tensor, including the dummies past the last offset */
    int causal;                /* query t of a sentence sees keys 0 .. t */
    float scale;               /* factor on the scores */
    gpu_dropping drop;
    const int32_t *q_off, *k_off; /* [sentences + 1] first rows */
    /* Tables of tiles of ATTEND_TILE rows, all from the same offsets. tiles: tiles of queries; for gpu_ATTEND_BACK,
     * tiles of both sides. key_tiles: tiles of keys, for gpu_ATTEND_PROGRAM_BACK. */
    const int32_t *tiles, *key_tiles;
    gpu_columns q, k, v, y;
    float *lse;                 /* [rows, heads] log-sum-exp of each row's scores */
    gpu_columns dy, dq, dk, dv; /* gpu_ATTEND_BACK */
} gpu_attention;

/* Can the kernels load 16 bytes of these rows at once? On the host. */
static inline int rows_fit(const gpu_attention *a)
{
    const gpu_columns *all[] = {&a->q, &a->k, &a->v, &a->y, &a->dy, &a->dq, &a->dk, &a->dv};
    int fit = a->d_k % 8 == 0 && a->d_v % 8 == 0;
    for (int i = 0; i < 8; i++)
        fit = fit &&
              (!all[i]->at || ((uintptr_t)all[i]->at % 16 == 0 && all[i]->stride % (a->type == BF16 ? 8 : 4) == 0));
    return fit;
}

/* Writes y and lse; both are 0 in rows without a sentence or without keys. */
int gpu_ATTEND(const gpu_attention *a);
/* gpu_ATTEND by TMA and wgmma, on tiles of ATTEND_WGMMA_QUERIES: bf16 rows that fit, d_k = d_v = 64 or 128, at least
 * one key, capability 9.0. */
int gpu_ATTEND_WGMMA(const gpu_attention *a);
/* Reads y, lse and dy; writes the given columns dq, dk and dv in all rows, 0 in rows without a sentence. */
int gpu_ATTEND_BACK(const gpu_attention *a);
/* Forward or backward, with a score program (score.h) or NULL, for rows at any address, using copies. */
struct gpu_score;
int gpu_attend_packed(const gpu_attention *a, int backward, const struct gpu_score *f);

typedef struct { /* the parameter of the kernels of ATTEND_STEP and ATTEND_PROGRAM_STEP */
    dtype type;
    int rows, heads, d_k, d_v;
    int64_t capacity; /* positions in a row's cache */
    float scale;
    const void *qkv;          /* [rows, heads (2 d_k + d_v)] columns q, k, v */
    void *cache, *y;          /* [rows, capacity, heads (d_k + d_v)], [rows, heads d_v] */
    const int32_t *ancestors; /* [rows, capacity] the row whose cache has position j of this row's past */
    const int32_t *time;      /* [1] position of the new tokens */
} gpu_attention_step;

/* Writes k and v of each row to its cache at *time, and y; if *time is outside the cache, only y, as NaN. */
int gpu_ATTEND_STEP(const gpu_attention_step *a);

C_END
#endif
