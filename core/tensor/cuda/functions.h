/* functions.h - elementwise operations on floats, for kernels; core/tensor/cpu/elementwise_lines.h has their twins.
 *
 * Every product is rounded (__fmul_rn), so that the compiler cannot fuse it with an addition. A program's step then has
 * equal bits interpreted and in generated code. */
#ifndef ABLATE_CUDA_FUNCTIONS_H
#define ABLATE_CUDA_FUNCTIONS_H
#include "tensor/cuda/gpu.h"
#include "tensor/graph/op.h"

/* Operations of op.h with one or two operands; MUL_SCALAR and ADD_SCALAR take their constant as b. */
DEVICE float arithmetic(int what, float a, float b)
{
    switch (what) {
    case OP_ADD:
    case OP_ADD_SCALAR: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL:
    case OP_MUL_SCALAR: return __fmul_rn(a, b);
    case OP_DIV: return a / b;
    case OP_MINIMUM: return b < a ? b : a;
    case OP_LESS_THAN: return a < b ? 1.f : 0.f;
    case OP_RELU_BACK: return a > 0 ? b : 0.f;
    default: return a; /* BROADCAST_TO */
    }
}

DEVICE float function_of(int function, float x)
{
    switch (function) {
    case AB_EXP: return x < -0.5f ? expf(x) : 1 + expm1f(x); /* with expf, Adam's 1 - beta^t would be 6e-5 off */
    case AB_LOG: return logf(x);
    case AB_TANH: return tanhf(x);
    case AB_SIGMOID: return 1 / (1 + expf(-x));
    case AB_RELU: return x < 0 ? 0 : x;
    case AB_SQRT: return sqrtf(x);
    case AB_SQUARE: return __fmul_rn(x, x);
    case AB_ABS: return x < 0 ? -x : x + 0;
    case AB_SIGN: return (float)((x > 0) - (x < 0));
    case AB_COS: return cosf(x);
    case AB_SIN: return sinf(x);
    case AB_ELU1: return x > 0 ? x + 1 : expf(x);
    case AB_SILU: return __fmul_rn(x, 1 / (1 + expf(-x)));
    case AB_ERF: return erff(x);
    case AB_FLOOR: return floorf(x);
    default: return 1 / x;
    }
}

/* y = f(x), d: the gradient of y. */
DEVICE float gradient_of(int function, float x, float y, float d)
{
    switch (function) {
    case AB_EXP: return __fmul_rn(d, y);
    case AB_LOG: return d / x;
    case AB_TANH: return __fmul_rn(d, 1 - __fmul_rn(y, y));
    case AB_SIGMOID: return __fmul_rn(d, __fmul_rn(y, 1 - y));
    case AB_RELU: return x > 0 ? d : 0;
    case AB_SQRT: return d / __fmul_rn(2, y);
    case AB_SQUARE: return __fmul_rn(__fmul_rn(d, 2), x);
    case AB_ABS: return x > 0 ? d : x < 0 ? -d : 0;
    case AB_SIGN:
    case AB_FLOOR: return __fmul_rn(0, d);
    case AB_ERF: return __fmul_rn(__fmul_rn(d, 1.12837917f), expf(-__fmul_rn(x, x)));
    case AB_COS: return __fmul_rn(-d, sinf(x));
    case AB_SIN: return __fmul_rn(d, cosf(x));
    case AB_ELU1: return x > 0 ? d : __fmul_rn(d, y);
    case AB_SILU: return __fmul_rn(__fmul_rn(d, x < -1e-30f || x > 1e-30f ? y / x : 0.5f), 1 + (x - y));
    default: return __fmul_rn(__fmul_rn(-d, y), y);
    }
}

DEVICE float where_of(float condition, float a, float b) { return condition != 0 ? a : b; }

/* Is the step a function: MAP (of x), MAP_BACK or WHERE (of x, y, d)? */
DEVICE bool applies_function(int what) { return what == OP_MAP || what == OP_MAP_BACK || what == OP_WHERE; }
DEVICE float apply_function(int what, int function, float x, float y, float d)
{
    return what == OP_MAP     ? function_of(function, x)
           : what == OP_WHERE ? where_of(x, y, d)
                              : gradient_of(function, x, y, d);
}
/* Runs a step: a function or arithmetic. */
DEVICE float step_of(int what, int function, float a, float b, float c)
{
    return applies_function(what) ? apply_function(what, function, a, b, c) : arithmetic(what, a, b);
}
#endif
