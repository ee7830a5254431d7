/* gpu_watch.h - events of the emulation, reported to the race detector (races.cc) or the cost model (cost.cc), if the
 * program has one. */
#ifndef GPU_WATCH_H
#define GPU_WATCH_H
#include "gpu_fibers.h"
#include "gpu_streams.h"

struct gpu_watcher {
    void (*work)(const gpu_work &w); /* before a launch or copy runs */
    void (*work_done)();
    /* called before the blocks of a launch; dynamic: their dynamic shared memory, of `bytes` bytes */
    void (*grid)(const void *kernel, const unsigned char *dynamic, size_t bytes);
    void (*block)(); /* before a block: blockIdx is set */
    /* called when another thread runs; thread < 0: no thread runs; stack: lowest address of the thread's stack */
    void (*runs)(int thread, const char *stack);
    void (*arrives)(int thread); /* the thread reaches the block's barrier, or ends */
    /* the thread passes a barrier: the block's if `block`, else its warp's */
    void (*passes)(int thread, bool block);
    /* the thread meets the others of its warp in a shuffle or vote; may be NULL */
    void (*meets)(int thread);
    void (*fence)(int thread);                           /* __threadfence */
    void (*atomic)(int thread, const void *p);           /* before an atomic operation on 4 bytes */
    void (*touch)(const void *p, size_t n, bool writes); /* an access by work that is no kernel */
    void (*memory)(const void *p, size_t n); /* called for each new piece of device memory before kernels access it */
    void (*reads)(const void *p, size_t n);  /* device memory is read on behalf of the running thread; may be NULL */
};
extern const gpu_watcher *gpu_watch; /* NULL: nothing watches */
enum { GPU_STACK = 256 << 10 };      /* bytes per thread */
/* Finds the allocation in device memory that contains `at`, and sets *from to its first address and *bytes to its size.
 * Returns false if there is none. */
bool gpu_memory_block(const void *at, uintptr_t *from, size_t *bytes);
/* Describes an address, such as "device memory of 40 bytes, byte 4". */
std::string gpu_memory_name(const void *at);
/* Describes an address in an array of static shared memory: "name, byte n", or "" if unknown (gpu_shared.cc). */
std::string gpu_shared_name(const void *at);
#endif
