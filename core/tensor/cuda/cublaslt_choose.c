/* cublaslt_choose.c - chooses cuBLASLt's algorithm for a shape.
 *
 * The library's heuristic names candidates, the best first, for a workspace of 32 MiB. Partial sums over k, if any, go
 * through the workspace in F32 and are added in a step of their own, so that the same product gives the same bits. The
 * first candidate is used. If ABLATE_CUBLASLT_CHOICES names a file, the file's choice for the shape is used; if it has
 * none, the fastest of TIMED candidates, which is then written to the file.
 *
 * An exact product uses one algorithm for every number of rows: one that sums over all of k at once and supports few
 * rows and many. An algorithm's attributes do not tell whether it divides k by the number of tiles ("stream-K"), which
 * would make a row's bits depend on the number of rows. So every candidate multiplies the same rows as 1, 17, 256 and
 * 640 rows, and must give equal bits. */
#if !defined GPU_ON_CPU || defined HAVE_CUBLASLT
#include "tensor/cuda/cublaslt_plan.h"
#include <stdlib.h>
#include <string.h>

enum { TIMED = 8, TIMES = 5, PROOF_ROWS = 640, PROOF_KINDS = 17 };

typedef struct {
    cublasLtMatmulAlgo_t at[3 * LT_CANDIDATES];
    int n;
} candidates;

/* ---- the heuristic's candidates ---- */

static uint32_t alignment_bytes(const lt_key *key, int which) { return 2u << (key->alignment >> 2 * which & 3); }

