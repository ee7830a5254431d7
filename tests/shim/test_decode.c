/* Beam search on the device gives the CPU's outputs, with and without a mask, in one batch and in several. Models: with
 * caches of keys and values; with all of the past as one tensor, whose tapes are built anew at each step; and with
 * running sums. */
#include "decode/models.h"
#include "open_device.h"

enum { V = 90, N = 5, LONGEST = 6, NBEST = 2, BEAM = 3 };

/* A mask that allows odd ids at even positions, even ids at odd ones, and EOS after an even number of tokens. */
static void *start(void *self, int64_t sentence) { return (void)self, (void)sentence, xcalloc(1, sizeof(int64_t)); }
static void *advance(void *self, void *state, int32_t token)
{
    int64_t *next = xmalloc(sizeof *next);
    *next = *(int64_t *)state + 1;
    return (void)self, (void)token, next;
}
static void allowed(void *self, const void *state, uint8_t *mask)
{
    int64_t length = *(const int64_t *)state;
    (void)self;
    for (int64_t i = 0; i < V; i++) mask[i] = (i + length) % 2 == 1;
    mask[VOCAB_EOS] = length > 0 && length % 2 == 0;
}
static void release(void *self, void *state) { (void)self, free(state); }
static const decode_mask alternation = {NULL, start, advance, allowed, release};

static beam_stats search_on(const backend *on, const kind_of_model *k, dtype type, const beam_options *o,
                            hypothesis *out)
{
    model m;
    err e = {0};
    beam_stats stats = {0};
    pairs p = random_pairs(N, 1, LONGEST, V, 2);
    models_on = on;
    random_model(&m, k, V, type, 1, 6);
    CHECK_INT(beam_search(&m, &p, o, out, &stats, &e), 0);
    CHECK_TEXT(e.text, "");
    pairs_free(&p);
    model_free(&m);
    return stats;
}

static void check_same(const hypothesis *found, const hypothesis *expected, double apart)
{
    for (int i = 0; i < N * NBEST; i++) {
        CHECK_INT(found[i].n, expected[i].n);
        for (int64_t j = 0; j < found[i].n && j < expected[i].n; j++) CHECK_INT(found[i].ids[j], expected[i].ids[j]);
        CHECK_NEAR(found[i].score, expected[i].score, apart);
    }
}

/* Compares the device's outputs with the CPU's, and outputs of one batch with outputs of several batches. parts_apart:
 * how far scores of one and of several batches may differ, since composed attention sums over as many keys as the
 * batch's longest sentence has. */
static void compare(const backend *device, const kind_of_model *k, int64_t max_extra, const decode_mask *mask,
                    double parts_apart)
{
    hypothesis cpu[N * NBEST], gpu[N * NBEST], parts[N * NBEST];
    beam_options o = {
        .beam_size = BEAM, .length_penalty = 0.6, .max_extra_tokens = max_extra, .nbest = NBEST, .mask = mask};
    printf("%s %s%s\n", k->attention, k->position, mask ? ", masked" : "");
    search_on(NULL, k, F32, &o, cpu);
    beam_stats whole = search_on(device, k, F32, &o, gpu);
    check_same(gpu, cpu, 1e-4);
    for (int i = 0; i < N * NBEST && mask; i++)
        for (int64_t j = 0; j < gpu[i].n; j++) CHECK((gpu[i].ids[j] + j) % 2 == 1);
#ifdef GPU_ON_CPU
    setenv("ABLATE_EMULATED_MEMORY", "250000", 1); /* too little memory for all sentences at once */
    beam_stats several = search_on(device, k, F32, &o, parts);
    unsetenv("ABLATE_EMULATED_MEMORY");
#else
    o.batch = 2;
    beam_stats several = search_on(device, k, F32, &o, parts);
#endif
    check_same(parts, gpu, parts_apart);
    printf("  %lld steps in one batch, %lld in several\n", (long long)whole.steps, (long long)several.steps);
    CHECK(whole.steps <= LONGEST + max_extra + 1); /* one batch */
    CHECK(several.steps > whole.steps);
    hypotheses_free(cpu, N * NBEST), hypotheses_free(gpu, N * NBEST), hypotheses_free(parts, N * NBEST);
}

#ifdef GPU_ON_CPU /* only the emulation multiplies by our own kernels */
/* A product and the norm of its result in one launch: the same outputs with fewer launches. */
static void check_joined(const backend *device)
{
    static const kind_of_model kind = {"scaled_dot", "sinusoid", "d_model=64 heads=4 d_ff=96"};
    backend apart = *device;
    hypothesis out[2][N * NBEST];
    int64_t launches[2], steps = 0;
    beam_options o = {.beam_size = BEAM, .length_penalty = 0.6, .max_extra_tokens = 3, .nbest = NBEST};
    apart.joins_norms = false;
    for (int joined = 0; joined < 2; joined++) {
        int64_t before = gpu_done.launches;
        steps = search_on(joined ? device : &apart, &kind, BF16, &o, out[joined]).steps;
        launches[joined] = gpu_done.launches - before;
    }
    check_same(out[1], out[0], 0);
    /* each step has two layers with two norms each */
    CHECK_THAT(launches[0] - launches[1] == 4 * steps, "%lld launches with products and norms joined, %lld apart",
               (long long)launches[1], (long long)launches[0]);
    for (int i = 0; i < 2; i++) hypotheses_free(out[i], N * NBEST);
}
#endif

/* Too wide a beam is refused with a message. */
static void check_refused(const backend *device)
{
    model m;
    err e = {0};
    hypothesis out[N];
    pairs p = random_pairs(N, 1, 3, V, 2);
    beam_options o = {.beam_size = 40, .max_extra_tokens = 1, .nbest = 1};
    models_on = device;
    random_model(&m, &kinds[0], V, F32, 1, 6);
    CHECK(beam_search(&m, &p, &o, out, NULL, &e) != 0);
    CHECK_HAS(e.text, "beam_size = 40 on a GPU: expected at most 32");
    pairs_free(&p);
    model_free(&m);
}

int main(void)
{
    const cuda_module *m;
    err e = {0};
    const backend *device = open_device(&m, &e);
    CHECK_TEXT(e.text, "");
    if (!device) return test_end();
    compare(device, &(kind_of_model){"scaled_dot", "sinusoid", "layers=1"}, 3, &alternation, 0);
    if (test_long()) {
        compare(device, &kinds[0], 4, NULL, 0);
        compare(device,
                &(kind_of_model){"additive", "sinusoid", "additive.hidden=5 layers=1 attention_encoder=scaled_dot"}, 12,
                NULL, 1e-5);
        compare(device, &(kind_of_model){"linear", "sinusoid", "layers=1"}, 4, NULL, 1e-5);
    }
#ifdef GPU_ON_CPU
    check_joined(device);
#endif
    check_refused(device);
    m->close();
    return test_end();
}
