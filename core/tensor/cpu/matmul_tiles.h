/* matmul_tiles.h - template (vectors.h; S: f32 or f64): the product of one batch entry.
 *
 * Every element of the product is one chain acc += a[k] b[k] in the order of k from 0, independent of the shapes, the
 * element's position and the number of threads. Zeros appended to the inner axis change no bit.
 */

/* c [rows, LANES vectors] += a b over n indices of the inner axis. The last vector has `last` numbers in c.
 * `packed`: rows of b are padded to whole vectors. */
INLINE void TYPED(tile)(int rows, int vectors, bool packed, int64_t n, const REAL *a, int64_t a_row, int64_t a_step,
                        const REAL *b, int64_t b_row, int last, REAL *c, int64_t c_row, bool fresh)
{
    REALS acc[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            const REAL *p = c + r * c_row + v * LANES;
            if (fresh)
                acc[r][v] = (REALS){0};
            else
                acc[r][v] = v + 1 < vectors ? TYPED(load)(p) : TYPED(load_part)(p, last);
        }
    for (int64_t k = 0; k < n; k++, a += a_step, b += b_row) {
        REALS line[TILE_VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            line[v] = packed || v + 1 < vectors ? TYPED(load)(b + v * LANES) : TYPED(load_part)(b + v * LANES, last);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) acc[r][v] += a[r * a_row] * line[v];
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            REAL *p = c + r * c_row + v * LANES;
            if (v + 1 < vectors || last == LANES)
                TYPED(store)(p, acc[r][v]);
            else
                TYPED(store_part)(p, acc[r][v], last);
        }
}

typedef struct {
    int64_t n; /* indices of the inner axis in this block */
    const REAL *a;
    int64_t a_row, a_step;
    const REAL *b; /* [n, LANES vectors], rows b_row apart */
    int64_t b_row;
    int last;
    REAL *c;
    int64_t c_row;
    bool fresh; /* first block: c is overwritten */
} TYPED(strip);

#define TILE(ROWS, VECTORS, PACKED)                                                                                    \
    static void TYPED(tile_##ROWS##_##VECTORS##_##PACKED)(const TYPED(strip) * s, int64_t row)                         \
    {                                                                                                                  \
        TYPED(tile)                                                                                                    \
        (ROWS, VECTORS, PACKED, s->n, s->a + row * s->a_row, s->a_row, s->a_step, s->b, s->b_row, s->last,             \
         s->c + row * s->c_row, s->c_row, s->fresh);                                                                   \
    }
#define TILES(ROWS) TILE(ROWS, 1, 0) TILE(ROWS, 1, 1) TILE(ROWS, 2, 0) TILE(ROWS, 2, 1)
#define NAMES(ROWS)                                                                                                    \
    {                                                                                                                  \
        {TYPED(tile_##ROWS##_1_0), TYPED(tile_##ROWS##_1_1)}, { TYPED(tile_##ROWS##_2_0), TYPED(tile_##ROWS##_2_1) }   \
    }
TILES(1)
TILES(2)
TILES(3)
TILES(4)
#if TILE_ROWS == 8
TILES(5)
TILES(6)
TILES(7)
TILES(8)
#endif
typedef void (*TYPED(tile_fn))(const TYPED(strip) * s, int64_t row);
static const TYPED(tile_fn) TYPED(tiles)[TILE_ROWS + 1][2][2] = {
    {{0}},    NAMES(1), NAMES(2), NAMES(3), NAMES(4),
#if TILE_ROWS == 8
    NAMES(5), NAMES(6), NAMES(7), NAMES(8),
#endif
};

/* b's part [n, width] as rows of whole vectors, zero-padded. */
static void TYPED(pack)(REAL *to, const REAL *b, int64_t b_row, int64_t b_col, int64_t n, int64_t width)
{
    int64_t wide = (width + LANES - 1) / LANES * LANES;
    if (b_col == 1)
        for (int64_t k = 0; k < n; k++)
            for (int64_t j = 0; j < wide; j += LANES) {
                int here = (int)(width - j < LANES ? width - j : LANES);
                TYPED(store)(to + k * wide + j, TYPED(load_part)(b + k * b_row + j, here));
            }
    else
        for (int64_t j = 0; j < wide; j += LANES) {
            int here = (int)(width - j < LANES ? width - j : LANES);
            for (int64_t k = 0; k < n; k += LANES) TYPED(turn_square)
            (to + k * wide + j, wide, b + j * b_col + k, b_col, here, (int)(n - k < LANES ? n - k : LANES));
        }
}

/* Rows m .. m_end and columns j .. j_end of one batch entry. */
static void TYPED(block_product)(const product *p, const REAL *a, const REAL *b, REAL *c, int64_t m, int64_t m_end,
                                 int64_t j_first, int64_t j_end)
{
    enum { STRIP = TILE_VECTORS * LANES };
    bool pack =
        p->b_col != 1 || (m_end - m >= PACK_ROWS && p->b_row > STRIP) || (!TYPED(MASKED) && (j_end - j_first) % LANES);
    REAL *packed = pack ? scratch((size_t)INNER * STRIP * sizeof(REAL)) : NULL;
    for (int64_t k = 0; k < p->inner; k += INNER)
        for (int64_t j = j_first; j < j_end; j += STRIP) {
            int64_t width = j_end - j < STRIP ? j_end - j : STRIP, vectors = (width + LANES - 1) / LANES;
            TYPED(strip)
            s = {.n = p->inner - k < INNER ? p->inner - k : INNER,
                 .a = a + k * p->a_step,
                 .a_row = p->a_row,
                 .a_step = p->a_step,
                 .b = b + k * p->b_row + j * p->b_col,
                 .b_row = p->b_row,
                 .last = (int)(width - (vectors - 1) * LANES),
                 .c = c + j,
                 .c_row = p->cols,
                 .fresh = k == 0};
            if (pack) {
                TYPED(pack)(packed, s.b, p->b_row, p->b_col, s.n, width);
                s.b = packed;
                s.b_row = vectors * LANES;
            }
            bool whole = pack || s.last == LANES;
            for (int64_t i = m; i < m_end; i += TILE_ROWS)
                TYPED(tiles)[m_end - i < TILE_ROWS ? m_end - i : TILE_ROWS][vectors - 1][whole](&s, i);
        }
}

static void TYPED(products)(const void *job, int64_t from, int64_t to) /* of blocks */
{
    const product *p = job;
    for (int64_t u = from; u < to; u++) {
        int64_t j = u % p->blocks_j * p->block_j, i = u / p->blocks_j % p->blocks_i * p->block_i;
        int64_t z = u / p->blocks_j / p->blocks_i, z0 = z / p->batch[1], z1 = z % p->batch[1];
        const REAL *a = (const REAL *)p->a + z0 * p->a_batch[0] + z1 * p->a_batch[1];
        const REAL *b = (const REAL *)p->b + z0 * p->b_batch[0] + z1 * p->b_batch[1];
        REAL *c = (REAL *)p->c + z * p->rows * p->cols;
        TYPED(block_product)
        (p, a, b, c, i, i + p->block_i < p->rows ? i + p->block_i : p->rows, j,
         j + p->block_j < p->cols ? j + p->block_j : p->cols);
    }
}
#undef TILE
#undef TILES
#undef NAMES
