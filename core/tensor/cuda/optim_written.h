/* optim_written.h - generates CUDA C from the programs of optimizers for the kernel of optim_update.h. Enabled by
 * ABLATE_OPTIMIZER=compiled; otherwise the interpreter runs.
 *
 * A generated program runs the same steps as the interpreter and rounds after each.
 */
#ifndef ABLATE_CUDA_OPTIM_WRITTEN_H
#define ABLATE_CUDA_OPTIM_WRITTEN_H
#include "base/base.h"
#include "tensor/cuda/optim.h"

#define UPDATE_KERNEL "update_written<written_update>"

/* Generates an #include of optim_update.h and a struct `written_update`, the P of its kernel. Depends on the program
 * alone, not on the data. */
void update_source(const update_program *u, str *text);
#endif
