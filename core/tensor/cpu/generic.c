/* generic.c - the services of generic.h. */
#include "tensor/cpu/generic.h"
#include "tensor/cpu/vectors.h"

enum { WORTH_SPLITTING = 32768 }; /* elements */

void over_range(int64_t n, int64_t grain, int64_t work, range_fn f, const void *job)
{
    if (n <= 0) return;
    int64_t grains = (n + grain - 1) / grain;
    if (work < WORTH_SPLITTING || grains < 2 || omp_in_parallel() || omp_get_max_threads() < 2) {
        f(job, 0, n);
        return;
    }
#pragma omp parallel
    {
        int64_t from, to;
        my_part(grains, &from, &to);
        from *= grain;
        to = to * grain < n ? to * grain : n;
        if (from < to) f(job, from, to);
    }
}

/* ---- conversions ---- */

/* Converts between f32 and bf16 by vectors, other types by numbers. */
static void f32_of_bf16(void *to, const void *from, int64_t n)
{
    float *y = to;
    const uint16_t *x = from;
    int64_t i = 0;
    for (; i + lanes_f32 <= n; i += lanes_f32) store_f32(y + i, load_bf16(x + i));
    for (; i < n; i++) y[i] = widen_one(x[i]);
}
static void bf16_of_f32(void *to, const void *from, int64_t n)
{
    uint16_t *y = to;
    const float *x = from;
    int64_t i = 0;
    for (; i + lanes_f32 <= n; i += lanes_f32) store_bf16(y + i, load_f32(x + i));
    if (i < n) store_part_bf16(y + i, load_part_f32(x + i, (int)(n - i)), (int)(n - i));
}
#define CONVERT(T, F, NUMBER_OF)                                                                                       \
    static void T##_of_##F(void *to, const void *from, int64_t n)                                                      \
    {                                                                                                                  \
        number_##T *y = to;                                                                                            \
        const number_##F *x = from;                                                                                    \
        for (int64_t i = 0; i < n; i++) y[i] = NUMBER_OF(x[i]);                                                        \
    }
CONVERT(f32, f64, (float))
CONVERT(f64, f32, (double))
CONVERT(f64, bf16, widen_one)
static void bf16_of_f64(void *to, const void *from, int64_t n)
{
    uint16_t *y = to;
    const double *x = from;
    for (int64_t i = 0; i < n; i++) store_one_bf16(y + i, (float)x[i]);
}
#undef CONVERT

static void copy_2(void *to, const void *from, int64_t n) { memcpy(to, from, (size_t)n * 2); }
static void copy_4(void *to, const void *from, int64_t n) { memcpy(to, from, (size_t)n * 4); }
static void copy_8(void *to, const void *from, int64_t n) { memcpy(to, from, (size_t)n * 8); }

convert_fn converter(dtype to, dtype from)
{
    static const convert_fn all[4][4] = {
        [F32] = {[F32] = copy_4, [F64] = f32_of_f64, [BF16] = f32_of_bf16},
        [F64] = {[F32] = f64_of_f32, [F64] = copy_8, [BF16] = f64_of_bf16},
        [BF16] = {[F32] = bf16_of_f32, [F64] = bf16_of_f64, [BF16] = copy_2},
        [I32] = {[I32] = copy_4},
    };
    return all[to][from];
}

typedef struct {
    char *to;
    const char *from;
    convert_fn f;
    size_t to_size, from_size;
} flat_copy;

static void copy_part(const void *job, int64_t from, int64_t to)
{
    const flat_copy *c = job;
    c->f(c->to + (size_t)from * c->to_size, c->from + (size_t)from * c->from_size, to - from);
}

void copy_flat(void *to, const void *from, int64_t n, convert_fn f, size_t to_size, size_t from_size)
{
    if (to == from) return;
    over_range(n, 64, n, copy_part, &(flat_copy){to, from, f, to_size, from_size});
}

/* ---- copies along axes ---- */

typedef struct {
    char *to;
    const char *from;
    int64_t dim[4], step[4];
    size_t size;
} strided_copy;

