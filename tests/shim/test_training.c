/* Whole training steps on the CUDA backend against the CPU's: losses, parameters after each update, dev perplexity and
 * decoded outputs, for several attentions and positions, with dropout. Two runs on the device are equal bit for bit. If
 * all values are packed rows, one graph serves all batches. Generated updates of every elementwise optimizer have the
 * interpreter's bits. */
#include "tensor/cpu/cpu.h"
#include "network/decode/beam.h"
#include "network/decode/sample.h"
#include "open_device.h"
#include "test.h"
#include "network/train/optim.h"
#include "network/train/train.h"
#include "world.h"

typedef struct {
    const char *attention, *position, *more, *value; /* `more` is set to `value` */
} variant;
static const variant variants[] = {
    {"scaled_dot", "sinusoid", "clip_norm", "0.5"},
    {"scaled_dot", "learned", "block", "pre_norm"},
    {"scaled_dot", "rotary", "optimizer", "adamw"},
    {"scaled_dot", "shaw", "share_embeddings", "none"},
    {"scaled_dot", "alibi", "attention_dropout", "0.2"},
    {"sink", "sinusoid", "share_embeddings", "none"},
    {"sigmoid", "sinusoid", "clip_norm", "0.5"},
    {"additive", "sinusoid", "optimizer", "lion"},
    {"linear", "sinusoid", "optimizer", "sgd"},
    {"scaled_dot", "sinusoid", "attention_dropout", "0.2"},
    {"recurrent", "sinusoid", "optimizer", "sgd"},
    {"convolutional", "none", "optimizer", "sgd"},
    {"scaled_dot", "sinusoid", "optimizer", "adafactor"},
    {"scaled_dot", "sinusoid", "optimizer", "muon"},
    {"scaled_dot", "sinusoid", "optimizer", "lamb"},
    {"scaled_dot", "sinusoid", "char_ngrams", "9"},
    {"scaled_dot", "sinusoid", "parameter_groups", "norm bias: beta1=0.8 | *.w : lr=2"},
};
enum { UPDATES = 2, BATCH_TOKENS = 64 };

static const char *const small[][2] = {
    {"task", "sequence"}, {"layers", "1"}, {"d_model", "24"},  {"d_ff", "40"}, {"heads", "2"},
    {"warmup", "4"},      {"lr", "0.5"},   {"beam_size", "3"}, {"steps", "4"}, {"batch_tokens", "64"}};

typedef struct {
    double losses[2 * UPDATES][2];
    int n_losses;
    double ppl;
    float *values, *compared;
    size_t total;
    hypothesis *out;
    int64_t n_out;
} outcome;

static void outcome_free(outcome *o)
{
    free(o->values);
    free(o->compared);
    hypotheses_free(o->out, o->n_out);
    free(o->out);
}

static bool alone;        /* the model has a decoder only, which ignores a batch's sources */
static int64_t spare_ids; /* number of ids that the data do not use */

/* Largest relative differences from the CPU. On a GPU products are cuBLASLt's, which adds in another order than our
 * kernels; the emulated GPU must meet tighter bounds. Both builds print the differences found. */
#ifdef GPU_ON_CPU
static const double loss_apart[2] = {2e-5, 2e-2}, values_apart[2] = {1e-2, 1e-1}, score_apart = 1e-4; /* fp32, bf16 */
enum { NEAR_TIES = 0 };
#else
static const double loss_apart[2] = {1e-4, 3e-2}, values_apart[2] = {3e-2, 2e-1}, score_apart = 1e-3;
enum { NEAR_TIES = 1 };
#endif

/* A model with a decoder only continues a text. */
static int write_text(model *m, outcome *o, err *e)
{
    id_list text = {0};
    int bad = sample_text(m, &(sample_options){.tokens = 12, .window = 8}, &text, NULL, e);
    o->out[0] = (hypothesis){.ids = text.id, .n = text.n};
    return bad;
}

