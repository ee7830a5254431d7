/* test_branch.c - weight gradients beside the chain of the backward pass (cuda/branch.h): whole training steps have the
 * same bits with and without them, kernel after kernel, while graphs are written and from these. On the emulated GPU
 * also with the side streams' work as late and as early as may be, which gives other bits where something is not waited
 * for; first it is shown that it does. */
#include "tensor/cuda/ops.h"
#include "open_device.h"
#include "test.h"
#include "network/train/train.h"
#include "world.h"

#ifdef GPU_ON_CPU
#define BATCH_TOKENS "32"
static const char *const sizes[][2] = {
    {"layers", "1"}, {"d_model", "16"}, {"d_ff", "24"}, {"heads", "2"}, {"batch_tokens", BATCH_TOKENS}};
#else /* products long enough to run at the same time */
#define BATCH_TOKENS "4096"
static const char *const sizes[][2] = {
    {"layers", "3"}, {"d_model", "512"}, {"d_ff", "2048"}, {"heads", "8"}, {"batch_tokens", BATCH_TOKENS}};
#endif
enum { STEPS = 3 }; /* kernel after kernel; written into a graph; from it */

/* ---- streams, events and graphs ---- */

#ifdef GPU_ON_CPU
enum { N = 64 };
static const char *const order_names[] = {"at once", "side streams late", "side streams early"};

static void in_order(gpu_timing order)
{
    gpu_wait();
    gpu_when = order;
}

/* y = x beside x = 0, which waits for it or does not; then y is read. */
static bool copied_before_zeroed(gpu_timing order, bool waits, bool from_graph)
{
    float ones[N], found[N];
    for (int i = 0; i < N; i++) ones[i] = 1;
    float *x = gpu_alloc(sizeof ones), *y = gpu_alloc(sizeof ones), *z = gpu_alloc(sizeof ones);
    gpu_copy_in(z, ones, sizeof ones);
    in_order(order);
    gpu_zero(y, sizeof ones);
    if (from_graph) CHECK_THAT(!gpu_capture(), "no graph can be written");
    gpu_copy(x, z, sizeof ones);
    gpu_side_begin(GPU_BRANCH);
    gpu_copy(y, x, sizeof ones);
    gpu_side_end();
    gpu_side_mark(GPU_BRANCH, 3);
    if (waits) gpu_side_join_mark(3);
    gpu_zero(x, sizeof ones);
    gpu_side_join(GPU_BRANCH);
    void *graph = from_graph ? gpu_captured() : NULL;
    if (from_graph) CHECK_THAT(graph && !gpu_replay(graph), "no graph was written: %s", gpu_error());
    gpu_copy_out(found, y, sizeof found);
    gpu_graph_free(graph);
    in_order(GPU_AT_ONCE);
    gpu_release(x), gpu_release(y), gpu_release(z);
    return !memcmp(found, ones, sizeof ones);
}

static void check_streams(void)
{
    for (int order = GPU_AT_ONCE; order <= GPU_SIDES_EARLY; order++)
        for (int graph = 0; graph < 2; graph++) {
            bool found = copied_before_zeroed((gpu_timing)order, true, graph),
                 without = copied_before_zeroed((gpu_timing)order, false, graph);
            CHECK_THAT(found, "%s, graph %d: what is waited for has not happened", order_names[order], graph);
            CHECK_THAT(without == (order != GPU_SIDES_LATE), "%s, graph %d: without a wait the copy came %s",
                       order_names[order], graph, without ? "first" : "too late");
        }
}

/* The stream's work is not done before something waits for it: a side stream that began too early would not see it. */
static void check_early(void)
{
    float one = 1, found = 0;
    float *x = gpu_alloc(sizeof one), *y = gpu_alloc(sizeof one), *z = gpu_alloc(sizeof one);
    gpu_copy_in(z, &one, sizeof one);
    gpu_zero(y, sizeof one);
    in_order(GPU_SIDES_EARLY);
    int64_t before = gpu_done.launches;
    gpu_copy(x, z, sizeof one);
    CHECK_THAT(gpu_done.launches == before, "%lld launches ran that nothing waited for",
               (long long)(gpu_done.launches - before));
    gpu_side_begin(GPU_BRANCH);
    CHECK_THAT(gpu_done.launches == before + 1, "%lld launches ran before the side stream's, expected 1",
               (long long)(gpu_done.launches - before));
    gpu_copy(y, x, sizeof one);
    CHECK_THAT(gpu_done.launches == before + 2, "the side stream waits: %lld launches ran, expected 2",
               (long long)(gpu_done.launches - before));
    gpu_side_end();
    gpu_side_join(GPU_BRANCH);
    gpu_copy_out(&found, y, sizeof found);
    in_order(GPU_AT_ONCE);
    CHECK_THAT(found == 1, "found %g, expected 1", (double)found);
    gpu_release(x), gpu_release(y), gpu_release(z);
}

