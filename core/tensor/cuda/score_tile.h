/* score_tile.h - a score program over the pairs of a thread. For the kernels of attend_score.cu.
 *
 * Pairs. A warp has a tile of scores in the tensor cores' layout (gpu.h): s[j][i] is row g + 8 (i / 2), column 8 j + 2
 * t + i % 2. A program runs over a thread's eight pairs.
 */
#ifndef ABLATE_CUDA_SCORE_TILE_H
#define ABLATE_CUDA_SCORE_TILE_H
#include "tensor/cuda/attend_tile.h"
#include "tensor/cuda/functions.h"
#include "tensor/cuda/score.h"

struct score_pairs { /* one thread's pairs (query, key) of a sentence, clamped to it if the tile exceeds it */
    int sentence, head;
    int query[SCORE_AT_ONCE], key[SCORE_AT_ONCE];
};

/* Loads the numbers of leaf k. */
DEVICE void take_leaf(const gpu_score &f, int k, const score_pairs &p, float (&x)[SCORE_AT_ONCE])
{
    const gpu_score_leaf &l = f.leaf[k];
    const float *at = l.at + p.sentence * l.sentence + p.head * l.head;
    UNROLL for (int e = 0; e < SCORE_AT_ONCE; e++)
    {
        int place = l.gathered ? f.ids[p.query[e] * f.ids_row + p.key[e]] : p.key[e] * l.key;
        x[e] = at[p.query[e] * l.query + place];
    }
}

/* The sink's logit for a query. */
DEVICE float sink_of(const gpu_score &f, int sentence, int head, int query)
{
    const gpu_score_leaf &l = f.leaf[f.sink];
    return l.at[sentence * l.sentence + head * l.head + query * l.query];
}

/* Interprets a program: the reference of generated programs; decoding steps use it. It is not inlined, because that
 * would take minutes to compile. Its registers are in shared memory, interleaved between threads; the scores and values
 * that only the next step reads stay in real registers. */
struct score_interpreter {
    float4 *own; /* this thread's: half h of register r is own[(2 r + h) * blockDim.x] */
    GPU_MEMBER explicit score_interpreter(float4 *shared) : own(shared + threadIdx.x) {}

