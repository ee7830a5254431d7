/* Which weights give a run's result: with ten training examples dev perplexity falls, then rises, and by default the
 * run reports the step where it was lowest. */
#include "tensor/cpu/cpu.h"
#include "test.h"
#include "network/train/train.h"
#include "world.h"
#include <glob.h>
#include <unistd.h>

static const char *const small[][2] = {{"task", "sequence"},    {"layers", "1"},          {"d_model", "16"},
                                       {"d_ff", "32"},          {"heads", "2"},           {"steps", "200"},
                                       {"lr", "0.0015"},        {"warmup", "10"},         {"dropout", "0"},
                                       {"batch_tokens", "300"}, {"schedule", "constant"}, {"eval_every", "10"},
                                       {"save_every", "200"},   {"precision", "fp32"},    {"label_smoothing", "0"}};

typedef struct {
    int64_t until, seen; /* until: the run stops at this step; 0: it does not stop early */
    int64_t step, n;     /* step: step of the lowest dev perplexity; n: number of evaluations */
    double least, last;
} curve;

static bool stop_at(void *self)
{
    curve *c = self;
    return c->until && c->seen >= c->until;
}
static void count_step(void *self, int64_t step, int64_t total, double ppl, double speed)
{
    (void)total, (void)ppl, (void)speed;
    ((curve *)self)->seen = step;
}
static void see_point(void *self, const char *metric, int64_t step, double value)
{
    curve *c = self;
    if (!same(metric, "dev_PPL")) return;
    if (!c->n++ || value < c->least) c->least = value, c->step = step;
    c->last = value;
}

static train_outcome train(world *w, model *m, curve *c, train_result *out)
{
    err e = {0};
    if (train_open_model(m, &w->set, w->src, w->tgt, F32, &cpu_backend, &e)) broken("%s", e.text);
    train_job j = {.m = m,
                   .data = &w->data,
                   .src = w->src,
                   .tgt = w->tgt,
                   .folder = w->folder,
                   .events = {.self = c, .point = see_point, .progress = count_step, .stop = stop_at}};
    train_outcome outcome = train_run(&j, out, &e);
    CHECK_TEXT(e.text, "");
    return outcome;
}

static void empty_folder(const world *w)
{
    char *command = xprintf("rm -rf '%s'/*", w->folder);
    CHECK_INT(system(command), 0);
    free(command);
}

/* Number of best-N.safetensors in the folder. */
static int64_t best_files(const world *w)
{
    char *pattern = xprintf("%s/best-*.safetensors", w->folder);
    glob_t found;
    int64_t n = glob(pattern, 0, NULL, &found) ? 0 : (int64_t)found.gl_pathc;
    globfree(&found);
    free(pattern);
    return n;
}

/* Checks that model and result are those of step `step`, whose dev perplexity is `ppl`. */
static void check_weights(const world *w, model *m, const train_result *r, const char *how, int64_t step, double ppl)
{
    err e = {0};
    CHECK_TEXT(r->how, how);
    CHECK_INT(r->how_step, step);
    CHECK_NEAR(r->dev_ppl, ppl, 0);
    CHECK_NEAR(train_perplexity(m, &w->data.split[AB_DEV], NULL, &e), ppl, 1e-9 * ppl);
    CHECK_TEXT(e.text, "");
}

/* By default a run has the weights of the best step, even if it was stopped later. With `last` it has the weights of
 * the last step. */
