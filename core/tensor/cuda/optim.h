/* optim.h - launchers over the flat vectors of all parameters (optim.cu), in device memory; none waits. */
#ifndef ABLATE_CUDA_OPTIM_H
#define ABLATE_CUDA_OPTIM_H
#include "base/linkage.h"
#include <stdint.h>
C_BEGIN

/* ---- an update: a program run for every element ---- */

enum { UPDATE_STEPS = 128, UPDATE_SETUP = 24, UPDATE_REGISTERS = 32, UPDATE_SCALARS = 32, UPDATE_VECTORS = 12 };
enum { UPDATE_THREADS = 128, UPDATE_GROUPS = 2, UPDATE_REGISTER_BYTES = 16 * UPDATE_GROUPS * UPDATE_THREADS };
/* Source of an operand: register 0 .. 31; scalar 32 + i; the previous step; the step's constant. */
enum { UPDATE_SCALAR = 32, UPDATE_LAST = 64, UPDATE_BY, UPDATE_NOWHERE = 255 };
typedef struct {
    uint8_t what, function; /* OP_ADD .. OP_WHERE or OP_BROADCAST_TO, and ab_fn for MAP and MAP_BACK */
    uint8_t in[3];          /* operands */
    uint8_t out, vector;    /* register and vector of the result, or UPDATE_NOWHERE */
    float by;
} update_step;
typedef struct {
    /* setup: steps run first, on scalars; their in[] and out are numbers of scalars */
    update_step step[UPDATE_STEPS], setup[UPDATE_SETUP];
    int n_steps, n_setup, n_registers, n_scalars, n_vectors;
    int shadowed;  /* the vector that has a BF16 copy, or UPDATE_NOWHERE */
    unsigned read; /* bit i: vector i is read */
    /* operands of the program */
    const float *scalar[UPDATE_SCALARS]; /* read once per run; NULL: a result of setup */
    /* [count] each; vectors in `read` are in registers 0 .. n_vectors - 1 at the start */
    float *vector[UPDATE_VECTORS];
    void *shadow; /* [count] the BF16 copy, or NULL */
    int64_t count;
} update_program;
int gpu_run_update(const update_program *u); /* one launch: gpu_launched() */

/* ---- the gradient's norm ---- */

/* *out = sum of squares of v [n], in double, in an order that depends only on n. Uses SCRATCH_OPTIM from byte 8. */
int gpu_sum_squares_to(void *out, const float *v, int64_t n);
/* *scale_at = scale * min(1, clip_norm / (scale * sqrt(*sum_squares))). */
int gpu_clip_scale(float *scale_at, const double *sum_squares, float scale, float clip_norm);
C_END
#endif