    GPU_MEMBER void keep(int r, const float (&x)[SCORE_AT_ONCE]) const
    {
        UNROLL for (int h = 0; h < 2; h++) own[(2 * r + h) * (int)blockDim.x] =
            make_float4(x[4 * h], x[4 * h + 1], x[4 * h + 2], x[4 * h + 3]);
    }
    GPU_MEMBER void load(int r, float (&x)[SCORE_AT_ONCE]) const
    {
        UNROLL for (int h = 0; h < 2; h++)
        {
            float4 v = own[(2 * r + h) * (int)blockDim.x];
            x[4 * h] = v.x, x[4 * h + 1] = v.y, x[4 * h + 2] = v.z, x[4 * h + 3] = v.w;
        }
    }
    GPU_MEMBER void fetch(int from, float by, const gpu_score &f, const score_pairs &p,
                          const float (&product)[SCORE_AT_ONCE], const float (&gradient)[SCORE_AT_ONCE],
                          const float (&last)[SCORE_AT_ONCE], float (&x)[SCORE_AT_ONCE]) const
    {
        if (from < SCORE_LEAF) {
            load(from, x);
        } else if (from < SCORE_PRODUCT) {
            take_leaf(f, from - SCORE_LEAF, p, x);
        } else {
            float one = from == SCORE_BY ? by : 0;
            UNROLL for (int e = 0; e < SCORE_AT_ONCE; e++) x[e] = from == SCORE_PRODUCT    ? product[e]
                                                                  : from == SCORE_GRADIENT ? gradient[e]
                                                                  : from == SCORE_LAST     ? last[e]
                                                                                           : one;
        }
    }
    /* Runs MAP, MAP_BACK or WHERE on registers r .. r + 2 into r; in a loop, because the functions' code is long. */
    GPU_MEMBER void map(int r, const gpu_score_step &s) const
    {
        int next = 8 * (int)blockDim.x; /* numbers from one register to the next */
        UNROLL_BY(1) for (int e = 0; e < SCORE_AT_ONCE; e++)
        {
            float *x = (float *)(own + (2 * r + e / 4) * (int)blockDim.x) + e % 4;
            *x = apply_function(s.what, s.function, x[0], x[next], x[2 * next]);
        }
    }
    GPU_CALLED void run(int pass, const gpu_score &f, const score_pairs &p, const float (&product)[SCORE_AT_ONCE],
                        const float (&gradient)[SCORE_AT_ONCE], float (&last)[SCORE_AT_ONCE]) const
    {
        const gpu_score_pass &list = f.pass[pass];
        for (int i = 0; i < list.n; i++) {
            gpu_score_step s = list.step[i];
            float a[SCORE_AT_ONCE], b[SCORE_AT_ONCE];
            bool mapped = applies_function(s.what);
            for (int k = 0; mapped && k < (s.what == OP_MAP ? 1 : 3); k++) {
                fetch(s.in[k], s.by, f, p, product, gradient, last, a);
                keep(f.n_registers + k, a);
            }
            if (mapped) {
                map(f.n_registers, s);
                load(f.n_registers, last);
            } else {
                fetch(s.in[0], s.by, f, p, product, gradient, last, a);
                fetch(s.in[1], s.by, f, p, product, gradient, last, b);
                UNROLL for (int e = 0; e < SCORE_AT_ONCE; e++) last[e] = arithmetic(s.what, a[e], b[e]);
            }
            if (s.out != SCORE_NOWHERE) keep(s.out, last);
        }
    }

    /* Turns x, the scaled products, into scores. */
    GPU_MEMBER void forward(const gpu_score &f, const score_pairs &p, float (&x)[SCORE_AT_ONCE]) const
    {
        float last[SCORE_AT_ONCE] = {}, t[SCORE_AT_ONCE];
        run(GPU_SCORE_FORWARD, f, p, x, x, last);
        fetch(f.pass[GPU_SCORE_FORWARD].result[0], 0, f, p, x, x, last, t);
        UNROLL for (int e = 0; e < SCORE_AT_ONCE; e++) x[e] = t[e];
    }
    /* Computes the value that hides pairs. */
    GPU_MEMBER void hiding(const gpu_score &f, const score_pairs &p, float (&x)[SCORE_AT_ONCE]) const
    {
        float none[SCORE_AT_ONCE] = {}, last[SCORE_AT_ONCE] = {};
        run(GPU_SCORE_HIDING, f, p, none, none, last);
        fetch(f.pass[GPU_SCORE_HIDING].result[0], 0, f, p, none, none, last, x);
    }
    /* Turns g, the scores' gradients, into the gradients of the products x. If `leaves`, calls give(k, d) with the
     * gradient of each leaf k that needs one. */
    template <class GIVE>
    GPU_MEMBER void backward(const gpu_score &f, const score_pairs &p, const float (&x)[SCORE_AT_ONCE],
                             float (&g)[SCORE_AT_ONCE], bool leaves, GIVE give) const
    {
        const gpu_score_pass &list = f.pass[GPU_SCORE_BACKWARD];
        float last[SCORE_AT_ONCE] = {}, d[SCORE_AT_ONCE];
        run(GPU_SCORE_BACKWARD, f, p, x, g, last);
        for (int k = 0; leaves && k < f.n_leaves; k++) {
            if (!f.leaf[k].sum) continue;
            fetch(list.result[1 + k], 0, f, p, x, g, last, d);
            give(k, d);
        }
        fetch(list.result[0], 0, f, p, x, g, last, d);
        UNROLL for (int e = 0; e < SCORE_AT_ONCE; e++) g[e] = d[e];
    }
};
#endif
