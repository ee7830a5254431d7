/* sums_rows.h - sums and softmax over rows, once for every type (S: f32 or f64; see simd.h). */

/* ---- lanes together: the lower half with the upper, four times; the result is in all lanes ---- */

#define HALF(x)    __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
#define QUARTER(x) __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)
#define PAIR(x)    __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
#define ONE(x)     __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)

INLINE REALS TYPED(all_sum)(REALS x)
{
    x += HALF(x);
    x += QUARTER(x);
    x += PAIR(x);
    return x + ONE(x);
}
INLINE REALS TYPED(all_largest)(REALS x)
{
    x = TYPED(larger)(x, HALF(x));
    x = TYPED(larger)(x, QUARTER(x));
    x = TYPED(larger)(x, PAIR(x));
    return TYPED(larger)(x, ONE(x));
}

/* ---- SUM_TO ---- */

/* Sum of n numbers that lie side by side: sixteen lanes over blocks of one length, the blocks in double. */
static double TYPED(line_sum)(const REAL *x, int64_t n)
{
    double total = 0;
    for (int64_t i = 0; i < n; i += SUM_BLOCK) {
        int64_t end = n - i < SUM_BLOCK ? n : i + SUM_BLOCK, j = i;
        REALS lanes = {0};
        for (; j + LANES <= end; j += LANES) lanes += TYPED(load)(x + j);
        if (j < end) lanes += TYPED(load_part)(x + j, (int)(end - j));
        total += (double)TYPED(all_sum)(lanes)[0];
    }
    return total;
}

static void TYPED(sum_blocks)(const void *job, int64_t from,
                              int64_t to) /* of one long line, into s->partial */
{
    const sums *s = job;
    const REAL *x = s->x;
    for (int64_t b = from; b < to; b++) {
        int64_t i = b * SUM_BLOCK, n = s->sum[1].n - i;
        s->partial[b] = TYPED(line_sum)(x + i, n < SUM_BLOCK ? n : SUM_BLOCK);
    }
}

static void TYPED(sum_lines)(const void *job, int64_t from,
                             int64_t to) /* outputs whose last summed axis lies side by side */
{
    const sums *s = job;
    REAL *y = s->y;
    for (int64_t o = from; o < to; o++) {
        const REAL *x =
            (const REAL *)s->x + o / s->keep[1].n * s->keep[0].step + o % s->keep[1].n * s->keep[1].step;
        double total = 0;
        for (int64_t i = 0; i < s->sum[0].n; i++)
            total += TYPED(line_sum)(x + i * s->sum[0].step, s->sum[1].n);
        y[o] = (REAL)total;
    }
}

/* Outputs side by side, of width at most SUM_WIDTH: rows added up in blocks, so that the error grows with the
 * square root of their number at most. */
static void TYPED(sum_rows)(const sums *s, REAL *y, const REAL *x, int64_t width)
{
    _Alignas(64) REAL acc[SUM_WIDTH];
    int64_t rows = s->sum[0].n * s->sum[1].n, inner = 0;
    for (int64_t r = 0; r < rows; r += SUM_ROWS) {
        int64_t end = rows - r < SUM_ROWS ? rows : r + SUM_ROWS;
        for (int64_t j = 0; j < width; j++) acc[j] = 0;
        for (int64_t i = r; i < end; i++) {
            for (int64_t j = 0; j < width; j++) acc[j] += x[j];
            x += s->sum[1].step;
            if (++inner < s->sum[1].n) continue;
            inner = 0;
            x += s->sum[0].step - s->sum[1].n * s->sum[1].step;
        }
        for (int64_t j = 0; j < width; j++) y[j] = r ? y[j] + acc[j] : acc[j];
    }
}

