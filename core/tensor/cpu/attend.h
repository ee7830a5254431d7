/* attend.h - scaled dot-product attention on packed rows (Vaswani et al. 2017, section 3.2): arguments of its kernels.
 *
 * A thread processes one (sentence, head) at a time in its own memory; the score matrix never leaves the cache. The
 * backward pass recomputes the probabilities from the log-sum-exp of each row (Dao et al. 2022).
 */
#ifndef ABLATE_CPU_ATTEND_H
#define ABLATE_CPU_ATTEND_H
#include "tensor/cpu/fused.h"
#include "tensor/graph/score.h"
#include "tensor/graph/backend.h"

enum { QUERIES = 32 }; /* queries processed at a time */

typedef struct {
    void *data;
    int64_t stride;
} columns; /* data: head 0's first column in row 0; stride: elements from row to row */
/* Conversions between stored rows and the rows in f32 (f64 for f64) that attention computes: attend_rows.c. `take`
 * copies rows r0 .. r0 + n of head h, `width` columns, to lines `stride` apart; `turn` copies them transposed, [width,
 * padded], with zeros behind column n; `give` copies lines back to rows. */
typedef struct {
    bool in_place; /* rows have the type of the computation: whole vectors need no copy */
    void (*take)(const columns *x, int64_t r0, int64_t n, int64_t h, int64_t width, void *to, int64_t stride);
    void (*turn)(const columns *x, int64_t r0, int64_t n, int64_t h, int64_t width, void *to, int64_t padded);
    void (*give)(const columns *x, int64_t r0, int64_t n, int64_t h, int64_t width, const void *from, int64_t stride);
} row_kind;
const row_kind *rows_as(dtype type);
typedef struct {
    int32_t from, to; /* keys from .. to - 1 */
} key_range;
typedef struct { /* adjacent keys, computed for a block of queries */
    key_range keys;
    uint32_t sees; /* bit q: query q may see these keys */
} key_run;
typedef struct {
    int64_t from, to, next; /* keys from .. to - 1; index of the next run */
} key_span;
typedef struct { /* additional arguments of a score program (graph/score.h) */
    const score_program *program;
    view leaf[SCORE_LEAVES];
    const int32_t *ids; /* [times[0], times[1]] */
    int64_t times[2];   /* longest sentences of queries, of keys */
    view counts;        /* forward: weights summed by id; backward: their gradient. data NULL: not needed */
    int64_t chunks;     /* chunks of sentences whose leaf gradients are summed separately */
    struct {
        void *data; /* NULL: not needed */
        /* size: numbers per (sentence or chunk, head); row: numbers from key to key if the leaf has both time axes;
         * line: numbers from line to line otherwise */
        int64_t size, row, line;
    } sum[SCORE_LEAVES];
    bool sums; /* is at least one of these sums needed? */
    /* tables of vectors by id, for keys (times their scale) and values, zero-padded: rows [n][line], turned [d][ids] */
    struct {
        void *rows, *turned;
        int64_t n, d, ids, line; /* ids, line: n and d rounded up to whole vectors of any type */
    } table[2];
    key_range *window; /* [sentences][times[0]]: keys visible to each query; NULL: all (if causal: up to the query) */
} score_args;
typedef struct {
    int64_t n_sentences, heads, maps, d_k, d_v; /* maps: softmaxes per head (graph/score.h) */
    const int32_t *q_off, *k_off;               /* [n_sentences + 1] first rows */
    const row_kind *rows;                       /* how q, k, v, y and their gradients are stored */
    columns q, k, v, y;
    columns dq, dk, dv, dy; /* backward */
    void *lse;              /* [rows, maps, heads] */
    bool causal;
    double scale;
    dropout drop;
    const score_args *score; /* NULL: none */
} attend_args;
typedef struct {
    int64_t sentence, head;
    int64_t q0, nq, k0, nk;
} attend_item; /* first rows, numbers of rows */

