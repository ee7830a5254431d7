/* cudart.c - the functions of the CUDA runtime that the backend calls, linked instead of libcudart_static.a. Work is
 * done as soon as it is enqueued; clocks (order.c) record what a GPU may run at the same time. An error persists, as a
 * GPU's does.
 *
 * PTX_RACES=1             finds accesses that nothing orders
 * PTX_MULTIPROCESSORS=N   number of multiprocessors of the device [4]
 * PTX_REPORT=1            prints what each kernel did when the program ends */
#include "ptx.h"
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARED_AT_FIRST = 48 << 10, SHARED_MOST = 163 << 10 /* limits of capability 8.0 */, IN_GRAPHS = STREAMS / 2 };

/* ---- errors ---- */

static cudaError_t last;
static bool fault;
static cudaError_t give(cudaError_t rc)
{
    if (rc != cudaSuccess) last = rc;
    return fault ? cudaErrorIllegalAddress : rc;
}
static cudaError_t fails(cudaError_t rc, const char *what, const char *why)
{
    fprintf(stderr, "ptx: %s: %s\n", what, why);
    return give(rc);
}
static void faults(const char *why)
{
    fault = true, last = cudaErrorIllegalAddress;
    fprintf(stderr, "ptx: %s\n", why);
}
cudaError_t cudaGetLastError(void)
{
    cudaError_t rc = last;
    if (!fault) last = cudaSuccess;
    return rc;
}
cudaError_t cudaPeekAtLastError(void) { return last; }
const char *cudaGetErrorString(cudaError_t rc)
{
    static char words[64];
    snprintf(words, sizeof words, "error %d of the PTX interpreter", (int)rc);
    return words;
}

/* ---- code ---- */

typedef struct {
    const char *text; /* NULL: no PTX */
    module *m;        /* parsed at first use */
} image;
typedef struct {
    const void *host; /* address of the host's stub, by which launches name the kernel */
    image *in;
    char *name;
    program *p;
    int most_dynamic; /* dynamic shared memory that the kernel is allowed so far [bytes] */
} kernel;
static kernel **kernels;
static int n_kernels;

static void report(void)
{
    for (int i = 0; i < n_kernels; i++) {
        const program *p = kernels[i]->p;
        if (!p || !p->launches) continue;
        fprintf(stderr, "ptx\t%s\t%llu launches\t%llu lane instructions\t%llu products of 16 16 8\t%llu bytes\n",
                p->name, (unsigned long long)p->launches, (unsigned long long)p->lane_instructions,
                (unsigned long long)p->products, (unsigned long long)p->bytes_moved);
    }
}
__attribute__((constructor)) static void set_up(void)
{
    order_watched = getenv("PTX_RACES") != NULL;
    if (getenv("PTX_REPORT")) atexit(report);
}

/* A fat binary: a header, then entries; an entry of kind 1 is PTX (nvcc --no-compress). */
static const char *ptx_of(const void *binary)
{
    struct header {
        uint32_t magic;
        uint16_t version, bytes;
        uint64_t all;
    } head;
    struct entry {
        uint16_t kind, version;
        uint32_t head;
        uint64_t bytes;
    } entry;
    memcpy(&head, binary, sizeof head);
    const char *at = (const char *)binary + head.bytes, *end = at + head.all;
    for (; head.magic == 0xba55ed50 && at < end; at += entry.head + entry.bytes) {
        memcpy(&entry, at, sizeof entry);
        if (entry.kind == 1) return strndup(at + entry.head, entry.bytes);
    }
    return NULL;
}
void **__cudaRegisterFatBinary(void *wrapper);
void **__cudaRegisterFatBinary(void *wrapper)
{
    struct {
        int magic, version;
        const void *binary, *file;
    } w;
    memcpy(&w, wrapper, sizeof w);
    image *i = calloc(1, sizeof *i);
    i->text = ptx_of(w.binary);
    return (void **)i;
}
void __cudaRegisterFatBinaryEnd(void **binary);
void __cudaRegisterFatBinaryEnd(void **binary) { (void)binary; }
void __cudaUnregisterFatBinary(void **binary);
void __cudaUnregisterFatBinary(void **binary) { (void)binary; }
static kernel *add_kernel(const void *host, image *in, const char *name)
{
    kernel *k = calloc(1, sizeof *k);
    *k = (kernel){.host = host ? host : k, .in = in, .name = strdup(name)};
    kernels = realloc(kernels, (size_t)(n_kernels + 1) * sizeof *kernels);
    if (!kernels) abort();
    return kernels[n_kernels++] = k;
}
void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name, int threads, uint3 *tid,
                            uint3 *bid, dim3 *block, dim3 *grid, int *warp);