/* A bias of keys adds the same number to all scores of a query, so the softmax cancels it: its true gradient is zero,
 * and Adam makes full steps out of rounding errors. Unless positions rotate the keys, such biases are not compared with
 * the CPU's; but their bits must be equal in two runs on the device. */
static void leave_out_key_biases(const model *m, float *values)
{
    for (size_t i = 0; i < m->params.n && m->position && !m->position->iface.position.rotate; i++) {
        const param *p = &m->params.p[i];
        size_t K = (size_t)(m->cfg.heads * m->cfg.d_k), from = has_suffix(p->name, ".qkv.b") ? K : 0;
        if (has_suffix(p->name, ".qkv.b") || has_suffix(p->name, ".kv.b"))
            memset(values + p->at + from, 0, K * sizeof *values);
    }
}

/* Trains with two batches per update, then measures perplexity and runs beam search. */
static int train(world *w, dtype compute, const backend *on, outcome *o, err *e)
{
    model m;
    *o = (outcome){0};
    if (model_open(&m, &w->set, alone ? 0 : vocab_size(w->src) + spare_ids, vocab_size(w->tgt) + spare_ids, compute, on,
                   e))
        return -1;
    train_step *s = train_step_open(&m, e);
    batch_options how = {
        .batch_tokens = BATCH_TOKENS, .round = train_step_round(&m, BATCH_TOKENS, 1), .seed = 1, .train = true};
    batcher *batches = s ? batcher_new(&w->data.split[AB_TRAIN], &how, e) : NULL;
    int bad = !batches;
    for (int step = 1; step <= UPDATES && !bad; step++) {
        double tokens = 0;
        batch b;
        for (int k = 0; k < 2 && !bad; k++) {
            batcher_next(batches, &b);
            tokens += (double)b.tgt_rows;
            bad = train_step_gradient(s, &b, step, e);
        }
        bad = bad || train_step_update(s, tokens, step, e);
    }
    const double(*sums)[2];
    int n = bad ? -1 : train_step_losses(s, &sums, e);
    for (o->n_losses = 0; o->n_losses < n; o->n_losses++)
        memcpy(o->losses[o->n_losses], sums[o->n_losses], sizeof *sums);
    bad = bad || n < 0;
    pairs *dev = &w->data.split[AB_DEV];
    if (!bad) o->ppl = train_perplexity(&m, dev, NULL, e);
    bad = bad || e->text[0];
    float *v = bad ? NULL : params_host(&m.params, 0, e);
    if (v) {
        o->total = m.params.total;
        o->values = xmalloc(o->total * sizeof *v);
        o->compared = xmalloc(o->total * sizeof *v);
        memcpy(o->values, v, o->total * sizeof *v);
        memcpy(o->compared, v, o->total * sizeof *v);
        leave_out_key_biases(&m, o->compared);
        params_host_done(&m.params, 0, v, false);
    }
    beam_options beam = beam_options_of(&m.cfg);
    o->n_out = alone ? 1 : dev->n;
    o->out = xcalloc((size_t)dev->n + 1, sizeof *o->out);
    if (v && (alone ? write_text(&m, o, e) : beam_search(&m, dev, &beam, o->out, NULL, e))) bad = 1;
    batcher_free(batches);
    train_step_close(s);
    model_free(&m);
    return bad || !v ? -1 : 0;
}

/* The norm of the difference divided by the norm of a's values. */
static double apart(const outcome *a, const outcome *b)
{
    double sum = 0, size = 0;
    for (size_t i = 0; i < a->total; i++) {
        double x = (double)a->compared[i], d = x - (double)b->compared[i];
        sum += d * d, size += x * x;
    }
    return sqrt(sum / size);
}

static bool same_ids(const hypothesis *a, const hypothesis *b)
{
    return a->n == b->n && !memcmp(a->ids, b->ids, (size_t)a->n * sizeof *a->ids);
}

