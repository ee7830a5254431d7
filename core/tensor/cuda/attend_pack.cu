/* attend_pack.cu - attention on bf16 rows that 16-byte loads cannot take (heads of odd widths, columns at odd
 * addresses): by way of copies in which every head is padded with zeros to a multiple of 8 columns. */
#include "tensor/cuda/score.h"
#include "tensor/cuda/threads.h"

/* `write` columns of each head of `to`, `to_step` columns apart: those of `from`, zeros from `width` on. */
__global__ void copy_heads(gpu_columns to, int to_step, int write, gpu_columns from, int from_step, int width,
                           int heads, int64_t n)
{
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        int column = (int)(i % write), head = (int)(i / write % heads);
        int64_t row = i / write / heads;
        ((bf16 *)to.at)[row * to.stride + head * to_step + column] =
            column < width ? ((const bf16 *)from.at)[row * from.stride + head * from_step + column] : to_bf16(0);
    }
}

static int copy(gpu_columns to, int to_step, int write, gpu_columns from, int from_step, int width, int heads,
                int64_t rows)
{
    int64_t n = rows * heads * write;
    if (!n) return gpu_launched();
    return LAUNCH(copy_heads, blocks_for(n), THREADS, 0, to, to_step, write, from, from_step, width, heads, n);
}

extern "C" int gpu_attend_packed(const gpu_attention *a, int backward, const gpu_score *f)
{
    gpu_attention p = *a;
    p.d_k = (a->d_k + 7) / 8 * 8, p.d_v = (a->d_v + 7) / 8 * 8;
    struct { /* one of the call's tensors, and its copy */
        const gpu_columns *given;
        gpu_columns *copied;
        bool values, of_keys, written, used;
    } list[] = {{&a->q, &p.q, false, false, false, true},        {&a->k, &p.k, false, true, false, true},
                {&a->v, &p.v, true, true, false, true},          {&a->y, &p.y, true, false, !backward, true},
                {&a->dy, &p.dy, true, false, false, !!backward}, {&a->dq, &p.dq, false, false, true, !!backward},
                {&a->dk, &p.dk, false, true, true, !!backward},  {&a->dv, &p.dv, true, true, true, !!backward}};
    size_t bytes = 0;
    for (auto &x : list) /* first the size of each, then its place */
        if (x.used)
            bytes += (size_t)(x.of_keys ? a->keys : a->rows) * (size_t)(a->heads * (x.values ? p.d_v : p.d_k)) *
                     sizeof(bf16);
    char *at = (char *)gpu_scratch(SCRATCH_ATTEND, bytes);
    for (auto &x : list) {
        int padded = x.values ? p.d_v : p.d_k, width = x.values ? a->d_v : a->d_k;
        int64_t rows = x.of_keys ? a->keys : a->rows;
        if (!x.used) continue;
        *x.copied = gpu_columns{at, (int64_t)a->heads * padded};
        at += (size_t)(rows * a->heads * padded) * sizeof(bf16);
        if (!x.written && copy(*x.copied, padded, padded, *x.given, width, width, a->heads, rows)) return -1;
    }
    int bad = f          ? (backward ? gpu_ATTEND_PROGRAM_BACK(&p, f) : gpu_ATTEND_PROGRAM(&p, f))
              : backward ? gpu_ATTEND_BACK(&p)
                         : gpu_ATTEND(&p);
    if (bad) return -1;
    for (auto &x : list) {
        int padded = x.values ? p.d_v : p.d_k, width = x.values ? a->d_v : a->d_k;
        int64_t rows = x.of_keys ? a->keys : a->rows;
        if (x.used && x.written && copy(*x.given, width, width, *x.copied, padded, width, a->heads, rows)) return -1;
    }
    return gpu_launched();
}
