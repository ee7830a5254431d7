/* gpu_streams.h - streams, events and graphs of the emulated GPU (gpu_streams.cc), for gpu_emulation.cc.
 *
 * Work given to a stream, directly or by a graph, runs at once or when something waits for it (gpu_when of runtime.h);
 * so do waits for events. An event stands for all work that its stream had been given when it was recorded. As on a
 * GPU, only streams that were forked from the first one and join it again may write to a graph, and waits in a graph
 * are for events in it. */
#ifndef GPU_STREAMS_H
#define GPU_STREAMS_H
#include "gpu_fibers.h"
#include <string>

enum { GPU_LANES = 1 + GPU_SIDES };
struct gpu_clock { /* a vector clock: how much of each stream's work has happened before */
    uint64_t of[GPU_LANES];
};
struct gpu_work {
    std::string label, name; /* name: empty for a copy from or to the host, which is no launch */
    int64_t warps;
    std::function<void()> run;
    int lane = 0;         /* the stream that does this work */
    gpu_clock clock = {}; /* work that happens before this work, and this work; set when the stream gets the work */
};
void gpu_run_work(const gpu_work &w); /* gpu_emulation.cc */

int gpu_current();                /* number of the stream that gets new work: 0, or 1 + a side stream's number */
void gpu_give(const gpu_work &w); /* gives work to that stream, or to the graph that is being captured */
void gpu_finish(int lane);        /* makes the host wait for the stream */
void gpu_finish_all();
#endif
