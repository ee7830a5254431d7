/* bench.c - ablate bench train: how fast training steps are at recorded batch lengths. One JSON line on
 * standard output. */
#include "cpu/cpu.h"
#include "run.h"
#include "train/train.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef struct {
    const char *name, *d_model, *d_ff, *heads, *layers;
} shape;
static const shape shapes[] = {
    {"tiny", "128", "256", "4", "4"}, {"small", "256", "1024", "4", "3"}, {"base", "512", "2048", "8", "6"}};

typedef struct {
    const char *config, *lengths, *precision;
    int64_t steps, warmup, threads, vocab, seed;
    double seconds;
    bool profile;
} bench_options;

/* ---- batches of random ids with the recorded lengths ---- */

typedef struct {
    batch *b;
    size_t n, cap;
    arena memory;
} recorded;

static int32_t *side(arena *a, rng *r, int64_t vocab, const int32_t *len, int64_t n, int64_t cap,
                     int32_t **pos, int32_t **off, int32_t first)
{
    int32_t *ids = arena_alloc(a, (size_t)cap * sizeof *ids), at = 0;
    *pos = arena_alloc(a, (size_t)cap * sizeof **pos);
    *off = arena_alloc(a, (size_t)(n + 1) * sizeof **off);
    for (int64_t i = 0; i < n; i++) {
        (*off)[i] = at;
        for (int32_t t = 0; t < len[i]; t++, at++) {
            (*pos)[at] = t;
            ids[at] =
                t == 0 && first >= 0 ? first
                : t == len[i] - 1 && first < 0
                    ? VOCAB_EOS
                    : (int32_t)(VOCAB_SPECIALS + (int64_t)rng_below(r, (uint64_t)(vocab - VOCAB_SPECIALS)));
        }
    }
    (*off)[n] = at;
    return ids;
}

static int64_t total(const int32_t *len, int64_t n, int64_t *longest)
{
    int64_t sum = 0;
    *longest = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += len[i];
        if (len[i] > *longest) *longest = len[i];
    }
    return sum;
}

static int add_batch(recorded *r, char *line, int64_t vocab, rng *random, const char *path, size_t number,
                     err *e)
{
    int32_t src[8192], tgt[8192];
    int64_t n = 0;
    for (char *w = strtok(line, " "); w; w = strtok(NULL, " ")) {
        int a, b;
        if (n == (int64_t)LENGTH(src) || sscanf(w, "%d:%d", &a, &b) != 2 || a < 1 || b < 1)
            return fail(e, "%s:%zu: found '%s', expected pairs of lengths such as 12:14", path, number, w);
        src[n] = a, tgt[n++] = b;
    }
    if (!n) return 0;
    batch b = {.n_sentences = n};
    b.src_rows = total(src, n, &b.src_longest);
    b.tgt_rows = total(tgt, n, &b.tgt_longest);
    b.src_cap = (b.src_rows + 63) / 64 * 64;
    b.tgt_cap = (b.tgt_rows + 63) / 64 * 64;
    int32_t *pos, *off, *out;
    b.src_ids = side(&r->memory, random, vocab, src, n, b.src_cap, &pos, &off, -1);
    b.src_pos = pos, b.src_offset = off;
    b.tgt_in = side(&r->memory, random, vocab, tgt, n, b.tgt_cap, &pos, &off, VOCAB_BOS);
    b.tgt_pos = pos, b.tgt_offset = off;
    out = side(&r->memory, random, vocab, tgt, n, b.tgt_cap, &pos, &off, -1);
    for (int64_t i = b.tgt_rows; i < b.tgt_cap; i++) out[i] = -1;
    b.tgt_out = out;
    r->b = grow(r->b, &r->cap, r->n + 1, sizeof *r->b);
    r->b[r->n++] = b;
    return 0;
}

static int read_batches(recorded *r, const bench_options *o, err *e)
{
    str text = {0};
    char **lines = NULL;
    size_t n = 0;
    rng random = rng_seed((uint64_t)o->seed, 7);
    int bad = file_lines(o->lengths, &text, &lines, &n, e);
    for (size_t i = 0; i < n && !bad; i++)
        if (lines[i][0] != '#') bad = add_batch(r, lines[i], o->vocab, &random, o->lengths, i + 1, e);
    if (!bad && !r->n) bad = fail(e, "%s: no batch in it", o->lengths);
    free(lines);
    str_free(&text);
    return bad;
}

