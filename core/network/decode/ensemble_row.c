/* ensemble_row.c - several models as one: what each makes of a row, and the mean of their probabilities. Compiled once
 * per instruction set. */
#include "network/decode/log_sum.h"
#include "network/decode/select.h"
#include "base/vmath.h"
#include <math.h>
#include <string.h>

/* n logits as floats, filled up with -infinity to whole lanes. Returns their number. */
static int64_t widen(const void *logits, dtype type, int64_t from, int64_t n, float *v)
{
    int64_t padded = (n + LANES - 1) / LANES * LANES;
    const float *f32 = (const float *)logits + from;
    const bf16 *half = (const bf16 *)logits + from;
    const double *f64 = (const double *)logits + from;
    if (type == BF16)
        for (int64_t i = 0; i < n; i++) v[i] = from_bf16(half[i]);
    else if (type == F64)
        for (int64_t i = 0; i < n; i++) v[i] = (float)f64[i];
    else
        for (int64_t i = 0; i < n; i++) v[i] = f32[i];
    for (int64_t i = n; i < padded; i++) v[i] = -INFINITY;
    return padded;
}

void ensemble_weigh(opinion *o, const void *logits, dtype type, int64_t end)
{
    int64_t from = o->seen;
    for (int64_t at = from; at < end; at += CHUNK) {
        float x[CHUNK], most[LANES], part[LANES] = {0};
        int64_t size = end - at < CHUNK ? end - at : CHUNK, n = widen(logits, type, at - from, size, x);
        for (int l = 0; l < LANES; l++) most[l] = -INFINITY;
        for (int64_t i = 0; i < n; i += LANES)
            for (int l = 0; l < LANES; l++) most[l] = x[i + l] > most[l] ? x[i + l] : most[l];
        float top = most[0];
        for (int l = 1; l < LANES; l++) top = most[l] > top ? most[l] : top;
        o->top[at / CHUNK] = top = top > -INFINITY ? top : 0;
        for (int64_t i = 0; i < n; i += LANES)
            for (int l = 0; l < LANES; l++) part[l] += x[i + l] = vexp_belowf(x[i + l] - top);
        memcpy(o->e + at, x, (size_t)size * sizeof *x);
        double all = 0;
        for (int l = 0; l < LANES; l++) all += (double)part[l];
        add_to(&o->sum, (double)top, all);
    }
    o->seen = end;
}

void ensemble_mean(float *p, const opinion *const *of, const double *log_sum, int64_t n, int64_t at, int64_t size)
{
    for (int64_t k = 0; k < n; k++) {
        const float *e = of[k]->e + at;
        float share = (float)(exp((double)of[k]->top[at / CHUNK] - log_sum[k]) / (double)n);
        if (k)
            for (int64_t i = 0; i < size; i++) p[i] += share * e[i];
        else
            for (int64_t i = 0; i < size; i++) p[i] = share * e[i];
    }
}
