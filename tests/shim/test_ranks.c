/* Ranks on the emulated GPU, over a libnccl.so.2 that sends between processes (standin_nccl.c). 1, 2 and 4 ranks agree
 * but for rounding with equal global batches; runs with equal ranks give equal bits, whenever streams do their work;
 * buckets are sent complete, and before the backward pass has ended; a killed or silent rank is reported. On a real
 * GPU, where NCCL allows one rank only, just that rank and the buckets are tested. */
#include "open_device.h"
#include "test.h"
#include "network/train/train.h"
#include "world.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UPDATES = 4, BATCH_TOKENS = 64, MOST_VALUES = 1 << 16, MOST_RANKS = 4 };
static const char *const small[][2] = {
    {"task", "sequence"},  {"layers", "1"},     {"d_model", "24"}, {"d_ff", "96"},         {"heads", "2"},
    {"warmup", "4"},       {"lr", "0.5"},       {"steps", "4"},    {"batch_tokens", "64"}, {"dropout", "0"},
    {"precision", "fp32"}, {"optimizer", "sgd"}}; /* sgd, since Adam turns rounding errors into full steps */

typedef struct {
    double losses[UPDATES], ppl;
    float values[MOST_VALUES];
    size_t total;
    char words[256]; /* message of the error, if any */
} outcome;
typedef struct {
    world *w;
    int order; /* gpu_when */
    /* dies: the rank that ends after its second update; sleeps: the rank that joins but sends nothing; 0: no rank */
    int ranks, dies, sleeps;
    /* the host waits for the GPU in the middle of a step, not only when it reads the losses */
    bool early;
    const char *folder;
    outcome *of; /* [ranks], in memory shared with them */
} job;

static int steps(const job *j, model *m, const comm *c, int rank, outcome *o, err *e)
{
    train_step *s = train_step_open(m, e);
    batch_options how = {.batch_tokens = BATCH_TOKENS,
                         .round = train_step_round(m, BATCH_TOKENS, j->ranks),
                         .seed = 1,
                         .rank = rank,
                         .ranks = j->ranks,
                         .train = true};
    batcher *batches = s ? batcher_new(&j->w->data.split[AB_TRAIN], &how, e) : NULL;
    int bad = !batches;
    if (s) train_step_share(s, c);
    for (int step = 1; step <= UPDATES && !bad; step++) {
        const double(*sums)[2];
        double loss[1];
        batch b;
        batcher_next(batches, &b);
        bad = train_step_gradient(s, &b, step, e) || train_step_update(s, (double)b.all_predicted, step, e);
        if (!bad && j->early) gpu_wait(), bad = gpu_launched() ? fail(e, "%s", gpu_error()) : 0;
        bad = bad || train_step_losses(s, &sums, e) != 1;
        if (!bad) loss[0] = sums[0][1], bad = comm_add(c, loss, 1, e);
        if (!bad) o->losses[step - 1] = loss[0] / (double)b.all_predicted;
        if (step == 2 && j->dies && rank == j->dies) raise(SIGKILL);
    }
    batcher_free(batches);
    train_step_close(s);
    return bad;
}

static void train(const job *j, int rank)
{
    const cuda_module *module;
    err e = {0};
    model m;
    outcome *o = &j->of[rank];
    if (j->sleeps && rank == j->sleeps)
        unsetenv("ABLATE_NCCL_TIMEOUT"); /* this rank may wait any time for the id from rank 0 */
    const backend *on = open_device(&module, &e);
#ifdef GPU_ON_CPU
    bool joins = j->ranks > 1;
#else
    bool joins = true;
#endif
    const comm *c = on && joins ? comm_join(ablate_nccl(), on, j->folder, j->ranks, &e) : NULL;
#ifdef GPU_ON_CPU
    gpu_when = (gpu_timing)j->order;
    /* makes the host wait for side streams by polling, as on a GPU; otherwise a wait in the emulation would never
     * end */
    if (j->sleeps) gpu_side_stuck = 1;
#endif
    if (j->sleeps && rank == j->sleeps) sleep(60);
    int bad =
        !on || (joins && !c) || model_open(&m, &j->w->set, vocab_size(j->w->src), vocab_size(j->w->tgt), F32, on, &e);
    if (!bad) bad = steps(j, &m, c, rank, o, &e);
    pairs dev = j->w->data.split[AB_DEV];
    if (dev.n > 4) dev.n = 4;
    if (!bad) o->ppl = train_perplexity(&m, &dev, c, &e);
    float *v = bad ? NULL : params_host(&m.params, 0, &e);
    if (v && m.params.total <= MOST_VALUES) o->total = m.params.total, memcpy(o->values, v, o->total * sizeof *v);
    snprintf(o->words, sizeof o->words, "%.250s", e.text);
    if (c && e.text[0]) c->m->abort(1);
    comm_close(c);
    _exit(e.text[0] != 0);
}

