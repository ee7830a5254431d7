/* lt_load.c - finds the shared object of cuBLASLt. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "cuda/lt.h"
#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

typedef struct {
    void *library;
    str *path;
    str tried;
} hunt;

static void try_file(hunt *h, const char *path)
{
    if (h->library) return;
    h->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (h->library) {
        void *inside = dlsym(h->library, "cublasLtGetVersion");
        Dl_info info;
        bool known = inside && dladdr(inside, &info) && info.dli_fname;
        str_clear(h->path);
        str_add(h->path, known ? info.dli_fname : path);
        return;
    }
    const char *why = dlerror(), *rest = why && has_prefix(why, path) ? why + strlen(path) : NULL;
    str_addf(&h->tried, "%s%s%s", h->tried.n ? "; " : "", path, rest ? rest : why ? why : "");
}

/* Both names in every folder that matches the pattern; where none is, the pattern is what was tried. */
static void try_folders(hunt *h, const char *pattern)
{
    for (size_t i = 0; i < LENGTH(names) && !h->library; i++) {
        char *files = xprintf("%s/%s", pattern, names[i]);
        glob_t found;
        int rc = glob(files, 0, NULL, &found);
        if (rc == 0)
            for (size_t f = 0; f < found.gl_pathc; f++) try_file(h, found.gl_pathv[f]);
        else
            str_addf(&h->tried, "%s%s: none", h->tried.n ? "; " : "", files);
        if (rc == 0) globfree(&found);
        free(files);
    }
}
static void try_below(hunt *h, const char *root, const char *pattern)
{
    if (!root || !*root) return;
    char *folder = xprintf("%s/%s", root, pattern);
    try_folders(h, folder);
    free(folder);
}

static void try_beside_module(hunt *h)
{
    static const char here = 0; /* an address in this module */
    Dl_info info;
    if (!dladdr(&here, &info) || !info.dli_fname) return;
    const char *slash = strrchr(info.dli_fname, '/');
    if (!slash) return;
    char *folder = xstrndup(info.dli_fname, (size_t)(slash - info.dli_fname));
    try_folders(h, folder);
    free(folder);
}

void *lt_load(str *path, err *e)
{
    hunt h = {.path = path};
    const char *wish = getenv("ABLATE_CUBLASLT");
    if (wish && *wish) {
        try_file(&h, wish);
    } else {
        try_beside_module(&h);
        for (size_t i = 0; i < LENGTH(names); i++) try_file(&h, names[i]);
        try_below(&h, getenv("CUDA_HOME"), "lib64");
        try_folders(&h, "/usr/local/cuda/lib64");
        static const char packages[] = "lib/python3*/site-packages/nvidia/*/lib";
        try_below(&h, getenv("VIRTUAL_ENV"), packages);
        try_below(&h, getenv("CONDA_PREFIX"), "lib");
        try_below(&h, getenv("CONDA_PREFIX"), packages);
        const char *home = getenv("HOME");
        if (home && *home) {
            char *local = xprintf("%s/.local", home);
            try_below(&h, local, packages);
            free(local);
        }
        try_folders(&h, "/usr/local/lib/python3*/*-packages/nvidia/*/lib");
        try_folders(&h, "/usr/lib/python3*/*-packages/nvidia/*/lib");
    }
    if (!h.library) {
        if (wish && *wish)
            fail(e, "cuBLASLt: ABLATE_CUBLASLT names a file that cannot be loaded: %s", str_text(&h.tried));
        else
            fail(e, "cuBLASLt (libcublasLt.so.13 or .so.12) was not found; ABLATE_CUBLASLT may name the file. Tried: %s",
                 str_text(&h.tried));
    }
    str_free(&h.tried);
    return h.library;
}

int lt_function(void *library, const char *name, void *to, err *e)
{
    void *at = dlsym(library, name);
    if (!at) return fail(e, "cuBLASLt: the library has no function %s", name);
    memcpy(to, &at, sizeof at);
    return 0;
}
