/* library.h - finds shared objects at run time (library.c), so that nothing is linked with them. */
#ifndef ABLATE_CUDA_LIBRARY_H
#define ABLATE_CUDA_LIBRARY_H
#include "base/base.h"

typedef struct {
    const char *title;    /* "cuDNN" */
    const char *variable; /* environment variable that may name the file */
    const char *names[3]; /* names for the loader, preferred first; NULL-terminated */
    const char *inside;   /* a function that the library has */
} library_kind;
extern const library_kind library_lt, library_dnn, library_nccl;

/* Opens the shared object: only the file named by the environment variable, if set; else searches next to this module,
 * by the loader's names (ldconfig), in CUDA's usual folders, and in Python's packages (nvidia/.../lib and torch/lib
 * below VIRTUAL_ENV, CONDA_PREFIX, each python3 on PATH, ~/.local, /opt, /usr). Returns its handle and its path in
 * `path`, or NULL with everything tried in `e`. */
void *library_load(const library_kind *kind, str *path, err *e);
/* Opens, and leaves open, the libraries that the library at `path` opens by name when used (cuDNN: NVRTC, to compile
 * its kernels, and cuBLAS). In Python's packages each has its own folder, unknown to the loader, which finds open
 * libraries by name. Skips missing libraries, which the library at `path` reports. Returns how many were opened. */
int library_open_needs(const char *path, const char *const names[]);
/* Writes the address of a function of the library to the function pointer at `to`. Returns 0, or -1 and e. */
int library_function(const library_kind *kind, void *library, const char *name, void *to, err *e);
/* library_load, then library_function for all these names (NULL-terminated); `to`: an array of their pointers. */
void *library_functions(const library_kind *kind, const char *const names[], void *to, str *path, err *e);
#define LIBRARY_NAME(name) #name,
#endif
