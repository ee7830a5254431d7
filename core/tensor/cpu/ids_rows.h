/* ids_rows.h - template (vectors.h; S: f32 or f64): numbers by id and numbers from ids. */

/* ---- EMBEDDING_BACK: columns from .. to of the table ---- */

static void TYPED(rows_back)(const void *job, int64_t from, int64_t to)
{
    const by_id *b = job;
    REAL *table = b->y;
    const REAL *dy = b->x;
    for (int64_t i = 0; i < b->n; i++) memset(table + i * b->width + from, 0, (size_t)(to - from) * sizeof *table);
    for (int64_t i = 0; i < b->n_ids; i++) {
        REAL *restrict y = table + b->ids[i] * b->width;
        const REAL *restrict x = dy + i * b->width;
        for (int64_t j = from; j < to; j++) y[j] += x[j];
    }
}

/* ---- TO_FLOAT, RELATIVE_POSITION ---- */

static void TYPED(numbers)(const void *job, int64_t from, int64_t to)
{
    const by_id *b = job;
    REAL *y = b->y;
    for (int64_t i = from; i < to; i++) y[i] = (REAL)b->ids[i];
}
static void TYPED(gaps)(const void *job, int64_t from, int64_t to)
{
    const pairs *p = job;
    for (int64_t q = from; q < to; q++) {
        REAL *y = (REAL *)p->y + q * p->n_k;
        for (int64_t i = 0; i < p->n_k; i++) y[i] = (REAL)(p->k[i] - p->q[q]);
    }
}

/* ---- GATHER, SCATTER_ADD: rows of x [a,b,Tq,..] and ids [a or 1,b or 1,Tq,Tk] ---- */

static void TYPED(pick)(const void *job, int64_t from, int64_t to)
{
    const by_id *b = job;
    for (int64_t r = from; r < to; r++) {
        const int32_t *ids = ids_of_row(b, r);
        const REAL *x = (const REAL *)b->x + r * b->n;
        REAL *restrict y = (REAL *)b->y + r * b->width;
        for (int64_t i = 0; i < b->width; i++) y[i] = x[ids[i]];
    }
}
static void TYPED(bucket)(const void *job, int64_t from, int64_t to)
{
    const by_id *b = job;
    for (int64_t r = from; r < to; r++) {
        const int32_t *ids = ids_of_row(b, r);
        const REAL *x = (const REAL *)b->x + r * b->width;
        REAL *restrict y = (REAL *)b->y + r * b->n;
        for (int64_t i = 0; i < b->n; i++) y[i] = 0;
        for (int64_t i = 0; i < b->width; i++) y[ids[i]] += x[i];
    }
}

/* ---- MASK: rows of s [B,H,Tq,Tk] ---- */

static void TYPED(mask)(const void *job, int64_t from, int64_t to)
{
    const mask *m = job;
    for (int64_t r = from; r < to; r++) {
        const REAL *x = (const REAL *)m->s + r * m->n_k;
        REAL *y = (REAL *)m->y + r * m->n_k;
        int64_t len = m->k_len[r / (m->heads * m->n_q)];
        len = len < 0 ? 0 : len < m->n_k ? len : m->n_k;
        int32_t q = m->causal ? m->q[r % m->n_q] : INT32_MAX;
        for (int64_t i = 0; i < len; i++) y[i] = m->k[i] > q ? -(REAL)INFINITY : x[i];
        for (int64_t i = len; i < m->n_k; i++) y[i] = -(REAL)INFINITY;
    }
}
