/* runtime.cu - runtime.h on a real GPU. */
#include "tensor/cuda/runtime.h"
#include "base/base.h"
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace
{
enum { STAGES = 8, SLOTS = 16, LANES = 1 + GPU_SIDES /* the stream and the side streams */ };

struct block {
    void *data;
    size_t bytes;
};
cudaStream_t stream, main_stream, side[GPU_SIDES]; /* stream: the current one, main_stream or a side stream */
int lane;                                          /* the current stream's number: 0, or 1 + the side stream's */
cudaEvent_t side_sees[GPU_SIDES], main_sees[GPU_SIDES];
gpu_counter *counter;
unsigned *tickets; /* [LANES][GPU_TICKETS] */
char *staged;      /* [STAGES][GPU_STAGE_BYTES] pinned memory, so that copies from the host do not wait */
cudaEvent_t sent[STAGES];
unsigned next_stage;
block scratch[LANES][SLOTS];
struct old_block {
    void *data;
    old_block *next;
} * outgrown;
cudaEvent_t began, ended; /* events of gpu_milliseconds */
bool capturing, open_;
int n_multiprocessors, capability;
char name[128], error[512];
bool refused;                  /* the error is a message of our own; the device still works */
void (*watch)(double seconds); /* set by gpu_while_waiting */
} // namespace

static int note(cudaError_t rc, const char *what)
{
    if (rc == cudaSuccess) return error[0] ? -1 : 0;
    if (!error[0] || refused) snprintf(error, sizeof error, "%s: %s", what, cudaGetErrorString(rc)), refused = false;
    return -1;
}

/* ---- waiting ---- */

/* Waits for the work: polls `asked` if a watch is set (gpu_while_waiting), else by CUDA's own wait. */
template <class T> static cudaError_t host_waits(T work, cudaError_t (*asked)(T), cudaError_t (*wait)(T))
{
    if (!watch) return wait(work);
    double start = ticks();
    for (;;) {
        cudaError_t rc = asked(work);
        if (rc != cudaErrorNotReady) return rc;
        cudaGetLastError();
        double waited = ticks() - start;
        watch(waited);
        usleep(waited < 0.01 ? 20 : 1000);
    }
}
static cudaError_t wait_stream(cudaStream_t s) { return host_waits(s, cudaStreamQuery, cudaStreamSynchronize); }
static cudaError_t wait_event(cudaEvent_t e) { return host_waits(e, cudaEventQuery, cudaEventSynchronize); }

extern "C" {

void gpu_while_waiting(void (*f)(double seconds)) { watch = f; }

/* ---- devices ---- */

int gpu_count(const char **why)
{
    static char words[256];
    int n = 0;
    cudaError_t rc = cudaGetDeviceCount(&n);
    *why = NULL;
    if (rc == cudaSuccess && n > 0) return n;
    if (rc == cudaErrorInsufficientDriver)
        snprintf(words, sizeof words, "no NVIDIA driver, or one too old for CUDA %d", CUDART_VERSION / 1000);
    else
        snprintf(words, sizeof words, "%s",
                 rc == cudaErrorNoDevice || n == 0 ? "the driver sees no GPU" : cudaGetErrorString(rc));
    cudaGetLastError();
    *why = words;
    return -1;
}

/* Returns 0 or -1; the caller reports. Clears CUDA's last error, or the next launch would report it as its own. */
static int asked(cudaError_t rc)
{
    if (rc != cudaSuccess) cudaGetLastError();
    return rc == cudaSuccess ? 0 : -1;
}

int gpu_describe(int device, gpu_device *out)
{
    cudaDeviceProp p;
    memset(out, 0, sizeof *out);
    if (asked(cudaGetDeviceProperties(&p, device))) return -1;
    snprintf(out->name, sizeof out->name, "%.120s", p.name);
    out->major = p.major, out->minor = p.minor, out->multiprocessors = p.multiProcessorCount;
    out->memory = p.totalGlobalMem;
    size_t total = 0;
    return asked(cudaSetDevice(device)) || asked(cudaMemGetInfo(&out->free_memory, &total)) ? -1 : 0;
}

int gpu_open(int device, const char **why)
{
    *why = NULL;
    if (open_) return 0;
    int n = gpu_count(why);
    if (n < 0) return -1;
    static char words[256];
    if (device < 0 || device >= n) {
        snprintf(words, sizeof words, "no GPU %d: the driver sees %d, starting with 0", device, n);
        *why = words;
        return -1;
    }
    cudaDeviceProp p;
    memset(&p, 0, sizeof p);
    note(cudaSetDevice(device), "the GPU");
    note(cudaGetDeviceProperties(&p, device), "the GPU's properties");
    if (!error[0] && p.major < 8) {
        snprintf(words, sizeof words, "%.100s has compute capability %d.%d; bf16 needs at least 8.0", p.name, p.major,
                 p.minor);
        *why = words;
        return -1;
    }
    n_multiprocessors = p.multiProcessorCount;
    capability = 10 * p.major + p.minor;
    snprintf(name, sizeof name, "%.120s", p.name);
    note(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking), "a stream");
    stream = main_stream;
    note(cudaMalloc((void **)&counter, sizeof *counter), "device memory");
    note(cudaMalloc((void **)&tickets, LANES * GPU_TICKETS * sizeof *tickets), "device memory");
    note(cudaMemsetAsync(tickets, 0, LANES * GPU_TICKETS * sizeof *tickets, stream), "zeroing GPU memory");
    note(cudaMallocHost((void **)&staged, (size_t)STAGES * GPU_STAGE_BYTES), "pinned memory");
    for (int i = 0; i < STAGES; i++) note(cudaEventCreateWithFlags(&sent[i], cudaEventDisableTiming), "an event");
    note(cudaEventCreate(&began), "an event");
    note(cudaEventCreate(&ended), "an event");
    open_ = true;
    if (!error[0]) return 0;
    snprintf(words, sizeof words, "%.250s", error);
    *why = words;
    gpu_close(); /* the next attempt starts anew */
    return -1;
}

