/* attend_score.cu - launchers of attention with a score program, compiled (score_source.c) or interpreted. */
#include "tensor/cuda/attend_score.h"
#include <stdio.h>

namespace
{
enum score_pass { SCORE_FORWARD, SCORE_BACK_QUERIES, SCORE_BACK_KEYS };

/* The interpreter's kernel. */
template <int PASS, class T, int D, int W> static auto score_kernel()
{
    typedef score_interpreter F;
    if constexpr (PASS == SCORE_FORWARD)
        return score_forward<T, D, W, F>;
    else if constexpr (PASS == SCORE_BACK_QUERIES)
        return score_back_q<T, D, W, F>;
    else
        return score_back_k<T, D, W, F>;
}

template <int PASS, class T, int D, int W> static int score_launch(const gpu_attention *a, const gpu_score *f)
{
    int64_t units = PASS != SCORE_BACK_QUERIES
                        ? side_at_once(a, PASS == SCORE_BACK_KEYS ? a->keys : a->rows, GPU_SCORE_TILE)
                    : f->chunks ? (int64_t)f->chunks * f->tiles
                                : most_tiles(a, a->rows, GPU_SCORE_TILE);
    int64_t blocks = (W > 1 ? units : (units + SCORE_WARPS - 1) / SCORE_WARPS) * a->heads;
    static const char *const names[] = {"score_forward", "score_back_q", "score_back_k"};
    char expression[80];
    void *written = NULL;
    snprintf(expression, sizeof expression, "%s<%s, %d, %d, written_program>", names[PASS],
             a->type == BF16 ? "bf16" : "float", D, W);
    if (gpu_written_kernel(expression, f, &written)) return -1;
    if (written) {
        const gpu_counter *counter = gpu_counters();
        const void *arguments[] = {a, f, &counter};
        return gpu_run_kernel(written, (unsigned)blocks, SCORE_THREADS(W), 0, arguments);
    }
    if constexpr (D != 64 || W == 2) { /* the interpreter's code is long: compiled for D 64 with W 1 or 8 only */
        return score_launch < PASS, T, 64, W == 1 ? 1 : 8 > (a, f);
    } else {
        size_t shared = (size_t)(f->n_registers + SCORE_WORKING) * 2 * sizeof(float4) * SCORE_THREADS(W);
        auto kernel = score_kernel<PASS, T, D, W>();
        return LAUNCH(kernel, dim3((unsigned)blocks), dim3(SCORE_THREADS(W)), shared, *a, *f, gpu_counters());
    }
}

/* For wide heads of F32, and for more than 128 columns, some warps have no columns. */
template <int PASS, class T> static int score_width(const gpu_attention *a, const gpu_score *f)
{
    int width = a->d_k > a->d_v ? a->d_k : a->d_v;
    if (sizeof(T) == sizeof(bf16)) {
        if (width <= 32) return score_launch<PASS, T, 32, 1>(a, f);
        if (width > 64 && width <= 128) return score_launch<PASS, T, 64, 2>(a, f);
    }
    return width <= 64 ? score_launch<PASS, T, 64, 1>(a, f) : score_launch<PASS, T, 64, 8>(a, f);
}
template <int PASS> static int score_run(const gpu_attention *a, const gpu_score *f)
{
    return a->type == F32 ? score_width<PASS, float>(a, f) : score_width<PASS, bf16>(a, f);
}
} // namespace

extern "C" int gpu_ATTEND_PROGRAM(const gpu_attention *a, const gpu_score *f)
{
    if (!a->rows || !a->heads) return 0;
    if (!rows_fit(a)) return gpu_attend_packed(a, 0, f);
    return score_run<SCORE_FORWARD>(a, f);
}

extern "C" int gpu_ATTEND_PROGRAM_BACK(const gpu_attention *a, const gpu_score *f)
{
    if ((!a->rows && !a->keys) || !a->heads) return 0;
    if (!rows_fit(a)) return gpu_attend_packed(a, 1, f);
    return gpu_score_delta(a, f) || score_run<SCORE_BACK_QUERIES>(a, f) || score_run<SCORE_BACK_KEYS>(a, f) ? -1 : 0;
}
