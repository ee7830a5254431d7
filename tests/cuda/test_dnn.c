/* test_dnn.c - asks the real cuDNN, if it is installed, whether it has engines for our attention graphs. cuDNN gets
 * only descriptions of GPUs, so no GPU is needed: cuDNN plans and compiles the graphs, but loads no code. It needs a
 * libcuda.so.1; CUDA's stub is enough. */
#include "tensor/cuda/cudnn/dnn_attend.c" /* defines the functions that plan graphs */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef HAVE_CUDNN
int main(void)
{
    puts("skipped: this was built without cudnn.h");
    return 77;
}
#else
#include "tensor/cuda/cudnn/dnn.h"
#include "tensor/graph/tape.h"

#define DEVICE(name, version, multiprocessors, shared, l2, blocks, threads)                                            \
    "{\"deviceName\":\"" name "\",\"cudaDeviceId\":0,\"deviceVer\":" version                                           \
    ",\"driverVer\":13000,\"regsPerBlock\":65536,"                                                                     \
    "\"multiProcessorCount\":" multiprocessors ",\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,"                   \
    "\"maxSharedMemoryPerBlockOptin\":" shared                                                                         \
    ",\"reservedSharedMemoryPerBlock\":1024,\"oversizedSharedMemoryPerBlock\":0,"                                      \
    "\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":" blocks ",\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":" threads \
    ","                                                                                                                \
    "\"pciDeviceId\":0,"                                                                                               \
    "\"isTccDriver\":0,\"supportCoopLaunch\":1,\"totalGlobalMem\":80000000000,\"smClockRateKHz\":1500000,"             \
    "\"memClockRateKHz\":2600000,\"l2CacheSize\":" l2                                                                  \
    ",\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64]}"
enum { H200, A100, RTX_4090, CARDS };
static const struct {
    const char *name, *description;
} cards[CARDS] = {
    {"H200", DEVICE("NVIDIA H200", "900", "132", "232448", "62914560", "32", "2048")},
    {"A100", DEVICE("NVIDIA A100", "800", "108", "166912", "41943040", "32", "2048")},
    {"RTX 4090", DEVICE("NVIDIA GeForce RTX 4090", "890", "128", "101376", "75497472", "24", "1536")},
};

static int done, failed;
static void expect(int found, int expected, const char *what, const err *e)
{
    done++;
    if (found == expected) return;
    failed++;
    printf("%s: found %d, expected %d (0: there is a plan, 1: none)%s%s\n", what, found, expected,
           e->text[0] ? ": " : "", e->text);
}

/* Returns 0 if cuDNN has a plan for this attention on the device, 1 if not, -1 on an error. */
static int supported(const gpu_attention *a, const attend_extent *x, bool backward, const char *device,
                     size_t *workspace, err *e)
{
    plan p = {.key = key_of(a, x, backward)};
    int rc = make_plan(&p, backward, device, e);
    *workspace = rc ? 0 : dnn_workspace(p.graph);
    dnn_graph_free(p.graph);
    return rc;
}

/* Attentions, and which passes have a plan on each card. Backward passes that sum in a fixed order on packed rows need
 * capability 9.0. */
typedef enum { NONE, FORWARD_ONLY, BOTH } answer;
static const struct {
    const char *name;
    int heads, d_k, d_v, sentences, rows, keys, longest;
    bool causal;
    answer expected[CARDS];
} shapes[] = {
    {"base's encoder", 8, 64, 64, 16, 25000, 25000, 1024, false, {BOTH, FORWARD_ONLY, FORWARD_ONLY}},
    {"base's decoder", 8, 64, 64, 16, 25000, 25000, 1024, true, {BOTH, FORWARD_ONLY, FORWARD_ONLY}},
    {"queries and keys of other sentences", 8, 64, 64, 24, 9000, 12000, 700, false, {BOTH, FORWARD_ONLY, FORWARD_ONLY}},
    {"the narrowest heads", 8, 16, 16, 16, 25000, 25000, 1024, true, {BOTH, FORWARD_ONLY, FORWARD_ONLY}},
    {"heads of 80 columns", 4, 80, 80, 40, 20000, 20000, 640, true, {BOTH, FORWARD_ONLY, FORWARD_ONLY}},
    {"heads of 128 columns", 16, 128, 128, 8, 8192, 8192, 1024, true, {BOTH, FORWARD_ONLY, FORWARD_ONLY}},
    {"the widest heads", 8, 256, 256, 16, 25000, 25000, 1024, true, {BOTH, FORWARD_ONLY, FORWARD_ONLY}},
    {"keys and values of two widths", 8, 64, 32, 16, 25000, 25000, 1024, false, {BOTH, FORWARD_ONLY, FORWARD_ONLY}},
    /* its backward pass would need 1 GiB of working memory */
    {"one long sentence", 8, 64, 64, 1, 8192, 8192, 8192, true, {FORWARD_ONLY, FORWARD_ONLY, FORWARD_ONLY}},
};

static void check_pass(int shape, int card, bool backward)
{
    int64_t k_width = shapes[shape].heads * shapes[shape].d_k, v_width = shapes[shape].heads * shapes[shape].d_v;
    gpu_attention a = {.type = BF16,
                       .heads = shapes[shape].heads,
                       .d_k = shapes[shape].d_k,
                       .d_v = shapes[shape].d_v,
                       .sentences = shapes[shape].sentences,
                       .rows = shapes[shape].rows,
                       .keys = shapes[shape].keys,
                       .causal = shapes[shape].causal,
                       .scale = 0.125f,
                       .q = {NULL, 2 * k_width + v_width},
                       .y = {NULL, v_width}};
    a.k = a.v = a.dq = a.dk = a.dv = a.q, a.dy = a.y;
    attend_extent x = {.queries = shapes[shape].longest, .keys = shapes[shape].longest};
    size_t workspace = 0, longest = (size_t)shapes[shape].longest;
    err e = {{0}};
    char what[128];
    bool expected = shapes[shape].expected[card] > (backward ? FORWARD_ONLY : NONE);
    snprintf(what, sizeof what, "%s, %s%s", shapes[shape].name, cards[card].name, backward ? ", backward" : "");
    expect(supported(&a, &x, backward, cards[card].description, &workspace, &e), !expected, what, &e);
    /* the backward pass that sums in a fixed order needs the memory stated in the header of dnn_attend.c */
    size_t queries = (longest + 63) / 64 * 64, keys = (longest + 127) / 128 * 128;
    size_t least = backward && expected ? (size_t)a.sentences * (size_t)a.heads * queries * keys * 2 : 0;
    done++;
    if (workspace < least || workspace > least + (1 << 20))
        failed++, printf("%s: a workspace of %zu bytes, expected %zu and little more\n", what, workspace, least);
}

int main(void)
{
    err e = {{0}};
    if (!dnn_load(&e)) {
        printf("skipped: %s\n", e.text);
        return 77;
    }
    printf("%s\n", dnn_library());
    for (int shape = 0; shape < (int)LENGTH(shapes); shape++)
        for (int card = 0; card < CARDS; card++)
            for (int backward = 0; backward < 2; backward++) check_pass(shape, card, backward);
    printf("%d checks, %d failed\n", done, failed);
    return failed || !done;
}
#endif
