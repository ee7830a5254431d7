/* attend_pack.cu - attention on rows that 16-byte loads cannot read (heads of odd widths, columns at odd addresses). It
 * uses copies in which every head is padded with zeros to a multiple of 8 columns. */
#include "tensor/cuda/score.h"
#include "tensor/cuda/threads.h"

/* Copies heads from `from` to `to`: `write` columns each, heads `to_step` apart, zeros from column `width` on. */
template <class T>
__global__ void copy_heads(gpu_columns to, int to_step, int write, gpu_columns from, int from_step, int width,
                           int heads, int64_t n)
{
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        int column = (int)(i % write), head = (int)(i / write % heads);
        int64_t row = i / write / heads;
        ((T *)to.at)[row * to.stride + head * to_step + column] =
            column < width ? ((const T *)from.at)[row * from.stride + head * from_step + column] : T();
    }
}

static int copy(dtype type, gpu_columns to, int to_step, int write, gpu_columns from, int from_step, int width,
                int heads, int64_t rows)
{
    int64_t n = rows * heads * write;
    if (!n) return gpu_launched();
    return type == F32 ? LAUNCH_OVER(copy_heads<unsigned>, n, to, to_step, write, from, from_step, width, heads, n)
                       : LAUNCH_OVER(copy_heads<uint16_t>, n, to, to_step, write, from, from_step, width, heads, n);
}

extern "C" int gpu_attend_packed(const gpu_attention *a, int backward, const gpu_score *f)
{
    gpu_attention p = *a;
    p.d_k = (a->d_k + 7) / 8 * 8, p.d_v = (a->d_v + 7) / 8 * 8;
    struct { /* one of the call's tensors, and its copy */
        const gpu_columns *given;
        gpu_columns *copied;
        bool values, of_keys, written;
    } list[] = {{&a->q, &p.q, false, false, false},  {&a->k, &p.k, false, true, false},
                {&a->v, &p.v, true, true, false},    {&a->y, &p.y, true, false, !backward},
                {&a->dy, &p.dy, true, false, false}, {&a->dq, &p.dq, false, false, true},
                {&a->dk, &p.dk, false, true, true},  {&a->dv, &p.dv, true, true, true}};
    int64_t used = backward ? 8 : 4, most = a->keys > a->rows ? a->keys : a->rows;
    size_t each = (size_t)(most * a->heads * (p.d_k > p.d_v ? p.d_k : p.d_v)) * dtype_size(a->type);
    char *at = (char *)gpu_scratch(SCRATCH_ATTEND, (size_t)used * each);
    for (int pass = 0; pass < 2; pass++) { /* pass 0 copies to the padded tensors, pass 1 copies the results back */
        for (int64_t i = 0; i < used; i++) {
            auto &x = list[i];
            int padded = x.values ? p.d_v : p.d_k, width = x.values ? a->d_v : a->d_k;
            int64_t rows = x.of_keys ? a->keys : a->rows;
            if (!pass) *x.copied = gpu_columns{at + (size_t)i * each, (int64_t)a->heads * padded};
            int bad = x.written != (pass > 0) ? 0
                      : pass ? copy(a->type, *x.given, width, width, *x.copied, padded, width, a->heads, rows)
                             : copy(a->type, *x.copied, padded, padded, *x.given, width, width, a->heads, rows);
            if (bad) return -1;
        }
        int bad = pass       ? 0
                  : f        ? (backward ? gpu_ATTEND_PROGRAM_BACK(&p, f) : gpu_ATTEND_PROGRAM(&p, f))
                  : backward ? gpu_ATTEND_BACK(&p)
                             : gpu_ATTEND(&p);
        if (bad) return -1;
    }
    return gpu_launched();
}
