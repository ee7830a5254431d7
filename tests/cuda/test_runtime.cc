/* test_runtime.cc - runtime.cu compiled for the CPU, with stand-ins for the CUDA runtime's functions: when a kernel is
 * allowed more shared memory, which errors persist, which events are recorded and waited for. Needs the toolkit's
 * headers, but no GPU. */
#include "tensor/cuda/runtime.cu"

static struct {
    size_t fixed;            /* a kernel's static shared memory */
    int allowed;             /* dynamic shared memory that the kernel was allowed; 0: the backend has not asked */
    size_t launched;         /* dynamic shared memory of the last launch */
    cudaError_t last, stays; /* last: the last error; stays: an error that the device does not recover from */
    int busy;                /* number of queries for which the device is still busy; < 0: forever */
} fake;
static cudaError_t stays_or(cudaError_t rc) { return fake.stays ? fake.stays : rc; }

extern "C" {
void gpu_flush(void) {}
void gpu_forget_uploads(void) {}
void gpu_copy_in(void *, const void *, size_t) {}
cudaError_t cudaPeekAtLastError(void) { return stays_or(fake.last); }
cudaError_t cudaGetLastError(void)
{
    cudaError_t rc = fake.last;
    fake.last = cudaSuccess;
    return stays_or(rc);
}
static cudaError_t asked_for_work(void)
{
    if (!fake.busy) return stays_or(cudaSuccess);
    fake.busy -= fake.busy > 0;
    return cudaErrorNotReady;
}
cudaError_t cudaStreamQuery(cudaStream_t) { return asked_for_work(); }
cudaError_t cudaEventQuery(cudaEvent_t) { return asked_for_work(); }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return stays_or(cudaSuccess); }
const char *cudaGetErrorString(cudaError_t rc) { return rc == cudaErrorInvalidValue ? "invalid argument" : "a fault"; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *)
{
    memset(a, 0, sizeof *a);
    a->sharedSizeBytes = fake.fixed;
    a->maxDynamicSharedSizeBytes = fake.allowed ? fake.allowed : 48 * 1024 - (int)fake.fixed;
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute what, int bytes)
{
    if (what == cudaFuncAttributeMaxDynamicSharedMemorySize) fake.allowed = bytes;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device)
{
    *device = 1;
    return cudaSuccess;
}
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t, cudaFuncAttribute what, int bytes, int device)
{
    if (what == cudaFuncAttributeMaxDynamicSharedMemorySize && device == 1) fake.allowed = bytes;
    return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t bytes, cudaStream_t)
{
    fake.launched = bytes;
    return cudaSuccess;
}
/* Stands in for the driver's function that makes tensor maps. */
static CUresult encode(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *all,
                       const cuuint64_t *stride, const cuuint32_t *tile, const cuuint32_t *, CUtensorMapInterleave,
                       CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill)
{
    return all[0] == 128 && all[1] == 9 && *stride == 768 && tile[0] == 64 && tile[1] == 32 ? CUDA_SUCCESS
                                                                                            : CUDA_ERROR_INVALID_VALUE;
}
static bool has_encode;
cudaError_t cudaGetDriverEntryPointByVersion(const char *, void **f, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult *result)
{
    if (has_encode) *f = (void *)encode;
    *result = has_encode ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}
