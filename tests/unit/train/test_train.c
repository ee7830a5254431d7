/* Training from start to end on a small task: resuming bit for bit, accumulation, averaging, early stopping,
 * divergence; checkpoints open again, damaged ones do not. */
#include "tensor/cpu/cpu.h"
#include "test.h"
#include "network/train/checkpoint.h"
#include "network/train/optim.h"
#include "network/train/train.h"
#include "world.h"
#include <unistd.h>

static const char *const small[][2] = {{"task", "sequence"}, {"layers", "1"},      {"d_model", "16"},
                                       {"d_ff", "32"},       {"heads", "2"},       {"steps", "40"},
                                       {"warmup", "10"},     {"lr", "0.5"},        {"batch_tokens", "300"},
                                       {"eval_every", "10"}, {"save_every", "10"}, {"precision", "fp32"}};

static void open_folder(world *w)
{
    snprintf(w->folder, sizeof w->folder, "/tmp/ablate-train-XXXXXX");
    if (!mkdtemp(w->folder)) broken("no temporary folder");
}

static void empty_folder(const world *w)
{
    char *command = xprintf("rm -rf '%s'/*", w->folder);
    CHECK_INT(system(command), 0);
    free(command);
}

static void open_model(world *w, model *m)
{
    err e = {0};
    if (train_open_model(m, &w->set, w->src, w->tgt, F32, &cpu_backend, &e)) broken("%s", e.text);
}

typedef struct {
    int64_t seen, until, points;
} watcher;
static bool stop_at(void *self)
{
    watcher *s = self;
    return s->until && s->seen >= s->until;
}
static void count_step(void *self, int64_t step, int64_t total, double ppl, double speed)
{
    (void)total, (void)ppl, (void)speed;
    ((watcher *)self)->seen = step;
}
static void count_point(void *self, const char *metric, int64_t step, double value)
{
    (void)metric, (void)step, (void)value;
    ((watcher *)self)->points++;
}

static train_outcome train(world *w, model *m, watcher *seen, train_result *out, err *e)
{
    train_job j = {.m = m,
                   .data = &w->data,
                   .src = w->src,
                   .tgt = w->tgt,
                   .folder = w->folder,
                   .events = {.self = seen, .point = count_point, .progress = count_step, .stop = stop_at}};
    return train_run(&j, out, e);
}

/* The numbers are the same if training is interrupted at step `cut`, dropout included. */
static void test_resume(world *w, int64_t cut)
{
    model whole, first, second;
    watcher a = {0}, b = {.until = cut}, c = {0};
    train_result r;
    err e = {0};
    open_model(w, &whole);
    CHECK_INT(train(w, &whole, &a, &r, &e), TRAIN_DONE);
    CHECK_TEXT(e.text, "");
    double ppl = r.dev_ppl;
    empty_folder(w);
    open_model(w, &first);
    CHECK_INT(train(w, &first, &b, &r, &e), TRAIN_STOPPED);
    CHECK_INT(r.step, cut);
    model_free(&first);
    open_model(w, &second);
    CHECK_INT(train(w, &second, &c, &r, &e), TRAIN_DONE);
    CHECK_TEXT(e.text, "");
    CHECK_INT(memcmp(whole.params.value, second.params.value, whole.params.total * sizeof(float)), 0);
    CHECK_NEAR(r.dev_ppl, ppl, 0);
    CHECK_INT(r.step, 40);
    model_free(&whole);
    model_free(&second);
    empty_folder(w);
}

/* Evaluation, checkpoints and the final model use the optimizer's mean; training continues with the parameters' own
 * values. */
