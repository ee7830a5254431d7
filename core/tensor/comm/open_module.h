/* open_module.h - opens the program's optional libraries when they are needed. */
#ifndef ABLATE_OPEN_MODULE_H
#define ABLATE_OPEN_MODULE_H
#include "base/base.h"

typedef struct {
    const char *file, *variable; /* variable: an environment variable that may name another file */
    const char *absent;          /* the error if there is no such file */
    int how;                     /* dlopen's flags */
} module_file;
/* Returns dlopen's handle, or NULL and e. If the variable is not set, opens the file in the folder `backends` beside
 * the program (build tree), else in an installation's lib/ablate/backends. */
void *open_module(const module_file *m, err *e);
extern const module_file cuda_module_file; /* the GPU backend, and NCCL's communicator */
#endif
