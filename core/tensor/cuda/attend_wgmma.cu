/* attend_wgmma.cu - the launcher of attention by TMA and wgmma (attend_wgmma.h), which NVRTC compiles at first use. */
#include "tensor/cuda/attend_tile.h"
#include "tensor/cuda/compiled.h"

static int map_of(gpu_tensor_map *to, const gpu_attention *a, const gpu_columns *x)
{
    return gpu_map_rows(to, x->at, a->keys, (int64_t)a->heads * a->d_k, x->stride * (int64_t)sizeof(bf16),
                        ATTEND_WGMMA_KEYS);
}

extern "C" int gpu_ATTEND_WGMMA(const gpu_attention *a)
{
    void *kernel = NULL;
    gpu_tensor_map k, v;
    if (!a->rows || !a->heads) return 0;
    if (compiled_kernel("#include \"tensor/cuda/attend_wgmma.h\"\n",
                        a->d_k == 64 ? "attend_wgmma<64>" : "attend_wgmma<128>",
                        "ABLATE_ATTENTION=own needs no compiler", &kernel) ||
        map_of(&k, a, &a->k) || map_of(&v, a, &a->v))
        return -1;
    const gpu_counter *counter = gpu_counters();
    const void *arguments[] = {a, &k, &v, &counter};
    int64_t blocks = side_at_once(a, a->rows, ATTEND_WGMMA_QUERIES) * a->heads;
    /* the ring, its barriers, and the padding of its start */
    size_t shared = (size_t)(ATTEND_WGMMA_SLOTS * (ATTEND_WGMMA_KEYS * a->d_k * 2 + 16) + 8 + 1024);
    return gpu_run_kernel(kernel, (unsigned)blocks, ATTEND_WGMMA_THREADS, shared, arguments);
}