static void check_graphs_joined(void)
{
    float *x = gpu_alloc(sizeof *x);
    CHECK_THAT(!gpu_capture() && !gpu_side_begin(GPU_BRANCH), "no graph can be written");
    gpu_zero(x, sizeof *x);
    gpu_side_end();
    CHECK(!gpu_captured());
    CHECK_HAS(gpu_error(), "a side stream was not joined in the graph");
    gpu_clear_refusal();
    CHECK_THAT(!gpu_capture(), "no graph can be written");
    CHECK_INT(gpu_side_join_mark(5), -1);
    CHECK_HAS(gpu_error(), "a stream waits for what is not in the graph");
    gpu_clear_refusal();
    gpu_graph_free(gpu_captured());
    gpu_release(x);
}
#endif

/* Two streams may run at the same time, so they share nothing that kernels write. */
static void check_own_memory(void)
{
    void *stream = gpu_stream(), *scratch = gpu_scratch(SCRATCH_SUMS, 1000),
         *workspace = gpu_scratch(SCRATCH_PRODUCT, 1000);
    unsigned *tickets = gpu_tickets();
    for (int s = 0; s < GPU_SIDES; s++) {
        CHECK_THAT(!gpu_side_begin((gpu_side)s), "side stream %d cannot be opened: %s", s, gpu_error());
        CHECK_THAT(gpu_stream() != stream, "side stream %d is the stream", s);
        CHECK_THAT(gpu_scratch(SCRATCH_SUMS, 1000) != scratch, "side stream %d has the stream's scratch memory", s);
        CHECK_THAT(gpu_scratch(SCRATCH_PRODUCT, 1000) != workspace, "side stream %d has the stream's workspace", s);
        CHECK_THAT(gpu_tickets() >= tickets + GPU_TICKETS || gpu_tickets() + GPU_TICKETS <= tickets,
                   "side stream %d has the stream's tickets", s);
        gpu_side_end();
        gpu_side_join((gpu_side)s);
    }
    CHECK_THAT(gpu_stream() == stream && gpu_tickets() == tickets && gpu_scratch(SCRATCH_SUMS, 1000) == scratch,
               "the side streams were not left");
}

/* ---- small tapes: results that are read, and memory that is given away ---- */

#ifdef GPU_ON_CPU
enum { SIDE = 16, FOLLOWING = 8 };
typedef struct {
    float gradient[SIDE * SIDE], sums[SIDE], next[SIDE * SIDE];
    int reused;
} small_result;

static float number(int i) { return (float)(i % 7) - 3; }

/* A weight that is used twice: its two gradients are added. A gradient that nobody reads, but whose sums are: the next
 * value gets its memory. */
static void run_small(const backend *on, small_result *r)
{
    static const int64_t square[4] = {1, 1, SIDE, SIDE}, one[4] = {1, 1, 1, 1};
    params s = {0};
    err e = {0};
    float numbers[SIDE * SIDE];
    ab_ctx *c = tape_new(&s, on, F32, true);
    ab_t x = t_input(c, "x", F32, PHASE_STEP, 1, 1, SIDE, SIDE), w = t_param(c, "w", square, 0.5, 0), none = {0};
    ab_t y = t_linear(c, t_linear(c, x, w, none, 0, 0), w, none, 0, 0);
    ab_t loss = t_sum_to(c, t_binary(c, OP_MUL, y, y), one);
    CHECK_INT(tape_backward(c, loss), 0);
    ab_t unread = tape_push(c, OP_LINEAR_DW, F32, square, 2, (ab_t[]){x, x}, NULL), sums = tape_part(c, unread, 1);
    tape_at(c, sums)->type = F32;
    memcpy(tape_at(c, sums)->dim, (int64_t[4]){1, 1, 1, SIDE}, sizeof one);
    t_keep(c, sums, "sums");
    ab_t next[FOLLOWING];
    for (int i = 0; i < FOLLOWING; i++) t_keep(c, next[i] = t_add_scalar(c, x, i), "next");
    params_alloc(&s, F32, 0, 1, on);
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    int reused = 0;
    while (reused < FOLLOWING - 1 && tape_at(c, next[reused])->data != tape_at(c, unread)->data) reused++;
    r->reused = reused;
    CHECK(tape_at(c, next[reused])->data == tape_at(c, unread)->data);
    for (int i = 0; i < SIDE * SIDE; i++) numbers[i] = number(i);
    tape_put(c, "x", numbers);
    int bad = tape_run(c, &(run_options){.from = PHASE_CONST}) ||
              backend_read(on, r->gradient, s.grad, sizeof r->gradient, &e) ||
              tape_read(c, sums, r->sums, sizeof r->sums, &e) ||
              tape_read(c, next[reused], r->next, sizeof r->next, &e);
    CHECK_THAT(!bad, "a small tape failed: %s %s", c->error.text, e.text);
    tape_free(c);
    params_free(&s);
}

