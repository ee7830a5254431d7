/* bench_variants.c - ablate bench attention --plugin NAME: training steps with an attention or positions of that name beside the same
 * model with scaled_dot and sinusoids, in turn, so that both see the same machine. */
#include "commands/bench.h"
#include "device/device.h"
#include "model/fusion.h"
#include "plugin/plugin.h"
#include "train/train.h"
#include <stdlib.h>

typedef struct {
    model m;
    train_step *s;
    int64_t step;
    double *ms; /* of each pass over the batches */
} variant;

static int variant_open(variant *v, const bench_options *o, const char *plugin, const backend *b, err *e)
{
    bench_options mine = *o;
    mine.plugin = plugin;
    if (bench_model(&v->m, &mine, b, e)) return -1;
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
        if (train_step_gradient(v->s, &r->b[i], v->step, e) || train_step_update(v->s, (double)r->b[i].tgt_rows, v->step, e)) return -1;
        if (train_step_losses(v->s, &sums, e) < 0) return -1;
    }
    *ms = (ticks() - start) * 1e3;
    return 0;
}

static int measure(variant v[2], const recorded *r, const bench_options *o, err *e)
{
    double spent = 0, tokens = (double)(r->src_rows + r->tgt_rows) * 1e3, unused;
    int64_t done = 0;
    for (int i = 0; i < 2; i++)
        if (pass(&v[i], r, &unused, e)) return -1;
    for (; done < o->steps && (o->seconds <= 0 || spent < o->seconds); done++)
        for (int i = 0; i < 2; i++) {
            if (pass(&v[i], r, &v[i].ms[done], e)) return -1;
            spent += v[i].ms[done] / 1e3;
        }
    const char *how = model_fusion(&v[1].m, e);
    if (!how) return -1;
    double base = tokens / bench_median(v[0].ms, (size_t)done), mine = tokens / bench_median(v[1].ms, (size_t)done);
    str device = {0};
    json_string(&device, device_description(v[0].m.backend));
    printf("{\"who\":\"ablate\",\"what\":\"variant\",\"plugin\":\"%s\",\"attention\":\"%s\",\"config\":\"%s\",\"mode\":\"%s\",\"device\":%s,"
           "\"passes\":%lld,\"scaled_dot_tokens_per_s\":%.1f,\"tokens_per_s\":%.1f,\"ratio\":%.3f}\n",
           o->plugin, how, o->config, dtype_name(v[0].m.compute), str_text(&device), (long long)done, base, mine, mine / base);
    str_free(&device);
    return 0;
}

int bench_variant(const bench_options *o, err *e)
{
    dtype compute;
    recorded r = {0};
    variant v[2] = {{.step = 0}};
    const backend *b = bench_device(o, &compute, e);
    if (!b) return -1;
    int bad = variant_open(&v[0], o, NULL, b, e) || variant_open(&v[1], o, o->plugin, b, e) ||
              recorded_read(&r, o, v[0].m.tgt_vocab, on_device(b) || o->tokens, e) || measure(v, &r, o, e);
    for (int i = 0; i < 2; i++) variant_close(&v[i]);
    recorded_free(&r);
    return bad;
}