static void test_evaluated(world *w)
{
    enum { MEAN = 1 };
    static const char *const slots[] = {"z", "x", "v", "weights"};
    model m, state, kept;
    watcher seen = {0};
    train_result r;
    err e = {0};
    put(w, "optimizer", "schedule_free"), put(w, "schedule", "constant"), put(w, "lr", "0.01");
    test_resume(w, 17);
    open_model(w, &m);
    CHECK_INT(train(w, &m, &seen, &r, &e), TRAIN_DONE);
    open_model(w, &state);
    char *path = path_join(w->folder, "state.safetensors");
    CHECK_INT(checkpoint_read(path, &state.params, slots, LENGTH(slots), &e), 0);
    free(path);
    open_model(w, &kept);
    path = path_join(w->folder, "step-40.safetensors");
    CHECK_INT(checkpoint_read(path, &kept.params, NULL, 0, &e), 0);
    free(path);
    CHECK_TEXT(e.text, "");
    double apart = 0;
    for (size_t k = 0; k < m.params.n; k++)
        for (size_t i = m.params.p[k].at, n = 0; n < m.params.p[k].count; i++, n++) {
            float mean = ((float *)state.params.slot[MEAN])[i], own = ((float *)state.params.value)[i];
            CHECK_THAT(((float *)m.params.value)[i] == mean && ((float *)kept.params.value)[i] == mean,
                       "%s: found %g in the model, %g in its checkpoint, expected %g", m.params.p[k].name,
                       (double)((float *)m.params.value)[i], (double)((float *)kept.params.value)[i], (double)mean);
            apart += fabs((double)(mean - own));
        }
    CHECK(apart > 0.01);
    CHECK_NEAR(r.dev_ppl, train_perplexity(&m, &w->data.split[AB_DEV], NULL, &e), 1e-9 * r.dev_ppl);
    model_free(&m), model_free(&state), model_free(&kept);
    empty_folder(w);
    put(w, "optimizer", "adam"), put(w, "schedule", "noam"), put(w, "lr", "0.5");
}

/* Every batch of an update has its own dropout masks, however many there are. */
static void test_masks(world *w)
{
    enum { BATCHES = 300 };
    model m;
    open_model(w, &m);
    err e = {0};
    batch_options o = {.batch_tokens = 300, .round = 64, .seed = 1, .train = true};
    batcher *b = batcher_new(&w->data.split[AB_TRAIN], &o, &e);
    train_step *s = train_step_open(&m, &e);
    double loss[BATCHES];
    const double(*sums)[2];
    batch x;
    CHECK(batcher_next(b, &x));
    for (int k = 0; k < BATCHES; k++) {
        CHECK_INT(train_step_gradient(s, &x, 1, &e), 0);
        CHECK_INT(train_step_losses(s, &sums, &e), 1);
        loss[k] = sums[0][1];
        for (int i = 0; i < k; i++)
            CHECK_THAT(loss[i] != loss[k], "batches %d and %d: loss %.9g of both", i, k, loss[k]);
    }
    train_step_close(s);
    batcher_free(b);
    model_free(&m);
}

/* Sentences as long as a table of positions: batches must not be padded beyond its end. */
static void test_longest(world *w)
{
    static const char *const set[][2] = {{"attention_encoder", "synthesizer"},
                                         {"attention_decoder", "synthesizer"},
                                         {"synthesizer.kind", "random"},
                                         {"synthesizer.max_len", "21"}};
    model m;
    watcher seen = {0};
    train_result r;
    err e = {0};
    for (size_t i = 0; i < LENGTH(set); i++) put(w, set[i][0], set[i][1]);
    open_model(w, &m);
    CHECK_INT(w->data.split[AB_TRAIN].src_longest, 21);
    CHECK_INT(train(w, &m, &seen, &r, &e), TRAIN_DONE);
    CHECK_TEXT(e.text, "");
    model_free(&m);
    for (size_t i = 0; i < 2; i++) put(w, set[i][0], "same");
    empty_folder(w);
}

