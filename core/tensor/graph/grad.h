/* grad.h - for the files that define operations: how to write a gradient rule.
 *
 * A rule gets node y and the tensor dy, emits nodes, and gives each input its gradient with grad_add. Several gradients
 * of one value are added. Rules of the generic operations are in ops_generic.c and ops_shape.c, those of the rows
 * operations in ops_rows.c, ops_sentences.c and ops_delta.c, each directly below the function that builds the
 * operation. The same files have at least one sample of each operation, which the tests run. */
#ifndef ABLATE_GRAD_H
#define ABLATE_GRAD_H
#include "tensor/graph/tape.h"

typedef void (*grad_rule)(ab_ctx *c, ab_t y, ab_t dy);
extern const grad_rule generic_rules[OP_COUNT], shape_rules[OP_COUNT], rows_rules[OP_COUNT], sentence_rules[OP_COUNT],
    delta_rules[OP_COUNT];

/* A value made by an operation. tests/unit/graph/test_gradients.c compares its gradient with central differences, and
 * its fp32 and bf16 with double precision; tests/shim/test_operations.c compares a GPU with the CPU. test_gradients
 * fails if an operation has no sample, and names it. */
typedef struct {
    const char *name;
    ab_t (*build)(ab_ctx *c, const ab_t *in);
    int64_t dim[4][4];       /* the inputs' shapes; {0} ends the list */
    bool training, positive; /* positive: the inputs are at least 0.3 */
} op_sample;
/* {0} ends each list */
extern const op_sample generic_samples[], shape_samples[], rows_samples[], sentence_samples[], delta_samples[];
#define SAMPLE(name, ...)                                                                                              \
    static ab_t sample_##name(ab_ctx *c, const ab_t *in) { return __VA_ARGS__; }
#define SAMPLE_IDS(...)                                                                                                \
    t_ids(c, (int64_t)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), (const int32_t[]){__VA_ARGS__})

bool grad_wanted(const ab_ctx *c, int32_t x);
void grad_add(ab_ctx *c, int32_t x, ab_t dx);
/* x's gradient so far if an operation may add to it in place (then call grad_replace with the result), else id 0. */
ab_t grad_base(const ab_ctx *c, int32_t x);
void grad_replace(ab_ctx *c, int32_t x, ab_t dx);
/* Is node dy used only as the gradient of x? Then the operation that computes dy can be fused with what follows. */
bool grad_alone(const ab_ctx *c, int32_t x, ab_t dy);
/* Differentiates nodes [from, to), which a CALL's reference has emitted again. */
void grad_sweep(ab_ctx *c, int32_t from, int32_t to);

/* Type of statistics, losses and parameters. */
static inline dtype sum_type(const ab_ctx *c) { return c->compute == F64 ? F64 : F32; }
/* Sets type and shape of an operation's output k. A dropped output has no elements and is not written. */
static inline void shape_part(ab_ctx *c, ab_t of, int k, dtype type, const int64_t dim[4])
{
    node *p = tape_at(c, tape_part(c, of, k));
    for (int i = 0; i < 4; i++) p->dim[i] = dim[i];
    p->type = type;
}
static inline void drop_part(ab_ctx *c, ab_t of, int k)
{
    static const int64_t nothing[4] = {0, 0, 0, 0};
    shape_part(c, of, k, F32, nothing);
}

/* The node that computes x's numbers: x itself, or the source of a chain of reshapes. */
static inline int32_t tape_source(const ab_ctx *c, int32_t x)
{
    while (c->v[x].op == OP_RESHAPE) x = c->v[x].i.RESHAPE.x;
    return x;
}

/* A copy of a node's shape: nodes move when the tape grows. */
typedef struct {
    int64_t dim[4];
} dims;
static inline dims dims_of(const ab_ctx *c, int32_t x)
{
    const int64_t *d = c->v[x].dim;
    return (dims){{d[0], d[1], d[2], d[3]}};
}

/* Guards for builders: return a failed input. */
#define GIVEN1(a)                                                                                                      \
    if (!(a).id) return a
#define GIVEN2(a, b)                                                                                                   \
    if (!(a).id || !(b).id) return (a).id ? b : a
static inline ab_t push1(ab_ctx *c, op o, ab_t a, const int64_t dim[4], const attr *k)
{
    return tape_push(c, o, tape_at(c, a)->type, dim, 1, &a, k);
}
static inline ab_t push2(ab_ctx *c, op o, ab_t a, ab_t b, const int64_t dim[4], const attr *k)
{
    const ab_t in[] = {a, b};
    return tape_push(c, o, tape_at(c, a)->type, dim, 2, in, k);
}
/* An operation on a whose result has a's shape. */
static inline ab_t like(ab_ctx *c, op o, ab_t a, const attr *k)
{
    GIVEN1(a);
    return push1(c, o, a, tape_at(c, a)->dim, k);
}

/* Generic operations work on F32 or F64. */
static inline dtype generic_type(const ab_ctx *c) { return c->compute == F64 ? F64 : F32; }
static inline ab_t number(ab_ctx *c, ab_t a)
{
    if (!a.id) return a;
    if (tape_at(c, a)->type == I32)
        return tape_fail(c, "found ids, expected numbers; ab_to_float converts ids to numbers");
    return t_cast(c, a, generic_type(c));
}
#endif
