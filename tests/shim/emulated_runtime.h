/* emulated_runtime.h - functions of the emulation for tests. runtime.h, which declares the others, includes it. */
#ifndef ABLATE_EMULATED_RUNTIME_H
#define ABLATE_EMULATED_RUNTIME_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
extern int gpu_reversed; /* a block's fibers run in reverse order */
/* Counts since the program started; the launches and copies of graphs are included. launches: of kernels, of zeroing
 * and of copies within the device; copies_in: from the host; warps: of kernels. blocks: allocations alive now. */
typedef struct {
    int64_t launches, copies_in, warps, blocks;
} gpu_tally;
extern gpu_tally gpu_done;
extern int gpu_dry;           /* count launches without running them: values stay unchanged */
extern const char *gpu_label; /* label under which launches are counted */
/* Calls f for each pair of label and kernel. n: number of launches since the last call of gpu_each_launch. */
void gpu_each_launch(void (*f)(void *self, const char *label, const char *name, int64_t n), void *self);
/* If 1, the side streams' work never ends, as after losing a rank: gpu_side_done reports them busy, and the host waits
 * for them until the function given to gpu_while_waiting makes this 0. */
extern int gpu_side_stuck;
/* When streams do their work: GPU_AT_ONCE: at once; GPU_SIDES_LATE: side streams only when something waits for them;
 * GPU_SIDES_EARLY: the main stream only when something waits for it. A real GPU works in an order between the last two,
 * so a missing wait changes results in one of these two. */
typedef enum { GPU_AT_ONCE, GPU_SIDES_LATE, GPU_SIDES_EARLY } gpu_timing;
extern gpu_timing gpu_when;
/* Runs body(arg) as a launch: it may access device memory, and is captured into a graph. Copies arg. */
void gpu_host_call(void (*body)(void *arg), const void *arg, size_t bytes);
/* Reports to the race detector that a copy or other work without a kernel reads or writes this memory. Called when this
 * work runs. */
void gpu_touches(const void *p, size_t bytes, int writes);
#ifdef __cplusplus
}
#endif
#endif
