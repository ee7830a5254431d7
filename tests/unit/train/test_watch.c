/* watch_layers: the numbers that it logs equal expected ones after one step of gradient descent, and training does not
 * change by a bit. */
#include "tensor/cpu/cpu.h"
#include "test.h"
#include "network/train/train.h"
#include "network/train/watch.h"
#include "world.h"

static const char *const small[][2] = {{"task", "sequence"},    {"layers", "2"},       {"d_model", "16"},
                                       {"d_ff", "24"},          {"heads", "2"},        {"steps", "60"},
                                       {"warmup", "1"},         {"lr", "0.01"},        {"dropout", "0.1"},
                                       {"batch_tokens", "100"}, {"eval_every", "60"},  {"save_every", "100"},
                                       {"precision", "fp32"},   {"optimizer", "adam"}, {"schedule", "constant"}};

typedef struct {
    char name[64];
    int64_t step;
    double value;
} told;
typedef struct {
    told at[512];
    size_t n;
} all_told;

static void take(void *self, const char *metric, int64_t step, double value)
{
    all_told *a = self;
    if (a->n == LENGTH(a->at)) broken("too many points");
    snprintf(a->at[a->n].name, sizeof a->at->name, "%s", metric);
    a->at[a->n].step = step, a->at[a->n++].value = value;
}

static void take_value(void *self, const char *name, double value) { take(self, name, 0, value); }

static double value_of(const all_told *a, const char *name, int64_t step)
{
    for (size_t i = 0; i < a->n; i++)
        if (same(a->at[i].name, name) && a->at[i].step == step) return a->at[i].value;
    broken("no point of %s at step %lld", name, (long long)step);
}

static void open_model(world *w, model *m)
{
    err e = {0};
    if (train_open_model(m, &w->set, w->src, w->tgt, F32, &cpu_backend, &e)) broken("%s", e.text);
}

static void train(world *w, model *m, all_told *a)
{
    err e = {0};
    train_result r;
    train_job j = {.m = m, .data = &w->data, .src = w->src, .tgt = w->tgt, .events = {.self = a, .point = take}};
    CHECK_INT(train_run(&j, &r, &e), TRAIN_DONE);
    CHECK_TEXT(e.text, "");
}

/* Trains with and without watch_layers: values are equal, and so are the points of all other curves. */
static void test_bits(world *w)
{
    model with, without;
    static all_told a, b;
    a.n = b.n = 0;
    put(w, "watch_layers", "true");
    open_model(w, &with);
    train(w, &with, &a);
    put(w, "watch_layers", "false");
    open_model(w, &without);
    train(w, &without, &b);
    CHECK(!memcmp(with.params.value, without.params.value, with.params.total * sizeof(float)));
    CHECK_INT(b.n, 5);                         /* train_PPL and lr at 50 and 60, dev_PPL at 60 */
    CHECK_INT(a.n, b.n + 2 * (4 * 3 + 2 + 4)); /* three numbers for each layer, and 2 + 4 entropies */
    for (size_t i = 0; i < b.n; i++) CHECK_NEAR(value_of(&a, b.at[i].name, b.at[i].step), b.at[i].value, 0);
    model_free(&with);
    model_free(&without);
}

/* Returns the norm of the elements of `of` that belong to the layer. */
static double norm_of(const params *s, const float *of, const char *layer)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; has_prefix(s->p[i].name, layer) && k < s->p[i].count; k++)
            sum += (double)of[s->p[i].at + k] * (double)of[s->p[i].at + k];
    return sqrt(sum);
}

static void zero(model *m, const char *name)
{
    param *p = params_find(&m->params, name);
    if (!p) broken("no parameter %s", name);
    memset((float *)m->params.value + p->at, 0, p->count * sizeof(float));
    m->params.version++;
}

/* One step of gradient descent from values with which the decoder attends uniformly. */
static void test_values(world *w)
{
    model m;
    batch b;
    err e = {0};
    put(w, "optimizer", "sgd"), put(w, "watch_layers", "true"), put(w, "dropout", "0");
    put(w, "sgd.momentum", "0");
    open_model(w, &m);
    zero(&m, "dec.0.self.qkv.w"), zero(&m, "dec.1.cross.q.w"), zero(&m, "enc.1.self.qkv.w");
    batcher *all = batcher_new(&w->data.split[AB_TRAIN], &(batch_options){.batch_tokens = 100, .train = true}, &e);
    if (!all || !batcher_next(all, &b)) broken("%s", e.text);
    train_step *s = train_step_open(&m, &e);
    watch *x = watch_open(&m);
    static all_told a;
    a.n = 0;
    CHECK_INT(train_step_gradient(s, &b, 1, &e), 0);
    double weight = norm_of(&m.params, m.params.value, "dec.1."), tokens = (double)b.predicted,
           gradient = norm_of(&m.params, m.params.grad, "dec.1.") / tokens;
    CHECK_INT(watch_before(x, train_step_tape(s), &b, &e), 0);
    CHECK_INT(train_step_update(s, tokens, 1, &e), 0);
    CHECK_INT(watch_after(x, train_step_summed(s), 1 / tokens, &e), 0);
    CHECK_TEXT(e.text, "");
    watch_report(x, take_value, &a);
    CHECK_NEAR(value_of(&a, "dec.1.gradient", 0), gradient, 1e-6 * gradient);
    CHECK_NEAR(value_of(&a, "dec.1.update", 0), 0.01 * gradient / weight, 1e-3 * 0.01 * gradient / weight);
    for (int i = 0; i < 4; i++) { /* each layer ends with a layer norm of gain 1 */
        const char *names[] = {"enc.0.activation", "enc.1.activation", "dec.0.activation", "dec.1.activation"};
        CHECK_NEAR(value_of(&a, names[i], 0), 1, 1e-3);
    }
    double causal = 0, source = 0, own = 0; /* ln of the number of keys that each query sees */
    int64_t n = 0, n_own = 0;
    for (int64_t i = 0; i < b.n_sentences; i++) {
        int64_t keys = b.src_offset[i + 1] - b.src_offset[i];
        for (int64_t q = 0; q < b.tgt_offset[i + 1] - b.tgt_offset[i]; q++, n++)
            causal += log((double)q + 1), source += log((double)keys);
        n_own += keys, own += (double)keys * log((double)keys);
    }
    CHECK_NEAR(value_of(&a, "dec.0.self.entropy", 0), causal / (double)n, 1e-5);
    CHECK_NEAR(value_of(&a, "dec.1.cross.entropy", 0), source / (double)n, 1e-5);
    CHECK_NEAR(value_of(&a, "enc.1.self.entropy", 0), own / (double)n_own, 1e-5);
    CHECK(value_of(&a, "dec.1.self.entropy", 0) < causal / (double)n - 1e-4);
    watch_close(x);
    train_step_close(s);
    batcher_free(all);
    model_free(&m);
}

int main(void)
{
    world w;
    cpu_threads(1);
    plugin_add_folder(BUILD_DIR "/plugins");
    world_open(&w, small, LENGTH(small), "500");
    test_bits(&w);
    test_values(&w);
    world_close(&w);
    return test_end();
}
