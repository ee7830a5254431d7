/* matmul_tiles.h - template (vectors.h; S: f32 or f64): the product of one batch entry (strip_tiles.inc). */

/* Computes rows m .. m_end and columns j .. j_end of one batch entry. */
static void TYPED(block_product)(const matrices *p, const REAL *a, const REAL *b, REAL *c, int64_t m, int64_t m_end,
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

static void TYPED(products)(const void *job, int64_t from, int64_t to) /* [from, to): blocks */
{
    const matrices *p = job;
    for (int64_t u = from; u < to; u++) {
        int64_t j = u % p->blocks_j * BLOCK_COLS, i = u / p->blocks_j % p->blocks_i * BLOCK_ROWS;
        int64_t z = u / p->blocks_j / p->blocks_i, z0 = z / p->batch[1], z1 = z % p->batch[1];
        const REAL *a = (const REAL *)p->a + z0 * p->a_batch[0] + z1 * p->a_batch[1];
        const REAL *b = (const REAL *)p->b + z0 * p->b_batch[0] + z1 * p->b_batch[1];
        REAL *c = (REAL *)p->c + z * p->rows * p->cols;
        TYPED(block_product)
        (p, a, b, c, i, i + BLOCK_ROWS < p->rows ? i + BLOCK_ROWS : p->rows, j,
         j + BLOCK_COLS < p->cols ? j + BLOCK_COLS : p->cols);
    }
}
