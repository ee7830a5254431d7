/* Buffers (ab_buffer, state without gradient): set by each update, resumed bit for bit, averaged, copied by start_from,
 * counted apart from parameters; the mean over parts of a batch; experts balanced by a buffer. */
#include "tensor/cpu/cpu.h"
#include "test.h"
#include "network/model/groups.h"
#include "network/train/checkpoint.h"
#include "network/train/train.h"
#include "opened.h"
#include "world.h"
#include <unistd.h>

#define PLUGIN BUILD_DIR "/sabotage/buffers.so"
#define COUNT  "dec.0.ffn.count"
static const char *const small[][2] = {
    {"task", "sequence"},  {"layers", "1"},         {"d_model", "16"},        {"d_ff", "24"},
    {"heads", "2"},        {"steps", "20"},         {"warmup", "10"},         {"lr", "0.5"},
    {"dropout", "0"},      {"batch_tokens", "300"}, {"eval_every", "10"},     {"save_every", "10"},
    {"precision", "fp32"}, {"clip_norm", "1"},      {"feed_forward", PLUGIN}, {"buffers.plain", "0"}};

static void open_model(world *w, model *m)
{
    err e = {0};
    if (train_open_model(m, &w->set, w->src, w->tgt, F32, &cpu_backend, &e)) broken("%s", e.text);
}

static float *buffer(const model *m, const char *name)
{
    param *p = params_find(&m->params, name);
    if (!p) broken("no buffer '%s'", name);
    return (float *)m->params.value + p->at;
}

typedef struct {
    int64_t seen, until;
} watcher;
static bool stop_at(void *self)
{
    return ((watcher *)self)->until && ((watcher *)self)->seen >= ((watcher *)self)->until;
}
static void count_step(void *self, int64_t step, int64_t total, double ppl, double speed)
{
    (void)total, (void)ppl, (void)speed;
    ((watcher *)self)->seen = step;
}

static train_outcome train(world *w, model *m, int64_t until, train_result *r)
{
    watcher seen = {.until = until};
    err e = {0};
    train_job j = {.m = m,
                   .data = &w->data,
                   .src = w->src,
                   .tgt = w->tgt,
                   .folder = w->folder,
                   .events = {.self = &seen, .progress = count_step, .stop = stop_at}};
    train_outcome o = train_run(&j, r, &e);
    CHECK_TEXT(e.text, "");
    return o;
}

static void empty_folder(const world *w)
{
    char *command = xprintf("rm -rf '%s'/*", w->folder);
    CHECK_INT(system(command), 0);
    free(command);
}

/* Trains in one piece, and again stopped at step 7 and resumed. Then starts a run from that model, and opens the
 * model's file. */
