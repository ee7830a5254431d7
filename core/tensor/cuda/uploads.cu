/* uploads.cu - what the host writes to the device between two launches, gathered: gpu_copy_in keeps it, and gpu_flush,
 * which whatever runs next calls, sends all of it at once. A kernel puts the pieces where they belong. A few numbers
 * are its argument, so that nothing is copied for them; more go through pinned memory in one copy. */
#include "tensor/cuda/gpu.h"
#include "tensor/cuda/uploads.h"
#include <string.h>

enum { PIECES = 48, FEW_BYTES = 1024, ALIGNMENT = 16, UPLOAD_THREADS = 256 };

struct piece {
    void *to;
    unsigned at, bytes; /* where its data begin */
};
struct table {
    piece of[PIECES];
};
struct alignas(16) few {
    unsigned char data[FEW_BYTES];
};

static table pieces;
static unsigned n_pieces, filled; /* bytes of the stage */
static unsigned char *stage, *blob;

/* Piece blockIdx.y. */
__device__ __forceinline__ void put_piece(const piece &p, const unsigned char *data)
{
    unsigned first = blockIdx.x * UPLOAD_THREADS + threadIdx.x, all = gridDim.x * UPLOAD_THREADS;
    const unsigned char *from = data + p.at;
    if (p.bytes % 4 == 0 && (uintptr_t)p.to % 4 == 0)
        for (unsigned i = first; i < p.bytes / 4; i += all) ((unsigned *)p.to)[i] = ((const unsigned *)from)[i];
    else
        for (unsigned i = first; i < p.bytes; i += all) ((unsigned char *)p.to)[i] = from[i];
}
__global__ void __launch_bounds__(UPLOAD_THREADS) put_blob(const __grid_constant__ table t, const unsigned char *data)
{
    put_piece(t.of[blockIdx.y], data);
}
__global__ void __launch_bounds__(UPLOAD_THREADS)
    put_few(const __grid_constant__ table t, const __grid_constant__ few f)
{
    put_piece(t.of[blockIdx.y], f.data);
}

extern "C" void gpu_flush(void)
{
    if (!n_pieces) return;
    unsigned n = n_pieces, bytes = filled, longest = 0;
    for (unsigned i = 0; i < n; i++) longest = pieces.of[i].bytes > longest ? pieces.of[i].bytes : longest;
    n_pieces = filled = 0; /* launches come here, too */
    unsigned blocks = (longest / 4 + UPLOAD_THREADS - 1) / UPLOAD_THREADS;
    dim3 grid(blocks < 1 ? 1 : blocks > 64 ? 64 : blocks, n);
    if (bytes <= FEW_BYTES) {
        few f;
        memcpy(f.data, stage, bytes);
        memset(f.data + bytes, 0, FEW_BYTES - bytes);
        (void)LAUNCH(put_few, grid, UPLOAD_THREADS, 0, pieces, f);
        return;
    }
    if (!blob) blob = (unsigned char *)gpu_alloc(GPU_STAGE_BYTES);
    gpu_send(blob, stage, bytes);
    stage = NULL;
    (void)LAUNCH(put_blob, grid, UPLOAD_THREADS, 0, pieces, (const unsigned char *)blob);
}

/* Does a piece that waits go there too? Pieces of one launch are put in no order. */
static bool overlaps(const void *to, size_t bytes)
{
    uintptr_t from = (uintptr_t)to;
    for (unsigned i = 0; i < n_pieces; i++) {
        uintptr_t at = (uintptr_t)pieces.of[i].to;
        if (at < from + bytes && from < at + pieces.of[i].bytes) return true;
    }
    return false;
}

extern "C" void gpu_copy_in(void *to, const void *from, size_t bytes)
{
    if (!bytes) return;
    if (gpu_capturing()) {
        gpu_refuse("a copy from the host during graph capture");
        return;
    }
    if (bytes > GPU_STAGE_BYTES / 2) { /* in parts, each in its turn */
        for (size_t done = 0, n; done < bytes; done += n) {
            n = bytes - done < GPU_STAGE_BYTES ? bytes - done : (size_t)GPU_STAGE_BYTES;
            gpu_flush();
            if (!stage) stage = (unsigned char *)gpu_stage();
            memcpy(stage, (const char *)from + done, n);
            gpu_send((char *)to + done, stage, n);
            stage = NULL;
        }
        return;
    }
    if (n_pieces == PIECES || filled + bytes > GPU_STAGE_BYTES || overlaps(to, bytes)) gpu_flush();
    if (!stage) stage = (unsigned char *)gpu_stage();
    memcpy(stage + filled, from, bytes);
    pieces.of[n_pieces++] = piece{to, filled, (unsigned)bytes};
    filled = (unsigned)((filled + bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

static gpu_counter counter;
static bool counter_known; /* the device has these numbers, or they wait to be sent */

extern "C" void gpu_set_counter(uint64_t seed, uint64_t step)
{
    if (counter_known && counter.seed == seed && counter.step == step) return;
    counter = gpu_counter{seed, step}, counter_known = true;
    gpu_copy_in((void *)gpu_counters(), &counter, sizeof counter);
}

extern "C" void gpu_forget_uploads(void)
{
    n_pieces = filled = 0, counter_known = false;
    gpu_release(blob);
    stage = blob = NULL;
}