static void check_small(const backend *on)
{
    small_result expected, found;
    run_small(on, &expected);
    setenv("ABLATE_BRANCH", "1", 1);
    for (int order = GPU_SIDES_LATE; order <= GPU_SIDES_EARLY; order++) {
        memset(&found, 0, sizeof found);
        in_order((gpu_timing)order);
        run_small(on, &found);
        in_order(GPU_AT_ONCE);
        CHECK_THAT(!memcmp(found.gradient, expected.gradient, sizeof found.gradient),
                   "%s: the gradient of a weight that is used twice is another", order_names[order]);
        CHECK_THAT(!memcmp(found.sums, expected.sums, sizeof found.sums), "%s: other sums", order_names[order]);
        int wrong = 0;
        for (int i = 0; i < SIDE * SIDE; i++) wrong += found.next[i] != number(i) + (float)found.reused;
        CHECK_THAT(!wrong, "%s: %d numbers were overwritten by a gradient that was late", order_names[order], wrong);
    }
    unsetenv("ABLATE_BRANCH");
}
#endif

/* ---- training ---- */

typedef struct {
    double losses[STEPS][2];
    float *values;
    size_t total;
    int64_t gradients; /* products of weight gradients in a step */
} outcome;

static int64_t count_gradients(const ab_ctx *c)
{
    int64_t n = 0;
    for (int32_t i = 1; i < c->n; i++) n += tape_is_call(&c->v[i]) && c->v[i].op == OP_LINEAR_DW;
    return n;
}

static int64_t gradients_of(model *m, const batch *b, err *e)
{
    model_shape shape = {b->n_sentences, b->src_cap, b->tgt_cap, b->src_longest, b->tgt_longest};
    ab_ctx *c = model_loss_tape(m, &shape, true, e);
    int64_t n = c && !tape_measure(c) ? count_gradients(c) : 0;
    tape_free(c);
    return n;
}

static outcome train(world *w, dtype compute, const backend *on)
{
    outcome o = {.values = NULL};
    err e = {0};
    model m;
    int bad = model_open(&m, &w->set, vocab_size(w->src), vocab_size(w->tgt), compute, on, &e);
    train_step *s = bad ? NULL : train_step_open(&m, &e);
    batch_options how = {.batch_tokens = atoll(BATCH_TOKENS),
                         .round = train_step_round(&m, atoll(BATCH_TOKENS), 1),
                         .seed = 1,
                         .train = true};
    batcher *batches = s ? batcher_new(&w->data.split[AB_TRAIN], &how, &e) : NULL;
    bad = !batches;
    for (int step = 1; step <= STEPS && !bad; step++) {
        batch b;
        batcher_next(batches, &b);
        if (!o.gradients) o.gradients = gradients_of(&m, &b, &e);
        bad = train_step_gradient(s, &b, step, &e) || train_step_update(s, (double)b.tgt_rows, step, &e);
    }
    const double(*sums)[2];
    int n = bad ? 0 : train_step_losses(s, &sums, &e);
    if (n == STEPS) memcpy(o.losses, sums, sizeof o.losses);
    float *v = bad ? NULL : params_host(&m.params, 0, &e);
    if (v) {
        o.total = m.params.total, o.values = xmalloc(o.total * sizeof *v);
        memcpy(o.values, v, o.total * sizeof *v);
        params_host_done(&m.params, 0, v, false);
    }
    CHECK_THAT(!e.text[0] && n == STEPS, "training failed after %d losses: %s", n, e.text);
    batcher_free(batches);
    train_step_close(s);
    model_free(&m);
    return o;
}