/* Query t sees keys 0 .. n - 1. */
static inline int64_t visible(const attend_args *a, int64_t t, int64_t nk)
{
    return a->causal && t + 1 < nk ? t + 1 : nk;
}

/* The windows of a sentence's queries; NULL if there are no windows. */
static inline const key_range *windows_of(const attend_args *a, const attend_item *it)
{
    const score_args *s = a->score;
    return s && s->window ? s->window + it->sentence * s->times[0] : NULL;
}

/* Returns the maximum number of runs of keys of a block of queries if blocks of keys are chosen. */
static inline int64_t most_runs(const attend_args *a, int64_t nk)
{
    const score_program *f = a->score ? a->score->program : NULL;
    return f && f->block && nk ? (nk - 1) / f->block + 1 : 0;
}

/* Bytes of most_runs() runs and of two words per block of keys. */
static inline size_t runs_bytes(const attend_args *a, int64_t nk)
{
    return (size_t)most_runs(a, nk) * (sizeof(key_run) + 2 * sizeof(uint32_t));
}

static inline int64_t chunk_of(const score_args *s, int64_t sentence, int64_t n_sentences)
{
    return sentence * s->chunks / n_sentences;
}
/* Index of the sum that collects a (sentence, head)'s part of the gradient of leaf k. */
static inline int64_t sum_place(const attend_args *a, int k, const attend_item *it)
{
    const score_args *s = a->score;
    return (s->leaf[k].dim[0] > 1 ? it->sentence : chunk_of(s, it->sentence, a->n_sentences)) * a->heads + it->head;
}

/* Index of a row's first key among dropout's elements (op.h). */
static inline uint64_t first_element(const attend_args *a, int64_t row, int64_t head)
{
    return (uint64_t)(row * a->heads + head) * ATTEND_KEYS;
}

/* Words for dropout's decisions on a block of queries and nk keys: a bit per key, DROPOUT_ROWS queries side by side. */
static inline int64_t decision_words(int64_t nk)
{
    return (QUERIES + DROPOUT_ROWS - 1) / DROPOUT_ROWS * ((nk + 31) / 32) * DROPOUT_ROWS;
}

enum { TABLE_KEYS, TABLE_VALUES };
static inline int64_t whole_line(int64_t n) { return (n + 15) / 16 * 16; }
/* Numbers by id of a block of queries: products with the keys' table, sums for the values' table, and gradients */
static inline int64_t table_numbers(const attend_args *a)
{
    return a->score ? 2 * QUERIES * (a->score->table[TABLE_KEYS].ids + a->score->table[TABLE_VALUES].ids) : 0;
}

/* Does anything but the scale change the scores before the softmax? True also for a window: its scores are then scaled
 * like the scores of a program that hides the same keys, so that both give equal bits. */
static inline bool runs_program(const attend_args *a)
{
    const score_program *f = a->score ? a->score->program : NULL;
    return f && (f->n_steps || f->keys >= 0 || f->window >= 0 || f->weights != WEIGHTS_SOFTMAX);
}

/* Does a score's weight depend on that score alone? */
static inline bool weighs_each(const attend_args *a) { return a->score && a->score->program->weights == WEIGHTS_PLAIN; }
/* Number of a block's nk keys processed at a time: all if weights depend on all scores, or if there are tables. */
static inline int64_t keys_at_once(const attend_args *a, int64_t nk)
{
    enum { PART = 128 };
    bool all = !weighs_each(a) || a->score->table[0].rows || a->score->table[1].rows;
    return all || nk < PART ? nk : PART;
}

enum { CHUNK = 2048 };                                      /* numbers of a program's value processed at a time */
static inline int64_t program_numbers(const attend_args *a) /* room for program values and scores of both passes */
{
    return a->score ? (int64_t)(1 + SCORE_LEAVES + a->score->program->n_steps) * CHUNK : 0;
}

/* bf16 rows with AMX tiles, if tiles_usable(): attend_tiles.c */
void attend_tiles(const attend_args *a, const attend_item *it);
void attend_tiles_back(const attend_args *a, const attend_item *it);
#endif
