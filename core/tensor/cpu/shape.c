/* shape.c - TRANSPOSE SLICE PAD CONCAT ROTATE_HALF: move numbers of any type. */
#include "tensor/cpu/generic.h"
#include "tensor/cpu/vectors.h"

int cpu_TRANSPOSE(const call *k, err *e)
{
    const view *x = &k->i.TRANSPOSE.x, *y = &k->o.TRANSPOSE.y;
    if (x->type != y->type) return wrong_type(k, e);
    if (!count_of(y)) return 0;
    int a = 4 + (int)k->a.TRANSPOSE.axis1, b = 4 + (int)k->a.TRANSPOSE.axis2;
    int64_t step[4], s = (int64_t)dtype_size(x->type);
    strides_of(x, step);
    for (int i = 0; i < 4; i++) step[i] *= s;
    int64_t t = step[a];
    step[a] = step[b];
    step[b] = t;
    copy_strided(y->data, x->data, y->dim, step, (size_t)s);
    return 0;
}

/* ---- along one axis: a tensor has `outer` pieces; a piece has n indices of the axis, `inner` bytes each ---- */

typedef struct {
    char *y;
    const char *x[2];
    size_t from_x[2], to_y[2]; /* per input: bytes from one piece to the next, and its offset in y's piece */
    size_t size[2];            /* bytes of a piece that are copied */
    size_t y_size;             /* bytes of y's piece; bytes that are not copied become 0 */
} pieces;

static void copy_pieces(const void *job, int64_t from, int64_t to)
{
    const pieces *p = job;
    for (int64_t o = from; o < to; o++) {
        char *y = p->y + (size_t)o * p->y_size;
        size_t done = 0;
        for (int i = 0; i < 2 && p->size[i]; i++) {
            if (p->to_y[i] > done) memset(y + done, 0, p->to_y[i] - done);
            memcpy(y + p->to_y[i], p->x[i] + (size_t)o * p->from_x[i], p->size[i]);
            done = p->to_y[i] + p->size[i];
        }
        if (done < p->y_size) memset(y + done, 0, p->y_size - done);
    }
}

static int64_t outer_of(const view *v, int axis)
{
    int64_t n = 1;
    for (int i = 0; i < 4 + axis; i++) n *= v->dim[i];
    return n;
}
static size_t inner_of(const view *v, int axis) /* bytes of one index of the axis */
{
    size_t n = dtype_size(v->type);
    for (int i = 5 + axis; i < 4; i++) n *= (size_t)v->dim[i];
    return n;
}

static int move(const call *k, pieces *p, err *e)
{
    const view *y = &k->out[0];
    int axis = (int)k->a.CONCAT.axis;
    for (int i = 0; i < k->n_in; i++)
        if (k->in[i].type != y->type) return wrong_type(k, e);
    p->y = y->data;
    p->y_size = inner_of(y, axis) * (size_t)y->dim[4 + axis];
    for (int i = 0; i < k->n_in; i++) p->from_x[i] = inner_of(&k->in[i], axis) * (size_t)k->in[i].dim[4 + axis];
    over_range(outer_of(y, axis), 1, count_of(y), copy_pieces, p);
    return 0;
}

int cpu_SLICE(const call *k, err *e)
{
    int axis = (int)k->a.SLICE.axis;
    size_t inner = inner_of(&k->i.SLICE.x, axis);
    const char *x = (const char *)k->i.SLICE.x.data + inner * (size_t)k->a.SLICE.from;
    return move(k, &(pieces){.x = {x}, .size = {inner * (size_t)k->o.SLICE.y.dim[4 + axis]}}, e);
}

int cpu_PAD(const call *k, err *e)
{
    int axis = (int)k->a.SLICE.axis;
    size_t inner = inner_of(&k->i.PAD.x, axis);
    pieces p = {.x = {k->i.PAD.x.data},
                .size = {inner * (size_t)k->i.PAD.x.dim[4 + axis]},
                .to_y = {inner * (size_t)k->a.SLICE.from}};
    return move(k, &p, e);
}

int cpu_CONCAT(const call *k, err *e)
{
    int axis = (int)k->a.CONCAT.axis;
    size_t a = inner_of(&k->i.CONCAT.a, axis) * (size_t)k->i.CONCAT.a.dim[4 + axis];
    size_t b = inner_of(&k->i.CONCAT.b, axis) * (size_t)k->i.CONCAT.b.dim[4 + axis];
    return move(k, &(pieces){.x = {k->i.CONCAT.a.data, k->i.CONCAT.b.data}, .size = {a, b}, .to_y = {0, a}}, e);
}

/* ---- ROTATE_HALF ---- */

typedef struct {
    void *y;
    const void *x;
    int64_t half;
} turn;

#define TURN_ROWS(S)                                                                                                   \
    static void turn_rows_##S(const void *job, int64_t from, int64_t to)                                               \
    {                                                                                                                  \
        const turn *t = job;                                                                                           \
        int64_t h = t->half;                                                                                           \
        for (int64_t r = from; r < to; r++) {                                                                          \
            number_##S *y = (number_##S *)t->y + 2 * h * r;                                                            \
            const number_##S *x = (const number_##S *)t->x + 2 * h * r;                                                \
            for (int64_t j = 0; j < h; j++) y[j] = NEGATIVE_##S(x[h + j]);                                             \
            for (int64_t j = 0; j < h; j++) y[h + j] = x[j];                                                           \
        }                                                                                                              \
    }
#define NEGATIVE_f32(x)  (-(x))
#define NEGATIVE_f64(x)  (-(x))
#define NEGATIVE_bf16(x) ((uint16_t)((x) ^ 0x8000))
TURN_ROWS(f32)
TURN_ROWS(f64)
TURN_ROWS(bf16)

int cpu_ROTATE_HALF(const call *k, err *e)
{
    const view *x = &k->i.ROTATE_HALF.x, *y = &k->o.ROTATE_HALF.y;
    if (x->type != y->type || y->type == I32) return wrong_type(k, e);
    turn t = {y->data, x->data, width_of(y) / 2};
    over_range(rows_of(y), 1, count_of(y),
               y->type == F64    ? turn_rows_f64
               : y->type == BF16 ? turn_rows_bf16
                                 : turn_rows_f32,
               &t);
    return 0;
}
