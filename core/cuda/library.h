/* library.h - the shared objects that are looked for at run time (library.c), so that nothing is linked to them. */
#ifndef ABLATE_CUDA_LIBRARY_H
#define ABLATE_CUDA_LIBRARY_H
#include "base/base.h"

typedef struct {
    const char *title;    /* "cuDNN" */
    const char *variable; /* of the environment: may name the file */
    const char *names[3]; /* as the loader knows it, the one to be preferred first; NULL ends them */
    const char *inside;   /* a function that it has */
} library_kind;
extern const library_kind library_lt, library_dnn, library_nccl;

/* Opens the shared object: the file that the environment variable names and no other; else beside this module, under the
 * loader's own names, in CUDA's usual folders, in the packages of Python (nvidia/.../lib below VIRTUAL_ENV, CONDA_PREFIX,
 * ~/.local, /usr). Returns its handle and puts its path into `path`, or NULL with all that was tried in `e`. */
void *library_load(const library_kind *kind, str *path, err *e);
/* Opens, and leaves open, what a library that was found at `path` will itself look for by name when it is used (cuDNN: NVRTC, to compile
 * its kernels, and cuBLAS). In Python's packages each lies in a folder of its own, where the loader does not look; one that is open already
 * is found by its name. Those that are nowhere are left out: the library says itself what it misses. Returns how many were opened. */
int library_open_needs(const char *path, const char *const names[]);
/* The address of a function in it goes to the function pointer at `to`: 0, or -1. */
int library_function(const library_kind *kind, void *library, const char *name, void *to, err *e);
#endif
