/* order_rows.h - template (vectors.h; S: f32 or f64): TOP_K, MAX, TO_IDS and RANDOM. */

/* ---- TOP_K ---- */

typedef struct {
    REAL x;
    int32_t at;
} TYPED(placed);

/* Does x come strictly before y? NaN comes before all numbers. */
static inline bool TYPED(before)(REAL x, REAL y) { return x > y || (isnan(x) && !isnan(y)); }

/* The first k of n numbers, by insertion into a sorted list; equal numbers stay in order. */
static void TYPED(few)(const REAL *x, int64_t n, bool smallest, int64_t k, TYPED(placed) * out)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        REAL v = smallest ? -x[i] : x[i];
        if (kept == k && !TYPED(before)(v, out[k - 1].x)) continue;
        int64_t j = kept < k ? kept++ : k - 1;
        for (; j > 0 && TYPED(before)(v, out[j - 1].x); j--) out[j] = out[j - 1];
        out[j] = (TYPED(placed)){v, (int32_t)i};
    }
}

/* The order of the result: equal numbers by their places. */
static inline bool TYPED(first_of)(TYPED(placed) a, TYPED(placed) b)
{
    return TYPED(before)(a.x, b.x) || (!TYPED(before)(b.x, a.x) && a.at < b.at);
}

/* Moves the first k of n to the front, in any order (Hoare's quickselect). */
static void TYPED(to_front)(TYPED(placed) * v, int64_t n, int64_t k)
{
    for (int64_t low = 0, high = n - 1; low < high;) {
        TYPED(placed) pivot = v[(low + high) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (TYPED(first_of)(v[i], pivot)) i++;
            while (TYPED(first_of)(pivot, v[j])) j--;
            if (i > j) break;
            TYPED(placed) other = v[i];
            v[i++] = v[j], v[j--] = other;
        }
        if (k - 1 > j && k - 1 < i) return;
        if (k - 1 <= j) high = j;
        if (k - 1 >= i) low = i;
    }
}

/* Merge sort of all n. Returns which of the two buffers has the result. */
static const TYPED(placed) * TYPED(sorted)(TYPED(placed) * from, TYPED(placed) * to, int64_t n)
{
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t a = 0; a < n; a += 2 * run) {
            int64_t middle = a + run < n ? a + run : n, end = a + 2 * run < n ? a + 2 * run : n, i = a, j = middle;
            for (int64_t o = a; o < end; o++)
                to[o] = i < middle && (j == end || !TYPED(first_of)(from[j], from[i])) ? from[i++] : from[j++];
        }
        TYPED(placed) *t = from;
        from = to, to = t;
    }
    return from;
}

static void TYPED(first_places)(const void *job, int64_t from, int64_t to)
{
    const ordering *o = job;
    bool few = o->k <= FEW;
    TYPED(placed) kept[FEW], *room = few ? NULL : xmalloc((size_t)(2 * o->n) * sizeof *room);
    for (int64_t r = from; r < to; r++) {
        const REAL *x = (const REAL *)o->x + r * o->n;
        const TYPED(placed) *y = kept;
        if (few) {
            TYPED(few)(x, o->n, o->smallest, o->k, kept);
        } else {
            for (int64_t i = 0; i < o->n; i++) room[i] = (TYPED(placed)){o->smallest ? -x[i] : x[i], (int32_t)i};
            if (o->k < o->n) TYPED(to_front)(room, o->n, o->k);
            y = TYPED(sorted)(room, room + o->n, o->k);
        }
        for (int64_t i = 0; i < o->k; i++) o->ids[r * o->k + i] = y[i].at;
    }
    free(room);
}

/* ---- MAX ---- */

static void TYPED(largest)(const void *job, int64_t from, int64_t to)
{
    const largest *l = job;
    for (int64_t r = from; r < to; r++) {
        const REAL *x = (const REAL *)l->x + r * l->n;
        int64_t i = 0;
        REALS most = OF_REAL(all)(-(REAL)INFINITY);
        MASKS nan = {0};
        for (; i + LANES <= l->n; i += LANES) {
            REALS v = TYPED(load)(x + i);
            nan |= v != v, most = OF_REAL(larger)(v, most);
        }
        REAL y = -(REAL)INFINITY;
        EACH(k, LANES) y = nan[k] ? (REAL)NAN : most[k] > y ? most[k] : y;
        for (; i < l->n; i++) y = isnan(x[i]) || isnan(y) ? (REAL)NAN : x[i] > y ? x[i] : y;
        ((REAL *)l->out)[r] = y;
    }
}
static void TYPED(largest_back)(const void *job, int64_t from, int64_t to)
{
    const largest *l = job;
    for (int64_t r = from; r < to; r++) {
        const REAL *x = (const REAL *)l->x + r * l->n;
        REAL y = ((const REAL *)l->y)[r], *dx = (REAL *)l->out + r * l->n;
        int64_t i = 0;
        while (i + 1 < l->n && x[i] != y && !(isnan(y) && isnan(x[i]))) i++;
        memset(dx, 0, (size_t)l->n * sizeof *dx);
        dx[i] = ((const REAL *)l->dy)[r];
    }
}

/* ---- TO_IDS ---- */

static void TYPED(whole)(const void *job, int64_t from, int64_t to)
{
    const ordering *o = job;
    for (int64_t i = from; i < to; i++) {
        double x = rint((double)((const REAL *)o->x)[i]);
        o->ids[i] = x >= -2147483648.0 && x <= 2147483647.0 ? (int32_t)x : -1;
    }
}

/* ---- RANDOM: counters from .. to, four numbers each ---- */

static void TYPED(noise)(const void *job, int64_t from, int64_t to)
{
    const noise *r = job;
    for (int64_t i = from; i < to; i++) {
        uint32_t w[4];
        double u[4];
        philox((uint32_t[4]){(uint32_t)i, (uint32_t)(i >> 32), r->place, r->step}, r->key, w);
        for (int j = 0; j < 4; j++) u[j] = ((double)(w[j] >> 9) + 0.5) / 8388608;
        for (int j = 0; j < 4 && r->normal; j += 2) {
            double radius = sqrt(-2 * log(u[j])), angle = 6.283185307179586 * u[j + 1];
            u[j] = radius * cos(angle), u[j + 1] = radius * sin(angle);
        }
        for (int j = 0; j < 4 && 4 * i + j < r->n; j++) ((REAL *)r->y)[4 * i + j] = (REAL)u[j];
    }
}