/* Expects equal outputs. If two hypotheses score nearly alike, a GPU may prefer the other one: this is printed and
 * fails only if every second sentence differs. */
static void check_outputs(const outcome *a, const outcome *b)
{
    int64_t others = 0;
    double most = 0;
    for (int64_t i = 0; i < a->n_out; i++) {
        double d = fabs(b->out[i].score - a->out[i].score);
        most = d > most ? d : most;
        CHECK_NEAR(b->out[i].score, a->out[i].score, score_apart);
        others += !same_ids(&a->out[i], &b->out[i]);
    }
    printf("  scores apart %.2g; %" PRId64 " of %" PRId64 " outputs are others of nearly the same score\n", most,
           others, a->n_out);
    CHECK(others <= (NEAR_TIES ? a->n_out / 2 : 0));
}

static void compare(world *w, const variant *v, dtype compute, const backend *device)
{
    outcome cpu, gpu, again;
    err e = {0};
    printf("%s %s %s = %s, %s\n", v->attention, v->position, v->more, v->value, dtype_name(compute));
    /* a CPU that fuses the operations that the device fuses, since dropout's masks depend on that */
    backend alike = cpu_backend;
    alike.takes_tables = device->takes_tables, alike.takes_weights = device->takes_weights;
    if (!device->kernels[OP_ROTATE]) alike.kernels[OP_ROTATE] = NULL;
    int bad = train(w, compute, &alike, &cpu, &e);
    CHECK_TEXT(e.text, "");
    bad |= train(w, compute, device, &gpu, &e);
    CHECK_TEXT(e.text, "");
    bad |= train(w, compute, device, &again, &e);
    CHECK_TEXT(e.text, "");
    CHECK_INT(gpu.n_losses, cpu.n_losses);
    CHECK_INT(cpu.n_losses, 2 * UPDATES);
    double allowed = loss_apart[compute != F32], most = 0;
    for (int i = 0; i < cpu.n_losses && !bad; i++)
        for (int k = 0; k < 2; k++) {
            double d = fabs(gpu.losses[i][k] / cpu.losses[i][k] - 1);
            most = d <= most ? most : d; /* NaN is kept */
            CHECK_NEAR(gpu.losses[i][k] / cpu.losses[i][k], 1, allowed);
        }
    if (!bad) {
        CHECK_NEAR(gpu.ppl / cpu.ppl, 1, 3 * allowed);
        CHECK_INT(gpu.total, cpu.total);
        CHECK_NEAR(apart(&cpu, &gpu), 0, values_apart[compute != F32]);
        printf("  losses apart %.2g of %.2g, perplexity %.2g of %.2g, values %.2g of %.2g\n", most, allowed,
               fabs(gpu.ppl / cpu.ppl - 1), 3 * allowed, apart(&cpu, &gpu), values_apart[compute != F32]);
        CHECK_INT(memcmp(gpu.values, again.values, gpu.total * sizeof *gpu.values), 0);
        CHECK_INT(memcmp(gpu.losses, again.losses, sizeof gpu.losses), 0);
        if (compute == F32) check_outputs(&cpu, &gpu);
    }
    outcome_free(&cpu);
    outcome_free(&gpu);
    outcome_free(&again);
}

/* ---- graphs ---- */

static int64_t counted(const backend *device, const char *what)
{
    char words[128] = "";
    device->stats(words, sizeof words);
    const char *at = strstr(words, what);
    return at ? atoll(at + strlen(what)) : -1;
}
static int64_t graphs_made(const backend *device) { return counted(device, "graphs "); }
static int64_t products_made(const backend *device)
{
    return counted(device, "cuBLASLt ") + counted(device, "own kernels ");
}

typedef struct {
    /* fewest, most: sentences in a batch; shortest, longest: the longest target in a batch */
    int64_t fewest, most, shortest, longest;
} sizes;

