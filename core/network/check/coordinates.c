#include "network/check/coordinates.h"
#include "base/cleanup.h"
#include "network/train/train.h"
#include "tensor/cpu/cpu.h"
#include <math.h>

const int64_t coordinate_widths[COORDINATE_WIDTHS] = {32, 64, 128, 256};
const int64_t coordinate_steps[COORDINATE_STEPS] = {0, 1, 2, 5};

enum { VOCAB = 64, SENTENCES = 8, TOKENS = 16, D_K = 16 };

/* Makes random tokens. In a few updates, a model learns their frequencies and memorises the examples. */
static void make_batch(batch *b, int32_t *memory)
{
    enum { ROWS = SENTENCES * TOKENS };
    int32_t *in = memory, *out = in + ROWS, *position = out + ROWS, *offset = position + ROWS;
    rng r = rng_seed(1, 1);
    for (int32_t i = 0; i < ROWS; i++) {
        out[i] = VOCAB_SPECIALS + (int32_t)(rng_uniform(&r) * rng_uniform(&r) * (VOCAB - VOCAB_SPECIALS));
        in[i] = i % TOKENS ? out[i - 1] : VOCAB_BOS;
        position[i] = i % TOKENS;
    }
    for (int32_t i = 0; i <= SENTENCES; i++) offset[i] = i * TOKENS;
    *b = (batch){.n_sentences = SENTENCES,
                 .tgt_rows = ROWS,
                 .tgt_cap = ROWS,
                 .predicted = ROWS,
                 .tgt_longest = TOKENS,
                 .tgt_in = in,
                 .tgt_out = out,
                 .tgt_pos = position,
                 .tgt_offset = offset,
                 .all_tgt_rows = ROWS,
                 .all_predicted = ROWS,
                 .limits = {SENTENCES, 0, TOKENS}};
}

typedef struct {
    char name[48];
    float *at; /* [n], values before any update */
    size_t n;
} before;

typedef struct {
    before of[MOST_COORDINATES];
    size_t n;
} first_values;

/* Measures the size of a kept value and of its change since step 0. */
static int measure(const ab_ctx *c, const char *kept, before *b, int step, double *size, double *changed, err *e)
{
    ab_t x = tape_find(c, kept);
    size_t n = (size_t)node_count(&c->v[x.id]);
    AUTOFREE float *now = xmalloc(n * sizeof *now);
    int bad = tape_read(c, x, now, n * sizeof *now, e);
    if (!step) b->at = xmalloc(n * sizeof *b->at), b->n = n, memcpy(b->at, now, n * sizeof *now);
    double squares = 0, moved = 0;
    for (size_t i = 0; i < n; i++) {
        squares += (double)now[i] * now[i];
        moved += ((double)now[i] - b->at[i]) * ((double)now[i] - b->at[i]);
    }
    *size = sqrt(squares / (double)n), *changed = sqrt(moved / (double)n);
    return bad;
}

static size_t name_all(const model *m, coordinate *out, first_values *v)
{
    static const char *const parts[] = {"self", "ffn"};
    v->n = 0;
    snprintf(v->of[v->n++].name, sizeof v->of->name, "logits");
    for (int64_t l = 0; l < m->cfg.layers_decoder; l++)
        for (size_t p = 0; p < LENGTH(parts) && v->n < MOST_COORDINATES; p++)
            snprintf(v->of[v->n++].name, sizeof v->of->name, "dec.%lld.%s", (long long)l, parts[p]);
    for (size_t i = 0; i < v->n; i++) memcpy(out[i].name, v->of[i].name, sizeof out[i].name);
    return v->n;
}