static void test_accumulation(world *w)
{
    put(w, "dropout", "0");
    model m;
    open_model(w, &m);
    err e = {0};
    batch_options o = {.batch_tokens = 300, .round = 64, .seed = 1, .train = true};
    batcher *b = batcher_new(&w->data.split[AB_TRAIN], &o, &e);
    train_step *s = train_step_open(&m, &e);
    batch x;
    double once;
    const double(*sums)[2];
    CHECK(batcher_next(b, &x));
    CHECK_INT(train_step_gradient(s, &x, 1, &e), 0);
    CHECK_INT(train_step_losses(s, &sums, &e), 1);
    once = sums[0][1];
    float *before = xmalloc(m.params.total * sizeof *before);
    memcpy(before, m.params.value, m.params.total * sizeof *before);
    CHECK_INT(train_step_update(s, (double)x.tgt_rows, 1, &e), 0);
    float *after = xmalloc(m.params.total * sizeof *after);
    memcpy(after, m.params.value, m.params.total * sizeof *after);
    memcpy(m.params.value, before, m.params.total * sizeof *before);
    for (uint32_t i = 0; i < 2; i++) memset(m.params.slot[i], 0, m.params.total * sizeof(float));
    m.params.version++;
    for (int k = 0; k < 2; k++) CHECK_INT(train_step_gradient(s, &x, 1, &e), 0);
    CHECK_INT(train_step_losses(s, &sums, &e), 2);
    CHECK_NEAR(sums[0][1], once, 0);
    CHECK_NEAR(sums[1][1], once, 0);
    CHECK_INT(train_step_update(s, 2 * (double)x.tgt_rows, 1, &e), 0);
    double worst = 0;
    for (size_t i = 0; i < m.params.total; i++) worst = fmax(worst, fabs(((float *)m.params.value)[i] - after[i]));
    CHECK_NEAR(worst, 0, 1e-6);
    free(before);
    free(after);
    train_step_close(s);
    batcher_free(b);
    model_free(&m);
    put(w, "dropout", "0.1");
}

static void test_average(world *w)
{
    put(w, "average_checkpoints", "3"), put(w, "checkpoint", "last");
    model m, one;
    watcher s = {0};
    train_result r;
    err e = {0};
    open_model(w, &m);
    CHECK_INT(train(w, &m, &s, &r, &e), TRAIN_DONE);
    CHECK_TEXT(r.how, "average of 3");
    open_model(w, &one);
    double *sum = xcalloc(m.params.total, sizeof *sum), worst = 0;
    for (int step = 20; step <= 40; step += 10) {
        char *path = xprintf("%s/step-%d.safetensors", w->folder, step);
        CHECK_INT(checkpoint_read(path, &one.params, NULL, 0, &e), 0);
        for (size_t i = 0; i < m.params.total; i++) sum[i] += ((float *)one.params.value)[i] / 3.0;
        free(path);
    }
    for (size_t i = 0; i < m.params.total; i++) worst = fmax(worst, fabs(sum[i] - ((float *)m.params.value)[i]));
    CHECK_NEAR(worst, 0, 1e-7);
    free(sum);
    model_free(&one);
    model_free(&m);
    empty_folder(w);
    put(w, "average_checkpoints", "1"), put(w, "checkpoint", "best");
}

static void test_early_stopping(world *w)
{
    put(w, "patience", "2");
    put(w, "lr", "0");
    put(w, "schedule", "constant");
    model m;
    watcher s = {0};
    train_result r;
    err e = {0};
    open_model(w, &m);
    CHECK_INT(train(w, &m, &s, &r, &e), TRAIN_DONE);
    CHECK_INT(r.step, 30); /* best at 10, then two evaluations that are not better */
    CHECK_INT(r.best_step, 10);
    model_free(&m);
    empty_folder(w);
    put(w, "patience", "0");
}

/* A run ends after the update in which max_time is over, with a dev perplexity and a model; resuming trains no
 * further. */
