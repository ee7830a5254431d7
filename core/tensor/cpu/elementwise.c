/* elementwise.c - ADD SUB MUL DIV MINIMUM LESS_THAN MUL_SCALAR ADD_SCALAR MAP MAP_BACK WHERE CAST, with broadcasting.
 *
 * Contiguous axes are merged and a call becomes lines along the last axis. The usual shapes (equal, a row vector, a
 * column, one number) become one line, or lines of one kind. F32 and F64 are computed directly; a call with BF16 (or of
 * mixed types) goes through short buffers of floats (doubles when the output is F64) that stay in the L1 cache.
 */
#include "tensor/cpu/generic.h"
#include "tensor/cpu/vectors.h"
#include "base/vmath.h"

enum { MAP_BLOCK = 16, FAR_BLOCK = 256, REPEATED = 2048 }; /* REPEATED: bytes for copies of a short line */

typedef struct elementwise elementwise;
typedef void (*line)(const elementwise *w, void *y, const void *const x[3], int64_t n);
struct elementwise {
    int n_in;
    char *out;
    const char *in[3];
    int64_t dim[4];     /* after joining axes; the last is the line */
    int64_t step[3][4]; /* bytes from one index of an axis to the next, of each input */
    bool repeat[3];     /* the input has one number for the whole line */
    size_t out_size;    /* bytes of a number */
    line line;
    double by;  /* MUL_SCALAR and ADD_SCALAR */
    line inner; /* mixed types: the line in the computation's type */
    dtype inner_type, in_type[3], out_type;
};

static inline float vrootf(float x) { return __builtin_sqrtf(x); }
static inline float vsizef(float x) { return fabsf(x); }
static inline double vsize(double x) { return fabs(x); }
static const float vmostf = VSIN_MOST;
static const double vmost = INFINITY;
static inline double vsigmoid(double x) { return 1 / (1 + exp(-x)); }
static inline double vroot(double x) { return sqrt(x); }
static inline double vexp(double x) { return exp(x); }
static inline double vlog(double x) { return log(x); }
static inline double vtanh(double x) { return tanh(x); }
static inline double verf(double x) { return erf(x); }
static inline double vfloor(double x) { return floor(x); }
static inline float vfloorf(float x) { return floorf(x); }
static inline double vcos(double x) { return cos(x); }
static inline double vsin(double x) { return sin(x); }

#define S        f32
#define FN(name) v##name##f
#include "tensor/cpu/elementwise_lines.h"
#undef S
#undef FN
#define S        f64
#define FN(name) v##name
#include "tensor/cpu/elementwise_lines.h"

/* ---- lines of mixed types ---- */

static void mixed_line(const elementwise *w, void *y, const void *const x[3], int64_t n)
{
    enum { BLOCK = 256 };
    _Alignas(64) double buffer[4][BLOCK];
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        const void *from[3] = {0};
        for (int k = 0; k < w->n_in; k++) {
            const char *p = (const char *)x[k] + (w->repeat[k] ? 0 : (size_t)i * dtype_size(w->in_type[k]));
            from[k] = p;
            if (w->in_type[k] == w->inner_type) continue;
            converter(w->inner_type, w->in_type[k])(buffer[k], p, w->repeat[k] ? 1 : m);
            from[k] = buffer[k];
        }
        char *to = (char *)y + (size_t)i * w->out_size;
        bool direct = w->out_type == w->inner_type;
        w->inner(w, direct ? (void *)to : buffer[3], from, m);
        if (!direct) converter(w->out_type, w->inner_type)(to, buffer[3], m);
    }
}

/* ---- lines of a call ---- */

static void walk(const void *job, int64_t from, int64_t to)
{
    const elementwise *w = job;
    int64_t n = w->dim[3], row = from / n, j = from % n;
    int64_t at[3] = {row / w->dim[2] / w->dim[1], row / w->dim[2] % w->dim[1], row % w->dim[2]};
    const char *x[3] = {0};
    for (int k = 0; k < w->n_in; k++)
        x[k] = w->in[k] + at[0] * w->step[k][0] + at[1] * w->step[k][1] + at[2] * w->step[k][2];
    while (from < to) {
        int64_t m = n - j < to - from ? n - j : to - from;
        const void *p[3] = {0};
        for (int k = 0; k < w->n_in; k++) p[k] = x[k] + j * w->step[k][3];
        w->line(w, w->out + (size_t)from * w->out_size, p, m);
        from += m;
        j = 0;
        int axis = 2;
        while (axis >= 0 && ++at[axis] == w->dim[axis]) {
            for (int k = 0; k < w->n_in; k++) x[k] -= w->step[k][axis] * (w->dim[axis] - 1);
            at[axis--] = 0;
        }
        for (int k = 0; k < w->n_in && axis >= 0; k++) x[k] += w->step[k][axis];
    }
}