static void check_same(const char *what, const outcome *found, const outcome *expected)
{
    CHECK_THAT(found->total == expected->total && found->total > 0, "%s: %zu values, expected %zu", what, found->total,
               expected->total);
    if (found->total != expected->total || !found->values) return;
    size_t other = 0;
    for (size_t i = 0; i < found->total; i++)
        other += memcmp(&found->values[i], &expected->values[i], sizeof(float)) != 0;
    CHECK_THAT(!other, "%s: %zu of %zu values have other bits than without a branch", what, other, found->total);
    for (int i = 0; i < STEPS; i++)
        for (int k = 0; k < 2; k++) CHECK_NEAR(found->losses[i][k], expected->losses[i][k], 0);
}

/* One way of running the steps with the branch. */
static void check_way(const char *what, world *w, dtype compute, const backend *on, const outcome *expected)
{
#ifdef GPU_ON_CPU
    gpu_beside_tally before = gpu_beside;
#endif
    outcome o = train(w, compute, on);
    check_same(what, &o, expected);
#ifdef GPU_ON_CPU
    int64_t ran = gpu_beside.launches - before.launches, overtaken = gpu_beside.overtaken - before.overtaken;
    int64_t least = STEPS * o.gradients;
    CHECK_THAT(o.gradients > 0 && ran >= least, "%s: %lld launches beside the stream's, expected at least %lld", what,
               (long long)ran, (long long)least);
    if (gpu_when == GPU_SIDES_LATE) {
        printf("  %s: %lld weight gradients a step, each overtaken by up to %.1f launches\n", what,
               (long long)o.gradients, (double)overtaken / (double)ran);
        CHECK_THAT(overtaken >= 2 * ran, "%s: %lld launches were overtaken by %lld, expected at least two each", what,
                   (long long)ran, (long long)overtaken);
    }
#endif
    free(o.values);
}

typedef struct {
    const char *name, *value;
} choice;
typedef struct {
    dtype compute;
    choice more[3];
} variant;
static const variant variants[] = {
    {BF16,
     {{"share_embeddings", "all"},
      {"clip_norm", "0.5"}}}, /* the embedding's gradient is added to the output's, which is a product's */
    {F32, {{"share_embeddings", "none"}, {"dropout", "0"}}}, /* gradients that products read are added to in place */
    {BF16, {{"block", "pre_norm"}, {"share_embeddings", "all"}, {"attention_encoder", "additive"}}},
};

static void check_variant(const variant *v, const backend *on)
{
    static const char *const common[][2] = {{"task", "sequence"}, {"warmup", "4"}, {"lr", "0.5"}, {"steps", "4"}};
    char what[128] = "";
    world w;
    world_open(&w, common, LENGTH(common), "64");
    for (size_t i = 0; i < LENGTH(sizes); i++) put(&w, sizes[i][0], sizes[i][1]);
    for (size_t i = 0, at = 0; i < LENGTH(v->more) && v->more[i].name; i++) {
        put(&w, v->more[i].name, v->more[i].value);
        at += (size_t)snprintf(what + at, sizeof what - at, "%s %s, ", v->more[i].name, v->more[i].value);
    }
    unsetenv("ABLATE_BRANCH");
    outcome expected = train(&w, v->compute, on);
    setenv("ABLATE_BRANCH", "1", 1);
    char name[256];
#ifdef GPU_ON_CPU
    for (int order = GPU_AT_ONCE; order <= GPU_SIDES_EARLY; order++) {
        in_order((gpu_timing)order);
        snprintf(name, sizeof name, "%s%s", what, order_names[order]);
        check_way(name, &w, v->compute, on, &expected);
    }
    in_order(GPU_AT_ONCE);
#else
    for (int graph = 0; graph < 2; graph++) {
        setenv("ABLATE_GRAPH", graph ? "1" : "0", 1);
        snprintf(name, sizeof name, "%s%s", what, graph ? "graph" : "kernel after kernel");
        check_way(name, &w, v->compute, on, &expected);
    }
#endif
    unsetenv("ABLATE_BRANCH");
    free(expected.values);
    world_close(&w);
}

int main(void)
{
    const cuda_module *module;
    err e = {0};
    const backend *on = open_device(&module, &e);
    CHECK_TEXT(e.text, "");
#ifdef GPU_ON_CPU
    check_streams();
    check_early();
    check_graphs_joined();
#endif
    check_own_memory();
#ifdef GPU_ON_CPU
    check_small(on);
#endif
    for (size_t i = 0; i < LENGTH(variants) && on; i++) {
#ifdef GPU_ON_CPU
        if (i > 1 && !test_long()) continue; /* fibers are slow */
#endif
        check_variant(&variants[i], on);
    }
    CHECK_THAT(!gpu_error(), "the GPU's error: %s", gpu_error());
    module->close();
    return test_end();
}
