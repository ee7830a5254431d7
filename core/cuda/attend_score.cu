/* attend_score.cu - launchers of attention with a score program: interpreted, or written out and compiled (score_written.h). */
#include "cuda/attend_score.h"
#include <stdio.h>

enum { FORWARD, BACK_QUERIES, BACK_KEYS };

template <class T, int D, int W> static int run(int what, const gpu_attention *a, const gpu_score *f)
{
    typedef score_interpreter F;
    int64_t units = what != BACK_QUERIES ? side_at_once(a, what == BACK_KEYS ? a->keys : a->rows, GPU_SCORE_TILE)
                    : f->chunks          ? (int64_t)f->chunks * f->tiles
                                         : most_tiles(a, a->rows, GPU_SCORE_TILE);
    int64_t blocks = (W > 1 ? units : (units + SCORE_WARPS - 1) / SCORE_WARPS) * a->heads;
    static const char *const names[] = {"score_forward", "score_back_q", "score_back_k"};
    char expression[80];
    void *written = NULL;
    snprintf(expression, sizeof expression, "%s<%s, %d, %d, written_program>", names[what], a->type ? "bf16" : "float", D, W);
    if (gpu_written_kernel(expression, f, &written)) return -1;
    if (written) {
        const gpu_counter *counter = gpu_counters();
        const void *arguments[] = {a, f, &counter};
        return gpu_run_kernel(written, (unsigned)blocks, SCORE_THREADS(W), arguments);
    }
    size_t shared = (size_t)(f->n_registers + SCORE_WORKING) * 2 * sizeof(float4) * SCORE_THREADS(W);
    auto kernel = what == FORWARD ? score_forward<T, D, W, F> : what == BACK_QUERIES ? score_back_q<T, D, W, F> : score_back_k<T, D, W, F>;
    return LAUNCH(kernel, dim3((unsigned)blocks), dim3(SCORE_THREADS(W)), shared, *a, *f, gpu_counters());
}

/* Few widths, for the interpreter makes long code: wide heads of F32, and of more than 128 columns, have warps without columns beside others. */
template <class T> static int run_width(int what, const gpu_attention *a, const gpu_score *f)
{
    int width = a->d_k > a->d_v ? a->d_k : a->d_v;
    if constexpr (sizeof(T) == sizeof(bf16)) {
        if (width <= 32) return run<T, 32, 1>(what, a, f);
        if (width > 64 && width <= 128) return run<T, 64, 2>(what, a, f);
    }
    return width <= 64 ? run<T, 64, 1>(what, a, f) : run<T, 64, 8>(what, a, f);
}
static int run_type(int what, const gpu_attention *a, const gpu_score *f)
{
    return a->type == 0 ? run_width<float>(what, a, f) : run_width<bf16>(what, a, f);
}

extern "C" int gpu_attend_score(const gpu_attention *a, const gpu_score *f)
{
    if (!a->rows || !a->heads) return 0;
    if (a->type && !rows_fit(a)) return gpu_attend_packed(a, 0, f);
    return run_type(FORWARD, a, f);
}

extern "C" int gpu_attend_score_back(const gpu_attention *a, const gpu_score *f)
{
    if ((!a->rows && !a->keys) || !a->heads) return 0;
    if (a->type && !rows_fit(a)) return gpu_attend_packed(a, 1, f);
    int64_t blocks = (side_at_once(a, a->rows, GPU_SCORE_TILE) + SCORE_WARPS - 1) / SCORE_WARPS * a->heads;
    int bad = a->type == 0 ? LAUNCH(score_delta<float>, dim3((unsigned)blocks), dim3(SCORE_THREADS(1)), 0, *a, *f)
                           : LAUNCH(score_delta<bf16>, dim3((unsigned)blocks), dim3(SCORE_THREADS(1)), 0, *a, *f);
    return bad || run_type(BACK_QUERIES, a, f) || run_type(BACK_KEYS, a, f) ? -1 : 0;
}