/* Runs one process per rank, with the environment that mpirun would set. */
static void run(const job *j)
{
    char text[16];
    pid_t pid[MOST_RANKS];
    fflush(stdout);
    memset(j->of, 0, (size_t)j->ranks * sizeof *j->of);
    for (int r = 0; r < j->ranks; r++) {
        snprintf(text, sizeof text, "%d", r), setenv("OMPI_COMM_WORLD_RANK", text, 1);
        snprintf(text, sizeof text, "%d", j->ranks), setenv("OMPI_COMM_WORLD_SIZE", text, 1);
        if ((pid[r] = fork()) == 0) train(j, r);
    }
    for (int left = j->ranks, status; left; left--) {
        pid_t gone = waitpid(-1, &status, 0);
        for (int r = 0; r < j->ranks && j->sleeps; r++) /* ends the other ranks, as mpirun would */
            if (gone != pid[r]) kill(pid[r], SIGKILL);
    }
}

#ifdef GPU_ON_CPU
static double apart(const outcome *a, const outcome *b)
{
    double sum = 0, size = 0;
    for (size_t i = 0; i < a->total; i++) {
        double d = (double)a->values[i] - (double)b->values[i];
        sum += d * d, size += (double)a->values[i] * (double)a->values[i];
    }
    return sqrt(sum / size);
}

static void check_agree(job *j, outcome *one)
{
    outcome *of = j->of;
    j->ranks = 1, run(j);
    *one = of[0];
    CHECK_TEXT(one->words, "");
    CHECK(one->total > 10000);
    for (int ranks = 2; ranks <= 4; ranks += 2) {
        j->ranks = ranks, run(j);
        for (int r = 0; r < ranks; r++) {
            CHECK_TEXT(of[r].words, "");
            CHECK_INT(of[r].total, one->total);
            CHECK_THAT(!memcmp(of[r].values, of[0].values, one->total * sizeof(float)),
                       "rank %d of %d: other parameters than rank 0", r, ranks);
            CHECK_NEAR(of[r].ppl, of[0].ppl, 0);
        }
        for (int i = 0; i < UPDATES; i++) CHECK_NEAR(of[0].losses[i] / one->losses[i], 1, 1e-6);
        CHECK_NEAR(of[0].ppl / one->ppl, 1, 1e-6);
        CHECK_NEAR(apart(one, of), 0, 1e-6);
        printf("%d ranks and 1: parameters %.2g apart\n", ranks, apart(one, of));
    }
}

/* Runs with equal ranks give equal bits, also when side streams work as late or as early as possible. */
static void check_same_bits(job *j)
{
    static const char *const names[] = {"the same again", "side streams late", "side streams early"};
    j->ranks = 2, run(j);
    outcome first = j->of[0];
    CHECK(first.total > 0);
    for (j->order = GPU_AT_ONCE; j->order <= GPU_SIDES_EARLY; j->order++) {
        run(j);
        CHECK_TEXT(j->of[0].words, "");
        CHECK_THAT(!memcmp(&first, &j->of[0], sizeof first), "%s: other parameters or losses", names[j->order]);
    }
    j->order = GPU_AT_ONCE;
}

static void check_losses_of_ranks(job *j)
{
    double start = ticks();
    j->ranks = 2, j->dies = 1, run(j);
    CHECK_HAS(j->of[0].words, "another rank was lost: remote process exited");
    j->dies = 0, j->sleeps = 1;
    setenv("ABLATE_NCCL_TIMEOUT", "0.3", 1);
    /* early: the waiting rank waits for its stream in the middle of a step, not for losses */
    for (int early = 0; early < 2; early++) {
        j->early = early, run(j);
        CHECK_HAS(j->of[0].words, "no data from the other ranks for 0.3 s (ABLATE_NCCL_TIMEOUT)");
    }
    j->sleeps = 0, j->early = false;
    unsetenv("ABLATE_NCCL_TIMEOUT");
    CHECK_THAT(ticks() - start < 30, "a lost rank was seen after %.1f s", ticks() - start);
}

