/* runtime.h - a GPU's memory, stream and graphs, for the C and the CUDA side of the backend, and for the test build
 * that runs kernels on the CPU. A process uses one device and one stream, and side streams beside it. */
#ifndef ABLATE_CUDA_RUNTIME_H
#define ABLATE_CUDA_RUNTIME_H
#include "base/linkage.h"
#include <stddef.h>
#include <stdint.h>
C_BEGIN

/* PHILOX_ROUNDS of base/base.h; ops_generic.c checks that both are equal */
enum { GPU_PHILOX_ROUNDS = 7 };
typedef struct {
    uint64_t seed, step;
} gpu_counter;   /* dropout's key, in device memory */
typedef struct { /* the elements dropped at a place (op.h, DROPOUT family); the key comes from gpu_counters() */
    unsigned place;
    unsigned least; /* smallest 16-bit word that is kept; 0: keep everything */
    float scale;    /* factor on kept values */
} gpu_dropping;

/* ---- devices ---- */
typedef struct {
    char name[128];
    int major, minor;           /* compute capability */
    size_t memory, free_memory; /* bytes */
    int multiprocessors;
} gpu_device;
/* Number of devices, or -1 and why there is none (static storage). */
int gpu_count(const char **why);
int gpu_describe(int device, gpu_device *out); /* returns 0, or -1 */
int gpu_open(int device, const char **why);    /* takes the device for this process: 0, or -1 */
void gpu_close(void);

/* ---- errors: the first one is kept ---- */
int gpu_launched(void);            /* after a launch: 0, or -1 if it or anything before failed */
const char *gpu_error(void);       /* the message, or NULL */
int gpu_refuse(const char *words); /* records an error of our own; returns -1 */
void gpu_clear_refusal(void);      /* waits; clears an error, but not a device's fault, which is permanent */
/* After a failed library call: clears its error for the next launch. Returns 0, or -1 if the device failed. */
int gpu_forgive(void);

/* ---- memory: the device's own, which the host must not touch ---- */
void *gpu_alloc(size_t bytes); /* 256-byte aligned; ends the program with a message if there is none */
void gpu_release(void *p);
void gpu_copy_in(void *to, const void *from, size_t bytes); /* in stream order; `from` can be reused at return */
int gpu_copy_out(void *to, const void *from, size_t bytes); /* waits for earlier work: 0, or -1 after an error */
void gpu_copy(void *to, const void *from, size_t bytes);    /* device to device */
void gpu_zero(void *at, size_t bytes);

/* ---- writes of the host, which uploads.cu collects until gpu_flush ---- */
enum { GPU_STAGE_BYTES = 2 << 20 };
void *gpu_stage(void);                                    /* GPU_STAGE_BYTES of staging memory, valid until sent */
void gpu_send(void *to, const void *stage, size_t bytes); /* copies the beginning of a stage, in stream order */
/* `follow` of graph/backend.h; sent together with the pending writes */
void gpu_follow(int32_t *to, int32_t *copy, const int32_t *from, const int32_t *parents, int64_t rows, int64_t capacity,
                int64_t step);
void gpu_flush(void);          /* sends pending writes; call it before anything that runs or reads */
void gpu_forget_uploads(void); /* drops pending writes when the device closes */

/* Owners of scratch slots. */
enum {
    SCRATCH_PRODUCT,
    SCRATCH_WEIGHTS,
    SCRATCH_SUMS,
    SCRATCH_IDS,
    SCRATCH_ATTEND,
    SCRATCH_SHAPE,
    SCRATCH_OPTIM,
    SCRATCH_SELECT,
    SCRATCH_DNN,
    SCRATCH_SCORE,
    SCRATCH_RANKS,
    SCRATCH_TILES
};
/* Temporary memory for one call: a slot's block, enlarged if needed. The old block is kept until gpu_close, because
 * graphs may use it. Every side stream has its own slots. */
void *gpu_scratch(int slot, size_t bytes);
void gpu_wait(void);
/* Sets a function that is called repeatedly while the host waits for the GPU, with the seconds waited: the GPU may wait
 * for a machine that is gone. f ends the GPU's work or the program. f NULL: calls no function. */
void gpu_while_waiting(void (*f)(double seconds));
size_t gpu_free_memory(void); /* bytes; 0 after an error */
/* Time in milliseconds of work(arg), which launches into the stream; -1 after an error. Waits. Not during capture. */
double gpu_milliseconds(int (*work)(void *arg), void *arg);

/* ---- the stream and graphs ---- */
void *gpu_stream(void);                /* a cudaStream_t */
const gpu_counter *gpu_counters(void); /* in device memory */
void gpu_set_counter(uint64_t seed, uint64_t step);
/* Most shared memory of a block [bytes], static and dynamic: GPU_SHARED by default, gpu_shared_most() after
 * gpu_shared_memory (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"). */
enum { GPU_SHARED = 48 << 10 };
static inline int gpu_shared_most(int capability)
{
    return (capability == 80 || capability == 87 ? 163 : capability < 90 || capability >= 120 ? 99 : 227) << 10;
}
static inline int gpu_fits_shared(size_t fixed, size_t dynamic) { return fixed + dynamic <= GPU_SHARED; }
/* Before a launch with this dynamic part: allows the kernel more than GPU_SHARED, if it needs that. */
void gpu_shared_memory(const void *kernel, size_t bytes);
int gpu_capture(void);    /* starts capture: launches are recorded, not run: 0 or -1 */
int gpu_capturing(void);  /* is capture active? */
void *gpu_captured(void); /* ends capture: a graph, or NULL after an error */
int gpu_replay(void *graph);
void gpu_graph_free(void *graph);

/* ---- side streams: communication between ranks, parallel to the stream's work ---- */
typedef enum { GPU_RANKS, GPU_SIDES } gpu_side;
/* until gpu_side_end, launches and copies go to the side stream, after the stream's current work: 0 or -1 */
int gpu_side_begin(gpu_side s);
void gpu_side_end(void);
int gpu_side_join(gpu_side s); /* later work in the stream waits for the side stream: 0 or -1 */
int gpu_side_done(gpu_side s); /* 1: the side stream is idle, 0: not yet, -1: an error. Does not wait. */

/* ---- kernels compiled at run time ---- */
int gpu_capability(void);                                   /* 90: compute capability 9.0 */
void *gpu_load_kernel(const void *image, const char *name); /* from a cubin; stays loaded. NULL after an error */
/* shared: bytes of dynamic shared memory; arguments: addresses of the kernel's arguments */
int gpu_run_kernel(void *kernel, unsigned blocks, unsigned threads, size_t shared, const void *const *arguments);
typedef struct { /* a CUtensorMap, for hopper.h */
    uint64_t words[16];
} __attribute__((aligned(128))) gpu_tensor_map;
/* Rows of bf16 at `at`, aligned to 16 bytes, whose starts are `stride` bytes apart, a multiple of 16: for tiles of
 * tile_rows rows and 64 columns, swizzled over 128 bytes. Returns 0 or -1. */
int gpu_map_rows(gpu_tensor_map *to, void *at, int64_t rows, int64_t columns, int64_t stride, unsigned tile_rows);

/* [GPU_TICKETS] counters, all 0 between launches: blocks find the last one (parts.h). Every side stream has its own. */
enum { GPU_TICKETS = 1 << 14 };
unsigned *gpu_tickets(void);

int gpu_multiprocessors(void);
const char *gpu_name(void); /* the open device's name */
C_END
#ifdef GPU_ON_CPU
#include "emulated_runtime.h"
#endif
#endif
