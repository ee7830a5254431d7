/* variants.c - ablate-bench attention --plugin NAME ...: times training steps with these attentions or positions
 * and with scaled_dot and sinusoid, alternating, so that all see the same machine. */
#include "bench/program/bench.h"
#include "tensor/device/device.h"
#include "network/model/fusion.h"
#include "network/train/train.h"
#include <stdlib.h>

typedef struct {
    const char *plugin; /* NULL: scaled_dot with sinusoids */
    model m;
    train_step *s;
    int64_t step;
    double *ms; /* milliseconds of each pass over the batches */
} variant;

static int variant_open(variant *v, const bench_options *o, const backend *b, err *e)
{
    if (bench_model(&v->m, o, v->plugin, b, e)) return -1;
    v->ms = xcalloc((size_t)o->steps + 1, sizeof *v->ms);
    return (v->s = train_step_open(&v->m, e)) ? 0 : -1;
}

static void variant_close(variant *v)
{
    if (v->s) train_step_close(v->s);
    model_free(&v->m);
    free(v->ms);
}

static int pass(variant *v, const recorded *r, double *ms, err *e)
{
    double start = ticks();
    for (size_t i = 0; i < r->n; i++) {
        const double(*sums)[2];
        v->step++;
        if (train_step_gradient(v->s, &r->b[i], v->step, e) ||
            train_step_update(v->s, (double)r->b[i].tgt_rows, v->step, e))
            return -1;
        if (train_step_losses(v->s, &sums, e) < 0) return -1;
    }
    *ms = (ticks() - start) * 1e3;
    return 0;
}

/* Returns the median ratio of consecutive passes. It is more reliable than a ratio of medians, since consecutive passes
 * suffer equal disturbances. */
static double ratio_of(const variant *base, const variant *v, size_t passes)
{
    double *ratio = xmalloc(passes * sizeof *ratio);
    for (size_t i = 0; i < passes; i++) ratio[i] = base->ms[i] / v->ms[i];
    double median = stats_median(ratio, passes);
    free(ratio);
    return median;
}

static int print_variant(const variant *base, variant *v, const recorded *r, const bench_options *o, size_t passes,
                         err *e)
{
    double tokens = (double)(r->src_rows + r->tgt_rows) * 1e3, ratio = ratio_of(base, v, passes);
    const char *how = model_fusion(&v->m, NULL, e);
    if (!how) return -1;
    str device = {0};
    json_string(&device, device_description(v->m.backend));
    printf("{\"who\":\"ablate\",\"what\":\"variant\",\"plugin\":\"%s\",\"attention\":\"%s\",\"config\":\"%s\",\"mode\":"
           "\"%s\",\"device\":%s,"
           "\"passes\":%zu,\"tokens_per_s\":%.1f,\"ratio\":%.3f}\n",
           v->plugin ? v->plugin : "scaled_dot", how, o->config, dtype_name(v->m.compute), str_text(&device), passes,
           tokens / stats_median(v->ms, passes), ratio);
    str_free(&device);
    return 0;
}

static int measure(variant *v, size_t n, const recorded *r, const bench_options *o, err *e)
{
    double spent = 0, unused;
    size_t done = 0;
    for (size_t i = 0; i < n; i++)
        if (pass(&v[i], r, &unused, e)) return -1;
    for (; (int64_t)done < o->steps && (o->seconds <= 0 || spent < o->seconds); done++)
        for (size_t i = 0; i < n; i++) {
            if (pass(&v[i], r, &v[i].ms[done], e)) return -1;
            spent += v[i].ms[done] / 1e3;
        }
    /* v[0] comes last: it is the base of the others' ratios, and stats_median sorts it. */
    for (size_t i = n; i-- > 0;)
        if (print_variant(&v[0], &v[i], r, o, done, e)) return -1;
    return 0;
}

int bench_variants(const bench_options *o, err *e)
{
    dtype compute;
    recorded r = {0};
    const backend *b = bench_device(o, &compute, e);
    if (!b) return -1;
    size_t n = o->plugins.n + 1;
    variant *v = xcalloc(n, sizeof *v);
    int bad = 0;
    for (size_t i = 0; i < n && !bad; i++) {
        v[i].plugin = i ? o->plugins.at[i - 1] : NULL;
        bad = variant_open(&v[i], o, b, e);
    }
    bad = bad || bench_read(&r, o->lengths, o->seed, o->tokens, v[0].m.tgt_vocab, on_device(b) || o->tokens, e) ||
          measure(v, n, &r, o, e);
    for (size_t i = 0; i < n; i++) variant_close(&v[i]);
    free(v);
    recorded_free(&r);
    return bad;
}