/* If one input repeats a short line along the axis before the last (a gain, a head's bias) and the other inputs are
 * contiguous, joins several lines into one and repeats the short line in `room`. */
static void lengthen(elementwise *w, char room[REPEATED])
{
    int64_t n = w->dim[3], times = 1;
    int repeated = -1;
    for (int k = 0; k < w->n_in; k++) {
        int64_t one = (int64_t)dtype_size(w->in_type[k]);
        if (w->step[k][3] != one) return;
        if (w->step[k][2] == n * one) continue;
        if (w->step[k][2] || w->step[k][1] || w->step[k][0] || repeated >= 0) return;
        repeated = k;
    }
    if (repeated < 0) return;
    size_t line = (size_t)w->step[repeated][3] * (size_t)n;
    while (w->dim[2] % (2 * times) == 0 && 2 * (size_t)times * line <= REPEATED) times *= 2;
    if (times == 1) return;
    for (int64_t i = 0; i < times; i++) memcpy(room + (size_t)i * line, w->in[repeated], line);
    w->in[repeated] = room;
    w->dim[2] /= times, w->dim[3] *= times;
    for (int k = 0; k < w->n_in; k++)
        if (k != repeated) w->step[k][2] *= times;
}

/* Runs the line function of a call over its output. lines[0] is for F32, lines[1] for F64. */
static int run(const call *k, const line lines[2], err *e)
{
    elementwise w = {.n_in = k->n_in,
                     .out = k->out[0].data,
                     .by = k->op == OP_MUL_SCALAR || k->op == OP_ADD_SCALAR ? k->a.MUL_SCALAR.by : 0,
                     .out_type = k->out[0].type};
    bool direct = is_real(&k->out[0]);
    w.inner_type = w.out_type == F64 ? F64 : F32;
    w.out_size = dtype_size(w.out_type);
    w.inner = lines[w.inner_type == F64];
    memcpy(w.dim, k->out[0].dim, sizeof w.dim);
    for (int i = 0; i < k->n_in; i++) {
        const view *v = &k->in[i];
        if (!converter(w.inner_type, v->type) || w.out_type == I32) return wrong_type(k, e);
        direct &= v->type == w.out_type;
        w.in[i] = v->data;
        w.in_type[i] = v->type;
        strides_of(v, w.step[i]);
        for (int a = 0; a < 4; a++) w.step[i][a] *= (int64_t)dtype_size(v->type);
    }
    w.line = direct ? w.inner : mixed_line;
    int64_t n = count_of(&k->out[0]);
    if (!n) return 0;
    join_axes(w.dim, w.step, w.n_in);
    _Alignas(64) char room[REPEATED];
    lengthen(&w, room);
    for (int i = 0; i < k->n_in; i++) w.repeat[i] = !w.step[i][3] && w.dim[3] > 1;
    over_range(n, 64, n, walk, &w);
    return 0;
}

#define KERNEL(NAME)                                                                                                   \
    int cpu_##NAME(const call *k, err *e) { return run(k, (line[]){line_##NAME##_f32, line_##NAME##_f64}, e); }
KERNEL(ADD)
KERNEL(SUB)
KERNEL(MUL)
KERNEL(DIV)
KERNEL(MINIMUM)
KERNEL(LESS_THAN)
KERNEL(MUL_SCALAR)
KERNEL(ADD_SCALAR)
KERNEL(WHERE)

void map_numbers(dtype type, int64_t fn, bool back, void *y, const void *const x[3], int64_t n)
{
    const line *f = type == F64 ? back ? back_lines_f64 : map_lines_f64 : back ? back_lines_f32 : map_lines_f32;
    f[fn](NULL, y, x, n);
}
int cpu_MAP(const call *k, err *e)
{
    if (want_function(k, e)) return -1;
    return run(k, (line[]){map_lines_f32[k->a.MAP.function], map_lines_f64[k->a.MAP.function]}, e);
}
int cpu_MAP_BACK(const call *k, err *e)
{
    if (want_function(k, e)) return -1;
    return run(k, (line[]){back_lines_f32[k->a.MAP.function], back_lines_f64[k->a.MAP.function]}, e);
}

int cpu_CAST(const call *k, err *e)
{
    const view *x = &k->i.CAST.x, *y = &k->o.CAST.y;
    convert_fn f = converter(y->type, x->type);
    if (!f) return wrong_type(k, e);
    copy_flat(y->data, x->data, count_of(y), f, dtype_size(y->type), dtype_size(x->type));
    return 0;
}