static void TYPED(sum_columns)(const void *job, int64_t from, int64_t to)
{
    const sums *s = job;
    int64_t chunks = (s->keep[1].n + s->width - 1) / s->width;
    for (int64_t u = from; u < to; u++) {
        int64_t o = u / chunks, j = u % chunks * s->width;
        int64_t width = s->keep[1].n - j < s->width ? s->keep[1].n - j : s->width;
        TYPED(sum_rows)
        (s, (REAL *)s->y + o * s->keep[1].n + j, (const REAL *)s->x + o * s->keep[0].step + j, width);
    }
}

/* ---- SOFTMAX ---- */

/* e^x, exactly 0 where x < -87: masked scores weigh nothing, and no result is subnormal, which would be slow.
 * NaN stays. */
INLINE REALS TYPED(weight)(REALS x)
{
    MASKS some = ~(x < -87);
    REALS kept = (REALS)((MASKS)x & some);
    return (REALS)((MASKS)(TYPED(exp)(kept) + 0 * kept) & some);
}

static void TYPED(softmax_row)(REAL *y, const REAL *x, int64_t n)
{
    int64_t whole = n / LANES * LANES;
    int rest = (int)(n - whole);
    REALS hidden = TYPED(first_lanes)((REALS){0} + 1, rest); /* lanes past the end count as -inf */
    hidden = (REALS)(~(hidden > 0) & (MASKS)((REALS){0} - (REAL)INFINITY));
    REALS most = (REALS){0} - (REAL)INFINITY, sum = {0}, last = most;
    for (int64_t j = 0; j < whole; j += LANES) most = TYPED(larger)(TYPED(load)(x + j), most);
    if (rest) most = TYPED(larger)(last = TYPED(load_part)(x + whole, rest) + hidden, most);
    REALS top = TYPED(all_largest)(most);
    if (top[0] == -(REAL)INFINITY) {
        for (int64_t j = 0; j < n; j++) y[j] = x[j] < 0 ? 0 : x[j]; /* nothing is seen, or not a number */
        return;
    }
    for (int64_t j = 0; j < whole; j += LANES) {
        REALS w = TYPED(weight)(TYPED(load)(x + j) - top);
        sum += w;
        TYPED(store)(y + j, w);
    }
    if (rest) sum += last = TYPED(weight)(last - top);
    REALS over = 1 / TYPED(all_sum)(sum);
    for (int64_t j = 0; j < whole; j += LANES) TYPED(store)(y + j, TYPED(load)(y + j) * over);
    if (rest) TYPED(store_part)(y + whole, last * over, rest);
}

static void TYPED(softmax_rows)(const void *job, int64_t from, int64_t to)
{
    const row_job *r = job;
    for (int64_t i = from; i < to; i++)
        TYPED(softmax_row)((REAL *)r->out + i * r->n, (const REAL *)r->in[0] + i * r->n, r->n);
}

static void TYPED(softmax_back_rows)(const void *job, int64_t from, int64_t to)
{
    const row_job *r = job;
    int64_t n = r->n, whole = n / LANES * LANES;
    int rest = (int)(n - whole);
    for (int64_t i = from; i < to; i++) {
        const REAL *y = (const REAL *)r->in[0] + i * n, *dy = (const REAL *)r->in[1] + i * n;
        REAL *dx = (REAL *)r->out + i * n;
        REALS lanes = {0}, last_y = {0}, last_dy = {0};
        for (int64_t j = 0; j < whole; j += LANES) lanes += TYPED(load)(y + j) * TYPED(load)(dy + j);
        if (rest) {
            last_y = TYPED(load_part)(y + whole, rest);
            last_dy = TYPED(load_part)(dy + whole, rest);
            lanes += last_y * last_dy;
        }
        REALS mean = TYPED(all_sum)(lanes);
        for (int64_t j = 0; j < whole; j += LANES)
            TYPED(store)(dx + j, TYPED(load)(y + j) * (TYPED(load)(dy + j) - mean));
        if (rest) TYPED(store_part)(dx + whole, last_y * (last_dy - mean), rest);
    }
}
#undef HALF
#undef QUARTER
#undef PAIR
#undef ONE