void gpu_close(void)
{
    if (!open_) return;
    gpu_forget_uploads();
    wait_stream(stream);
    for (auto &of_lane : scratch)
        for (block &b : of_lane) cudaFree(b.data), b = block();
    while (outgrown) {
        old_block *next = outgrown->next;
        cudaFree(outgrown->data);
        free(outgrown);
        outgrown = next;
    }
    for (int i = 0; i < STAGES; i++) cudaEventDestroy(sent[i]);
    cudaEventDestroy(began);
    cudaEventDestroy(ended);
    cudaFreeHost(staged);
    cudaFree(counter);
    cudaFree(tickets);
    cudaStreamDestroy(main_stream);
    for (int s = 0; s < GPU_SIDES; s++) {
        if (!side[s]) continue;
        cudaStreamDestroy(side[s]), cudaEventDestroy(side_sees[s]), cudaEventDestroy(main_sees[s]);
        side[s] = NULL;
    }
    open_ = false, stream = main_stream = NULL, began = ended = NULL, staged = NULL, counter = NULL, tickets = NULL;
    memset(sent, 0, sizeof sent);
    cudaGetLastError();
    error[0] = 0, refused = false;
}

/* ---- errors ---- */

int gpu_launched(void) { return note(cudaPeekAtLastError(), "a kernel"); }
const char *gpu_error(void) { return error[0] ? error : NULL; }
int gpu_refuse(const char *words)
{
    if (!error[0]) snprintf(error, sizeof error, "%s", words), refused = true;
    return -1;
}
/* A device's fault stays: every later call returns it again. A refused launch's error is gone once it has been read. */
void gpu_clear_refusal(void)
{
    if (!refused) {
        cudaGetLastError();
        if (error[0] && cudaStreamSynchronize(stream) != cudaSuccess) return;
    }
    error[0] = 0, refused = false;
}
/* A device's fault stays: every later call returns it again. Other errors are gone once they have been read. */
int gpu_forgive(void)
{
    cudaGetLastError();
    cudaError_t rc = capturing ? cudaSuccess : cudaStreamQuery(stream);
    return note(rc == cudaErrorNotReady ? cudaSuccess : rc, "the GPU's work");
}

/* ---- memory ---- */

void *gpu_alloc(size_t bytes)
{
    void *p = NULL;
    cudaError_t rc = cudaMalloc(&p, bytes ? bytes : 1);
    if (rc == cudaSuccess) return p;
    if (rc != cudaErrorMemoryAllocation || error[0]) { /* the cause is not a lack of memory: something failed before */
        fprintf(stderr, "ablate: the GPU failed: %s\n", error[0] ? error : cudaGetErrorString(rc));
        exit(1);
    }
    size_t left = 0, total = 0;
    cudaMemGetInfo(&left, &total);
    fprintf(stderr, "ablate: out of GPU memory: %.1f MB requested, %.1f of %.1f MB free (%s); reduce batch_tokens\n",
            (double)bytes / 1e6, (double)left / 1e6, (double)total / 1e6, cudaGetErrorString(rc));
    exit(1);
}

