/* axis.c - scales and their ticks. */
#include "lab/draw/chart.h"
#include <math.h>

double scale_at(const scale *s, double v)
{
    if (!isfinite(v) || (s->logarithmic && v <= 0)) return NAN;
    double share = s->logarithmic ? (log(v) - log(s->lo)) / (log(s->hi) - log(s->lo)) : (v - s->lo) / (s->hi - s->lo);
    return s->from + share * (s->to - s->from);
}

/* Returns 1, 2 or 5 times a power of ten, so that about `n` such steps make up `span`. */
static double round_step(double span, size_t n)
{
    double raw = span / (double)n, power = pow(10, floor(log10(raw))), m = raw / power;
    return power * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
}

/* Writes 20000 as 20k, 65000000 as 65M, with as many decimals as neighbouring ticks need to differ. */
static void tick_text(double v, double step, char out[24])
{
    static const struct {
        double from;
        const char *sign;
    } units[] = {{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}};
    if (fabs(v) < step / 1e6) v = 0;
    const char *sign = "";
    for (size_t i = 0; i < LENGTH(units); i++)
        if (fabs(v) >= units[i].from && fabs(v) < 1e21) {
            double unit = units[i].from == 1e4 ? 1e3 : units[i].from;
            v /= unit, step /= unit, sign = units[i].sign;
            break;
        }
    int digits = step > 0 ? (int)ceil(-log10(step) - 1e-9) : 0;
    if (fabs(v) >= 1e5 || (v != 0 && fabs(v) < 1e-4))
        snprintf(out, 24, "%.3g%s", v, sign);
    else
        snprintf(out, 24, "%s%.*f%s", v < 0 ? "\u2212" : "", digits < 0 ? 0 : digits > 6 ? 6 : digits, fabs(v), sign);
}

static size_t linear_ticks(const scale *s, size_t about, tick *out, size_t cap)
{
    size_t n = 0;
    double step = round_step(s->hi - s->lo, about);
    for (double v = ceil(s->lo / step - 1e-9) * step; v <= s->hi + step * 1e-9 && n < cap; v += step) {
        out[n].value = v;
        tick_text(v, step, out[n++].text);
    }
    return n;
}

size_t scale_ticks(const scale *s, size_t about, tick *out, size_t cap)
{
    if (!(s->hi > s->lo)) return 0;
    if (!s->logarithmic || s->hi / s->lo < 3) return linear_ticks(s, about, out, cap);
    static const double few[] = {1}, some[] = {1, 3}, all[] = {1, 2, 5};
    double decades = log10(s->hi / s->lo);
    const double *parts = decades * 3 <= (double)about + 2 ? all : decades * 2 <= (double)about + 2 ? some : few;
    size_t n_parts = parts == all ? 3 : parts == some ? 2 : 1, n = 0;
    int every = 1 + (int)(decades / (double)(about + 1));
    for (int power = (int)floor(log10(s->lo)); power <= (int)ceil(log10(s->hi)); power += every)
        for (size_t i = 0; i < n_parts && n < cap; i++) {
            double v = parts[i] * pow(10, power);
            if (v < s->lo * (1 - 1e-9) || v > s->hi * (1 + 1e-9)) continue;
            out[n].value = v;
            tick_text(v, pow(10, power), out[n++].text);
        }
    return n;
}
