/* uploads.cu - collects the host's writes to the device between two launches: gpu_copy_in keeps them, and gpu_flush,
 * called before the next launch or read, sends all of them at once. A kernel copies the pieces to their places and
 * builds the past of rows that follow others (gpu_follow). A few numbers are passed as the kernel's argument; more go
 * through pinned memory in one copy. */
#include "tensor/cuda/gpu.h"
#include <string.h>

enum { PIECES = 48, FEW_BYTES = 1024, ALIGNMENT = 16, UPLOAD_THREADS = 256 };

struct piece {
    void *to;
    unsigned at, bytes; /* offset of the piece's data in the stage */
};
struct following { /* a pending gpu_follow of `numbers` numbers, in rows of `capacity` */
    int32_t *to, *copy;
    const int32_t *from;
    int64_t numbers, capacity, step;
    unsigned at; /* offset of the parents in the stage */
};
struct table {
    piece of[PIECES];
    unsigned n, blocks; /* blocks: number per piece; later blocks run gpu_follow */
    following rows;     /* rows.numbers 0: no gpu_follow is pending */
};
struct alignas(16) few {
    unsigned char data[FEW_BYTES];
};

static table pieces;
static unsigned filled; /* bytes of the stage in use */
static unsigned char *stage, *blob;

/* Copies a piece with `blocks` blocks; this one is number `block`. */
DEVICE void store_piece(const piece &p, const unsigned char *data, unsigned block, unsigned blocks)
{
    unsigned first = block * UPLOAD_THREADS + threadIdx.x, all = blocks * UPLOAD_THREADS;
    const unsigned char *from = data + p.at;
    if (p.bytes % 4 == 0 && (uintptr_t)p.to % 4 == 0)
        for (unsigned i = first; i < p.bytes / 4; i += all) ((unsigned *)p.to)[i] = ((const unsigned *)from)[i];
    else
        for (unsigned i = first; i < p.bytes; i += all) ((unsigned char *)p.to)[i] = from[i];
}
DEVICE void follow_rows(const following &f, const unsigned char *data, unsigned block)
{
    int64_t i = (int64_t)block * UPLOAD_THREADS + threadIdx.x;
    if (i >= f.numbers) return;
    int64_t at = i % f.capacity;
    int32_t parent = ((const int32_t *)(data + f.at))[i / f.capacity];
    int32_t x = at < f.step ? f.from[parent * f.capacity + at] : at == f.step ? parent : 0;
    f.to[i] = x;
    if (f.copy) f.copy[i] = x;
}
DEVICE void put_all(const table &t, const unsigned char *data)
{
    unsigned own = blockIdx.x / t.blocks;
    if (own < t.n)
        store_piece(t.of[own], data, blockIdx.x % t.blocks, t.blocks);
    else
        follow_rows(t.rows, data, blockIdx.x - t.n * t.blocks);
}
__global__ void __launch_bounds__(UPLOAD_THREADS) put_blob(const __grid_constant__ table t, const unsigned char *data)
{
    put_all(t, data);
}
__global__ void __launch_bounds__(UPLOAD_THREADS)
    put_few(const __grid_constant__ table t, const __grid_constant__ few f)
{
    put_all(t, f.data);
}

extern "C" void gpu_flush(void)
{
    if (!filled) return;
    table all = pieces;
    unsigned bytes = filled, longest = 0;
    for (unsigned i = 0; i < all.n; i++) longest = all.of[i].bytes > longest ? all.of[i].bytes : longest;
    pieces.n = filled = 0, pieces.rows.numbers = 0; /* LAUNCH calls gpu_flush, too */
    unsigned blocks = (longest / 4 + UPLOAD_THREADS - 1) / UPLOAD_THREADS;
    all.blocks = blocks < 1 ? 1 : blocks > 64 ? 64 : blocks;
    unsigned grid = all.n * all.blocks + (unsigned)((all.rows.numbers + UPLOAD_THREADS - 1) / UPLOAD_THREADS);
    if (bytes <= FEW_BYTES) {
        few f;
        memcpy(f.data, stage, bytes);
        memset(f.data + bytes, 0, FEW_BYTES - bytes);
        (void)LAUNCH(put_few, grid, UPLOAD_THREADS, 0, all, f);
        return;
    }
    if (!blob) blob = (unsigned char *)gpu_alloc(GPU_STAGE_BYTES);
    gpu_send(blob, stage, bytes);
    stage = NULL;
    (void)LAUNCH(put_blob, grid, UPLOAD_THREADS, 0, all, (const unsigned char *)blob);
}

static bool meet(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    return a_bytes && (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}
/* Does a pending write touch or read this memory? The parts of one launch run in no order. */
static bool overlaps(const void *to, size_t bytes)
{
    const following &f = pieces.rows;
    size_t past = (size_t)f.numbers * sizeof(int32_t);
    bool any = meet(f.to, past, to, bytes) || meet(f.copy, past, to, bytes) || meet(f.from, past, to, bytes);
    for (unsigned i = 0; i < pieces.n; i++) any = any || meet(pieces.of[i].to, pieces.of[i].bytes, to, bytes);
    return any;
}

/* Appends `bytes` to the stage and returns their offset. */
static unsigned stage_bytes(const void *from, size_t bytes)
{
    unsigned at = filled;
    if (!stage) stage = (unsigned char *)gpu_stage();
    memcpy(stage + at, from, bytes);
    filled = (unsigned)((at + bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    return at;
}

extern "C" void gpu_follow(int32_t *to, int32_t *copy, const int32_t *from, const int32_t *parents, int64_t rows,
                           int64_t capacity, int64_t step)
{
    size_t bytes = (size_t)rows * sizeof *parents, past = bytes * (size_t)capacity;
    if (!past) return;
    if (gpu_capturing()) return (void)gpu_refuse("a copy from the host during graph capture");
    if (bytes > GPU_STAGE_BYTES) return (void)gpu_refuse("more than 524288 hypotheses");
    if (pieces.rows.numbers || filled + bytes > GPU_STAGE_BYTES || overlaps(to, past) || overlaps(from, past) ||
        (copy && overlaps(copy, past)))
        gpu_flush();
    pieces.rows = {to, copy, from, rows * capacity, capacity, step, stage_bytes(parents, bytes)};
}

extern "C" void gpu_copy_in(void *to, const void *from, size_t bytes)
{
    if (!bytes) return;
    if (gpu_capturing()) return (void)gpu_refuse("a copy from the host during graph capture");
    if (bytes > GPU_STAGE_BYTES / 2) { /* in parts, one after the other */
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
    if (pieces.n == PIECES || filled + bytes > GPU_STAGE_BYTES || overlaps(to, bytes)) gpu_flush();
    pieces.of[pieces.n++] = piece{to, stage_bytes(from, bytes), (unsigned)bytes};
}

static gpu_counter counter;
static bool counter_known; /* these numbers are on the device, or their copy is pending */

extern "C" void gpu_set_counter(uint64_t seed, uint64_t step)
{
    if (counter_known && counter.seed == seed && counter.step == step) return;
    counter = gpu_counter{seed, step}, counter_known = true;
    gpu_copy_in((void *)gpu_counters(), &counter, sizeof counter);
}

extern "C" void gpu_forget_uploads(void)
{
    pieces.n = filled = 0, pieces.rows.numbers = 0, counter_known = false;
    gpu_release(blob);
    stage = blob = NULL;
}