size_t gpu_free_memory(void)
{
    size_t left = 0, total = 0;
    return asked(cudaMemGetInfo(&left, &total)) ? 0 : left;
}

void gpu_release(void *p)
{
    if (!p) return;
    gpu_flush(); /* pending writes may go to this memory */
    wait_stream(stream);
    note(cudaFree(p), "cudaFree");
}

void *gpu_stage(void)
{
    int i = next_stage++ % STAGES;
    /* waits only if all stages are in use */
    note(wait_event(sent[i]), "an earlier copy");
    return staged + (size_t)i * GPU_STAGE_BYTES;
}

void gpu_send(void *to, const void *stage, size_t bytes)
{
    size_t i = (size_t)((const char *)stage - staged) / GPU_STAGE_BYTES;
    note(cudaMemcpyAsync(to, stage, bytes, cudaMemcpyHostToDevice, stream), "a copy to the GPU");
    note(cudaEventRecord(sent[i], stream), "an event");
}

int gpu_copy_out(void *to, const void *from, size_t bytes)
{
    if (capturing) return gpu_refuse("a copy to the host during graph capture");
    gpu_flush();
    note(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "a copy from the GPU");
    return note(wait_stream(stream), "the GPU's work");
}

void gpu_copy(void *to, const void *from, size_t bytes)
{
    gpu_flush();
    note(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "a copy on the GPU");
}

void gpu_zero(void *at, size_t bytes)
{
    gpu_flush();
    note(cudaMemsetAsync(at, 0, bytes, stream), "zeroing GPU memory");
}

void *gpu_scratch(int slot, size_t bytes)
{
    block *s = &scratch[lane][slot];
    if (s->bytes >= bytes) return s->data;
    if (s->data) {
        old_block *o = (old_block *)malloc(sizeof *o);
        if (o) *o = {s->data, outgrown}, outgrown = o; /* if o is NULL, the memory is freed with the process */
    }
    size_t size = bytes + bytes / 4;
    s->data = gpu_alloc(size), s->bytes = size;
    return s->data;
}

double gpu_milliseconds(int (*work)(void *arg), void *arg)
{
    float ms = 0;
    if (capturing) return gpu_refuse("a measurement during graph capture");
    gpu_flush();
    /* nothing else runs beside the timed work */
    if (note(cudaEventRecord(began, stream), "an event") || work(arg)) return -1;
    note(cudaEventRecord(ended, stream), "an event");
    note(wait_event(ended), "the GPU's work");
    return note(cudaEventElapsedTime(&ms, began, ended), "an event") ? -1 : (double)ms;
}
void gpu_wait(void)
{
    gpu_flush();
    note(wait_stream(stream), "the GPU's work");
}

/* ---- the stream and graphs ---- */

void *gpu_stream(void)
{
    gpu_flush(); /* the next launch may read these writes */
    return stream;
}
const gpu_counter *gpu_counters(void) { return counter; }
unsigned *gpu_tickets(void) { return tickets + (size_t)lane * GPU_TICKETS; }
void gpu_shared_memory(const void *kernel, size_t bytes)
{
    cudaFuncAttributes a;
    if (!bytes || note(cudaFuncGetAttributes(&a, kernel), "a kernel") || gpu_fits_shared(a.sharedSizeBytes, bytes))
        return;
    if ((int)bytes <= a.maxDynamicSharedSizeBytes) return; /* never lowers the limit: a graph may need it */
    note(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
         "a kernel's shared memory");
}

int gpu_capture(void)
{
    /* relaxed: the first use of a kernel may load its code while the graph is written */
    gpu_flush();
    if (gpu_launched()) return -1; /* an error now would leave the capture open */
    int rc = note(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "writing a graph");
    capturing = !rc;
    return rc;
}

void *gpu_captured(void)
{
    cudaGraph_t g = NULL;
    cudaGraphExec_t run = NULL;
    capturing = false;
    if (!note(cudaStreamEndCapture(stream, &g), "writing a graph"))
        note(cudaGraphInstantiate(&run, g, 0), "making a graph");
    if (g) cudaGraphDestroy(g);
    return error[0] ? NULL : run;
}

