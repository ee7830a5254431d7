/* select_row.c - log sum exp and the k largest in one pass over a row; for an ensemble, the models' probabilities and
 * the largest of their means. Compiled once per instruction set. */
#include "network/decode/select.h"
#include "base/vmath.h"
#include "text/tokens/vocab.h"
#include <math.h>
#include <string.h>

/* ---- the k best so far: a heap with the worst at its root ---- */

static bool worse(choice a, choice b) { return a.logit < b.logit || (a.logit == b.logit && a.id > b.id); }

static void sink(choice *h, int64_t n, int64_t at)
{
    choice x = h[at];
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && worse(h[child + 1], h[child])) child++;
        if (!worse(h[child], x)) break;
        h[at] = h[child];
    }
    h[at] = x;
}

static int64_t offer(choice *h, int64_t n, int64_t k, choice x)
{
    if (n == k) {
        if (!worse(h[0], x)) return n;
        h[0] = x;
        sink(h, n, 0);
        return n;
    }
    int64_t at = n;
    for (int64_t up; at && worse(x, h[up = (at - 1) / 2]); at = up) h[at] = h[up];
    h[at] = x;
    return n + 1;
}

static void sort_best_first(choice *h, int64_t n)
{
    while (n > 1) {
        choice worst = h[0];
        h[0] = h[--n];
        sink(h, n, 0);
        h[n] = worst;
    }
}

/* ---- rows of each type ---- */

enum { LANES = 16, PLACES = 4 * LANES };

static void add_to(log_sum *to, double shift, double sum)
{
    if (shift > to->shift) {
        to->sum *= exp(to->shift - shift);
        to->shift = shift;
    }
    to->sum += sum * exp(shift - to->shift);
}

#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)
#define TYPED(name)  PASTE(name, S)
#define SAME(x)      (x)

#define S      f32
#define NUMBER float
#define REAL   float
#define WIDEN  SAME
#define EXP    vexp_belowf
#include "network/decode/select.inc"
#undef S
#undef NUMBER
#undef WIDEN

#define S      bf16
#define NUMBER uint16_t
#define WIDEN  from_bf16
#include "network/decode/select.inc"
#undef S
#undef NUMBER
#undef REAL
#undef WIDEN
#undef EXP

#define S      f64
#define NUMBER double
#define REAL   double
#define WIDEN  SAME
#define EXP    exp
#include "network/decode/select.inc"

/* Calls the function for the row's type. */
#define BY_TYPE(function, first, ...)                                                                                  \
    do {                                                                                                               \
        if (type == F64)                                                                                               \
            function##_f64(first, logits, __VA_ARGS__);                                                                \
        else if (type == BF16)                                                                                         \
            function##_bf16(first, logits, __VA_ARGS__);                                                               \
        else                                                                                                           \
            function##_f32(first, logits, __VA_ARGS__);                                                                \
    } while (0)

static void more(selection *s, const void *logits, dtype type, int64_t end, const uint8_t *allowed)
{
    BY_TYPE(take, s, end, allowed);
}
static void weigh_more(opinion *o, const void *logits, dtype type, int64_t end) { BY_TYPE(weigh, o, end); }

/* ---- several models ---- */

/* Sets o->largest for the mean of n models. Returns false if a logit is NaN. */
static bool weigh_chunks(const opinion *o, int64_t chunks, int64_t n)
{
    float top = -INFINITY;
    double sum = 0;
    for (int64_t c = 0; c < chunks; c++) top = o->top[c] > top ? o->top[c] : top;
    for (int64_t c = 0; c < chunks; c++) o->largest[c] = vexp_belowf(o->top[c] - top);
    for (int64_t c = 0; c < chunks; c++) sum += (double)o->largest[c] * (double)o->sum[c];
    float by = (float)(1 / (sum * (double)n));
    for (int64_t c = 0; c < chunks; c++) o->largest[c] *= by;
    return !isnan(sum);
}

/* An upper bound of the mean probabilities in a chunk. */
static double largest_mean(const opinion *const *of, int64_t n, int64_t chunk)
{
    double all = 0;
    for (int64_t k = 0; k < n; k++) all += (double)of[k]->largest[chunk];
    return all * (1 + 1e-5); /* leaves room for rounding in floats */
}

static void keep_mean(selection *s, const opinion *const *of, int64_t n, int64_t chunk, int64_t v,
                      const uint8_t *allowed)
{
    float p[CHUNK];
    int64_t at = chunk * CHUNK, size = v - at < CHUNK ? v - at : CHUNK;
    for (int64_t k = 0; k < n; k++) {
        const float *e = of[k]->e + at;
        float by = of[k]->largest[chunk];
        if (k)
            for (int64_t i = 0; i < size; i++) p[i] += by * e[i];
        else
            for (int64_t i = 0; i < size; i++) p[i] = by * e[i];
    }
    take_chunk_f32(s, p, at, size, allowed ? allowed + at : NULL);
}

/* Searches the chunk with the largest bound first: then few others can contain one of the k best. */
static bool from_all(selection *s, const opinion *const *of, int64_t n, int64_t v, const uint8_t *allowed)
{
    int64_t chunks = (v + CHUNK - 1) / CHUNK, first = 0;
    bool numbers = true;
    for (int64_t k = 0; k < n; k++) numbers &= weigh_chunks(of[k], chunks, n);
    if (!numbers) return false;
    for (int64_t c = 1; c < chunks; c++)
        if (largest_mean(of, n, c) > largest_mean(of, n, first)) first = c;
    s->probabilities = true;
    keep_mean(s, of, n, first, v, allowed);
    for (int64_t c = 0; c < chunks; c++)
        if (c != first && (s->n < s->k || largest_mean(of, n, c) >= s->best[0].logit))
            keep_mean(s, of, n, c, v, allowed);
    s->seen = v;
    return true;
}

static int64_t finish(selection *s, double *log_of_sum)
{
    *log_of_sum = s->probabilities ? 0 : s->unscored ? s->sum.sum : s->sum.shift + log(s->sum.sum);
    sort_best_first(s->best, s->n);
    while (s->probabilities && s->n && s->best[s->n - 1].logit <= 0) s->n--;
    for (int64_t i = 0; i < s->n && s->probabilities; i++)
        s->best[i].logit = vlog_normal(s->best[i].logit); /* faster than log(), which loads from a table */
    return s->n;
}

extern const select_table_t select_table;
const select_table_t select_table = {more, finish, weigh_more, from_all};