static void note_sizes(sizes *s, const batch *b)
{
    if (!s->most || b->n_sentences < s->fewest) s->fewest = b->n_sentences;
    if (b->n_sentences > s->most) s->most = b->n_sentences;
    if (!s->longest || b->tgt_longest < s->shortest) s->shortest = b->tgt_longest;
    if (b->tgt_longest > s->longest) s->longest = b->tgt_longest;
}

/* Computes gradients of n different batches, each twice, so that every tape becomes a graph. */
static sizes all_twice(train_step *s, batcher *batches, int n, err *e)
{
    sizes z = {0};
    for (int pass = 0; pass < 2; pass++) {
        if (batcher_seek(batches, (batch_state){0}, e)) break;
        for (int k = 0; k < n; k++) {
            batch b;
            batcher_next(batches, &b);
            note_sizes(&z, &b);
            train_step_gradient(s, &b, 1, e);
        }
    }
    return z;
}

/* Counts the graphs of training and of perplexity. Perplexity's batches differ as well, and each occurs once per call.
 * one: a single graph must serve all batches; otherwise each batch may need its own, and two batches are run. */
static void check_graphs(world *w, const variant *v, const backend *device, bool one)
{
    model m;
    err e = {0};
    pairs some = w->data.split[AB_TRAIN];
    some.n = one ? 16 : 2;
    CHECK_INT(model_open(&m, &w->set, vocab_size(w->src), vocab_size(w->tgt), F32, device, &e), 0);
    train_step *s = train_step_open(&m, &e);
    batch_options how = {
        .batch_tokens = BATCH_TOKENS, .round = train_step_round(&m, BATCH_TOKENS, 1), .seed = 1, .train = true};
    batcher *batches = batcher_new(&w->data.split[AB_TRAIN], &how, &e);
    int64_t before = graphs_made(device);
    sizes z = all_twice(s, batches, one ? 6 : 2, &e);
    int64_t trained = graphs_made(device);
    double first = train_step_perplexity(s, &some, NULL, &e), after = graphs_made(device),
           second = train_step_perplexity(s, &some, NULL, &e);
    int64_t training = trained - before, perplexity = graphs_made(device) - trained;
    CHECK_NEAR(second, first, 0);
    if (one) CHECK_INT(graphs_made(device), after); /* the second call needs no new graph */
    CHECK_TEXT(e.text, "");
    printf("%s %s: %lld to %lld sentences, times %lld to %lld; graphs: %lld of gradients, %lld of perplexity\n",
           v->attention, v->position, (long long)z.fewest, (long long)z.most, (long long)z.shortest,
           (long long)z.longest, (long long)training, (long long)perplexity);
    CHECK(z.fewest < z.most && z.shortest + 4 < z.longest);
    if (one) {
        CHECK_INT(training, 1);
        CHECK_INT(perplexity, 1);
    } else {
        CHECK(training > 1);
    }
    batcher_free(batches);
    train_step_close(s);
    model_free(&m);
}

/* Weight gradients of several layers are one batch of products: fewer products, with the same bits as one by one.
 * Without dropout a residual's gradient is overwritten, so products that read it are not joined. */
static void check_joined(const char *dropout, const backend *device)
{
    backend apart_too = *device;
    apart_too.joins_gradients = false;
    world w;
    outcome joined, apart;
    err e = {0};
    world_open(&w, small, LENGTH(small), "64");
    w.data.split[AB_DEV].n = 1;
    put(&w, "layers", "3"), put(&w, "dropout", dropout);
    int64_t before = products_made(device);
    CHECK_INT(train(&w, F32, device, &joined, &e), 0);
    int64_t fewer = products_made(device) - before;
    CHECK_INT(train(&w, F32, &apart_too, &apart, &e), 0);
    CHECK_TEXT(e.text, "");
    int64_t more = products_made(device) - before - fewer;
    printf("3 layers, dropout %s: %" PRId64 " products, %" PRId64 " one by one\n", dropout, fewer, more);
    CHECK_THAT(fewer < more, "%" PRId64 " products joined, %" PRId64 " one by one", fewer, more);
    CHECK_INT(memcmp(joined.values, apart.values, apart.total * sizeof *apart.values), 0);
    CHECK_INT(memcmp(joined.losses, apart.losses, sizeof apart.losses), 0);
    outcome_free(&joined);
    outcome_free(&apart);
    world_close(&w);
}

