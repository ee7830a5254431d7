/* ensemble_row.c - the mean of several models' probabilities. Compiled once per instruction set. */
#include "network/decode/log_sum.h"
#include "network/decode/select.h"
#include "base/vmath.h"
#include <math.h>
#include <string.h>

/* n logits from place `from` on as floats, filled up with -infinity to whole lanes. Returns their number. */
static int64_t widen(const opinion *o, int64_t from, int64_t n, float *v)
{
    int64_t padded = (n + LANES - 1) / LANES * LANES;
    const float *f32 = (const float *)o->logits + from;
    const bf16 *half = (const bf16 *)o->logits + from;
    const double *f64 = (const double *)o->logits + from;
    if (o->type == BF16)
        for (int64_t i = 0; i < n; i++) v[i] = from_bf16(half[i]);
    else if (o->type == F64)
        for (int64_t i = 0; i < n; i++) v[i] = (float)f64[i];
    else
        for (int64_t i = 0; i < n; i++) v[i] = f32[i];
    for (int64_t i = n; i < padded; i++) v[i] = -INFINITY;
    return padded;
}

/* e [v] = exp(logit - shift of its chunk). Returns the logarithm of the sum of all exp(logit). */
static double exponentials(const opinion *o, int64_t from, int64_t v, float *e, float *shift)
{
    log_sum whole = {-INFINITY, 0};
    for (int64_t at = 0, c = 0; at < v; at += CHUNK, c++) {
        float x[CHUNK], most[LANES], part[LANES] = {0};
        int64_t size = v - at < CHUNK ? v - at : CHUNK, n = widen(o, from + at, size, x);
        for (int l = 0; l < LANES; l++) most[l] = -INFINITY;
        for (int64_t i = 0; i < n; i += LANES)
            for (int l = 0; l < LANES; l++) most[l] = x[i + l] > most[l] ? x[i + l] : most[l];
        float top = most[0];
        for (int l = 1; l < LANES; l++) top = most[l] > top ? most[l] : top;
        shift[c] = top = top > -INFINITY ? top : 0;
        for (int64_t i = 0; i < n; i += LANES)
            for (int l = 0; l < LANES; l++) part[l] += x[i + l] = vexp_belowf(x[i + l] - top);
        memcpy(e + at, x, (size_t)size * sizeof *x);
        double all = 0;
        for (int l = 0; l < LANES; l++) all += (double)part[l];
        add_to(&whole, (double)top, all);
    }
    return whole.shift + log(whole.sum);
}

bool ensemble_mean(float *out, const opinion *of, int64_t n, int64_t row, int64_t v, float *work)
{
    float *e = work, *shift = work + v;
    bool numbers = true;
    for (int64_t k = 0; k < n; k++) {
        double less = exponentials(&of[k], row * v, v, e, shift) + log((double)n);
        numbers = numbers && !isnan(less);
        for (int64_t at = 0, c = 0; at < v; at += CHUNK, c++) {
            float share = (float)exp((double)shift[c] - less);
            int64_t end = v - at < CHUNK ? v : at + CHUNK;
            if (k)
                for (int64_t i = at; i < end; i++) out[i] += share * e[i];
            else
                for (int64_t i = at; i < end; i++) out[i] = share * e[i];
        }
    }
    return numbers;
}