void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name, int threads, uint3 *tid,
                            uint3 *bid, dim3 *block, dim3 *grid, int *warp)
{
    (void)device, (void)threads, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    add_kernel(host, (image *)binary, name);
}
static kernel *find_kernel(const void *host)
{
    kernel *k = NULL;
    for (int i = 0; i < n_kernels && !k; i++)
        if (kernels[i]->host == host) k = kernels[i];
    if (!k || !k->in->text) return NULL;
    if (!k->in->m) k->in->m = ptx_module(k->in->text);
    if (!k->p && (k->p = ptx_program(k->in->m, k->name))) k->most_dynamic = SHARED_AT_FIRST - (int)k->p->shared_bytes;
    return k->p ? k : NULL;
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *host)
{
    const kernel *k = find_kernel(host);
    if (!k) return give(cudaErrorInvalidDeviceFunction);
    memset(a, 0, sizeof *a);
    a->sharedSizeBytes = k->p->shared_bytes, a->maxDynamicSharedSizeBytes = k->most_dynamic;
    return give(cudaSuccess);
}
cudaError_t cudaFuncSetAttribute(const void *host, enum cudaFuncAttribute which, int value)
{
    kernel *k = find_kernel(host);
    if (!k || which != cudaFuncAttributeMaxDynamicSharedMemorySize) return give(cudaErrorInvalidValue);
    if (value + (int)k->p->shared_bytes > SHARED_MOST) return give(cudaErrorInvalidValue);
    k->most_dynamic = value;
    return give(cudaSuccess);
}
/* A kernel compiled at run time comes as PTX (nvrtc.c). */
cudaError_t cudaLibraryLoadData(cudaLibrary_t *to, const void *code, enum cudaJitOption *jit, void **jit_values,
                                unsigned n_jit, enum cudaLibraryOption *options, void **values, unsigned n)
{
    (void)jit, (void)jit_values, (void)n_jit, (void)options, (void)values, (void)n;
    image *i = calloc(1, sizeof *i);
    i->text = strdup(code);
    *to = (cudaLibrary_t)i;
    return give(cudaSuccess);
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t *to, cudaLibrary_t library, const char *name)
{
    kernel *k = add_kernel(NULL, (image *)library, name);
    *to = (cudaKernel_t)k->host;
    return give(find_kernel(k->host) ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t k, enum cudaFuncAttribute which, int value, int device)
{
    (void)device;
    return cudaFuncSetAttribute((const void *)k, which, value);
}
cudaError_t __cudaGetKernel(cudaKernel_t *to, const void *host);
cudaError_t __cudaGetKernel(cudaKernel_t *to, const void *host)
{
    *to = (cudaKernel_t)host;
    return give(cudaSuccess);
}

/* ---- streams, events, work ---- */

typedef struct {
    int number; /* number of the stream, 0 .. IN_GRAPHS - 1 */
    clock_of known;
} stream;
typedef struct {
    clock_of known;
} event;
typedef enum { KERNEL, COPY, FILL, RECORD, WAIT } work_kind;
typedef struct {
    work_kind what;
    int stream;
    event *e;
    kernel *k;
    launch l;
    void *to;
    const void *from;
    size_t bytes;
    int value;
    bool reads_device, writes_device;
} work;
typedef struct {
    work *w;
    int n;
} graph;
static stream *streams[IN_GRAPHS];
static clock_of host; /* operations that the host has waited for */
static graph *capturing;

static void perform_copy(const work *w)
{
    toucher who = {NULL, 0, -1, 0};
    const char *why = w->what == COPY && w->reads_device ? memory_touch(w->from, w->bytes, false, who, NULL) : NULL;
    if (!why && (w->what == FILL || w->writes_device)) why = memory_touch(w->to, w->bytes, true, who, NULL);
    if (why)
        faults(why);
    else if (w->what == COPY)
        memmove(w->to, w->from, w->bytes);
    else
        memset(w->to, w->value, w->bytes);
}
/* Does one piece of work of stream `number`. known: the operations that have ended as far as the stream knows; updated
 * here. */
static void perform(const work *w, int number, clock_of *known)
{
    char why[512];
    if (fault) return;
    if (w->what == RECORD) {
        w->e->known = *known;
    } else if (w->what == WAIT) {
        clock_join(known, &w->e->known);
    } else {
        order_begin(number, known);
        if (w->what != KERNEL)
            perform_copy(w);
        else if (ptx_launch(w->k->p, &w->l, why))
            faults(why);
    }
}
static cudaError_t enqueue(work w, cudaStream_t s)
{
    stream *to = (stream *)s;
    w.stream = to->number;
    if (capturing) {
        capturing->w = realloc(capturing->w, (size_t)(capturing->n + 1) * sizeof w);
        if (!capturing->w) abort();
        capturing->w[capturing->n++] = w;
    } else {
        clock_join(&to->known, &host);
        perform(&w, to->number, &to->known);
    }
    return give(cudaSuccess);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *to, unsigned flags)
{
    (void)flags;
    for (int i = 0; i < IN_GRAPHS; i++)
        if (!streams[i]) {
            streams[i] = calloc(1, sizeof **streams);
            streams[i]->number = i;
            *to = (cudaStream_t)streams[i];
            return give(cudaSuccess);
        }
    return fails(cudaErrorMemoryAllocation, "a stream", "too many");
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *to, unsigned flags, int priority)
{
    (void)priority;
    return cudaStreamCreateWithFlags(to, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    streams[((stream *)s)->number] = NULL;
    free(s);
    return give(cudaSuccess);
}
cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    if (capturing) return give(cudaErrorStreamCaptureUnsupported);
    clock_join(&host, &((stream *)s)->known);
    return give(cudaSuccess);
}
cudaError_t cudaStreamQuery(cudaStream_t s) { return cudaStreamSynchronize(s); }
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0, *greatest = -5;
    return give(cudaSuccess);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *to, unsigned flags)
{
    (void)flags;
    *to = calloc(1, sizeof(event));
    return give(cudaSuccess);
}
cudaError_t cudaEventCreate(cudaEvent_t *to) { return cudaEventCreateWithFlags(to, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    free(e);
    return give(cudaSuccess);
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) { return enqueue((work){RECORD, .e = (event *)e}, s); }
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
    (void)flags;
    return enqueue((work){WAIT, .e = (event *)e}, s);
}
cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    clock_join(&host, &((event *)e)->known);
    return give(cudaSuccess);
}
cudaError_t cudaEventQuery(cudaEvent_t e) { return cudaEventSynchronize(e); }
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    (void)from, (void)to;
    *ms = 1;
    return give(cudaSuccess);
}

