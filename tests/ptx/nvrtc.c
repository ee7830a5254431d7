/* nvrtc.c - wraps NVIDIA's NVRTC: where the backend asks for machine code, asks it for PTX of capability 8.0.
 * ABLATE_NVRTC must name this library, PTX_NVRTC the real one. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct program *program;
static void *real(const char *name)
{
    static void *library;
    const char *path = getenv("PTX_NVRTC");
    if (!library) library = dlopen(path ? path : NVRTC_FILE, RTLD_NOW);
    void *f = library ? dlsym(library, name) : NULL;
    if (!f) fprintf(stderr, "ptx: no %s in %s\n", name, path ? path : NVRTC_FILE), exit(70);
    return f;
}
#define FORWARD(name, parameters, arguments)                                                                           \
    int nvrtc##name parameters;                                                                                        \
    int nvrtc##name parameters                                                                                         \
    {                                                                                                                  \
        int(*f) parameters;                                                                                            \
        *(void **)&f = real("nvrtc" #name);                                                                            \
        return f arguments;                                                                                            \
    }
#define RENAMED(name, as, parameters, arguments)                                                                       \
    int nvrtc##name parameters;                                                                                        \
    int nvrtc##name parameters                                                                                         \
    {                                                                                                                  \
        int(*f) parameters;                                                                                            \
        *(void **)&f = real("nvrtc" #as);                                                                              \
        return f arguments;                                                                                            \
    }
FORWARD(Version, (int *major, int *minor), (major, minor))
FORWARD(CreateProgram,
        (program * p, const char *source, const char *name, int n, const char *const *headers,
         const char *const *names),
        (p, source, name, n, headers, names))
FORWARD(DestroyProgram, (program * p), (p))
FORWARD(AddNameExpression, (program p, const char *expression), (p, expression))
FORWARD(GetProgramLogSize, (program p, size_t *n), (p, n))
FORWARD(GetProgramLog, (program p, char *text), (p, text))
FORWARD(GetLoweredName, (program p, const char *expression, const char **name), (p, expression, name))
RENAMED(GetCUBINSize, GetPTXSize, (program p, size_t *n), (p, n))
RENAMED(GetCUBIN, GetPTX, (program p, char *code), (p, code))

int nvrtcCompileProgram(program p, int n, const char *const *options);
int nvrtcCompileProgram(program p, int n, const char *const *options)
{
    const char *own[16] = {0};
    int (*f)(program, int, const char *const *);
    *(void **)&f = real("nvrtcCompileProgram");
    for (int i = 0; i < n && i < 15; i++) own[i] = strncmp(options[i], "-arch=", 6) ? options[i] : "-arch=compute_80";
    own[n] = "-lineinfo";
    return f(p, n + 1, own);
}
