/* matmul.c - MATMUL: many small products, typically [T,d] x [d,T] for T and d of 5 to 64, or a few large ones.
 *
 * A tile of the product stays in registers during the loop over the inner axis (numbers of a one by one, rows of b as
 * vectors); b is first copied to rows if it is transposed or strided. */
#include "tensor/cpu/generic.h"
#include "tensor/cpu/strip_tiles.h"

enum {
    INNER = 256,      /* indices of the inner axis per strip: a strip of b fills half the L1 cache */
    PACK_ROWS = 32,   /* fewest rows of a for which copying b's rows side by side pays */
    BLOCK_ROWS = 128, /* rows of the product in one block */
    BLOCK_COLS = 256,
#if WIDTH == 64
    MASKED_f32 = 1, /* loading part of a vector costs no more than loading a whole one */
#else
    MASKED_f32 = 0,
#endif
    MASKED_f64 = 0
};

typedef struct {
    const void *a, *b;
    void *c; /* [batch 0, batch 1, rows, cols] */
    int64_t batch[2], rows, cols, inner;
    int64_t a_batch[2], b_batch[2]; /* elements from product to product; 0: all products use the same factor */
    int64_t a_row, a_step;          /* elements from row to row of a, and along the inner axis */
    int64_t b_row, b_col;           /* elements along the inner axis, and from column to column of b */
    int64_t blocks_i, blocks_j;
} matrices;

#define OF_EACH_REAL "tensor/cpu/matmul_tiles.h"
#include "tensor/cpu/each_real.h"

/* ---- the call ---- */

static int shape(const call *k, matrices *p, err *e)
{
    const view *a = &k->i.MATMUL.a, *b = &k->i.MATMUL.b, *c = &k->o.MATMUL.y;
    int turn_a = k->a.MATMUL.transpose_a != 0, turn_b = k->a.MATMUL.transpose_b != 0;
    int64_t sa[4], sb[4];
    strides_of(a, sa);
    strides_of(b, sb);
    *p = (matrices){.a = a->data,
                    .b = b->data,
                    .c = c->data,
                    .batch = {c->dim[0], c->dim[1]},
                    .rows = c->dim[2],
                    .cols = c->dim[3],
                    .inner = a->dim[turn_a ? 2 : 3],
                    .a_batch = {sa[0], sa[1]},
                    .b_batch = {sb[0], sb[1]},
                    .a_row = turn_a ? 1 : a->dim[3],
                    .a_step = turn_a ? a->dim[3] : 1,
                    .b_row = turn_b ? 1 : b->dim[3],
                    .b_col = turn_b ? b->dim[3] : 1};
    return want_factors(k, e);
}

int cpu_MATMUL(const call *k, err *e)
{
    const view *c = &k->o.MATMUL.y;
    matrices p;
    if (!is_real(c) || k->i.MATMUL.a.type != c->type || k->i.MATMUL.b.type != c->type) return wrong_type(k, e);
    if (shape(k, &p, e)) return -1;
    if (!count_of(c)) return 0;
    if (!p.inner) {
        memset(c->data, 0, bytes_of(c));
        return 0;
    }
    if (p.cols == 1) { /* compute a column as a row: (a b)' = b' a' */
        p = (matrices){.a = p.b,
                       .b = p.a,
                       .c = p.c,
                       .batch = {p.batch[0], p.batch[1]},
                       .rows = 1,
                       .cols = p.rows,
                       .inner = p.inner,
                       .a_batch = {p.b_batch[0], p.b_batch[1]},
                       .b_batch = {p.a_batch[0], p.a_batch[1]},
                       .a_row = 0,
                       .a_step = p.b_row,
                       .b_row = p.a_step,
                       .b_col = p.a_row};
    }
    p.blocks_i = (p.rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    p.blocks_j = (p.cols + BLOCK_COLS - 1) / BLOCK_COLS;
    int64_t pieces = p.batch[0] * p.batch[1] * p.blocks_i * p.blocks_j, work = count_of(c) * p.inner / 8;
    over_range(pieces, 1, work, OF_TYPE(c, products), &p);
    return 0;
}