#define COPY_LINE(bits)                                                                                                \
    static void line_##bits(char *to, const char *from, int64_t n, int64_t step)                                       \
    {                                                                                                                  \
        uint##bits##_t *y = (uint##bits##_t *)to;                                                                      \
        for (int64_t i = 0; i < n; i++) memcpy(y + i, from + i * step, sizeof *y);                                     \
    }
COPY_LINE(16)
COPY_LINE(32)
COPY_LINE(64)

/* Copies lines of far-apart elements, whose beginnings are adjacent, in blocks: reads each cache line once. */
#define COPY_PLANE(bits)                                                                                               \
    static void plane_##bits(char *to, const char *from, int64_t lines, int64_t n, int64_t line_step, int64_t step)    \
    {                                                                                                                  \
        enum { SIDE = 16 };                                                                                            \
        for (int64_t i = 0; i < lines; i += SIDE)                                                                      \
            for (int64_t j = 0; j < n; j += SIDE) {                                                                    \
                int64_t i_end = i + SIDE < lines ? i + SIDE : lines, j_end = j + SIDE < n ? j + SIDE : n;              \
                for (int64_t a = i; a < i_end; a++)                                                                    \
                    line_##bits(to + (a * n + j) * (bits / 8), from + a * line_step + j * step, j_end - j, step);      \
            }                                                                                                          \
    }
COPY_PLANE(16)
COPY_PLANE(32)
COPY_PLANE(64)

static void copy_line(const strided_copy *c, char *to, const char *from)
{
    int64_t n = c->dim[3], step = c->step[3];
    if (step == (int64_t)c->size)
        memcpy(to, from, (size_t)n * c->size);
    else
        (c->size == 2 ? line_16 : c->size == 4 ? line_32 : line_64)(to, from, n, step);
}

static void copy_planes(const void *job, int64_t first, int64_t end) /* planes of the last two axes */
{
    const strided_copy *c = job;
    int64_t line = c->dim[3] * (int64_t)c->size;
    bool by_block = c->step[3] > (int64_t)c->size && c->dim[2] > 1;
    for (int64_t p = first; p < end; p++) {
        const char *from = c->from + p / c->dim[1] * c->step[0] + p % c->dim[1] * c->step[1];
        char *to = c->to + p * c->dim[2] * line;
        if (by_block) {
            (c->size == 2   ? plane_16
             : c->size == 4 ? plane_32
                            : plane_64)(to, from, c->dim[2], c->dim[3], c->step[2], c->step[3]);
            continue;
        }
        for (int64_t i = 0; i < c->dim[2]; i++) copy_line(c, to + i * line, from + i * c->step[2]);
    }
}

void copy_strided(void *to, const void *from, const int64_t dim[4], const int64_t step[4], size_t size)
{
    strided_copy c = {.to = to, .from = from, .dim = {1, 1, 1, 1}, .step = {0, 0, 0, 0}, .size = size};
    int at = 3; /* merge contiguous axes */
    c.dim[3] = dim[3];
    c.step[3] = step[3];
    for (int i = 2; i >= 0; i--) {
        if (dim[i] == 1) continue;
        if (c.dim[at] != 1 && step[i] == c.step[at] * c.dim[at]) {
            c.dim[at] *= dim[i];
            continue;
        }
        if (c.dim[at] != 1) at--;
        c.dim[at] = dim[i];
        c.step[at] = step[i];
    }
    int64_t n = dim[0] * dim[1] * dim[2] * dim[3];
    if (at == 3 && c.step[3] == (int64_t)size) {
        copy_flat(to, from, n, size == 2 ? copy_2 : size == 4 ? copy_4 : copy_8, size, size);
        return;
    }
    if (at == 2 && c.step[3] <= (int64_t)size) { /* whole lines: planes of one line, which threads can divide */
        c.dim[1] = c.dim[2];
        c.step[1] = c.step[2];
        c.dim[2] = 1;
    }
    over_range(c.dim[0] * c.dim[1], 1, n, copy_planes, &c);
}