int gpu_replay(void *graph)
{
    gpu_flush();
    return note(cudaGraphLaunch((cudaGraphExec_t)graph, stream), "a graph");
}
void gpu_graph_free(void *graph)
{
    if (!graph) return;
    wait_stream(stream);
    cudaGraphExecDestroy((cudaGraphExec_t)graph);
}

int gpu_capturing(void) { return capturing; }
const char *gpu_name(void) { return name; }

int gpu_capability(void) { return capability; }
void *gpu_load_kernel(const void *image, const char *kernel_name)
{
    cudaLibrary_t library;
    cudaKernel_t kernel;
    if (note(cudaLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0), "code that was compiled at run time"))
        return NULL;
    return note(cudaLibraryGetKernel(&kernel, library, kernel_name), kernel_name) ? NULL : (void *)kernel;
}
int gpu_run_kernel(void *kernel, unsigned blocks, unsigned threads, size_t shared, const void *const *arguments)
{
    int device = 0;
    if (!gpu_fits_shared(0, shared) && !note(cudaGetDevice(&device), "the GPU"))
        note(cudaKernelSetAttributeForDevice((cudaKernel_t)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             (int)shared, device),
             "a kernel's shared memory");
    note(cudaLaunchKernel((const void *)kernel, dim3(blocks), dim3(threads), (void **)arguments, shared,
                          (cudaStream_t)gpu_stream()),
         "a kernel that was compiled at run time");
    return gpu_launched();
}

/* The function of CUDA's driver, loaded at run time: we do not link the driver. */
int gpu_map_rows(gpu_tensor_map *to, void *at, int64_t rows, int64_t columns, int64_t stride, unsigned tile_rows)
{
    static_assert(sizeof(gpu_tensor_map) == sizeof(CUtensorMap) && alignof(gpu_tensor_map) >= alignof(CUtensorMap), "");
    static decltype(&cuTensorMapEncodeTiled) encode;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    if (!encode && (note(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000,
                                                          cudaEnableDefault, &found),
                         "the driver") ||
                    found != cudaDriverEntryPointSuccess))
        return gpu_refuse("the driver has no tensor maps");
    const cuuint64_t all[] = {(cuuint64_t)columns, (cuuint64_t)rows}, bytes[] = {(cuuint64_t)stride};
    const cuuint32_t tile[] = {64, tile_rows}, step[] = {1, 1};
    CUresult rc = encode((CUtensorMap *)to, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, at, all, bytes, tile, step,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return rc == CUDA_SUCCESS ? 0 : gpu_refuse("the driver makes no tensor map of these rows");
}

/* ---- side streams ---- */

static int side_open(gpu_side s)
{
    if (side[s]) return error[0] ? -1 : 0;
    /* the ranks' few kernels have priority over the stream's many: another rank may wait for their results */
    int low = 0, high = 0;
    note(cudaDeviceGetStreamPriorityRange(&low, &high), "streams");
    note(cudaStreamCreateWithPriority(&side[s], cudaStreamNonBlocking, s == GPU_RANKS ? high : low), "a stream");
    note(cudaEventCreateWithFlags(&side_sees[s], cudaEventDisableTiming), "an event");
    return note(cudaEventCreateWithFlags(&main_sees[s], cudaEventDisableTiming), "an event");
}

int gpu_side_begin(gpu_side s)
{
    if (side_open(s)) return -1;
    gpu_flush();
    note(cudaEventRecord(side_sees[s], main_stream), "an event");
    note(cudaStreamWaitEvent(side[s], side_sees[s], 0), "a stream that waits");
    stream = side[s], lane = 1 + s;
    return error[0] ? -1 : 0;
}
void gpu_side_end(void)
{
    gpu_flush();
    stream = main_stream, lane = 0;
}

int gpu_side_join(gpu_side s)
{
    if (side_open(s)) return -1;
    note(cudaEventRecord(main_sees[s], side[s]), "an event");
    return note(cudaStreamWaitEvent(main_stream, main_sees[s], 0), "a stream that waits");
}

int gpu_side_done(gpu_side s)
{
    cudaError_t rc = side[s] ? cudaStreamQuery(side[s]) : cudaSuccess;
    if (rc != cudaErrorNotReady) return note(rc, "a side stream's work") ? -1 : 1;
    cudaGetLastError();
    return error[0] ? -1 : 0;
}

int gpu_multiprocessors(void) { return n_multiprocessors; }
}
