/* ensemble.c - the mean of several models' probabilities. */
#include "network/decode/ensemble.h"
#include "base/vmath.h"
#include <math.h>

static float at(const opinion *o, int64_t i)
{
    if (o->type == BF16) return from_bf16(((const bf16 *)o->logits)[i]);
    return o->type == F64 ? (float)((const double *)o->logits)[i] : ((const float *)o->logits)[i];
}

void ensemble_row(float *out, const opinion *of, int64_t n, int64_t row, int64_t v)
{
    for (int64_t i = 0; i < v; i++) out[i] = 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t from = row * v;
        float top = at(&of[k], from);
        double sum = 0;
        for (int64_t i = 1; i < v; i++) top = fmaxf(top, at(&of[k], from + i));
        for (int64_t i = 0; i < v; i++) sum += (double)vexpf(at(&of[k], from + i) - top);
        float less = top + (float)log(sum * (double)n);
        for (int64_t i = 0; i < v; i++) out[i] += vexpf(at(&of[k], from + i) - less);
    }
    for (int64_t i = 0; i < v; i++) out[i] = logf(out[i]);
}