static void test_max_time(world *w)
{
    put(w, "max_time", "0.000001s");
    for (int again = 0; again < 2; again++) {
        model m;
        watcher s = {0};
        train_result r;
        err e = {0};
        open_model(w, &m);
        CHECK_INT(train(w, &m, &s, &r, &e), TRAIN_DONE);
        CHECK_TEXT(e.text, "");
        CHECK_INT(r.step, 1);
        CHECK_INT(r.out_of_time, true);
        CHECK(r.dev_ppl > 1);
        model_free(&m);
    }
    empty_folder(w);
    put(w, "max_time", "1d");
    model m;
    watcher s = {0};
    train_result r;
    err e = {0};
    open_model(w, &m);
    CHECK_INT(train(w, &m, &s, &r, &e), TRAIN_DONE);
    CHECK(r.step > 1);
    CHECK_INT(r.out_of_time, false);
    model_free(&m);
    empty_folder(w);
    put(w, "max_time", "0");
    double seconds;
    CHECK_INT(config_seconds("1h30m", &seconds, &e), 0);
    CHECK_NEAR(seconds, 5400, 0);
    static const char *const wrong[] = {"", "3", "3x", "-1h", "h", "1h 30m", "nan", "1e99d"};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        e.text[0] = 0;
        CHECK_INT(config_seconds(wrong[i], &seconds, &e), -1);
        CHECK_HAS(e.text, "expected a time such as 90s, 30m, 3h or 1h30m");
    }
}

static void test_divergence(world *w)
{
    put(w, "lr", "1000");
    put(w, "warmup", "0");
    put(w, "steps", "400");
    put(w, "block", "pre_norm");
    model m;
    watcher s = {0};
    train_result r;
    err e = {0};
    open_model(w, &m);
    CHECK_INT(train(w, &m, &s, &r, &e), TRAIN_DIVERGED);
    CHECK_HAS(e.text, "diverged at step");
    model_free(&m);
    empty_folder(w);
    put(w, "lr", "0.5");
    put(w, "warmup", "10");
    put(w, "steps", "40");
    put(w, "block", "post_norm");
    put(w, "schedule", "noam");
}

/* Token accuracy: a token that is not the likeliest has a probability of at most 1/2, so its loss is at least ln 2; the
 * likeliest token has a probability of at least 1 / V. */
static void check_hits(model *m, const pairs *p, double ppl)
{
    err e = {0};
    double *nll = xcalloc((size_t)p->n * 4, sizeof *nll), *hits = nll + 2 * p->n, misses = 0, right = 0, cost = 0;
    CHECK_NEAR(train_score(m, p, nll, hits, &e), ppl, 0);
    for (int64_t i = 0; i < p->n; i++) {
        double missed = hits[2 * i + 1] - hits[2 * i];
        CHECK_NEAR(hits[2 * i + 1], nll[2 * i + 1], 0);
        CHECK(missed >= 0 && hits[2 * i] >= 0 && nll[2 * i] >= missed * log(2) - 1e-6);
        misses += missed, right += hits[2 * i], cost += nll[2 * i];
    }
    CHECK(right > 0);
    CHECK(cost <= misses * 1e3 + right * log(1000));
    free(nll);
}

static void test_checkpoints(world *w)
{
    model m, opened;
    watcher s = {0};
    train_result r;
    err e = {0};
    vocab *src, *tgt;
    open_model(w, &m);
    CHECK_INT(train(w, &m, &s, &r, &e), TRAIN_DONE);
    char *path = xprintf("%s/model.safetensors", w->folder);
    CHECK_INT(train_load(path, &opened, F32, &cpu_backend, &src, &tgt, &e), 0);
    /* a model opened for decoding has neither gradients nor slots */
    CHECK(!opened.params.grad && !opened.params.slot[0]);
    CHECK_TEXT(e.text, "");
    CHECK_INT(vocab_size(src), vocab_size(w->src));
    CHECK_NEAR(train_perplexity(&opened, &w->data.split[AB_DEV], NULL, &e), r.dev_ppl, 0);
    check_hits(&opened, &w->data.split[AB_DEV], r.dev_ppl);
    model_free(&opened);
    if (tgt != src) vocab_free(tgt);
    vocab_free(src);
    str text = {0};
    CHECK_INT(file_read(path, &text, &e), 0);
    for (size_t cut = 0; cut < text.n; cut += text.n / 23 + 1) { /* a file cut anywhere is refused with a message */
        err why = {0};
        CHECK_INT(file_write(path, text.s, cut, &why), 0);
        CHECK_INT(checkpoint_read(path, &m.params, NULL, 0, &why), -1);
        CHECK_HAS(why.text, path);
    }
    str_free(&text);
    free(path);
    model_free(&m);
    empty_folder(w);
}