static void test_selection(world *w)
{
    model best, last, second;
    curve a = {0}, b = {0};
    train_result r;
    CHECK_TEXT(settings_get(&w->set, "checkpoint"), "best");
    CHECK_INT(train(w, &best, &a, &r), TRAIN_DONE);
    CHECK_THAT(a.step < 200 && a.least < 0.9 * a.last,
               "found the least dev perplexity %g at step %lld, %g at the end, expected a rise by a tenth", a.least,
               (long long)a.step, a.last);
    CHECK_INT(r.step, 200);
    check_weights(w, &best, &r, "best", a.step, a.least);
    CHECK_INT(best_files(w), 1);
    empty_folder(w);
    put(w, "checkpoint", "last");
    CHECK_INT(train(w, &last, &b, &r), TRAIN_DONE);
    check_weights(w, &last, &r, "last", 200, a.last);
    CHECK_INT(best_files(w), 0);
    empty_folder(w);
    put(w, "checkpoint", "best"), put(w, "save_every", "50");
    curve c = {.until = a.step + 15}, d = {0};
    CHECK_INT(train(w, &second, &c, &r), TRAIN_STOPPED);
    model_free(&second);
    CHECK_INT(train(w, &second, &d, &r), TRAIN_DONE);
    check_weights(w, &second, &r, "best", a.step, a.least);
    CHECK_INT(memcmp(best.params.value, second.params.value, best.params.total * sizeof(float)), 0);
    put(w, "save_every", "200");
    empty_folder(w);
    model_free(&best), model_free(&last), model_free(&second);
}

/* Makes the training time in a state's file longer than a day, by removing its decimal point. */
static void spend_time(const char *state)
{
    static const char key[] = "\"seconds\":\"";
    err e = {0};
    str text = {0};
    if (file_read(state, &text, &e)) broken("%s", e.text);
    char *at = memmem(text.s, text.n, key, strlen(key));
    if (at) at += strlen(key), at += strspn(at, "0123456789");
    CHECK_THAT(at && *at == '.', "found no time such as 0.5 s in %s", state);
    if (at) *at = '9';
    CHECK_INT(file_write(state, text.s, text.n, &e), 0);
    str_free(&text);
}

/* A run is killed after a new best that its saved state does not know; when the run resumes, max_time is over before it
 * reaches that step again. The run then has the weights of the best step that the saved state knows. The dev data are
 * chosen so that the later step is the best. */
static void test_killed(world *w)
{
    model m;
    train_result r;
    curve all = {0};
    char *state = path_join(w->folder, "state.safetensors"), *kept = path_join(w->folder, "kept");
    put(w, "max_time", "1d");
    CHECK_INT(train(w, &m, &all, &r), TRAIN_DONE);
    model_free(&m);
    empty_folder(w);
    curve known = {.until = all.step + 5}, later = {.until = all.step + 25}, rest = {0};
    CHECK_INT(train(w, &m, &known, &r), TRAIN_STOPPED);
    model_free(&m);
    CHECK_INT(link(state, kept), 0);
    pairs dev = w->data.split[AB_DEV];
    w->data.split[AB_DEV] = w->data.split[AB_TRAIN];
    CHECK_INT(train(w, &m, &later, &r), TRAIN_STOPPED);
    model_free(&m);
    w->data.split[AB_DEV] = dev;
    CHECK_THAT(later.step > all.step && later.least < all.least,
               "found %g at step %lld, expected less than %g after step %lld", later.least, (long long)later.step,
               all.least, (long long)all.step);
    CHECK_INT(rename(kept, state), 0);
    spend_time(state);
    CHECK_INT(train(w, &m, &rest, &r), TRAIN_DONE);
    put(w, "max_time", "0");
    CHECK_THAT(r.step < later.step, "found the end at step %lld, expected it before %lld", (long long)r.step,
               (long long)later.step);
    check_weights(w, &m, &r, "best", all.step, all.least);
    model_free(&m);
    free(state), free(kept);
    empty_folder(w);
}

