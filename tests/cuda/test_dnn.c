/* test_dnn.c - asks the real cuDNN, where one is found, whether it has engines for our graphs on GPUs that are only
 * described to it: it plans and compiles them, up to loading the code. Needs no GPU; some libcuda.so.1 must be there,
 * CUDA's stub is enough. */
#include "tensor/cuda/cudnn/dnn_attend.c" /* plans the graphs */
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

#define DEVICE(name, version, multiprocessors, shared, l2)                                                             \
    "{\"deviceName\":\"" name "\",\"cudaDeviceId\":0,\"deviceVer\":" version                                           \
    ",\"driverVer\":13000,\"regsPerBlock\":65536,"                                                                     \
    "\"multiProcessorCount\":" multiprocessors ",\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,"                   \
    "\"maxSharedMemoryPerBlockOptin\":" shared                                                                         \
    ",\"reservedSharedMemoryPerBlock\":1024,\"oversizedSharedMemoryPerBlock\":0,"                                      \
    "\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,"            \
    "\"pciDeviceId\":0,"                                                                                               \
    "\"isTccDriver\":0,\"supportCoopLaunch\":1,\"totalGlobalMem\":80000000000,\"smClockRateKHz\":1500000,"             \
    "\"memClockRateKHz\":2600000,\"l2CacheSize\":" l2                                                                  \
    ",\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64]}"
static const char h200[] = DEVICE("NVIDIA H200", "900", "132", "232448", "62914560");
static const char a100[] = DEVICE("NVIDIA A100", "800", "108", "166912", "41943040");

static int done, failed;
static void expect(int found, int expected, const char *what, const err *e)
{
    done++;
    if (found == expected) return;
    failed++;
    printf("%s: found %d, expected %d (0: there is a plan, 1: none)%s%s\n", what, found, expected,
           e->text[0] ? ": " : "", e->text);
}

/* Returns 0 if cuDNN has a plan for this on the device, 1 if not, -1 on an error. */
static int supported(const gpu_attention *a, const attend_extent *x, bool backward, const char *device,
                     size_t *workspace, err *e)
{
    plan p = {.key = key_of(a, x, backward)};
    int rc = make_plan(&p, backward, device, e);
    *workspace = rc ? 0 : dnn_workspace(p.graph);
    dnn_graph_free(p.graph);
    return rc;
}

static void check_attention(const char *name, const char *device, int d, bool causal, bool backward, int expected)
{
    enum { HEADS = 8, SENTENCES = 16, LONGEST = 1024, ROWS = 25000 };
    int64_t width = HEADS * d;
    gpu_attention a = {.type = BF16,
                       .heads = HEADS,
                       .d_k = d,
                       .d_v = d,
                       .sentences = SENTENCES,
                       .rows = ROWS,
                       .keys = ROWS,
                       .causal = causal,
                       .scale = 0.125f,
                       .q = {NULL, 3 * width},
                       .y = {NULL, width}};
    a.k = a.v = a.dq = a.dk = a.dv = a.q, a.dy = a.y;
    attend_extent x = {.queries = LONGEST, .keys = LONGEST};
    size_t workspace = 0;
    err e = {{0}};
    char what[128];
    snprintf(what, sizeof what, "attention, %s, d %d%s%s", name, d, causal ? ", causal" : "",
             backward ? ", backward" : "");
    expect(supported(&a, &x, backward, device, &workspace, &e), expected, what, &e);
    /* the backward pass that sums in a fixed order needs the memory stated in the header of dnn_attend.c */
    size_t least = backward && !expected ? (size_t)SENTENCES * HEADS * LONGEST * LONGEST * 2 : 0;
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
    for (int causal = 0; causal < 2; causal++)
        for (int d = 16; d <= 256; d *= 4) {
            check_attention("H200", h200, d, causal, false, 0);
            check_attention("H200", h200, d, causal, true, 0);
            check_attention("A100", a100, d, causal, false, 0);
            check_attention("A100", a100, d, causal, true, 1); /* not in a fixed order on packed rows */
        }
    printf("%d checks, %d failed\n", done, failed);
    return failed || !done;
}
#endif