/* A state with other settings is not resumed. */
static void test_other_settings(world *w)
{
    model m;
    watcher s = {.until = 12};
    train_result r;
    err e = {0};
    open_model(w, &m);
    CHECK_INT(train(w, &m, &s, &r, &e), TRAIN_STOPPED);
    model_free(&m);
    put(w, "dropout", "0.2");
    open_model(w, &m);
    s = (watcher){0};
    CHECK_INT(train(w, &m, &s, &r, &e), TRAIN_FAILED);
    CHECK_HAS(e.text, "other settings");
    model_free(&m);
    put(w, "dropout", "0.1");
    empty_folder(w);
}

/* Checks the schedule's rate at some updates: lr 1, 4,000 updates of warm-up, 100,000 in all. */
static void check_rates(const char *schedule, double lr_min, const double (*expected)[2], size_t n)
{
    struct {
        double decay;
    } cfg = {0.1};
    err e = {0};
    model m = {.cfg = {.d_model = 512, .lr = 1, .lr_min = lr_min, .warmup = 4000, .steps = 100000},
               .schedule_cfg = &cfg};
    m.schedule = plugin_find(AB_SCHEDULE, schedule, &e);
    CHECK_TEXT(e.text, "");
    for (size_t i = 0; m.schedule && i < n; i++) {
        double rate = schedule_lr(&m, (int64_t)expected[i][0]);
        if (fabs(rate - expected[i][1]) > 1e-11) printf("%s at update %g\n", schedule, expected[i][0]);
        CHECK_NEAR(rate, expected[i][1], 1e-11);
    }
}

static void test_schedules(void)
{
    const double noam[][2] = {{4000, 6.98771243e-4}, {1, 1.74692811e-7}, {100000, 1 / sqrt(512.0) / sqrt(1e5)}};
    const double linear[][2] = {{2000, 0.5}, {52000, 0.55}, {100000, 0.1}};
    const double cosine[][2] = {{52000, 0.55}, {28000, 0.1 + 0.9 * (1 + sqrt(0.5)) / 2}, {100000, 0.1}};
    const double constant[][2] = {{1000, 0.25}, {99999, 1}};
    const double wsd[][2] = {{2000, 0.5}, {4000, 1}, {90000, 1}, {95000, 0.55}, {100000, 0.1}};
    check_rates("noam", 0, noam, LENGTH(noam));
    check_rates("linear", 0.1, linear, LENGTH(linear));
    check_rates("cosine", 0.1, cosine, LENGTH(cosine));
    check_rates("constant", 0, constant, LENGTH(constant));
    check_rates("wsd", 0.1, wsd, LENGTH(wsd));
}

int main(void)
{
    world w;
    plugin_add_folder(BUILD_DIR "/plugins");
    log_to(stderr, LOG_WARN);
    test_schedules();
    world_open(&w, small, LENGTH(small), NULL);
    open_folder(&w);
    test_resume(&w, 17);
    test_resume(&w, 20);
    put(&w, "gradient_accumulation", "2");
    test_resume(&w, 3);
    put(&w, "gradient_accumulation", "1");
    test_evaluated(&w);
    test_masks(&w);
    test_longest(&w);
    test_accumulation(&w);
    test_average(&w);
    test_checkpoints(&w);
    put(&w, "char_ngrams", "16"); /* a model with char_ngrams also needs the vocabulary's text */
    test_checkpoints(&w);
    put(&w, "char_ngrams", "0");
    test_other_settings(&w);
    test_early_stopping(&w);
    test_max_time(&w);
    test_divergence(&w);
    empty_folder(&w);
    rmdir(w.folder);
    world_close(&w);
    return test_end();
}
