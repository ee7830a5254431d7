/* runtime.h - a GPU's memory, stream and graphs, for the C and the CUDA side of the backend; also in the test build that runs
 * kernels on the CPU. One process uses one device and one stream, with ranks another one beside it. */
#ifndef ABLATE_CUDA_RUNTIME_H
#define ABLATE_CUDA_RUNTIME_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { GPU_PHILOX_ROUNDS = 7 };                       /* PHILOX_ROUNDS of base/base.h; ops.h holds them together */
typedef struct { uint64_t seed, step; } gpu_counter; /* dropout's key, in device memory */

/* ---- devices ---- */
typedef struct {
    char name[128];
    int major, minor; /* compute capability */
    size_t memory, free_memory; /* bytes */
    int multiprocessors;
} gpu_device;
/* Number of devices, or -1 and why there is none in words (static storage). */
int gpu_count(const char **why);
int gpu_describe(int device, gpu_device *out); /* 0, or -1 */
int gpu_open(int device, const char **why);    /* takes the device for this process: 0, or -1 */
void gpu_close(void);

/* ---- errors: the first one sticks ---- */
int gpu_launched(void);           /* after a launch: 0, or -1 when it (or anything before) failed */
const char *gpu_error(void);      /* words, or NULL */
int gpu_refuse(const char *words); /* notes an error of our own: -1 */
void gpu_clear_refusal(void);     /* forgets an error of gpu_refuse; one of the device stays */
/* After a library's call failed: clears what it left behind, so that the next launch is not blamed. 0, or -1 when the device itself failed. */
int gpu_forgive(void);

/* ---- memory: the device's own, which the host must not touch ---- */
void *gpu_alloc(size_t bytes); /* 256-byte aligned; ends the program in words when there is none */
void gpu_release(void *p);
void gpu_copy_in(void *to, const void *from, size_t bytes);     /* in the stream's order; from is free at return */
int gpu_copy_out(void *to, const void *from, size_t bytes);     /* waits for all before: 0, or -1 after an error */
void gpu_copy(void *to, const void *from, size_t bytes);        /* device to device */
void gpu_zero(void *at, size_t bytes);
/* Memory for the inside of one call: a slot's block, made larger if need be. The one it outgrew lives on until gpu_close, for the
 * graphs that name it. Which slot is whose: ops.h. */
void *gpu_scratch(int slot, size_t bytes);
void gpu_wait(void);
size_t gpu_free_memory(void); /* bytes; 0 after an error */
/* Milliseconds that work(arg), which launches into the stream, takes there; -1 after an error. Waits. Not while a graph is written. */
double gpu_milliseconds(int (*work)(void *arg), void *arg);

/* ---- the stream and graphs ---- */
void *gpu_stream(void);                     /* a cudaStream_t */
const gpu_counter *gpu_counters(void);      /* in device memory */
void gpu_set_counter(uint64_t seed, uint64_t step);
void gpu_shared_memory(const void *kernel, size_t bytes); /* lets a kernel have more dynamic shared memory than 40 KiB */
int gpu_capture(void);                      /* from here on launches are written down, not run: 0 or -1 */
int gpu_capturing(void);                    /* is a graph being written? */
void *gpu_captured(void);                   /* ends that: a graph, or NULL after an error */
int gpu_replay(void *graph);
void gpu_graph_free(void *graph);

/* ---- the side stream: what ranks send each other, beside the stream's own work ---- */
int gpu_side_begin(void); /* until gpu_side_end launches and copies go to the side stream, behind all that the stream has by now: 0 or -1 */
void gpu_side_end(void);
int gpu_side_join(void);  /* what comes into the stream from now on waits for the side stream: 0 or -1 */
int gpu_side_done(void);  /* 1: the side stream has nothing left to do, 0: not yet, -1: an error. Does not wait. */

/* ---- kernels that are compiled at run time ---- */
int gpu_capability(void);                                       /* 90: compute capability 9.0 */
void *gpu_load_kernel(const void *image, const char *name);     /* of a cubin; it stays loaded. NULL after an error */
int gpu_run_kernel(void *kernel, unsigned blocks, unsigned threads, const void *const *arguments); /* as a launch does: their addresses */

/* [GPU_TICKETS] in device memory, all 0 between launches: by which blocks find out who comes last (parts.h). */
enum { GPU_TICKETS = 1 << 14 };
unsigned *gpu_tickets(void);

int gpu_multiprocessors(void);
const char *gpu_name(void);                 /* of the device that is open */
#ifdef GPU_ON_CPU
extern int gpu_reversed; /* fibers take turns from the last to the first */
/* What was run since the program began, from graphs too: kernels, zeroing and copies within the device; copies from the host. */
typedef struct { int64_t launches, copies_in; } gpu_tally;
extern gpu_tally gpu_done;
extern int gpu_dry;           /* launches are counted, not run: values stay what they were */
extern const char *gpu_label; /* what launches are counted under from here on */
/* Calls f with the number of launches of each label and kernel since the last call. */
void gpu_each_launch(void (*f)(void *self, const char *label, const char *name, int64_t n), void *self);
extern int gpu_side_stuck; /* gpu_side_done finds the side stream busy, as when a rank is gone */
/* Runs body(arg) as a launch is: with device memory in reach, and into the graph when one is written. Copies arg. */
void gpu_host_call(void (*body)(void *arg), const void *arg, size_t bytes);
#endif
#ifdef __cplusplus
}
#endif
#endif