static void test_run(world *w, const char *optimizer)
{
    model whole, first, second, opened;
    train_result r;
    err e = {0};
    vocab *src, *tgt;
    put(w, "optimizer", optimizer);
    open_model(w, &whole);
    CHECK_INT(train(w, &whole, 0, &r), TRAIN_DONE);
    CHECK_NEAR(*buffer(&whole, COUNT), 20, 0);
    CHECK_NEAR(*buffer(&whole, "enc.0.ffn.count"), 20, 0);
    CHECK(*buffer(&whole, "enc.0.ffn.squares") > 0 && *buffer(&whole, "enc.0.ffn.squares") < 0.9f);
    double found = train_perplexity(&whole, &w->data.split[AB_DEV], NULL, &e);
    CHECK_NEAR(found, r.dev_ppl, 1e-9 * r.dev_ppl);
    empty_folder(w);
    open_model(w, &first);
    CHECK_INT(train(w, &first, 7, &r), TRAIN_STOPPED);
    CHECK_NEAR(*buffer(&first, COUNT), 7, 0);
    model_free(&first);
    open_model(w, &second);
    CHECK_INT(train(w, &second, 0, &r), TRAIN_DONE);
    CHECK_INT(memcmp(whole.params.value, second.params.value, whole.params.total * sizeof(float)), 0);
    char *path = path_join(w->folder, "model.safetensors");
    CHECK_INT(train_load(path, &opened, F32, &cpu_backend, &src, &tgt, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK_NEAR(*buffer(&opened, COUNT), 20, 0);
    model_free(&opened);
    if (tgt != src) vocab_free(tgt);
    vocab_free(src);
    char *kept = xprintf("%s-from", w->folder);
    CHECK_INT(rename(path, kept), 0);
    empty_folder(w);
    model_free(&second);
    put(w, "start_from", kept);
    open_model(w, &second);
    CHECK_INT(train(w, &second, 0, &r), TRAIN_DONE);
    CHECK_NEAR(*buffer(&second, COUNT), 40, 0);
    char *words = xprintf("%zu of %zu parameters", params_learned(&second.params), params_learned(&second.params));
    CHECK_HAS(r.started, words);
    free(words);
    put(w, "start_from", "");
    unlink(kept);
    free(kept), free(path);
    model_free(&second), model_free(&whole);
    empty_folder(w);
}

/* Averaging gives the mean of the counts at steps 10 and 20. */
static void test_average(world *w)
{
    model m;
    train_result r;
    put(w, "average_checkpoints", "2");
    open_model(w, &m);
    CHECK_INT(train(w, &m, 0, &r), TRAIN_DONE);
    CHECK_NEAR(*buffer(&m, COUNT), 15, 0);
    model_free(&m);
    put(w, "average_checkpoints", "1");
    empty_folder(w);
}

/* Buffers are no parameters: they are not counted, have no slots, are in no group, and do not enter the gradient's
 * norm. */
static void test_apart(world *w)
{
    model with, without;
    open_model(w, &with);
    put(w, "buffers.plain", "1");
    open_model(w, &without);
    put(w, "buffers.plain", "0");
    CHECK_INT(params_count(&with.params), params_count(&without.params));
    CHECK_INT(with.params.learned, without.params.total);
    CHECK(with.params.total > with.params.learned);
    CHECK_INT(params_find(&with.params, COUNT)->slot[0].count, 0);
    CHECK_INT(with.groups[0].numbers, without.groups[0].numbers);
    for (size_t i = 0; i < without.params.n; i++)
        CHECK_INT(params_find(&with.params, without.params.p[i].name)->at, without.params.p[i].at);
    model_free(&with), model_free(&without);
}

/* ---- parts of a batch ---- */

/* Simulates a second rank whose gradients are 0 and whose buffers are 8 after the step. */
static const params *summed;
static int add_other(void *v, size_t n, dtype type, err *e)
{
    (void)type, (void)e;
    const float *grad = summed->grad;
    size_t from = (size_t)((float *)v - grad);
    for (size_t i = 0; i < n; i++)
        if (from + i >= summed->learned) ((float *)v)[i] += 8;
    return 0;
}
static int nothing(err *e)
{
    (void)e;
    return 0;
}

static void step(train_step *s, const batch *const *part, int n, int64_t number)
{
    const double(*sums)[2];
    err e = {0};
    for (int i = 0; i < n; i++) CHECK_INT(train_step_gradient(s, part[i], number, &e), 0);
    CHECK_INT(train_step_losses(s, &sums, &e), n);
    CHECK_INT(train_step_update(s, 100, number, &e), 0);
    CHECK_TEXT(e.text, "");
}

static void test_parts(world *w)
{
    model m;
    err e = {0};
    open_model(w, &m);
    float *count = buffer(&m, COUNT), *squares = buffer(&m, "dec.0.ffn.squares");
    batch_options o = {.batch_tokens = 300, .round = 64, .seed = 1, .train = true};
    batcher *b = batcher_new(&w->data.split[AB_TRAIN], &o, &e);
    batch x, none;
    CHECK(batcher_next(b, &x));
    none = x, none.n_sentences = 0;
    train_step *s = train_step_open(&m, &e);
    step(s, (const batch *[]){&x}, 1, 1);
    CHECK_NEAR(*count, 1, 0);
    CHECK(params_find(&m.params, COUNT)->sets);
    float *before = xmalloc(m.params.total * sizeof *before), *value = m.params.value, once;
    memcpy(before, value, m.params.total * sizeof *before);
    step(s, (const batch *[]){&x}, 1, 2);
    once = *squares;
    memcpy(value, before, m.params.total * sizeof *before), m.params.version++;
    /* three equal parts, each computed from the buffers before the step: the mean over them equals the result of one
     * part */
    step(s, (const batch *[]){&x, &x, &x}, 3, 2);
    CHECK_NEAR(*count, 2, 0);
    CHECK_NEAR(*squares, once, 1e-7);
    step(s, (const batch *[]){&x, &none}, 2, 3);
    CHECK_NEAR(*count, 2.5, 0);
    step(s, (const batch *[]){&none, &x, &none, &x}, 4, 4);
    CHECK_NEAR(*count, 3, 0);
    const comm_module module = {.sum_begin = add_other, .progress = nothing, .sum_end = nothing};
    const comm ranks = {.m = &module, .rank = 0, .size = 2};
    summed = &m.params;
    train_step_share(s, &ranks);
    step(s, (const batch *[]){&x}, 1, 5);
    CHECK_NEAR(*count, 6, 0); /* mean of 4 and 8 */
    step(s, (const batch *[]){&none}, 1, 6);
    CHECK_NEAR(*count, 7, 0); /* mean of 6 and 8 */
    free(before);
    train_step_close(s);
    batcher_free(b);
    model_free(&m);
}

/* ---- experts balanced by biases ---- */

static void take_violation(void *self, const char *name, double value)
{
    if (same(name, "moe.violation")) *(double *)self += value;
}

/* Returns MaxVio, the mean overload of the fullest expert, over the second half of the updates. bias: gets the biases
 * of the decoder's experts. */
static double violation(world *w, const char *rate, int64_t updates, float bias[4])
{
    model m;
    err e = {0};
    batch x;
    double sum = 0;
    const double(*sums)[2];
    put(w, "moe.bias_rate", rate);
    open_model(w, &m);
    batch_options o = {.batch_tokens = 300, .round = 64, .seed = 1, .train = true};
    batcher *b = batcher_new(&w->data.split[AB_TRAIN], &o, &e);
    train_step *s = train_step_open(&m, &e);
    for (int64_t i = 1; i <= updates && batcher_next(b, &x); i++) {
        CHECK_INT(train_step_gradient(s, &x, i, &e), 0);
        if (2 * i > updates) CHECK_INT(train_step_recorded(s, take_violation, &sum, &e), 0);
        train_step_losses(s, &sums, &e);
        CHECK_INT(train_step_update(s, (double)x.tgt_rows, i, &e), 0);
    }
    CHECK_TEXT(e.text, "");
    memcpy(bias, buffer(&m, "dec.0.ffn.load_bias"), 4 * sizeof *bias);
    train_step_close(s);
    batcher_free(b);
    model_free(&m);
    return sum / (double)((updates + 1) / 2);
}

static void test_experts(world *w)
{
    float bias[4];
    put(w, "lr", "0.02"), put(w, "feed_forward", "moe"), put(w, "moe.experts", "4"), put(w, "moe.top_k", "1");
    put(w, "moe.balancing", "bias");
    CHECK(violation(w, "0.01", 1, bias) > 0);
    int up = 0, down = 0;
    for (int i = 0; i < 4; i++) {
        CHECK(bias[i] == 0.01f || bias[i] == -0.01f || bias[i] == 0);
        up += bias[i] > 0, down += bias[i] < 0;
    }
    CHECK(up && down);
    double without = violation(w, "0", 40, bias), with = violation(w, "0.01", 40, bias);
    CHECK_THAT(with < 0.5 * without, "the fullest expert has %.3g more rows than the mean, without biases %.3g", with,
               without);
}

int main(void)
{
    world w;
    plugin_add_folder(BUILD_DIR "/plugins");
    open_file(PLUGIN);
    log_to(stderr, LOG_WARN);
    world_open(&w, small, LENGTH(small), NULL);
    snprintf(w.folder, sizeof w.folder, "/tmp/ablate-buffers-XXXXXX");
    if (!mkdtemp(w.folder)) broken("no temporary folder");
    test_apart(&w);
    test_parts(&w);
    test_run(&w, "adam");
    /* schedule_free exchanges parameters, but not buffers, with their values for evaluation */
    test_run(&w, "schedule_free");
    test_run(&w, "muon");
    /* prodigy's sums are over the gradient of both batches */
    put(&w, "lr", "0.05"), put(&w, "gradient_accumulation", "2");
    test_run(&w, "prodigy");
    put(&w, "gradient_accumulation", "1"), put(&w, "soap.frequency", "3");
    test_run(&w, "soap");
    put(&w, "lr", "0.5");
    put(&w, "optimizer", "adam");
    test_average(&w);
    test_experts(&w);
    empty_folder(&w);
    rmdir(w.folder);
    world_close(&w);
    return test_end();
}
