/* train.c - ablate-bench train: speed of training steps at recorded batch lengths. Times blocks of steps, from
 * the host's call of the first to the arrival of the last one's loss. On a CPU a block is one step. On a device, which
 * works asynchronously, it is a pass over all batches of the file, unless --wait changes it: waiting after each step
 * measures a step's latency, including the host's work. */
#include "base/base.h"
#include "tensor/cpu/floor.h"
#include "bench/program/bench.h"
#include "tensor/device/device.h"
#include "network/train/train.h"
#include "tensor/graph/profile.h"
#include <stdlib.h>
#include <sys/resource.h>

typedef struct {
    train_step *s;
    const recorded *r;
    int64_t step; /* steps done */
    size_t at;    /* the next batch */
    double loss;  /* with label smoothing, per target token of the last batch */
} trainer;

/* Runs `n` steps, then reads their losses. */
static int steps(trainer *t, int64_t n, err *e)
{
    const double(*sums)[2];
    const batch *b = NULL;
    for (int64_t i = 0; i < n; i++) {
        b = &t->r->b[t->at];
        t->at = (t->at + 1) % t->r->n;
        t->step++;
        if (train_step_gradient(t->s, b, t->step, e) || train_step_update(t->s, (double)b->tgt_rows, t->step, e))
            return -1;
    }
    int64_t got = train_step_losses(t->s, &sums, e);
    if (got < 0) return -1;
    if (got != n) return fail(e, "found losses of %lld steps, expected %lld", (long long)got, (long long)n);
    if (n) t->loss = sums[n - 1][0] / (double)b->tgt_rows;
    return 0;
}

static int64_t steps_of_block(const bench_options *o, const backend *b, size_t batches)
{
    bool pass = o->wait ? same(o->wait, "pass") : on_device(b);
    return !pass ? 1 : batches < STEPPER_PENDING ? (int64_t)batches : STEPPER_PENDING;
}

/* Runs steps until every shape is planned and, on a device, captured as a graph. The first run of a shape loads
 * kernels, the second is captured; a workspace that grows discards earlier graphs. */
static int warm_up(trainer *t, const bench_options *o, bool device, err *e)
{
    int64_t n = device ? 3 * (int64_t)t->r->n : 0;
    for (n = n > o->warmup ? n : o->warmup; n > 0; n--)
        if (steps(t, 1, e)) return -1;
    t->at = 0;
    return 0;
}

static void add_sizes(const trainer *t, const model *m, int64_t block, double *src, double *tgt, double *flops)
{
    for (int64_t i = 0; i < block; i++) {
        const batch *b = &t->r->b[(t->at + (size_t)i) % t->r->n];
        *src += (double)b->src_rows, *tgt += (double)b->tgt_rows;
        *flops += model_flops(m, (double)b->src_rows, (double)b->tgt_rows);
    }
}

static int measure(trainer *t, model *m, const bench_options *o, err *e)
{
    int64_t block = steps_of_block(o, m->backend, t->r->n), blocks = (o->steps + block - 1) / block, done = 0;
    double src = 0, tgt = 0, spent = 0, flops = 0, began = ticks();
    if (warm_up(t, o, on_device(m->backend), e)) return -1;
    double warm = ticks() - began, late = bench_start(o);
    double *ms = xcalloc((size_t)blocks + 1, sizeof *ms);
    int bad = 0;
    profile_enable(o->profile);
    for (; !bad && done < blocks && (o->seconds <= 0 || spent < o->seconds); done++) {
        add_sizes(t, m, block, &src, &tgt, &flops);
        double start = ticks();
        bad = steps(t, block, e);
        double took = ticks() - start;
        ms[done] = took * 1e3 / (double)block;
        spent += took;
    }
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    str device = {0};
    json_string(&device, device_description(m->backend));
    if (!bad)
        printf(
            "{\"who\":\"ablate\",\"what\":\"train\",\"config\":\"%s\",\"mode\":\"%s\",\"device\":%s,\"steps\":%lld,"
            "\"block\":%lld,"
            "\"seconds\":%.3f,\"ms_per_step\":%.4f,\"tokens_per_s\":%.1f,\"target_tokens_per_s\":%.1f,\"gflops\":%.1f,"
            "\"warm_s\":%.2f,\"late_s\":%.2f,\"peak_rss_mb\":%.1f,\"loss\":%.5f,\"threads\":%lld,\"vocab\":%lld,"
            "\"parameters\":%lld}\n",
            o->config, dtype_name(m->compute), str_text(&device), (long long)(done * block), (long long)block, spent,
            stats_median(ms, (size_t)done), (src + tgt) / spent, tgt / spent, flops / spent * 1e-9, warm, late,
            (double)use.ru_maxrss / 1024, t->loss, (long long)o->threads, (long long)m->tgt_vocab,
            (long long)params_count(&m->params));
    if (o->profile) {
        double rate = 0, bytes = 0;
        if (!on_device(m->backend)) cpu_floors(&rate, &bytes);
        profile_print(stderr, rate, bytes);
    }
    str_free(&device);
    free(ms);
    return bad;
}

int bench_train(const bench_options *o, err *e)
{
    dtype compute;
    recorded r = {0};
    model m = {0};
    const backend *b = bench_device(o, &compute, e);
    if (o->plugins.n > 1)
        return fail(e, "--plugin: ablate-bench train takes only one; ablate-bench attention compares several");
    if (!b || bench_model(&m, o, o->plugins.n ? o->plugins.at[0] : NULL, b, e)) return -1;
    int bad = bench_read(&r, o->lengths, o->seed, o->tokens, m.tgt_vocab, on_device(b) || o->tokens, e);
    trainer t = {.r = &r};
    if (!bad) bad = !(t.s = train_step_open(&m, e));
    if (!bad) bad = measure(&t, &m, o, e);
    train_step_close(t.s);
    model_free(&m);
    recorded_free(&r);
    return bad;
}