/* Objects that opening the GPU creates and closing it destroys: each one's address is a byte of `places`. */
static char places[256];
static int next_place, living;
static cudaError_t made(void **p)
{
    *p = &places[next_place++ % 255 + 1], living++;
    return cudaSuccess;
}
static cudaError_t unmade(void *p)
{
    living -= p != NULL;
    return p ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaEventCreate(cudaEvent_t *e) { return made((void **)e); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned) { return made((void **)e); }
cudaError_t cudaGraphDestroy(cudaGraph_t g) { return unmade((void *)g); }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *g, cudaGraph_t, unsigned long long) { return made((void **)g); }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t g) { return unmade((void *)g); }
static int captures; /* captures that have begun and not ended */
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode)
{
    captures++;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *g)
{
    captures--;
    return made((void **)g);
}
cudaError_t cudaEventDestroy(cudaEvent_t e) { return unmade((void *)e); }
cudaError_t cudaFree(void *p) { return unmade(p); }
cudaError_t cudaFreeHost(void *p) { return unmade(p); }
cudaError_t cudaMalloc(void **p, size_t) { return made(p); }
static bool no_pinned_memory;
cudaError_t cudaMallocHost(void **p, size_t) { return no_pinned_memory ? cudaErrorMemoryAllocation : made(p); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned) { return made((void **)s); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned, int) { return made((void **)s); }
cudaError_t cudaStreamDestroy(cudaStream_t s) { return unmade((void *)s); }
cudaError_t cudaDeviceGetStreamPriorityRange(int *low, int *high)
{
    *low = *high = 0;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *n)
{
    *n = 2;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
    memset(p, 0, sizeof *p);
    p->major = 9, p->multiProcessorCount = 132 + device;
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *, int, size_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
/* calls on streams and events, in order, such as "record 3 in 1; "; numbers are indices into `places` */
static char told[512];
static int place_of(const void *p) { return p ? (int)((const char *)p - places) : 0; }
static cudaError_t tell(const char *what, const void *a, const char *in, const void *b)
{
    size_t n = strlen(told);
    snprintf(told + n, sizeof told - n, "%s %d%s%d; ", what, place_of(a), in, place_of(b));
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) { return tell("record", e, " in ", s); }
cudaError_t cudaEventSynchronize(cudaEvent_t e) { return tell("synchronize", e, "/", NULL); }
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    *ms = 1;
    return tell("elapsed", from, " to ", to);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) { return tell("wait", e, " in ", s); }
cudaError_t cudaMemcpyAsync(void *, const void *, size_t, cudaMemcpyKind, cudaStream_t s)
{
    return tell("copy", NULL, " in ", s);
}
/* functions that no test reaches */
#define NEVER(name, ...)                                                                                               \
    cudaError_t name(__VA_ARGS__) { return cudaErrorUnknown; }
NEVER(cudaGraphLaunch, cudaGraphExec_t, cudaStream_t)
NEVER(cudaLibraryGetKernel, cudaKernel_t *, cudaLibrary_t, const char *)
NEVER(cudaLibraryLoadData, cudaLibrary_t *, const void *, cudaJitOption *, void **, unsigned, cudaLibraryOption *,
      void **, unsigned)
NEVER(cudaMemGetInfo, size_t *, size_t *)
}

static int checks, failed;
#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        checks++;                                                                                                      \
        if (condition) break;                                                                                          \
        failed++;                                                                                                      \
        printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n");                                      \
    } while (0)

/* Static and dynamic shared memory up to 48 KiB together need no permission; above 48 KiB, the kernel must be allowed
 * its dynamic part. */