/* ---- launches ---- */

static const char *refused(const kernel *k, dim3 g, dim3 b, size_t shared)
{
    uint64_t threads = (uint64_t)b.x * b.y * b.z;
    if (!g.x || !g.y || !g.z || g.x > 0x7fffffff || g.y > 65535 || g.z > 65535) return "an invalid grid";
    if (!threads || threads > 1024 || b.z > 64) return "an invalid block";
    if (k->p->most_threads && threads > (uint64_t)k->p->most_threads) return "more threads than __launch_bounds__";
    if ((int64_t)shared > k->most_dynamic || shared + k->p->shared_bytes > SHARED_MOST) return "too much shared memory";
    return NULL;
}
cudaError_t cudaLaunchKernel(const void *host_, dim3 g, dim3 b, void **arguments, size_t shared, cudaStream_t s)
{
    kernel *k = find_kernel(host_);
    if (!k) return fails(cudaErrorInvalidDeviceFunction, "a launch", "there is no such kernel");
    const char *why = refused(k, g, b, shared);
    if (why) return fails(cudaErrorInvalidConfiguration, k->name, why);
    char *p = calloc(k->p->parameter_bytes + 1, 1); /* kept, since a graph may be launched again */
    for (int i = 0; i < k->p->n_parameters; i++)
        memcpy(p + k->p->parameter[i].at, arguments[i], k->p->parameter[i].bytes);
    launch l = {{g.x, g.y, g.z}, {b.x, b.y, b.z}, shared, p};
    cudaError_t rc = enqueue((work){KERNEL, .k = k, .l = l}, s);
    if (!capturing) free(p);
    return rc;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t k, dim3 g, dim3 b, void **arguments, size_t shared, cudaStream_t s);
cudaError_t __cudaLaunchKernel(cudaKernel_t k, dim3 g, dim3 b, void **arguments, size_t shared, cudaStream_t s)
{
    return cudaLaunchKernel((const void *)k, g, b, arguments, shared, s);
}
static struct { /* the configuration between <<< and >>>, until the launch that follows pops it */
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} configured;
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t s);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t s)
{
    configured.grid = grid, configured.block = block, configured.shared = shared, configured.stream = s;
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *s);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *s)
{
    *grid = configured.grid, *block = configured.block, *shared = configured.shared;
    memcpy(s, &configured.stream, sizeof configured.stream);
    return cudaSuccess;
}