#ifdef GPU_ON_CPU
/* Is variant i to be run? Usually only the first and the fifth are; under the race detector every third is; under
 * sanitizers a random tenth is, but not linear attention, whose thousands of small products take longer than all others
 * together. `ablate test --all` runs more of them, and the tests of a release run all. Each takes seconds, since fibers
 * emulate a GPU's threads. Other variants and tests cover parts of those that only a release runs. */
static bool taken(size_t i)
{
    const variant *v = &variants[i];
    bool elsewhere = same(v->value, "adamw") || same(v->value, "adafactor") || same(v->value, "muon") ||
                     same(v->more, "parameter_groups") ||
                     (same(v->more, "attention_dropout") && same(v->position, "sinusoid"));
    bool races = getenv("ABLATE_SCHEDULE");
    if (TEST_SANITIZED ? test_drawn(i, 10) && !same(v->attention, "linear")
                       : (races ? i % 3 == 0 : i == 0 || i == 4) || test_exhaustive() || (test_long() && !elsewhere))
        return true;
    printf("left to %s: %s %s %s = %s\n", elsewhere ? "`tests/reliability.sh whole`" : "`ablate test --all`",
           v->attention, v->position, v->more, v->value);
    return false;
}
#endif

int main(void)
{
    const cuda_module *m;
    err e = {0};
    const backend *device = open_device(&m, &e);
    CHECK_TEXT(e.text, "");
    for (size_t i = 0; i < LENGTH(variants) && device; i++) {
        const variant *v = &variants[i];
#ifdef GPU_ON_CPU
        if (!taken(i)) continue;
#endif
        world w;
        world_open(&w, small, LENGTH(small), "64");
        if (w.data.split[AB_DEV].n > 5) w.data.split[AB_DEV].n = 5; /* few sentences, since fibers are slow */
        put(&w, "attention", v->attention);
        put(&w, "attention_encoder", v->attention);
        put(&w, "attention_decoder", v->attention);
        /* a layer, which has no queries */
        bool layer = same(v->attention, "recurrent") || same(v->attention, "convolutional");
        put(&w, "attention_cross", layer ? "scaled_dot" : v->attention);
        put(&w, "position", v->position);
        put(&w, v->more, v->value);
        compare(&w, v, F32, device);
        if (i == 1 || layer) compare(&w, v, BF16, device);
        bool additive = same(v->attention, "additive"), written = !getenv("ABLATE_GRAPH");
        if (written && (i == 0 || additive)) check_graphs(&w, v, device, !additive);
        if (i == 0) {
            alone = true;
            compare(&w, v, F32, device);
            alone = false;
            spare_ids = 75; /* makes the vocabulary odd, so that rows of logits have padding */
            compare(&w, v, BF16, device);
            if (test_long()) compare(&w, v, F32, device);
            spare_ids = 0;
        }
        world_close(&w);
    }
    if (device) check_joined("0.1", device);
    if (device && test_long()) check_joined("0", device);
    char words[128] = "";
    if (device) device->stats(words, sizeof words);
    printf("products: %s\n", words);
    CHECK_HAS(words, "cuBLASLt ");
#ifdef GPU_ON_CPU
    CHECK_HAS(words, "cuBLASLt 0, own kernels ");
#endif
    CHECK_HAS(words, ", graphs ");
    m->close();
    return test_end();
}
