/* open_module.c - opens the program's optional libraries when they are needed. */
#include "tensor/comm/open_module.h"
#include <dlfcn.h>
#include <stdlib.h>

const module_file cuda_module_file = {"ablate_cuda.so", "ABLATE_CUDA_MODULE",
                                      "this build has no CUDA backend (./ablate builds it where nvcc and a GPU are)",
                                      RTLD_NOW | RTLD_LOCAL};

void *open_module(const module_file *m, err *e)
{
    const char *given = getenv(m->variable);
    if (given) {
        void *h = dlopen(given, m->how);
        if (!h) fail(e, "%s = %s: %s", m->variable, given, dlerror());
        return h;
    }
    char *places[] = {xprintf("backends/%s", m->file), xprintf("../lib/ablate/backends/%s", m->file)};
    char *path = file_of_program((const char *const *)places, LENGTH(places));
    void *h = path ? dlopen(path, m->how) : NULL;
    if (!h) fail(e, "%s", path ? dlerror() : m->absent);
    free(places[0]);
    free(places[1]);
    free(path);
    return h;
}
