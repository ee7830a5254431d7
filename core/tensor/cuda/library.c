/* library.c - finds the shared objects of cuBLASLt, cuDNN and NCCL. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "tensor/cuda/library.h"
#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

const library_kind library_lt = {
    "cuBLASLt", "ABLATE_CUBLASLT", {"libcublasLt.so.13", "libcublasLt.so.12"}, "cublasLtGetVersion"};
const library_kind library_dnn = {"cuDNN", "ABLATE_CUDNN", {"libcudnn.so.9"}, "cudnnGetVersion"};
const library_kind library_nccl = {"NCCL", "ABLATE_NCCL", {"libnccl.so.2"}, "ncclGetVersion"};

typedef struct {
    const library_kind *kind;
    void *library;
    str *path;
    str tried;
} hunt;

static void try_file(hunt *h, const char *path)
{
    if (h->library) return;
    h->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (h->library) {
        void *inside = dlsym(h->library, h->kind->inside);
        Dl_info info;
        bool known = inside && dladdr(inside, &info) && info.dli_fname;
        str_clear(h->path);
        str_add(h->path, known ? info.dli_fname : path);
        return;
    }
    const char *why = dlerror(), *rest = why && has_prefix(why, path) ? why + strlen(path) : NULL;
    str_addf(&h->tried, "%s%s%s", h->tried.n ? "; " : "", path, rest ? rest : why ? why : "");
}

/* Tries every name in every folder that matches the pattern. If no folder does, adds the pattern to h->tried. */
static void try_folders(hunt *h, const char *pattern)
{
    for (size_t i = 0; h->kind->names[i] && !h->library; i++) {
        char *files = xprintf("%s/%s", pattern, h->kind->names[i]);
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

#define PACKAGES "lib/python3*/site-packages"
/* Tries the packages of the Python at `root`: NVIDIA's own packages, then the libraries that PyTorch contains. */
static void try_environment(hunt *h, const char *root)
{
    try_below(h, root, PACKAGES "/nvidia/*/lib");
    try_below(h, root, PACKAGES "/torch/lib");
}

/* Tries packages beside each python3 on PATH and beside its link's target, so no virtual environment must be active. */
static void try_python(hunt *h)
{
    char *path = xstrdup(getenv("PATH") ? getenv("PATH") : ""), *rest = NULL;
    for (char *folder = strtok_r(path, ":", &rest); folder && !h->library; folder = strtok_r(NULL, ":", &rest)) {
        char *python = path_join(folder, "python3"), *real = realpath(python, NULL);
        if (real) *strrchr(real, '/') = 0;
        char *root = xprintf("%s/..", folder), *own = xprintf("%s/..", real ? real : folder);
        if (real) try_environment(h, root), try_environment(h, own);
        free(python), free(real), free(root), free(own);
    }
    free(path);
}

static void try_beside_module(hunt *h)
{
    static const char here = 0; /* any address in this module */
    Dl_info info;
    if (!dladdr(&here, &info) || !info.dli_fname) return;
    const char *slash = strrchr(info.dli_fname, '/');
    if (!slash) return;
    char *folder = xstrndup(info.dli_fname, (size_t)(slash - info.dli_fname));
    try_folders(h, folder);
    free(folder);
}

void *library_load(const library_kind *kind, str *path, err *e)
{
    hunt h = {.kind = kind, .path = path};
    const char *wish = getenv(kind->variable);
    if (wish && *wish) {
        try_file(&h, wish);
    } else {
        try_beside_module(&h);
        for (size_t i = 0; kind->names[i]; i++) try_file(&h, kind->names[i]);
        try_below(&h, getenv("CUDA_HOME"), "lib64");
        try_folders(&h, "/usr/local/cuda/lib64");
        try_below(&h, getenv("CUDA_HOME"), "lib");
        try_folders(&h, "/usr/local/cuda*/lib");
        try_folders(&h, "/usr/local/cuda*/targets/*/lib");
        try_environment(&h, getenv("VIRTUAL_ENV"));
        try_below(&h, getenv("CONDA_PREFIX"), "lib");
        try_environment(&h, getenv("CONDA_PREFIX"));
        try_python(&h);
        try_below(&h, getenv("HOME"), ".local/" PACKAGES "/nvidia/*/lib");
        try_below(&h, getenv("HOME"), ".local/" PACKAGES "/torch/lib");
        try_environment(&h, "/opt/*");
        try_folders(&h, "/usr/local/lib/python3*/*-packages/nvidia/*/lib");
        try_folders(&h, "/usr/lib/python3*/*-packages/nvidia/*/lib");
    }
    if (!h.library) {
        if (wish && *wish)
            fail(e, "%s: %s names a file that cannot be loaded: %s", kind->title, kind->variable, str_text(&h.tried));
        else
            fail(e, "%s (%s%s%s) was not found; %s may name the file. Tried: %s", kind->title, kind->names[0],
                 kind->names[1] ? " or " : "", kind->names[1] ? kind->names[1] : "", kind->variable,
                 str_text(&h.tried));
    }
    str_free(&h.tried);
    return h.library;
}

/* Also searches the folders of neighbouring Python packages: nvidia/cudnn/lib, nvidia/cuda_nvrtc/lib. */
int library_open_needs(const char *path, const char *const names[])
{
    static const char *const places[] = {"", "../../*/lib/"};
    const char *slash = strrchr(path, '/');
    int opened = 0;
    for (size_t n = 0; names[n]; n++) {
        void *found = dlopen(names[n], RTLD_NOW | RTLD_LOCAL); /* the loader finds it, or it is open already */
        for (size_t i = 0; i < LENGTH(places) && !found && slash; i++) {
            char *pattern = xprintf("%.*s/%s%s", (int)(slash - path), path, places[i], names[n]);
            glob_t files;
            int rc = glob(pattern, 0, NULL, &files);
            for (size_t f = 0; rc == 0 && f < files.gl_pathc && !found; f++)
                found = dlopen(files.gl_pathv[f], RTLD_NOW | RTLD_LOCAL);
            if (rc == 0) globfree(&files);
            free(pattern);
        }
        opened += found != NULL;
    }
    return opened;
}

int library_function(const library_kind *kind, void *library, const char *name, void *to, err *e)
{
    void *at = dlsym(library, name);
    if (!at) return fail(e, "%s: the library has no function %s", kind->title, name);
    memcpy(to, &at, sizeof at);
    return 0;
}

void *library_functions(const library_kind *kind, const char *const names[], void *to, str *path, err *e)
{
    void *library = library_load(kind, path, e);
    for (size_t i = 0; names[i] && library; i++)
        if (library_function(kind, library, names[i], (void **)to + i, e)) library = NULL;
    return library;
}
