/* test_launches.c - counts the launches of kernels (and of zeroing and copies within the device) and the copies from
 * the host in a training step and in a step of decoding, for the benchmark's models (docs/performance.md). Both depend
 * on layers, not on the number of rows or words, which are small here. The emulation counts without computing. With an
 * argument, the program prints counts by operation and kernel. */
#include "tensor/cuda/runtime.h"
#include "network/decode/beam.h"
#include "open_device.h"
#include "test.h"
#include "network/train/train.h"
#include "world.h"

static const char *const settings_of_all[][2] = {
    {"task", "sequence"}, {"batch_tokens", "512"}, {"share_embeddings", "all"}};

enum { WORDS = 1000 /* more ids than the data uses: ids have two bytes, as with a real vocabulary */ };

/* ---- launches by operation ---- */

static const backend *device;
static int counted(const call *k, err *e)
{
    gpu_label = op_names[k->op];
    int rc = device->kernels[k->op](k, e);
    gpu_label = "update";
    return rc;
}
static void print(void *self, const char *label, const char *name, int64_t n)
{
    if (*(bool *)self) printf("  %-20s %5lld  %s\n", label, (long long)n, name);
}

static bool wordy;

/* ---- a step ---- */

static int step_of(train_step *s, batcher *batches, int64_t step, err *e)
{
    batch b;
    batcher_next(batches, &b);
    return train_step_gradient(s, &b, step, e) || train_step_update(s, (double)b.tgt_rows, step, e);
}

static gpu_tally count_step(const char *name, world *w, const backend *on)
{
    model m;
    err e = {0};
    CHECK_INT(model_open(&m, &w->set, WORDS, WORDS, BF16, on, &e), 0);
    train_step *s = train_step_open(&m, &e);
    batch_options how = {.batch_tokens = 512, .round = train_step_round(&m, 512, 1), .seed = 1, .train = true};
    batcher *batches = batcher_new(&w->data.split[AB_TRAIN], &how, &e);
    bool none = false;
    /* step 1 runs kernel after kernel, step 2 while capturing a graph */
    for (int64_t step = 1; step <= 2; step++) CHECK_INT(step_of(s, batches, step, &e), 0);
    gpu_tally before = gpu_done;
    gpu_each_launch(print, &none);
    CHECK_INT(step_of(s, batches, 3, &e), 0);
    CHECK_TEXT(e.text, "");
    gpu_tally t = {.launches = gpu_done.launches - before.launches, .copies_in = gpu_done.copies_in - before.copies_in};
    printf("%s: %lld launches and %lld copies from the host a step\n", name, (long long)t.launches,
           (long long)t.copies_in);
    gpu_each_launch(print, &wordy);
    batcher_free(batches);
    train_step_close(s);
    model_free(&m);
    return t;
}

/* ---- a step of decoding ---- */

/* at_choice: counts up to the last choice; decoding: counts of the last step that ran from a graph */
static gpu_tally at_choice, decoding;
static int64_t choices;

/* Runs the device's choice, then replaces its results: each row then continues another row, and no sentence ends. */
static int counted_choose(const choosing *c, const void *logits, dtype type, continuation *out, err *e)
{
    bool none = false;
    int rc = device->choose(c, logits, type, out, e);
    for (int64_t i = 0; i < c->sentences * c->wanted; i++)
        out[i] = (continuation){-1 - (double)(i % c->wanted), (int32_t)(i % c->beam), (int32_t)(10 + i % c->wanted)};
    decoding = (gpu_tally){.launches = gpu_done.launches - at_choice.launches,
                           .copies_in = gpu_done.copies_in - at_choice.copies_in};
    at_choice = gpu_done;
    gpu_each_launch(print, choices++ == 5 ? &wordy : &none);
    gpu_label = "beside operations";
    return rc;
}

static gpu_tally count_decoding(const char *name, world *w, const backend *on)
{
    enum { SENTENCES = 64, LENGTH_OF_ALL = 8 };
    static int32_t src[SENTENCES * (LENGTH_OF_ALL + 1)];
    static int64_t src_at[SENTENCES + 1];
    model m;
    err e = {0};
    hypothesis out[SENTENCES];
    pairs p = {.n = SENTENCES, .src = src, .tgt = src, .src_at = src_at, .tgt_at = src_at};
    for (int i = 0; i < SENTENCES * (LENGTH_OF_ALL + 1); i++)
        src[i] = (i + 1) % (LENGTH_OF_ALL + 1) ? 10 + i % 7 : AB_ID_END;
    for (int i = 0; i <= SENTENCES; i++) src_at[i] = i * (LENGTH_OF_ALL + 1);
    CHECK_INT(model_open(&m, &w->set, WORDS, WORDS, BF16, on, &e), 0);
    choices = 0;
    CHECK_INT(beam_search(&m, &p,
                          &(beam_options){.beam_size = 4, .length_penalty = 0.6, .max_extra_tokens = 4, .nbest = 1},
                          out, NULL, &e),
              0);
    CHECK_TEXT(e.text, "");
    CHECK(choices > 6);
    printf("%s: %lld launches and %lld copies from the host a step of decoding\n", name, (long long)decoding.launches,
           (long long)decoding.copies_in);
    hypotheses_free(out, SENTENCES);
    model_free(&m);
    return decoding;
}