static cublasStatus_t prefer(const product *p, const lt_key *key, cublasLtMatmulPreference_t like)
{
    size_t workspace = LT_WORKSPACE;
    uint32_t sums = p->exact ? CUBLASLT_REDUCTION_SCHEME_NONE : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    uint32_t a = alignment_bytes(key, 0), b = alignment_bytes(key, 1), c = alignment_bytes(key, 2);
    SET(MatmulPreference, like, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
    SET(MatmulPreference, like, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, sums);
    SET(MatmulPreference, like, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, b);
    SET(MatmulPreference, like, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, a);
    SET(MatmulPreference, like, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c);
    SET(MatmulPreference, like, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c);
    return CUBLAS_STATUS_SUCCESS;
}

static lt_config config_of(const cublasLtMatmulAlgo_t *algorithm)
{
    static const cublasLtMatmulAlgoConfigAttributes_t name[LT_CONFIG] = {CUBLASLT_ALGO_CONFIG_ID,
                                                                         CUBLASLT_ALGO_CONFIG_TILE_ID,
                                                                         CUBLASLT_ALGO_CONFIG_STAGES_ID,
                                                                         CUBLASLT_ALGO_CONFIG_SPLITK_NUM,
                                                                         CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
                                                                         CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING,
                                                                         CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION,
                                                                         CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID,
                                                                         CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID};
    enum {
        NARROW = LT_CONFIG -
                 2 /* from here on attributes have two bytes: the lower half of a word on machines that run CUDA */
    };
    lt_config c;
    for (int i = 0; i < LT_CONFIG; i++) {
        uint32_t value = 0;
        size_t written = 0;
        bool known = lt.cublasLtMatmulAlgoConfigGetAttribute(algorithm, name[i], &value, i < NARROW ? 4 : 2,
                                                             &written) == CUBLAS_STATUS_SUCCESS;
        c.value[i] = known ? (int32_t)value : -1; /* -1: a library without this attribute */
    }
    return c;
}
static bool same_config(const cublasLtMatmulAlgo_t *a, const lt_config *b)
{
    lt_config x = config_of(a);
    return !memcmp(&x, b, sizeof x);
}

static bool has(const candidates *c, const cublasLtMatmulAlgo_t *algorithm)
{
    lt_config x = config_of(algorithm);
    for (int i = 0; i < c->n; i++)
        if (same_config(&c->at[i], &x)) return true;
    return false;
}

static cublasStatus_t ask(const lt_plan *x, cublasLtMatmulPreference_t like, candidates *c)
{
    cublasLtMatmulHeuristicResult_t found[LT_CANDIDATES];
    int n = 0;
    TRY(lt.cublasLtMatmulAlgoGetHeuristic(lt_handle(), x->how, x->b, x->a, x->c, x->c, like, LT_CANDIDATES, found, &n));
    for (int i = 0; i < n; i++)
        if (found[i].state == CUBLAS_STATUS_SUCCESS && !has(c, &found[i].algo)) c->at[c->n++] = found[i].algo;
    return CUBLAS_STATUS_SUCCESS;
}

/* For an exact product: candidates for EXACT_ROWS rows, then for few rows and for many. */
static cublasStatus_t ask_all(const product *p, lt_plan *x, cublasLtMatmulPreference_t like, candidates *c)
{
    static const int64_t rows[] = {16, 4096};
    TRY(prefer(p, &x->key, like));
    TRY(ask(x, like, c));
    for (size_t i = 0; p->exact && i < LENGTH(rows); i++) {
        TRY(lt_set_rows(x, rows[i]));
        ask(x, like, c); /* may find no further candidates */
    }
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- can an algorithm compute an exact product? ---- */

static bool whole_sums(const cublasLtMatmulAlgo_t *algorithm)
{
    enum { SPLITS = 3, REDUCTION = 4 };
    lt_config c = config_of(algorithm);
    return (c.value[SPLITS] == 0 || c.value[SPLITS] == 1) && c.value[REDUCTION] <= CUBLASLT_REDUCTION_SCHEME_NONE;
}

static bool for_all_rows(lt_plan *x, const cublasLtMatmulAlgo_t *algorithm)
{
    static const int64_t some[] = {1,   2,   4,   7,   8,    16,   17,   28,   32,   64,   100,
                                   128, 256, 500, 512, 1000, 1024, 2048, 4096, 8192, 65536};
    for (size_t i = 0; i < LENGTH(some); i++)
        if (lt_try_rows(x, some[i], algorithm) != CUBLAS_STATUS_SUCCESS) return false;
    return true;
}

/* ---- trials: products on the device, only for timing ---- */

typedef struct {
    product p;
    lt_plan *x;
    const cublasLtMatmulAlgo_t *algorithm;
    void *a, *c; /* memory of our own, or NULL: reads the caller's a, writes the caller's c */
} trial;

/* Random rows on the device: row i equals row i % PROOF_KINDS. */
static void *rows_that_repeat(const product *p)
{
    size_t one = dtype_size(p->type), row = (size_t)p->row_a * one, all = PROOF_ROWS * row;
    char *host = xcalloc(all, 1);
    rng r = rng_seed(1, 0);
    for (int64_t i = 0; i < PROOF_KINDS * p->row_a; i++) {
        float x = 2 * (float)rng_uniform(&r) - 1;
        if (p->type == F32)
            ((float *)host)[i] = x;
        else
            memcpy(host + 2 * i, (const char *)&x + 2, 2); /* bf16: the upper half */
    }
    for (size_t done = PROOF_KINDS * row; done < all; done += row)
        memcpy(host + done, host + done - PROOF_KINDS * row, row);
    void *device = gpu_alloc(all);
    gpu_copy_in(device, host, all);
    free(host);
    return device;
}

static trial trial_of(const product *p, lt_plan *x)
{
    trial t = {.p = *p, .x = x};
    int64_t rows = p->exact ? PROOF_ROWS : p->m;
    if (p->exact) t.p.a = t.a = rows_that_repeat(p), t.p.m = LT_EXACT_ROWS;
    if (p->exact || p->beta != 0) { /* else trials may overwrite the caller's c, which the product computes anyway */
        size_t bytes = (size_t)((p->batch - 1) * p->step_c + rows * p->row_c) * dtype_size(p->type_c);
        t.p.c = t.c = gpu_alloc(bytes);
        gpu_zero(t.c, bytes);
    }
    return t;
}
static void trial_end(trial *t)
{
    gpu_release(t->a);
    gpu_release(t->c);
}
static int run_trial(void *arg)
{
    trial *t = arg;
    if (t->p.exact && lt_set_rows(t->x, t->p.m) != CUBLAS_STATUS_SUCCESS) return -1;
    return lt_multiply(&t->p, t->x, t->algorithm) == CUBLAS_STATUS_SUCCESS ? 0 : -1;
}

/* For several numbers of rows: do the first PROOF_KINDS rows, and their copies at the end, get equal bits? */
static bool same_bits(trial *t)
{
    static const int64_t some[] = {PROOF_ROWS, 1, PROOF_KINDS, LT_EXACT_ROWS};
    size_t row = (size_t)t->p.row_c * dtype_size(t->p.type_c), used = (size_t)t->p.n * dtype_size(t->p.type_c);
    size_t bytes = PROOF_KINDS * row;
    char *expected = xmalloc(bytes), *found = xmalloc(bytes);
    bool same = true;
    for (size_t i = 0; i < LENGTH(some) && same; i++) {
        int64_t last = some[i] >= PROOF_KINDS ? some[i] - PROOF_KINDS : 0,
                n = some[i] < PROOF_KINDS ? some[i] : PROOF_KINDS;
        t->p.m = some[i];
        if (t->p.beta != 0) gpu_zero(t->c, PROOF_ROWS * row);
        same = !run_trial(t) && !gpu_copy_out(i ? found : expected, t->c, (size_t)n * row);
        for (int64_t j = 0; j < n && same; j++)
            same = i == 0 || !memcmp(found + (size_t)j * row, expected + (size_t)j * row, used);
        if (same) same = !gpu_copy_out(found, (char *)t->c + (size_t)last * row, (size_t)n * row);
        for (int64_t j = 0; j < n && same; j++)
            same = !memcmp(found + (size_t)j * row, expected + (size_t)((last + j) % PROOF_KINDS) * row, used);
    }
    t->p.m = LT_EXACT_ROWS;
    free(expected);
    free(found);
    return !gpu_forgive() && same;
}

/* Removes candidates that cannot compute an exact product. During capture, bits cannot be compared; the log says so. */
static void keep_exact(const product *p, lt_plan *x, candidates *c)
{
    bool may_try = !gpu_capturing();
    if (!may_try)
        log_line(LOG_WARN,
                 "cuBLASLt: an algorithm for products with n %lld, k %lld was not tested on several numbers of rows",
                 (long long)p->n, (long long)p->k);
    trial t = may_try ? trial_of(p, x) : (trial){0};
    int n = 0, asked = c->n;
    for (int i = 0; i < c->n; i++) {
        if (!whole_sums(&c->at[i]) || !for_all_rows(x, &c->at[i])) continue;
        t.algorithm = &c->at[i];
        if (may_try && !same_bits(&t)) continue;
        c->at[n++] = c->at[i];
        if (n == TIMED || !lt_keeps_choices()) break; /* enough */
    }
    c->n = n;
    if (may_try) trial_end(&t);
    if (!n)
        log_line(LOG_WARN,
                 "cuBLASLt: none of %d algorithms for products with n %lld, k %lld gives rows the same bits for every "
                 "number of rows; using our own "
                 "kernels instead",
                 asked, (long long)p->n, (long long)p->k);
}

/* ---- the fastest ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Milliseconds of one product, the median of TIMES; -1 when it fails. */
static double time_of(trial *t)
{
    double ms[TIMES];
    if (run_trial(t)) return -1; /* also loads its code */
    for (int i = 0; i < TIMES; i++)
        if ((ms[i] = gpu_milliseconds(run_trial, t)) < 0) return -1;
    qsort(ms, TIMES, sizeof *ms, ascending);
    return ms[TIMES / 2];
}

static void move_first(candidates *c, int i)
{
    cublasLtMatmulAlgo_t best = c->at[i];
    memmove(&c->at[1], &c->at[0], (size_t)i * sizeof c->at[0]);
    c->at[0] = best;
}

static bool load_kept(const lt_plan *x, candidates *c)
{
    const lt_config *kept = lt_kept_choice(&x->key);
    for (int i = 0; i < c->n && kept; i++)
        if (same_config(&c->at[i], kept)) {
            move_first(c, i);
            return true;
        }
    return false;
}

static void time_and_keep(const product *p, lt_plan *x, candidates *c)
{
    double ms[TIMED];
    int n = c->n < TIMED ? c->n : TIMED, best = -1;
    trial t = trial_of(p, x);
    for (int i = 0; i < n; i++) {
        t.algorithm = &c->at[i];
        ms[i] = time_of(&t);
        if (ms[i] < 0 && gpu_forgive()) break;
        if (ms[i] >= 0 && (best < 0 || ms[i] < ms[best])) best = i;
    }
    trial_end(&t);
    if (best < 0) return;
    lt_config chosen = config_of(&c->at[best]);
    lt_keep_choice(&x->key, &chosen, ms[best], ms, n);
    move_first(c, best);
}

/* Chooses the file's algorithm; if it has none, times candidates and writes the fastest to the file. */
static void prefer_fastest(const product *p, lt_plan *x, candidates *c)
{
    if (!c->n || load_kept(x, c) || gpu_capturing()) return;
    int file = lt_lock_choices();
    if (!load_kept(x, c)) time_and_keep(p, x, c); /* another program may have timed it before the lock */
    lt_unlock_choices(file);
}

cublasStatus_t lt_choose(const product *p, lt_plan *x)
{
    candidates c = {.n = 0};
    cublasLtMatmulPreference_t like = NULL;
    TRY(lt.cublasLtMatmulPreferenceCreate(&like));
    cublasStatus_t s = ask_all(p, x, like, &c);
    lt.cublasLtMatmulPreferenceDestroy(like);
    if (s != CUBLAS_STATUS_SUCCESS) return s;
    if (p->exact) keep_exact(p, x, &c);
    if (lt_keeps_choices()) prefer_fastest(p, x, &c);
    x->algorithm = xcalloc((size_t)c.n + 1, sizeof *x->algorithm);
    memcpy(x->algorithm, c.at, (size_t)c.n * sizeof *c.at);
    x->n = c.n;
    if (p->exact) x->m = -1; /* trials left other numbers of rows in the layouts */
    return CUBLAS_STATUS_SUCCESS;
}
#endif
