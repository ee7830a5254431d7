/* ensemble_row.c - several models as one: what each makes of a row, and the mean of their probabilities. Compiled once
 * per instruction set. */
#include "network/decode/log_sum.h"
#include "network/decode/select.h"
#include "base/vmath.h"
#include <math.h>
#include <string.h>

/* n logits as floats, filled up with -infinity to whole lanes: where they are, or in `room`. *padded: their number. */
static const float *widen(const void *logits, dtype type, int64_t from, int64_t n, float *room, int64_t *padded)
{
    const float *f32 = (const float *)logits + from;
    const bf16 *half = (const bf16 *)logits + from;
    const double *f64 = (const double *)logits + from;
    *padded = (n + LANES - 1) / LANES * LANES;
    if (type == F32 && n == *padded) return f32;
    if (type == BF16)
        for (int64_t i = 0; i < n; i++) room[i] = from_bf16(half[i]);
    else if (type == F64)
        for (int64_t i = 0; i < n; i++) room[i] = (float)f64[i];
    else
        for (int64_t i = 0; i < n; i++) room[i] = f32[i];
    for (int64_t i = n; i < *padded; i++) room[i] = -INFINITY;
    return room;
}

static float largest(const float *v, int64_t n)
{
    float most[4 * LANES];
    for (int l = 0; l < 4 * LANES; l++) most[l] = -INFINITY;
    int64_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        for (int l = 0; l < 4 * LANES; l++) most[l] = v[i + l] > most[l] ? v[i + l] : most[l];
    for (; i < n; i += LANES)
        for (int l = 0; l < LANES; l++) most[l] = v[i + l] > most[l] ? v[i + l] : most[l];
    for (int half = 2 * LANES; half; half /= 2)
        for (int l = 0; l < half; l++) most[l] = most[l + half] > most[l] ? most[l + half] : most[l];
    return most[0];
}

/* e [n] = exp(v - top); returns their sum. */
static double exponentials(const float *v, int64_t n, float top, float *restrict e)
{
    float part[LANES] = {0};
    double all = 0;
    for (int64_t i = 0; i < n; i += LANES)
        for (int l = 0; l < LANES; l++) part[l] += e[i + l] = vexp_belowf(v[i + l] - top);
    for (int l = 0; l < LANES; l++) all += (double)part[l];
    return all;
}

void ensemble_weigh(opinion *o, const void *logits, dtype type, int64_t end)
{
    int64_t from = o->seen;
    for (int64_t at = from, n; at < end; at += CHUNK) {
        float room[CHUNK], e[CHUNK];
        int64_t size = end - at < CHUNK ? end - at : CHUNK;
        const float *v = widen(logits, type, at - from, size, room, &n);
        float most = largest(v, n), top = most > -INFINITY ? most : 0; /* keeps NaN */
        o->top[at / CHUNK] = top;
        add_to(&o->sum, (double)top, exponentials(v, n, top, n == size ? o->e + at : e));
        if (n != size) memcpy(o->e + at, e, (size_t)size * sizeof *e);
    }
    o->seen = end;
}

void ensemble_mean(float *p, const opinion *const *of, const double *share, int64_t n, int64_t at, int64_t size)
{
    for (int64_t k = 0; k < n; k++) {
        const float *e = of[k]->e + at;
        float by = (float)share[k];
        if (k)
            for (int64_t i = 0; i < size; i++) p[i] += by * e[i];
        else
            for (int64_t i = 0; i < size; i++) p[i] = by * e[i];
    }
}