/* ---- the expected number of launches, as a sum over what the launches do ---- */

enum {
    /* encoder layer: q k v in one, output, two of the feed-forward; decoder layer: the same, and for cross-attention q,
     * k v in one, output */
    PRODUCTS_OF_LAYER = 4 + 7,
    ATTENTIONS_OF_LAYER = 1 + 2,
    NORMS_OF_LAYER = 2 + 3,
    /* STEP_OF_LAYER: the backward pass also has one launch for each of these; for a product, this launch computes the
     * gradient of its rows */
    STEP_OF_LAYER = 2 * (PRODUCTS_OF_LAYER + ATTENTIONS_OF_LAYER + NORMS_OF_LAYER),
    /* weight gradients, one batch of products for all layers; logits, 3 products; embeddings of both sides, 2, their
     * gradients, 2 x 2, dropout on them, 2; loss and its sum, 2; tables of tiles, 1; optimizer, 1; zeros before sums,
     * 1; host writes, 2 */
    STEP_BESIDE = PRODUCTS_OF_LAYER + 3 + 2 + 4 + 2 + 2 + 1 + 1 + 1 + 2,
    /* decoder layer, without k v of the source, which are cached: self: q k v, then output and norm in one; cross: q,
     * then output and norm in one; feed-forward: two products and a norm; two attentions */
    DECODING_OF_LAYER = 2 + 2 + 3 + 2,
    NORMS_APART = 2, /* norms of rows wider than 512 have their own launches, after both output products */
    /* one launch for each: logits; embedding; choice of tokens by row and, in its last block, by sentence; host writes
     * together with copying the pasts of rows that continue others */
    DECODING_BESIDE = 1 + 1 + 1 + 1
};
typedef struct { /* models of bench.c, with smaller widths where these make no difference */
    const char *name, *d_model, *d_ff, *heads, *layers;
    int64_t step, decoding;
} size;
static const size sizes[] = {{"tiny", "128", "256", "4", "4", 181, 40},
                             {"small", "256", "1024", "4", "3", 143, 31},
                             {"base", "512", "2048", "8", "6", 257, 58},
                             {"big", "640", "2560", "16", "6", 257, 70}};

int main(int argc, char **argv)
{
    const cuda_module *module;
    err e = {0};
    wordy = argc > 1 && same(argv[1], "by-kernel");
    device = open_device(&module, &e);
    CHECK_TEXT(e.text, "");
    backend on = *device;
    for (int i = 0; i < OP_COUNT; i++)
        if (on.kernels[i]) on.kernels[i] = counted;
    on.choose = counted_choose;
    gpu_dry = 1;
    gpu_label = "update";
    world w;
    world_open(&w, settings_of_all, LENGTH(settings_of_all), "64");
    /* under a sanitizer two sizes, since all run the same code */
    for (size_t i = 0; i < (TEST_SANITIZED ? 2 : LENGTH(sizes)); i++) {
        const size *z = &sizes[i];
        put(&w, "d_model", z->d_model), put(&w, "heads", z->heads), put(&w, "layers", z->layers);
        put(&w, "d_ff", z->d_ff);
        gpu_tally step = count_step(z->name, &w, &on), decoding = count_decoding(z->name, &w, &on);
        int64_t layers = atoll(z->layers);
        CHECK_INT(step.launches, STEP_OF_LAYER * layers + STEP_BESIDE);
        CHECK_INT(step.launches, z->step);
        int64_t apart = atoll(z->d_model) > 512 ? NORMS_APART : 0;
        CHECK_INT(decoding.launches, (DECODING_OF_LAYER + apart) * layers + DECODING_BESIDE);
        CHECK_INT(decoding.launches, z->decoding);
        CHECK_INT(step.copies_in, 1); /* ids, offsets and scalars in one copy (uploads.cu) */
        CHECK_INT(decoding.copies_in, 1);
    }
    world_close(&w);
    module->close();
    return test_end();
}
