/* strip_tiles.h - template (vectors.h; S: f32 or f64): tiles of a product that stay in registers during the loop over
 * the inner axis. The file that includes it sets TILE_VECTORS (2).
 *
 * Every element of the product is one chain acc += a[k] b[k] in the order of k from 0, independent of the shapes, the
 * element's position and the number of threads. Zeros appended to the inner axis change no bit. */

#define STRIP_ROWS_f32 (WIDTH == 64 ? 8 : 4)
#define STRIP_ROWS_f64 4
#define TILE_ROWS      TYPED(STRIP_ROWS)

/* c [rows, LANES vectors] (+)= a b over n terms; the last vector has `last` numbers. packed: b's rows are padded. */
INLINE void TYPED(tile)(int rows, int vectors, bool packed, int64_t n, const REAL *a, int64_t a_row, int64_t a_step,
                        const REAL *b, int64_t b_row, int last, REAL *c, int64_t c_row, bool fresh)
{
    REALS acc[TILE_ROWS][TILE_VECTORS];
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
        UNROLL(2)
        for (int v = 0; v < vectors; v++) {
            const REAL *p = c + r * c_row + v * LANES;
            if (fresh)
                acc[r][v] = (REALS){0};
            else
                acc[r][v] = v + 1 < vectors ? TYPED(load)(p) : TYPED(load_part)(p, last);
        }
    }
    for (int64_t k = 0; k < n; k++, a += a_step, b += b_row) {
        REALS line[TILE_VECTORS];
        UNROLL(2)
        for (int v = 0; v < vectors; v++)
            line[v] = packed || v + 1 < vectors ? TYPED(load)(b + v * LANES) : TYPED(load_part)(b + v * LANES, last);
        UNROLL(8)
        for (int r = 0; r < rows; r++) {
            UNROLL(2)
            for (int v = 0; v < vectors; v++) acc[r][v] += a[r * a_row] * line[v];
        }
    }
    __asm__(
        ""
        : "+r"(c),
          "+r"(
              c_row)); /* without this the compiler keeps the addresses of the first loads, in memory, for the stores */
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
        UNROLL(2)
        for (int v = 0; v < vectors; v++) {
            REAL *p = c + r * c_row + v * LANES;
            if (v + 1 < vectors || last == LANES)
                TYPED(store)(p, acc[r][v]);
            else
                TYPED(store_part)(p, acc[r][v], last);
        }
    }
}

/* Copies b [n, width] to zero-padded rows of whole vectors. b_row, b_col: steps of b's rows and columns; one is 1. */
INLINE void TYPED(pack)(REAL *to, const REAL *b, int64_t b_row, int64_t b_col, int64_t n, int64_t width)
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
#undef TILE
#undef TILES
#undef NAMES