/* ---- timing ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int measure(model *m, const recorded *r, const bench_options *o, err *e)
{
    stepper *s = stepper_open(m, e);
    if (!s) return -1;
    double *ms = xcalloc((size_t)o->steps + 1, sizeof *ms), smoothed, plain, src = 0, tgt = 0, spent = 0,
           flops = 0;
    int64_t done = 0;
    int bad = 0;
    for (int64_t i = 0; !bad && i < o->warmup + o->steps && (o->seconds <= 0 || spent < o->seconds); i++) {
        const batch *b = &r->b[(size_t)i % r->n];
        if (i == o->warmup) profile_enable(o->profile);
        double start = ticks();
        bad = stepper_gradient(s, b, i + 1, &smoothed, &plain, e) ||
              stepper_update(s, (double)b->tgt_rows, i + 1, e);
        if (i < o->warmup) continue;
        ms[done] = (ticks() - start) * 1e3;
        spent += ms[done++] / 1e3;
        src += (double)b->src_rows, tgt += (double)b->tgt_rows;
        flops += model_flops(m, (double)b->src_rows, (double)b->tgt_rows);
    }
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    qsort(ms, (size_t)done, sizeof *ms, compare);
    if (!bad)
        printf("{\"who\":\"ablate\",\"config\":\"%s\",\"mode\":\"%s\",\"steps\":%lld,\"ms_per_step\":%.3f,"
               "\"tokens_per_s\":%.1f,"
               "\"target_tokens_per_s\":%.1f,\"gflops\":%.1f,\"peak_rss_mb\":%.1f,\"loss\":%.5f,\"threads\":%"
               "lld,\"parameters\":%lld}\n",
               o->config, dtype_name(m->compute), (long long)done, ms[done / 2], (src + tgt) / spent,
               tgt / spent, flops / spent * 1e-9, (double)use.ru_maxrss / 1024,
               smoothed / (tgt / (double)done), (long long)o->threads, (long long)params_count(&m->params));
    if (o->profile) profile_print(stderr);
    free(ms);
    stepper_close(s);
    return bad;
}

static int bench_train(const bench_options *o, err *e)
{
    const shape *s = NULL;
    for (size_t i = 0; i < LENGTH(shapes); i++)
        if (same(o->config, shapes[i].name)) s = &shapes[i];
    if (!s) return fail(e, "--config %s: expected tiny, small or base", o->config);
    bool bf16 = same(o->precision, "bf16");
    if (!bf16 && !same(o->precision, "fp32"))
        return fail(e, "--precision %s: expected bf16 or fp32", o->precision);
    arena a = {0};
    settings set = {0};
    recorded r = {0};
    model m = {0};
    for (const ab_param *p = config_params; p->name; p++)
        settings_put(&set, p->name, param_default(p, &a), &a);
    settings_put(&set, "d_model", s->d_model, &a);
    settings_put(&set, "d_ff", s->d_ff, &a);
    settings_put(&set, "heads", s->heads, &a);
    settings_put(&set, "layers", s->layers, &a);
    cpu_threads((int)o->threads);
    int bad = read_batches(&r, o, e) ||
              model_open(&m, &set, o->vocab, o->vocab, bf16 ? BF16 : F32, &cpu_backend, e);
    if (!bad) bad = measure(&m, &r, o, e);
    cpu_forget(&m.params);
    model_free(&m);
    arena_free(&r.memory);
    free(r.b);
    arena_free(&a);
    return bad;
}

static const char *const usage =
    "usage: ablate bench train --lengths FILE [--config tiny|small|base] [--precision bf16|fp32] [--steps N] "
    "[--warmup N]\n"
    "                          [--seconds S] [--vocab N] [--threads N] [--seed N] [--profile]\n"
    "FILE has a batch a line, its sentence pairs as source:target lengths in tokens "
    "(bench/make_lengths.py).\n";

static int take(bench_options *o, const char *name, const char *value, err *e)
{
    if (!value) return fail(e, "%s wants a value", name);
    struct {
        const char *name;
        const char **at;
    } texts[] = {{"--config", &o->config}, {"--lengths", &o->lengths}, {"--precision", &o->precision}};
    struct {
        const char *name;
        int64_t *at;
    } numbers[] = {{"--steps", &o->steps},
                   {"--warmup", &o->warmup},
                   {"--threads", &o->threads},
                   {"--vocab", &o->vocab},
                   {"--seed", &o->seed}};
    for (size_t i = 0; i < LENGTH(texts); i++)
        if (same(name, texts[i].name)) return *texts[i].at = value, 0;
    for (size_t i = 0; i < LENGTH(numbers); i++)
        if (same(name, numbers[i].name))
            return parse_int(value, numbers[i].at) ? 0 : fail(e, "%s %s: expected a number", name, value);
    if (same(name, "--seconds"))
        return parse_real(value, &o->seconds) ? 0 : fail(e, "--seconds %s: expected a number", value);
    return fail(e, "unknown option %s", name);
}

int bench_command(int argc, char **argv, const places *p)
{
    (void)p;
    bench_options o = {
        .config = "tiny", .precision = "bf16", .steps = 100000, .warmup = 3, .vocab = 10000, .seed = 1};
    err e = {0};
    int bad = argc < 2 || !same(argv[1], "train") ? fail(&e, "what to measure: train") : 0;
    for (int i = 2; i < argc && !bad; i++) {
        if (same(argv[i], "--profile"))
            o.profile = true;
        else
            bad = take(&o, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &e), i++;
    }
    if (!bad && !o.lengths) bad = fail(&e, "--lengths FILE is missing");
    if (bad) {
        fprintf(stderr, "ablate bench: %s\n%s", e.text, usage);
        return 2;
    }
    if (o.steps == 100000 && o.seconds <= 0) o.seconds = 10;
    if (!bench_train(&o, &e)) return 0;
    fprintf(stderr, "ablate bench: %s\n", e.text);
    return 1;
}