/* With only one evaluation, or without dev data, a run has the weights of the last step, and writes no further file. */
static void test_no_choice(world *w)
{
    static const char *const at[] = {"200", "1000"};
    model last, one;
    curve none = {0};
    train_result r;
    put(w, "checkpoint", "last");
    CHECK_INT(train(w, &last, &none, &r), TRAIN_DONE);
    double ppl = r.dev_ppl;
    put(w, "checkpoint", "best");
    empty_folder(w);
    for (size_t i = 0; i < LENGTH(at); i++) {
        curve c = {0};
        put(w, "eval_every", at[i]);
        CHECK_INT(train(w, &one, &c, &r), TRAIN_DONE);
        CHECK_INT(c.n, 1);
        check_weights(w, &one, &r, "best", 200, ppl);
        CHECK_INT(memcmp(last.params.value, one.params.value, one.params.total * sizeof(float)), 0);
        CHECK_INT(best_files(w), 0);
        model_free(&one);
        empty_folder(w);
    }
    put(w, "eval_every", "10");
    int64_t n = w->data.split[AB_DEV].n;
    curve c = {0};
    w->data.split[AB_DEV].n = 0;
    CHECK_INT(train(w, &one, &c, &r), TRAIN_DONE);
    w->data.split[AB_DEV].n = n;
    CHECK_INT(c.n, 0);
    CHECK_TEXT(r.how, "last");
    CHECK_INT(r.how_step, 200);
    CHECK_INT(memcmp(last.params.value, one.params.value, one.params.total * sizeof(float)), 0);
    model_free(&one), model_free(&last);
    empty_folder(w);
}

/* Averages three checkpoints up to the best step; if the last step is the best, the last three checkpoints. */
static void test_average(world *w)
{
    model m, last;
    train_result r;
    curve c = {0};
    put(w, "average_checkpoints", "3"), put(w, "save_every", "10");
    CHECK_INT(train(w, &m, &c, &r), TRAIN_DONE);
    CHECK_TEXT(r.how, "average of 3, best");
    CHECK_INT(r.how_step, c.step);
    CHECK(c.step < 200);
    model_free(&m);
    empty_folder(w);
    put(w, "lr", "0.0002"), put(w, "steps", "40"); /* dev perplexity falls to the end */
    c = (curve){0};
    CHECK_INT(train(w, &m, &c, &r), TRAIN_DONE);
    CHECK_TEXT(r.how, "average of 3, best");
    CHECK_INT(c.step, 40);
    CHECK_INT(r.how_step, 40);
    CHECK_INT(best_files(w), 0); /* the last step is the best */
    empty_folder(w);
    put(w, "checkpoint", "last");
    CHECK_INT(train(w, &last, &c, &r), TRAIN_DONE);
    CHECK_TEXT(r.how, "average of 3");
    CHECK_INT(memcmp(last.params.value, m.params.value, m.params.total * sizeof(float)), 0);
    model_free(&m), model_free(&last);
    empty_folder(w);
    put(w, "checkpoint", "best"), put(w, "lr", "0.0015"), put(w, "steps", "200");
    put(w, "average_checkpoints", "1"), put(w, "save_every", "200");
}

/* An optimizer that evaluates with means of the parameters: the means of the best step are kept. */
static void test_mean(world *w)
{
    model m;
    curve c = {0};
    train_result r;
    put(w, "optimizer", "schedule_free");
    CHECK_INT(train(w, &m, &c, &r), TRAIN_DONE);
    check_weights(w, &m, &r, "best", c.step, c.least);
    model_free(&m);
    empty_folder(w);
    put(w, "eval_every", "1000"), put(w, "steps", "50");
    c = (curve){0};
    CHECK_INT(train(w, &m, &c, &r), TRAIN_DONE);
    check_weights(w, &m, &r, "best", 50, c.last);
    model_free(&m);
    empty_folder(w);
}

int main(void)
{
    world w;
    plugin_add_folder(BUILD_DIR "/plugins");
    log_to(stderr, LOG_WARN);
    world_open(&w, small, LENGTH(small), "10");
    w.data.split[AB_DEV].n = 30; /* keeps the first 30 dev examples */
    snprintf(w.folder, sizeof w.folder, "/tmp/ablate-best-XXXXXX");
    if (!mkdtemp(w.folder)) broken("no temporary folder");
    test_selection(&w);
    test_killed(&w);
    test_no_choice(&w);
    test_average(&w);
    test_mean(&w);
    rmdir(w.folder);
    world_close(&w);
    return test_end();
}
