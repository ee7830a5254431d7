/* gpu_fibers.h - runs the threads of a block as fibers (gpu_fibers.cc), for gpu_emulation.cc. */
#ifndef GPU_FIBERS_H
#define GPU_FIBERS_H
#ifndef GPU_ON_CPU
#define GPU_ON_CPU
#endif
#include "tensor/cuda/gpu.h"
#include "tensor/cuda/runtime.h"

#if defined(__SANITIZE_ADDRESS__)
#define GPU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GPU_ASAN 1
#endif
#endif
#ifdef GPU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

enum { GPU_MOST_THREADS = 1024 }; /* per block */
/* Runs `body` once per thread of a block (blockIdx and blockDim must be set) until all have returned. Ends the program
 * if some threads never reach a barrier. */
void gpu_run_block(int threads, const std::function<void()> &body);
/* Draws a number below n: the next block or thread in a random order. */
unsigned gpu_draw(unsigned n);
/* Returns whether the order of blocks and threads is random: ABLATE_SCHEDULE is its seed; 0 or unset: not random. */
bool gpu_shuffled();
/* Static shared memory (gpu_shared.cc). gpu_shared_poison fills it with NaN before a block; gpu_shared_used returns the
 * bytes that the kernel's blocks have used, or 0 if they are unknown. */
void gpu_shared_poison(const void *kernel);
size_t gpu_shared_used(const void *kernel);
/* For instructions of capability 9.0 (gpu_hopper.cc): gpu_running is the running thread; gpu_give_way waits until
 * *number differs from `seen`; gpu_progress changes whenever waiting threads may be able to go on; gpu_dynamic_bytes is
 * the size of dynamic shared memory. */
int gpu_running();
void gpu_give_way(const unsigned *number, unsigned seen);
extern unsigned gpu_progress;
extern size_t gpu_dynamic_bytes;
void gpu_hopper_begins(); /* a block */
void gpu_hopper_ends();
void gpu_hopper_leaves(int thread);
void gpu_hopper_syncs(int thread); /* the thread has reached __syncwarp */
/* Prints the error with the current block and thread, and aborts. */
[[noreturn]] void broken_kernel(const char *what);
#endif
