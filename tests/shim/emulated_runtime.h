/* emulated_runtime.h - the emulation's functions for tests, beside runtime.h, which includes this. */
#ifndef ABLATE_EMULATED_RUNTIME_H
#define ABLATE_EMULATED_RUNTIME_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
extern int gpu_reversed; /* fibers run from the last to the first */
/* Counts since the program started, including graphs: kernels, zeroing and copies within the device; copies from the
 * host; warps of kernels. blocks: of memory, in use now. */
typedef struct {
    int64_t launches, copies_in, warps, blocks;
} gpu_tally;
extern gpu_tally gpu_done;
extern int gpu_dry;           /* count launches without running them: values stay unchanged */
extern const char *gpu_label; /* label under which launches are counted */
/* Calls f with the number of launches of each label and kernel since the last call. */
void gpu_each_launch(void (*f)(void *self, const char *label, const char *name, int64_t n), void *self);
/* The side streams' work does not end, as after losing a rank: gpu_side_done reports them busy, and where the host
 * waits for them, too, it does so until gpu_while_waiting's function makes this 0. */
extern int gpu_side_stuck;
/* When streams do their work: at once; the side streams' only when something waits for it; the stream's only when
 * something waits for it. Between the last two lies whatever a GPU does, so that a wait that is missing gives other
 * results in one of them. */
typedef enum { GPU_AT_ONCE, GPU_SIDES_LATE, GPU_SIDES_EARLY } gpu_timing;
extern gpu_timing gpu_when;
/* Runs body(arg) like a launch: with access to device memory, and into the graph during capture. Copies arg. */
void gpu_host_call(void (*body)(void *arg), const void *arg, size_t bytes);
/* By work that is no kernel, when it runs: what it reads or writes, for the race detector. */
void gpu_touches(const void *p, size_t bytes, int writes);
#ifdef __cplusplus
}
#endif
#endif