static void check_shared_memory(void)
{
    static const struct {
        size_t fixed, dynamic;
        int allowed;
    } cases[] = {{0, 0, 0},
                 {0, 49152, 0},
                 {0, 49153, 49153},
                 {10368, 38784, 0},
                 {10368, 40960, 40960}, /* score_forward with two registers and heads of more than 128 columns */
                 {8192, 40961, 40961},
                 {30000, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fake = {};
        fake.fixed = cases[i].fixed;
        gpu_shared_memory(&cases[i], cases[i].dynamic);
        CHECK(fake.allowed == cases[i].allowed, "%zu bytes static, %zu dynamic: %d allowed, expected %d",
              cases[i].fixed, cases[i].dynamic, fake.allowed, cases[i].allowed);
        gpu_shared_memory(&cases[i], cases[i].dynamic / 2);
        CHECK(fake.allowed == cases[i].allowed, "a smaller launch changed %d to %d", cases[i].allowed, fake.allowed);
        if (cases[i].dynamic) gpu_shared_memory(&cases[i], cases[i].dynamic - 1);
        CHECK(fake.allowed == cases[i].allowed, "a launch with a byte less changed %d to %d", cases[i].allowed,
              fake.allowed);
    }
}

/* A kernel compiled at run time is allowed the shared memory that it is launched with; tensor maps come from the
 * driver. */
static void check_run_kernel(void)
{
    gpu_tensor_map map;
    for (size_t bytes = 49152; bytes < 49154; bytes++) {
        fake = {};
        CHECK(!gpu_run_kernel(NULL, 1, 32, bytes, NULL), "%s", gpu_error());
        CHECK(fake.launched == bytes && fake.allowed == (bytes > 49152 ? (int)bytes : 0),
              "%zu bytes: launched with %zu, %d allowed", bytes, fake.launched, fake.allowed);
    }
    CHECK(gpu_map_rows(&map, NULL, 9, 128, 768, 32) == -1 && !strcmp(gpu_error(), "the driver has no tensor maps"),
          "found \"%s\"", gpu_error() ? gpu_error() : "");
    gpu_clear_refusal();
    has_encode = true;
    CHECK(!gpu_map_rows(&map, NULL, 9, 128, 768, 32), "%s", gpu_error());
    CHECK(gpu_map_rows(&map, NULL, 9, 128, 767, 32) == -1, "what the driver refuses is a map");
    gpu_clear_refusal();
}

/* Errors that the device recovers from can be cleared; lasting errors cannot be cleared, and a later refusal does not
 * hide a lasting error. */
static void check_errors(void)
{
    fake = {};
    gpu_refuse("too wide");
    CHECK(gpu_launched() == -1 && gpu_error() && !strcmp(gpu_error(), "too wide"), "found \"%s\"", gpu_error());
    gpu_clear_refusal();
    CHECK(!gpu_launched() && !gpu_error(), "a refusal stays: \"%s\"", gpu_error());
    fake.last = cudaErrorInvalidValue; /* the driver refuses a launch */
    CHECK(gpu_launched() == -1 && gpu_error() && !strcmp(gpu_error(), "a kernel: invalid argument"), "found \"%s\"",
          gpu_error());
    gpu_clear_refusal();
    CHECK(!gpu_launched() && !gpu_error(), "a launch that was refused stays: \"%s\"", gpu_error());
    fake.stays = cudaErrorIllegalAddress;
    CHECK(gpu_launched() == -1, "a fault is not seen");
    gpu_clear_refusal();
    CHECK(gpu_launched() == -1 && gpu_error() && !strcmp(gpu_error(), "a kernel: a fault"),
          "a fault is cleared: \"%s\"", gpu_error() ? gpu_error() : "");
}

/* A process that trains run after run opens the GPU anew for each: nothing of the previous run remains. */
static void check_reopening(void)
{
    const char *why = NULL;
    fake = {};
    no_pinned_memory = true;
    CHECK(gpu_open(0, &why) == -1 && why && strstr(why, "pinned memory"), "no pinned memory: found \"%s\"",
          why ? why : "");
    CHECK(living == 0 && !gpu_error(), "an open that failed left %d things and \"%s\"", living,
          gpu_error() ? gpu_error() : "");
    no_pinned_memory = false;
    for (int run = 0; run < 3; run++) {
        int device = run % 2;
        CHECK(!gpu_open(device, &why), "open %d: %s", run, why ? why : "");
        CHECK(gpu_multiprocessors() == 132 + device, "open %d: another GPU's properties", run);
        /* the small memory stays valid, since a graph may still use it */
        void *small = gpu_scratch(0, 100), *large = gpu_scratch(0, 1000);
        CHECK(small && large && small != large, "scratch memory did not grow");
        CHECK(!gpu_side_begin(GPU_RANKS), "open %d: no side stream", run);
        gpu_side_end();
        if (run == 1) gpu_refuse("too wide");
        gpu_close();
        CHECK(living == 0, "close %d left %d things", run, living);
        CHECK(!gpu_error(), "close %d left an error: %s", run, gpu_error());
    }
}

static void check_told(const char *after, const char *expected)
{
    CHECK(!strcmp(told, expected), "%s: found \"%s\", expected \"%s\"", after, told, expected);
    told[0] = 0;
}
static int some_work(void *) { return (int)tell("work", NULL, "/", NULL); }

/* Checks which events are recorded and waited for, and on which stream. */
static void check_events(void)
{
    const char *why = NULL;
    char expected[256];
    fake = {};
    gpu_open(0, &why);
    told[0] = 0;
    gpu_side_begin(GPU_RANKS), gpu_side_end(), gpu_side_join(GPU_RANKS);
    int first = place_of(main_stream), beside = place_of(side[GPU_RANKS]), forks = place_of(side_sees[GPU_RANKS]),
        joins = place_of(main_sees[GPU_RANKS]);
    snprintf(expected, sizeof expected, "record %d in %d; wait %d in %d; record %d in %d; wait %d in %d; ", forks,
             first, forks, beside, joins, beside, joins, first);
    check_told("a side stream", expected);
    for (int i = 0; i < STAGES; i++) gpu_send(NULL, gpu_stage(), 1);
    told[0] = 0;
    gpu_send(NULL, gpu_stage(), 1); /* the first staging memory again: the copy from it must have ended */
    snprintf(expected, sizeof expected, "synchronize %d/0; copy 0 in %d; record %d in %d; ", place_of(sent[0]), first,
             place_of(sent[0]), first);
    check_told("a stage of copies", expected);
    gpu_milliseconds(some_work, NULL);
    snprintf(expected, sizeof expected,
             "record %d in %d; work 0/0; record %d in %d; synchronize %d/0; elapsed %d to %d; ", place_of(began), first,
             place_of(ended), first, place_of(ended), place_of(began), place_of(ended));
    check_told("a measurement", expected);
    gpu_close();
}

/* While a watch function is set, a waiting host polls the device and calls the watch function, which can so notice work
 * that never ends. In this test the watch function ends the work. */
static int watched;
static void end_work(double seconds)
{
    watched++;
    if (seconds < 0.02) return;
    fake.busy = 0;
    gpu_refuse("a rank was lost");
}
static void check_watch(void)
{
    static const char *const names[] = {"gpu_wait", "gpu_copy_out", "gpu_release", "gpu_graph_free", "gpu_stage"};
    const char *why = NULL;
    for (int i = 0; i < 5; i++) {
        fake = {};
        gpu_open(0, &why);
        for (int k = 0; k < STAGES; k++) gpu_send(NULL, gpu_stage(), 1);
        void *memory = gpu_alloc(8);
        gpu_while_waiting(end_work);
        fake.busy = -1, watched = 0;
        int rc = i == 1 ? gpu_copy_out(NULL, memory, 8) : 0;
        if (i == 0) gpu_wait();
        if (i == 2) gpu_release(memory);
        if (i == 3) gpu_graph_free(&places[1]), living++;
        if (i == 4) gpu_stage();
        CHECK(watched > 1 && gpu_error() && !strcmp(gpu_error(), "a rank was lost"),
              "%s: watched %d times, then \"%s\"", names[i], watched, gpu_error() ? gpu_error() : "");
        CHECK(rc == (i == 1 ? -1 : 0), "%s: found %d", names[i], rc);
        gpu_while_waiting(NULL);
        if (i != 2) gpu_release(memory);
        gpu_close();
        fake = {};
        gpu_open(0, &why), gpu_while_waiting(end_work), fake.busy = 3, watched = 0;
        gpu_wait();
        CHECK(watched == 3 && !gpu_error(), "three more looks: watched %d times", watched);
        gpu_while_waiting(NULL);
        gpu_close();
    }
    told[0] = 0;
}

/* After an error no capture begins, since nobody would end it. A capture that ends after an error leaves no graph. */
static void check_capture(void)
{
    const char *why = NULL;
    fake = {};
    gpu_open(0, &why);
    int before = living;
    gpu_refuse("too wide");
    CHECK(gpu_capture() == -1 && !captures && !gpu_capturing(), "%d captures behind an error", captures);
    gpu_clear_refusal();
    CHECK(!gpu_capture() && captures == 1 && gpu_capturing(), "%d captures, expected one", captures);
    gpu_refuse("too wide");
    CHECK(!gpu_captured() && !captures && living == before, "%d captures, %d things left", captures, living - before);
    gpu_clear_refusal();
    gpu_capture();
    void *graph = gpu_captured();
    CHECK(graph && !captures && living == before + 1, "%d captures, %d things, expected a graph", captures,
          living - before);
    gpu_graph_free(graph);
    CHECK(living == before, "%d things left of a graph", living - before);
    gpu_close();
}

int main(void)
{
    check_reopening();
    check_events();
    check_watch();
    check_capture();
    check_shared_memory();
    check_run_kernel();
    check_errors();
    printf("%d checks, %d failed\n", checks, failed);
    return failed != 0;
}
