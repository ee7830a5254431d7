/* functions.h - elementwise operations on floats, for kernels; the same as in core/tensor/cpu/elementwise_lines.h.
 *
 * Every product is rounded by itself (__fmul_rn): the compiler joins none with an addition that uses it, so that a step
 * of a program has the same bits interpreted and in generated code, whatever stands beside it. */
#ifndef ABLATE_CUDA_FUNCTIONS_H
#define ABLATE_CUDA_FUNCTIONS_H
#include "tensor/cuda/gpu.h"
#include "tensor/cuda/generic.h"

/* MUL_SCALAR and ADD_SCALAR take their constant as b. */
__device__ __forceinline__ float arithmetic(int what, float a, float b)
{
    switch (what) {
    case GPU_ADD:
    case GPU_ADD_SCALAR: return a + b;
    case GPU_SUB: return a - b;
    case GPU_MUL:
    case GPU_MUL_SCALAR: return __fmul_rn(a, b);
    case GPU_DIV: return a / b;
    case GPU_MINIMUM: return b < a ? b : a;
    case GPU_LESS_THAN: return a < b ? 1.f : 0.f;
    case GPU_RELU_BACK: return a > 0 ? b : 0.f;
    default: return a; /* COPY */
    }
}

__device__ __forceinline__ float function_of(int function, float x)
{
    switch (function) {
    case GPU_EXP: return expf(x);
    case GPU_LOG: return logf(x);
    case GPU_TANH: return tanhf(x);
    case GPU_SIGMOID: return 1 / (1 + expf(-x));
    case GPU_RELU: return x < 0 ? 0 : x;
    case GPU_SQRT: return sqrtf(x);
    case GPU_SQUARE: return __fmul_rn(x, x);
    case GPU_ABS: return x < 0 ? -x : x + 0;
    case GPU_SIGN: return (float)((x > 0) - (x < 0));
    case GPU_COS: return cosf(x);
    case GPU_SIN: return sinf(x);
    case GPU_ELU1: return x > 0 ? x + 1 : expf(x);
    default: return 1 / x;
    }
}

/* y = f(x), d: the gradient of y. */
__device__ __forceinline__ float gradient_of(int function, float x, float y, float d)
{
    switch (function) {
    case GPU_EXP: return __fmul_rn(d, y);
    case GPU_LOG: return d / x;
    case GPU_TANH: return __fmul_rn(d, 1 - __fmul_rn(y, y));
    case GPU_SIGMOID: return __fmul_rn(d, __fmul_rn(y, 1 - y));
    case GPU_RELU: return x > 0 ? d : 0;
    case GPU_SQRT: return d / __fmul_rn(2, y);
    case GPU_SQUARE: return __fmul_rn(__fmul_rn(d, 2), x);
    case GPU_ABS: return x > 0 ? d : x < 0 ? -d : 0;
    case GPU_SIGN: return __fmul_rn(0, d);
    case GPU_COS: return __fmul_rn(-d, sinf(x));
    case GPU_SIN: return __fmul_rn(d, cosf(x));
    case GPU_ELU1: return x > 0 ? d : __fmul_rn(d, y);
    case GPU_WHERE: return x != 0 ? y : d;
    default: return __fmul_rn(__fmul_rn(-d, y), y);
    }
}
#endif