/* Measures all values after `step` updates. */
static int measure_step(model *m, const batch *b, first_values *v, int step, int width, coordinate *out, err *e)
{
    model_shape shape = {b->n_sentences, 0, b->tgt_rows, 0, b->tgt_longest};
    m->keep_outputs = true;
    CLEANUP(tape_end) ab_ctx *c = model_loss_tape(m, &shape, false, e);
    m->keep_outputs = false;
    if (!c) return -1;
    model_batch view = {
        .shape = shape, .tgt_in = b->tgt_in, .tgt_out = b->tgt_out, .tgt_pos = b->tgt_pos, .tgt_offset = b->tgt_offset};
    int bad = tape_plan(c, NULL, NULL);
    if (!bad) {
        model_loss_inputs(c, &view, 1);
        bad = tape_run(c, &(run_options){.from = PHASE_CONST});
    }
    for (size_t i = 0; i < v->n && !bad; i++) {
        char kept[64];
        snprintf(kept, sizeof kept, "%s%s", v->of[i].name, i ? KEPT_OUTPUT : "");
        bad = measure(c, kept, &v->of[i], step, &out[i].size[step][width], &out[i].changed[step][width], e);
    }
    if (bad && !e->text[0]) fail(e, "%s", c->error.text);
    return bad ? -1 : 0;
}

static int train(model *m, int width, coordinate *out, size_t *n, err *e)
{
    int32_t memory[4 * SENTENCES * TOKENS + 1];
    batch b;
    first_values v;
    make_batch(&b, memory);
    *n = name_all(m, out, &v);
    train_step *s = train_step_open(m, e);
    const double(*sums)[2];
    int bad = s ? 0 : -1, next = 0;
    for (int64_t step = 0; next < COORDINATE_STEPS && !bad; step++) {
        if (step == coordinate_steps[next]) bad = measure_step(m, &b, &v, next++, width, out, e);
        if (!bad && next < COORDINATE_STEPS)
            bad = train_step_gradient(s, &b, step + 1, e) || train_step_losses(s, &sums, e) < 0 ||
                  train_step_update(s, (double)b.predicted, step + 1, e);
    }
    if (s) train_step_close(s);
    for (size_t i = 0; i < v.n; i++)
        if (next) free(v.of[i].at);
    return bad;
}

static void set_number(settings *s, const char *key, int64_t value, arena *a)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    settings_set(s, key, text, a);
}

size_t coordinates_measure(const settings *set, coordinate out[MOST_COORDINATES], err *e)
{
    static const char *const usual[][2] = {
        {"layers", "2"},  {"schedule", "constant"}, {"warmup", "0"},       {"lr", "0.01"},
        {"dropout", "0"}, {"label_smoothing", "0"}, {"block", "pre_norm"}, {"teacher", TEACHER_MADE_UP}};
    size_t n = 0;
    int bad = 0;
    for (int w = 0; w < COORDINATE_WIDTHS && !bad; w++) {
        CLEANUP(arena_free) arena a = {0};
        settings s = {0};
        model m;
        for (size_t i = 0; i < LENGTH(usual); i++) settings_set(&s, usual[i][0], usual[i][1], &a);
        for (size_t i = 0; i < set->n; i++) settings_set(&s, set->at[i].key, set->at[i].value, &a);
        int64_t width = coordinate_widths[w];
        set_number(&s, "d_model", width, &a);
        set_number(&s, "d_ff", 4 * width, &a);
        set_number(&s, "heads", width / D_K, &a);
        bad = model_open(&m, &s, 0, VOCAB, F32, &cpu_backend, e);
        if (!bad) bad = train(&m, w, out, &n, e), model_free(&m);
    }
    return bad ? 0 : n;
}

double coordinate_slope(const double size[COORDINATE_WIDTHS])
{
    double x = 0, y = 0, xx = 0, xy = 0;
    for (int w = 0; w < COORDINATE_WIDTHS; w++) {
        double at = log((double)coordinate_widths[w]), is = log(size[w] > 0 ? size[w] : 1e-30);
        x += at, y += is, xx += at * at, xy += at * is;
    }
    return (xy - x * y / COORDINATE_WIDTHS) / (xx - x * x / COORDINATE_WIDTHS);
}
