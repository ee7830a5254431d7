/* open_module.h - libraries of the program that are opened where they are needed. */
#ifndef ABLATE_OPEN_MODULE_H
#define ABLATE_OPEN_MODULE_H
#include "base/base.h"

typedef struct {
    const char *file, *variable; /* of the environment: another file instead */
    const char *absent;          /* the error where there is none */
    int how;                     /* of dlopen */
} module_file;
/* dlopen's handle, or NULL and e. Without the variable: of the folder `backends` beside the program (build tree), else
 * of lib/ablate/backends of an installation. */
void *open_module(const module_file *m, err *e);
extern const module_file cuda_module_file; /* the GPU backend, and NCCL's communicator */
#endif
