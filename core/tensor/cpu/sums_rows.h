/* sums_rows.h - template (vectors.h; S: f32 or f64): sums and softmax over rows. */

/* ---- SUM_TO ---- */

/* Sums n contiguous numbers in blocks of SUM_BLOCK: each block as PLACES partial sums, the blocks' sums in double. */
static double TYPED(line_sum)(const REAL *x, int64_t n)
{
    double total = 0;
    for (int64_t i = 0; i < n; i += SUM_BLOCK) {
        int64_t end = n - i < SUM_BLOCK ? n : i + SUM_BLOCK;
        REALS sum[STEP], v[STEP];
        EACH(k, STEP) sum[k] = (REALS){0};
        for (int64_t j = i; j < end; j += PLACES) {
            TYPED(load_step)(v, x + j, end - j, 0);
            EACH(k, STEP) sum[k] += v[k];
        }
        total += (double)OF_REAL(sum_places)(sum);
    }
    return total;
}

static void TYPED(sum_blocks)(const void *job, int64_t from,
                              int64_t to) /* sums the blocks of one long line into s->partial */
{
    const sums *s = job;
    const REAL *x = s->x;
    for (int64_t b = from; b < to; b++) {
        int64_t i = b * SUM_BLOCK, n = s->axes.sum[1].n - i;
        s->partial[b] = TYPED(line_sum)(x + i, n < SUM_BLOCK ? n : SUM_BLOCK);
    }
}

static void TYPED(sum_lines)(const void *job, int64_t from,
                             int64_t to) /* outputs whose last summed axis is contiguous */
{
    const sums *s = job;
    REAL *y = s->y;
    for (int64_t o = from; o < to; o++) {
        const REAL *x = (const REAL *)s->x + o / s->axes.keep[1].n * s->axes.keep[0].step +
                        o % s->axes.keep[1].n * s->axes.keep[1].step;
        double total = 0;
        for (int64_t i = 0; i < s->axes.sum[0].n; i++)
            total += TYPED(line_sum)(x + i * s->axes.sum[0].step, s->axes.sum[1].n);
        y[o] = (REAL)total;
    }
}

/* Contiguous outputs, at most SUM_WIDTH: rows are added in blocks, so that the error grows at
 * most with the root of their number. */
static void TYPED(sum_rows)(const sums *s, REAL *y, const REAL *x, int64_t width)
{
    _Alignas(64) REAL acc[SUM_WIDTH];
    int64_t rows = s->axes.sum[0].n * s->axes.sum[1].n, inner = 0;
    for (int64_t r = 0; r < rows; r += SUM_ROWS) {
        int64_t end = rows - r < SUM_ROWS ? rows : r + SUM_ROWS;
        for (int64_t j = 0; j < width; j++) acc[j] = 0;
        for (int64_t i = r; i < end; i++) {
            for (int64_t j = 0; j < width; j++) acc[j] += x[j];
            x += s->axes.sum[1].step;
            if (++inner < s->axes.sum[1].n) continue;
            inner = 0;
            x += s->axes.sum[0].step - s->axes.sum[1].n * s->axes.sum[1].step;
        }
        for (int64_t j = 0; j < width; j++) y[j] = r ? y[j] + acc[j] : acc[j];
    }
}

static void TYPED(sum_columns)(const void *job, int64_t from, int64_t to)
{
    const sums *s = job;
    int64_t chunks = (s->axes.keep[1].n + s->width - 1) / s->width;
    for (int64_t u = from; u < to; u++) {
        int64_t o = u / chunks, j = u % chunks * s->width;
        int64_t width = s->axes.keep[1].n - j < s->width ? s->axes.keep[1].n - j : s->width;
        TYPED(sum_rows)
        (s, (REAL *)s->y + o * s->axes.keep[1].n + j, (const REAL *)s->x + o * s->axes.keep[0].step + j, width);
    }
}

/* ---- SOFTMAX ---- */

/* e^x, exactly 0 for x < -87 (fp32: < -64, exp_f32), so that masked scores weigh 0 and no result is subnormal (slow).
 * Keeps NaN. */
INLINE REALS TYPED(weight)(REALS x)
{
    MASKS some = ~(x < -87);
    REALS kept = (REALS)((MASKS)x & some);
    return (REALS)((MASKS)(OF_REAL(exp)(kept) + 0 * kept) & some);
}

static void TYPED(softmax_row)(REAL *y, const REAL *x, int64_t n)
{
    const REAL never = -(REAL)INFINITY;
    REALS top[STEP], sum[STEP], v[STEP];
    EACH(i, STEP) top[i] = OF_REAL(all)(never), sum[i] = (REALS){0};
    for (int64_t j = 0; j < n; j += PLACES) {
        TYPED(load_step)(v, x + j, n - j, never);
        EACH(i, STEP) top[i] = OF_REAL(larger)(v[i], top[i]);
    }
    REAL most = OF_REAL(largest_place)(top);
    if (most == never) {
        for (int64_t j = 0; j < n; j++) y[j] = x[j] < 0 ? 0 : x[j]; /* no visible key, or NaN */
        return;
    }
    for (int64_t j = 0; j < n; j += PLACES) {
        TYPED(load_step)(v, x + j, n - j, never);
        EACH(i, STEP) sum[i] += v[i] = TYPED(weight)(v[i] - most);
        TYPED(store_step)(y + j, v, n - j);
    }
    REAL by = 1 / OF_REAL(sum_places)(sum);
    for (int64_t j = 0; j < n; j += LANES) TYPED(store_some)(y + j, TYPED(load_some)(y + j, n - j) * by, n - j);
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
    int64_t n = r->n;
    for (int64_t i = from; i < to; i++) {
        const REAL *y = (const REAL *)r->in[0] + i * n, *dy = (const REAL *)r->in[1] + i * n;
        REAL *dx = (REAL *)r->out + i * n;
        REALS sum[STEP], a[STEP], b[STEP];
        EACH(k, STEP) sum[k] = (REALS){0};
        for (int64_t j = 0; j < n; j += PLACES) {
            TYPED(load_step)(a, y + j, n - j, 0);
            TYPED(load_step)(b, dy + j, n - j, 0);
            EACH(k, STEP) sum[k] = OF_REAL(madd)(a[k], b[k], sum[k]);
        }
        REAL mean = OF_REAL(sum_places)(sum);
        for (int64_t j = 0; j < n; j += LANES) {
            REALS d = TYPED(load_some)(dy + j, n - j) - mean;
            TYPED(store_some)(dx + j, TYPED(load_some)(y + j, n - j) * d, n - j);
        }
    }
}
