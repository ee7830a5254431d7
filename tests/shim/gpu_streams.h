/* gpu_streams.h - streams, events and graphs of the emulated GPU (gpu_streams.cc), for gpu_emulation.cc.
 *
 * Work is given to a stream, in a graph or not, and runs at once or when something waits for it (gpu_when of
 * runtime.h). So do waits for events: an event stands for what its stream had been given when it was recorded. As on a
 * GPU, a graph has to be written by streams that are forked from the first one and joined with it again, and waits in
 * it are for events in it.
 */
#ifndef GPU_STREAMS_H
#define GPU_STREAMS_H
#include "gpu_fibers.h"
#include <string>

enum { GPU_LANES = 1 + GPU_SIDES };
struct gpu_clock { /* a vector clock: how much of each stream's work has happened before */
    uint64_t of[GPU_LANES];
};
struct gpu_work {
    std::string label, name; /* name: empty for a copy from or to the host, no launch */
    int64_t warps;
    std::function<void()> run;
    int lane = 0;         /* its stream, */
    gpu_clock clock = {}; /* and what happens before it, itself included: set when it is given to the stream */
};
void gpu_run_work(const gpu_work &w); /* gpu_emulation.cc */

int gpu_current();                /* the stream that work goes to: 0, or 1 + a side stream's number */
void gpu_give(const gpu_work &w); /* to that stream, or into the graph that is being written */
void gpu_finish(int lane);        /* the host waits for it */
void gpu_finish_all();
#endif
