/* gpu_watch.h - the emulation's events for a race detector (races.cc) or a model of cost (cost.cc), if the program has
 * one. */
#ifndef GPU_WATCH_H
#define GPU_WATCH_H
#include "gpu_fibers.h"
#include "gpu_streams.h"

struct gpu_watcher {
    void (*work)(const gpu_work &w); /* this launch or copy follows; w.run has not been called */
    void (*work_done)();
    /* the launch's blocks follow; dynamic: their shared memory of `bytes` */
    void (*grid)(const void *kernel, const unsigned char *dynamic, size_t bytes);
    void (*block)();                                     /* blockIdx is set; all of its threads start anew */
    void (*runs)(int thread, const char *stack);         /* stack: its lowest address; thread < 0: none runs */
    void (*arrives)(int thread);                         /* at the block's barrier, or at its end */
    void (*passes)(int thread, bool block);              /* the block's barrier, or else its warp's */
    void (*meets)(int thread);                           /* the others of its warp, in a shuffle or vote; may be NULL */
    void (*fence)(int thread);                           /* __threadfence */
    void (*atomic)(int thread, const void *p);           /* on 4 bytes, before it happens */
    void (*touch)(const void *p, size_t n, bool writes); /* by the work as a whole, which is no kernel */
    void (*memory)(const void *p, size_t n);             /* no kernel has touched this device memory yet */
    void (*reads)(const void *p, size_t n); /* the thread that runs has device memory read for it; may be NULL */
};
extern const gpu_watcher *gpu_watch; /* NULL: no watcher */
enum { GPU_STACK = 256 << 10 };      /* bytes per thread */
/* The block of device memory that has this address, from .. from + bytes - 1; false: none has. */
bool gpu_memory_block(const void *at, uintptr_t *from, size_t *bytes);
/* "device memory of 40 bytes, byte 4" */
std::string gpu_memory_name(const void *at);
/* "name, byte n" of an array of static shared memory, "" if unknown (gpu_shared.cc). */
std::string gpu_shared_name(const void *at);
#endif
