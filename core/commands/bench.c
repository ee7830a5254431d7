/* bench.c - ablate bench: its options, and what the measurements share. */
#include "commands/bench.h"
#include "device/device.h"
#include "run.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the models ---- */

typedef struct {
    const char *name, *d_model, *d_ff, *heads, *layers;
    int64_t vocab;
} shape;
static const shape shapes[] = {{"tiny", "128", "256", "4", "4", 10000},
                               {"small", "256", "1024", "4", "3", 10000},
                               {"base", "512", "2048", "8", "6", 37000},
                               {"big", "1024", "4096", "16", "6", 37000}};

static const shape *shape_of(const bench_options *o, err *e)
{
    for (size_t i = 0; i < LENGTH(shapes); i++)
        if (same(o->config, shapes[i].name)) return &shapes[i];
    fail(e, "--config %s: expected tiny, small, base or big", o->config);
    return NULL;
}

const backend *bench_device(const bench_options *o, dtype *compute, err *e)
{
    bool bf16 = same(o->precision, "bf16");
    if (!bf16 && !same(o->precision, "fp32")) {
        fail(e, "--precision %s: expected bf16 or fp32", o->precision);
        return NULL;
    }
    const backend *b = device_open(o->device, e);
    *compute = bf16 ? BF16 : F32;
    return b;
}

int bench_model(model *m, const bench_options *o, const backend *b, err *e)
{
    const shape *s = shape_of(o, e);
    if (!s) return -1;
    arena a = {0};
    settings set = {0};
    int64_t vocab = o->vocab ? o->vocab : s->vocab;
    for (const ab_param *p = config_params; p->name; p++) settings_put(&set, p->name, param_default(p, &a), &a);
    settings_put(&set, "d_model", s->d_model, &a);
    settings_put(&set, "d_ff", s->d_ff, &a);
    settings_put(&set, "heads", s->heads, &a);
    settings_put(&set, "layers", s->layers, &a);
    int bad = model_open(m, &set, vocab, vocab, same(o->precision, "bf16") ? BF16 : F32, b, e);
    arena_free(&a);
    return bad;
}

/* ---- time ---- */

double bench_start(const bench_options *o)
{
    double left = o->start_at - now();
    if (o->start_at <= 0) return 0;
    if (left < 0) return -left;
    struct timespec t = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
    nanosleep(&t, NULL);
    return 0;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double bench_median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, ascending);
    return n ? (v[n / 2] + v[(n - 1) / 2]) / 2 : 0;
}

/* ---- options ---- */

static const char *const usage =
    "usage: ablate bench train --lengths FILE [--config tiny|small|base|big] [--precision bf16|fp32] [--device cpu|cuda|cuda:N]\n"
    "                          [--steps N] [--warmup N] [--seconds S] [--wait each|pass] [--tokens N] [--vocab N] [--threads N]\n"
    "                          [--seed N] [--start-at TIME] [--profile]\n"
    "       ablate bench decode --lengths FILE [--beam N] [--batch N] [and --config ... as above]\n"
    "       ablate bench attention --lengths FILE [--role encoder|decoder|cross] [--heads N] [--d-k N] [and --precision ...]\n"
    "FILE has a batch a line, its sentence pairs as source:target lengths in tokens, EOS counted (bench/make_lengths.py).\n";

static const struct {
    const char *name;
    int (*run)(const bench_options *o, err *e);
} measurements[] = {{"train", bench_train}, {"decode", bench_decode}, {"attention", bench_attention}};

static int take(bench_options *o, const char *name, const char *value, err *e)
{
    if (!value) return fail(e, "%s wants a value", name);
    struct {
        const char *name;
        const char **at;
    } texts[] = {{"--config", &o->config}, {"--lengths", &o->lengths}, {"--precision", &o->precision},
                 {"--device", &o->device}, {"--wait", &o->wait},       {"--role", &o->role}};
    struct {
        const char *name;
        int64_t *at, least;
    } numbers[] = {{"--steps", &o->steps, 1},   {"--warmup", &o->warmup, 0}, {"--threads", &o->threads, 0}, {"--vocab", &o->vocab, 16},
                   {"--tokens", &o->tokens, 1}, {"--seed", &o->seed, 0},     {"--beam", &o->beam, 1},       {"--batch", &o->batch, 1},
                   {"--heads", &o->heads, 1},   {"--d-k", &o->d_k, 1}};
    struct {
        const char *name;
        double *at;
    } reals[] = {{"--seconds", &o->seconds}, {"--start-at", &o->start_at}};
    for (size_t i = 0; i < LENGTH(texts); i++)
        if (same(name, texts[i].name)) return *texts[i].at = value, 0;
    for (size_t i = 0; i < LENGTH(numbers); i++)
        if (same(name, numbers[i].name)) {
            if (parse_int(value, numbers[i].at) && *numbers[i].at >= numbers[i].least) return 0;
            return fail(e, "%s %s: expected a whole number from %lld on", name, value, (long long)numbers[i].least);
        }
    for (size_t i = 0; i < LENGTH(reals); i++)
        if (same(name, reals[i].name))
            return parse_real(value, reals[i].at) && *reals[i].at > 0 ? 0 : fail(e, "%s %s: expected a number above 0", name, value);
    return fail(e, "unknown option %s", name);
}

int bench_command(int argc, char **argv, const places *p)
{
    (void)p;
    bench_options o = {.config = "tiny", .precision = "bf16", .device = "cpu", .role = "encoder", .steps = 100000, .warmup = 3,
                       .beam = 4, .batch = 64, .heads = 8, .d_k = 64, .seed = 1};
    err e = {0};
    int (*run)(const bench_options *o, err *e) = NULL;
    for (size_t i = 0; i < LENGTH(measurements) && argc > 1; i++)
        if (same(argv[1], measurements[i].name)) run = measurements[i].run;
    int bad = run ? 0 : fail(&e, "what to measure: train, decode or attention");
    for (int i = 2; i < argc && !bad; i++) {
        if (same(argv[i], "--profile"))
            o.profile = true;
        else
            bad = take(&o, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &e), i++;
    }
    if (!bad && !o.lengths) bad = fail(&e, "--lengths FILE is missing");
    if (!bad && o.wait && !same(o.wait, "each") && !same(o.wait, "pass")) bad = fail(&e, "--wait %s: expected each or pass", o.wait);
    if (bad) {
        fprintf(stderr, "ablate bench: %s\n%s", e.text, usage);
        return 2;
    }
    if (o.steps == 100000 && o.seconds <= 0) o.seconds = 10;
    cpu_threads((int)o.threads);
    if (!run(&o, &e)) return 0;
    fprintf(stderr, "ablate bench: %s\n", e.text);
    return 1;
}
