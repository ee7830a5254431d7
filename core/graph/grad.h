/* grad.h - for the files that define operations: how a gradient rule is written.
 *
 * A rule gets node y and the tensor dy, emits nodes, and gives each input its part. The first gift to a value
 * is taken as it is, later ones are added. Rules of the generic operations are in ops_generic.c and
 * ops_shape.c, those of the rows operations in ops_rows.c, each right under the function that builds the
 * operation.
 */
#ifndef ABLATE_GRAD_H
#define ABLATE_GRAD_H
#include "graph/tape.h"

typedef void (*grad_rule)(ab_ctx *c, ab_t y, ab_t dy);
extern const grad_rule generic_rules[OP_COUNT], shape_rules[OP_COUNT], rows_rules[OP_COUNT];

bool grad_wanted(const ab_ctx *c, int32_t x);
void grad_give(ab_ctx *c, int32_t x, ab_t dx);
/* The gradient x has so far if an operation may add to it in place (then call grad_replace with the result),
 * else id 0. */
ab_t grad_base(const ab_ctx *c, int32_t x);
void grad_replace(ab_ctx *c, int32_t x, ab_t dx);
/* Is node dy nothing but the gradient of x? Then the operation that makes it may do what is to be done with it. */
bool grad_alone(const ab_ctx *c, int32_t x, ab_t dy);
/* Differentiates nodes [from, to) once more: for an operation whose meaning was emitted again (CALL). */
void grad_sweep(ab_ctx *c, int32_t from, int32_t to);

/* Guards for builders: pass the failed tensor on. */
#define GIVEN1(a)                                                                                            \
    if (!(a).id) return (ab_t)                                                                               \
        {                                                                                                    \
            0                                                                                                \
        }
#define GIVEN2(a, b)                                                                                         \
    if (!(a).id || !(b).id) return (ab_t)                                                                    \
        {                                                                                                    \
            0                                                                                                \
        }
static inline ab_t push1(ab_ctx *c, op o, ab_t a, const int64_t dim[4], const attr *k)
{
    return tape_push(c, o, tape_at(c, a)->type, dim, 1, &a, k);
}
static inline ab_t push2(ab_ctx *c, op o, ab_t a, ab_t b, const int64_t dim[4], const attr *k)
{
    return tape_push(c, o, tape_at(c, a)->type, dim, 2, (ab_t[]){a, b}, k);
}

/* Generic operations work on F32 or F64. */
static inline dtype generic_type(const ab_ctx *c) { return c->compute == F64 ? F64 : F32; }
static inline ab_t number(ab_ctx *c, ab_t a)
{
    if (!a.id) return a;
    if (tape_at(c, a)->type == I32)
        return tape_fail(c, "ids were given where numbers are wanted; ab_to_float turns ids into numbers");
    return t_cast(c, a, generic_type(c));
}
#endif