#endif

/* ---- buckets ---- */

static struct {
    const params *p;
    float *sent;          /* the contents of each bucket when the ranks began to sum this bucket */
    size_t n, first_open; /* n: elements sent; first_open: elements not written yet when the first bucket was sent */
} seen;

static int note(void *v, size_t n, dtype type, err *e)
{
    float *grad = xmalloc(seen.p->total * sizeof *grad);
    size_t at = (size_t)((float *)v - (float *)seen.p->grad);
    int bad = type != F32 || gpu_copy_out(grad, seen.p->grad, seen.p->total * sizeof *grad);
    for (size_t i = 0; i < seen.p->total && !seen.n; i++) seen.first_open += isnan(grad[i]) != 0;
    memcpy(seen.sent + at, grad + at, n * sizeof *grad);
    seen.n += n;
    free(grad);
    return bad ? fail(e, "a bucket") : 0;
}
static int nothing(err *e) { return (void)e, 0; }
static const comm_module noting = {.name = "a test", .sum_begin = note, .progress = nothing, .sum_end = nothing};

/* Three steps: kernel after kernel, while graphs are captured, and from these graphs. */
static void check_buckets(world *w)
{
    const cuda_module *module;
    err e = {0};
    model m;
    comm c = {.m = &noting, .size = 1};
    const backend *on = open_device(&module, &e);
    CHECK_INT(model_open(&m, &w->set, vocab_size(w->src), vocab_size(w->tgt), F32, on, &e), 0);
    train_step *s = train_step_open(&m, &e);
    batch_options how = {
        .batch_tokens = BATCH_TOKENS, .round = train_step_round(&m, BATCH_TOKENS, 1), .seed = 1, .train = true};
    batcher *batches = batcher_new(&w->data.split[AB_TRAIN], &how, &e);
    size_t bytes = m.params.total * sizeof(float);
    float *none = xmalloc(bytes), *grad = xmalloc(bytes);
    memset(none, 0xff, bytes);
    train_step_share(s, &c);
    for (int step = 1; step <= 3; step++) {
        batch b;
        seen.p = &m.params, seen.sent = xmalloc(bytes), seen.n = seen.first_open = 0;
        backend_write(on, m.params.grad, none, bytes);
        batcher_next(batches, &b);
        CHECK_INT(train_step_gradient(s, &b, step, &e), 0);
        size_t early = seen.n;
        CHECK_INT(gpu_copy_out(grad, m.params.grad, bytes), 0);
        CHECK_INT(train_step_update(s, (double)b.all_predicted, step, &e), 0);
        CHECK_TEXT(e.text, "");
        CHECK_INT(seen.n, m.params.total);
        CHECK_INT(memcmp(seen.sent, grad, bytes), 0);
        CHECK_THAT(
            early == m.params.total && seen.first_open > m.params.total / 2,
            "step %d: %zu of %zu elements set out before the end of the backward pass, %zu were open at the first",
            step, early, m.params.total, seen.first_open);
        free(seen.sent);
    }
    free(none);
    free(grad);
    batcher_free(batches);
    train_step_close(s);
    model_free(&m);
    module->close();
}

int main(void)
{
    world w;
    outcome *one = xcalloc(1, sizeof *one);
    char folder[] = "/tmp/ablate-ranks-XXXXXX";
#ifdef GPU_ON_CPU
    setenv("ABLATE_NCCL", BUILD_DIR "/tests/libnccl.so.2", 1);
#endif
    setenv("OMP_NUM_THREADS", "1", 1);
    plugin_add_folder(BUILD_DIR "/plugins");
    world_open(&w, small, LENGTH(small), "64");
    job j = {.w = &w,
             .folder = mkdtemp(folder),
             .of = mmap(NULL, MOST_RANKS * sizeof(outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
#ifdef GPU_ON_CPU
    check_agree(&j, one);
    check_same_bits(&j);
    check_losses_of_ranks(&j);
#else
    j.ranks = 1, run(&j);
    if (strstr(j.of[0].words, "was not found")) {
        printf("left out, for there is no NCCL: %s\n", j.of[0].words);
    } else {
        CHECK_TEXT(j.of[0].words, "");
        CHECK(j.of[0].total > 10000);
    }
#endif
    check_buckets(&w);
    rmdir(folder);
    free(one);
    world_close(&w);
    return test_end();
}