/* ---- memory ---- */

cudaError_t cudaMalloc(void **to, size_t bytes)
{
    *to = memory_alloc(bytes);
    return give(*to ? cudaSuccess : cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void *p)
{
    for (int i = 0; i < IN_GRAPHS; i++)
        if (streams[i]) clock_join(&host, &streams[i]->known); /* cudaFree waits for all work of the device */
    if (p) memory_free(p);
    return give(cudaSuccess);
}
cudaError_t cudaMallocHost(void **to, size_t bytes)
{
    *to = malloc(bytes);
    return give(cudaSuccess);
}
cudaError_t cudaFreeHost(void *p)
{
    free(p);
    return give(cudaSuccess);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t s)
{
    bool reads = kind != cudaMemcpyHostToDevice, writes = kind != cudaMemcpyDeviceToHost;
    if ((reads && !memory_has(from, bytes)) || (writes && !memory_has(to, bytes)))
        return faults("a copy of memory that is not there"), give(cudaErrorInvalidValue);
    return enqueue((work){COPY, .to = to, .from = from, .bytes = bytes, .reads_device = reads, .writes_device = writes},
                   s);
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t s)
{
    if (bytes && !memory_has(to, bytes)) return faults("zeros where no memory is"), give(cudaErrorInvalidValue);
    return enqueue((work){FILL, .to = to, .bytes = bytes, .value = value}, s);
}
cudaError_t cudaMemGetInfo(size_t *left, size_t *all)
{
    *left = (size_t)8 << 30, *all = (size_t)16 << 30;
    return give(cudaSuccess);
}

/* ---- the device ---- */

cudaError_t cudaSetDevice(int device) { return give(device ? cudaErrorInvalidDevice : cudaSuccess); }
cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return give(cudaSuccess);
}
cudaError_t cudaGetDeviceCount(int *n)
{
    *n = 1;
    return give(cudaSuccess);
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    const char *n = getenv("PTX_MULTIPROCESSORS");
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "PTX interpreter");
    p->major = 8, p->totalGlobalMem = (size_t)16 << 30, p->multiProcessorCount = n ? atoi(n) : 4;
    p->sharedMemPerBlockOptin = SHARED_MOST;
    return give(device ? cudaErrorInvalidDevice : cudaSuccess);
}
/* There are no tensor maps: they need capability 9.0. */
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **to, unsigned version, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found)
{
    (void)name, (void)version, (void)flags;
    *to = NULL, *found = cudaDriverEntryPointSymbolNotFound;
    return give(cudaSuccess);
}

/* ---- graphs ---- */

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
    (void)s, (void)mode;
    if (capturing) return give(cudaErrorIllegalState);
    capturing = calloc(1, sizeof *capturing);
    return give(cudaSuccess);
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *to)
{
    (void)s;
    *to = (cudaGraph_t)capturing, capturing = NULL;
    return give(cudaSuccess);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *to, cudaGraph_t from, unsigned long long flags)
{
    (void)flags;
    graph *g = calloc(1, sizeof *g);
    *g = *(graph *)from, *to = (cudaGraphExec_t)g;
    ((graph *)from)->w = NULL, ((graph *)from)->n = 0;
    return give(cudaSuccess);
}
static cudaError_t destroy(graph *g)
{
    for (int i = 0; i < g->n; i++) free((void *)(uintptr_t)g->w[i].l.parameters);
    free(g->w), free(g);
    return give(cudaSuccess);
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) { return destroy((graph *)g); }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t g) { return destroy((graph *)g); }
/* A graph's side streams wait only for events of the graph; work after the graph waits for the whole graph. */
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s)
{
    const graph *g = (graph *)exec;
    stream *to = (stream *)s;
    clock_of known[IN_GRAPHS] = {0};
    clock_join(&to->known, &host);
    known[to->number] = to->known;
    for (int i = 0; i < g->n; i++) {
        int side = g->w[i].stream;
        perform(&g->w[i], side == to->number ? side : IN_GRAPHS + side, &known[side]);
    }
    for (int i = 0; i < IN_GRAPHS; i++) clock_join(&to->known, &known[i]);
    return give(cudaSuccess);
}
