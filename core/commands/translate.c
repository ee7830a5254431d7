/* translate.c - ablate translate: standard input to standard output, a line a sentence, by a trained model.
 */
#include "decode/beam.h"
#include "device/device.h"
#include "metric/input.h"
#include "plugin/plugin.h"
#include "results/read.h"
#include "run.h"
#include "train/train.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *model, *run, *device, *precision;
    int64_t beam, nbest, batch, threads;
    double alpha;
} translate_options;

static const char *const usage =
    "usage: ablate translate --run RUN | --model FILE.safetensors [--beam 4] [--alpha 0.6] [--nbest N] "
    "[--batch N]\n"
    "                        [--threads N] [--device auto|cpu|cuda|cuda:N]\n"
    "                        [--precision run|fp32|bf16] [--plugin-path FOLDERS] [--db FILE] < SENTENCES > TRANSLATIONS\n";

static int take(translate_options *o, places *p, const char *name, const char *value, err *e)
{
    struct {
        const char *name;
        int64_t *at, most;
    } numbers[] = {{"--beam", &o->beam, MOST_BEAM},
                   {"--nbest", &o->nbest, MOST_BEAM},
                   {"--batch", &o->batch, MOST_BATCH},
                   {"--threads", &o->threads, MOST_THREADS}};
    if (!value) return fail(e, "%s wants a value", name);
    for (size_t i = 0; i < LENGTH(numbers); i++)
        if (same(name, numbers[i].name)) return take_count(name, value, numbers[i].most, numbers[i].at, e);
    if (same(name, "--alpha"))
        return parse_real(value, &o->alpha) && o->alpha >= 0
                   ? 0
                   : fail(e, "--alpha %s: expected a number from 0", value);
    if (same(name, "--model"))
        o->model = value;
    else if (same(name, "--run"))
        o->run = value;
    else if (same(name, "--device"))
        o->device = value;
    else if (same(name, "--precision")) {
        if (!same(value, "run") && !same(value, "fp32") && !same(value, "bf16"))
            return fail(e, "--precision %s: expected run (as it was trained), fp32 or bf16", value);
        o->precision = value;
    }
    else if (same(name, "--db"))
        p->db.path = value;
    else if (same(name, "--plugin-path"))
        plugin_add_path(value);
    else
        return fail(e, "unknown option %s", name);
    return 0;
}

char *run_model_path(const char *name, const places *p, err *e)
{
    arena a = {0};
    read_detail run;
    char *path = NULL;
    reader *r = reader_open(&p->db, e);
    int64_t id = r ? reader_find_run(r, name, e) : -1;
    if (id >= 0 && !reader_run(r, id, &a, &run, e)) {
        for (size_t i = 0; i < run.n_artifacts; i++)
            if (same(run.artifacts[i].key, "model")) path = xstrdup(run.artifacts[i].value);
        if (!path) fail(e, "run %s has no model: it was not finished here", name);
    }
    if (path && !file_exists(path)) {
        fail(e, "the model of run %s is no longer at %s", name, path);
        free(path);
        path = NULL;
    }
    arena_free(&a);
    reader_close(r);
    return path;
}

/* Lines longer than the model reaches become empty, so that the others still get their translations; how many. */
static size_t leave_long(const model *m, const vocab *src, const beam_options *o, char **lines, size_t n)
{
    static char empty[] = "";
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        err e = {0};
        if (!decode_check_reach(m, src, lines[i], o, &e)) continue;
        fprintf(stderr, "ablate translate: line %zu is left empty: %s\n", i + 1, e.text);
        lines[i] = empty;
        left++;
    }
    return left;
}

/* -1 also when some lines were left empty; then e has no words. */
static int translate(const translate_options *t, model *m, const vocab *src, const vocab *tgt, err *e)
{
    beam_options o = beam_options_of(&m->cfg);
    if (t->beam) o.beam = t->beam;
    if (t->alpha >= 0) o.alpha = t->alpha;
    if (t->batch) o.batch = t->batch;
    o.nbest = t->nbest ? t->nbest : 1;
    if (o.nbest > o.beam)
        return fail(e, "--nbest %lld of a beam of %lld", (long long)o.nbest, (long long)o.beam);
    str text = {0};
    char **lines = NULL, **out = NULL;
    size_t n = 0;
    if (input_lines(&text, &lines, &n, e)) {
        str_free(&text);
        return -1;
    }
    size_t left = leave_long(m, src, &o, lines, n);
    double *scores = xcalloc(n * (size_t)o.nbest + 1, sizeof *scores);
    beam_stats stats = {0};
    int bad =
        n ? decode_lines(m, src, tgt, (const char *const *)lines, (int64_t)n, &o, &out, scores, &stats, e)
          : 0;
    for (size_t i = 0; i < n * (size_t)o.nbest && !bad; i++) {
        if (!out[i]) continue;
        if (o.nbest > 1)
            printf("%zu\t%.6f\t%s\n", i / (size_t)o.nbest + 1, scores[i], out[i]);
        else
            printf("%s\n", out[i]);
    }
    if (!bad && n)
        fprintf(stderr, "%zu sentences, %lld tokens in %.2f s: %.0f tokens/s, %s\n", n, (long long)stats.tokens,
                stats.seconds, (double)stats.tokens / stats.seconds, dtype_name(m->compute));
    if (out) decoded_free(out, (int64_t)n * o.nbest);
    free(scores);
    free(lines);
    str_free(&text);
    return bad || left ? -1 : 0;
}

/* What the products compute with: as the model's run did, or as asked for. */
static int wanted_compute(const translate_options *o, const char *path, const backend *on, dtype *out, err *e)
{
    if (same(o->precision, "run")) return device_model_compute(path, on, out, e);
    return device_compute(same(o->precision, "fp32") ? PRECISION_FP32 : PRECISION_BF16, on, out, e);
}

int translate_command(int argc, char **argv, const places *given)
{
    places p = *given;
    translate_options o = {.device = "auto", .precision = "run", .alpha = -1};
    err e = {0};
    for (int i = 1; i < argc && !e.text[0]; i += 2)
        take(&o, &p, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &e);
    if (!e.text[0] && !o.model == !o.run) fail(&e, "either --run or --model is wanted");
    if (e.text[0]) {
        fprintf(stderr, "ablate translate: %s\n%s", e.text, usage);
        return 2;
    }
    model m = {0};
    vocab *src = NULL, *tgt = NULL;
    char *path = input_check(&e) ? NULL : o.model ? xstrdup(o.model) : run_model_path(o.run, &p, &e);
    cpu_threads((int)o.threads);
    dtype compute;
    const backend *on = path ? device_open(o.device, &e) : NULL;
    int bad = !on || wanted_compute(&o, path, on, &compute, &e) || train_load(path, &m, compute, on, &src, &tgt, &e);
    if (!bad) {
        bad = translate(&o, &m, src, tgt, &e);
        model_free(&m);
        if (tgt != src) vocab_free(tgt);
        vocab_free(src);
    }
    free(path);
    if (e.text[0]) fprintf(stderr, "ablate translate: %s\n", e.text);
    return bad ? 1 : 0;
}
