/* compiled.c - generated kernels: compiled by NVRTC, cached in a folder, loaded once.
 *
 * The folder is ABLATE_KERNELS, else $XDG_CACHE_HOME/ablate/kernels or ~/.cache/ablate/kernels; only its owner may read
 * or write its files, and files that others may write are not read, because they hold machine code for the GPU. A
 * file's name is a hash of the source, of every header, of the kernel's name, of the compiler's version and of the
 * GPU's compute capability.
 */
#include "base/below.h"
#include "tensor/cuda/compiled.h"
#include "tensor/cuda/library.h"
#include "tensor/cuda/runtime.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    const char *name, *text;
} kernel_header;
extern const kernel_header kernel_headers[]; /* embed_headers.cmake; ended by NULL */

/* ---- NVRTC: the part of nvrtc.h in use; its functions return 0 on success ---- */

typedef struct nvrtc_program *nvrtc_program;
#define NVRTC_FUNCTIONS(X)                                                                                             \
    X(Version, (int *major, int *minor))                                                                               \
    X(CreateProgram, (nvrtc_program * p, const char *source, const char *name, int n, const char *const *headers,      \
                      const char *const *names))                                                                       \
    X(DestroyProgram, (nvrtc_program * p))                                                                             \
    X(AddNameExpression, (nvrtc_program p, const char *expression))                                                    \
    X(CompileProgram, (nvrtc_program p, int n, const char *const *options))                                            \
    X(GetProgramLogSize, (nvrtc_program p, size_t * n))                                                                \
    X(GetProgramLog, (nvrtc_program p, char *text))                                                                    \
    X(GetCUBINSize, (nvrtc_program p, size_t * n))                                                                     \
    X(GetCUBIN, (nvrtc_program p, char *code))                                                                         \
    X(GetLoweredName, (nvrtc_program p, const char *expression, const char **name))
#define MEMBER(name, arguments) int(*name) arguments;
#define NAME(name, arguments)   "nvrtc" #name,
static struct {
    NVRTC_FUNCTIONS(MEMBER)
} nvrtc;
static void *nvrtc_library;
static const library_kind library_nvrtc = {
    "NVRTC", "ABLATE_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12"}, "nvrtcVersion"};

bool kernel_compiler_found(err *e)
{
    static const char *const names[] = {NVRTC_FUNCTIONS(NAME) NULL};
    str path = {0};
    if (!nvrtc_library) nvrtc_library = library_functions(&library_nvrtc, names, &nvrtc, &path, e);
    str_free(&path);
    return nvrtc_library != NULL;
}

/* The types of <stdint.h>, which NVRTC lacks. */
static const char integers[] =
    "typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;\n"
    "typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned uint32_t; typedef unsigned long "
    "uint64_t;\n"
    "typedef unsigned long uintptr_t;\n";

static int compile(nvrtc_program p, const char *expression, int capability, str *image, str *name, err *e)
{
    char arch[32];
    /* for this GPU only: 9.0 has instructions that no later GPU has (hopper.h) */
    snprintf(arch, sizeof arch, "-arch=sm_%d%s", capability, capability == 90 ? "a" : "");
    const char *const options[] = {arch, "-std=c++17", "-default-device", "-fmad=false"}, *lowered = NULL;
    size_t n = 0;
    if (nvrtc.AddNameExpression(p, expression) || nvrtc.CompileProgram(p, sizeof options / sizeof *options, options)) {
        nvrtc.GetProgramLogSize(p, &n);
        char *log = xcalloc(n + 1, 1);
        nvrtc.GetProgramLog(p, log);
        fail(e, "NVRTC cannot compile %s for %s: %s", expression, arch, log);
        free(log);
        return -1;
    }
    if (nvrtc.GetCUBINSize(p, &n) || nvrtc.GetLoweredName(p, expression, &lowered))
        return fail(e, "NVRTC produced no code for %s", expression);
    char *code = xmalloc(n + 1);
    int bad = nvrtc.GetCUBIN(p, code);
    str_clear(image), str_clear(name);
    str_addn(image, code, n);
    str_add(name, lowered);
    free(code);
    return bad ? fail(e, "NVRTC produced no code for %s", expression) : 0;
}

int kernel_compile(const char *source, const char *expression, int capability, str *image, str *name, err *e)
{
    enum { MOST_HEADERS = 32 };
    const char *names[MOST_HEADERS] = {"stdint.h", "stddef.h", "stdbool.h"}, *texts[MOST_HEADERS] = {integers, "", ""};
    nvrtc_program p = NULL;
    int n = 3;
    if (!kernel_compiler_found(e)) return -1;
    for (const kernel_header *h = kernel_headers; h->name && n < MOST_HEADERS; h++, n++)
        names[n] = h->name, texts[n] = h->text;
    int bad =
        nvrtc.CreateProgram(&p, source, "generated.cu", n, texts, names) ? fail(e, "NVRTC accepts no program") : 0;
    bad = bad || compile(p, expression, capability, image, name, e) ? -1 : 0;
    if (p) nvrtc.DestroyProgram(&p);
    return bad;
}

/* ---- the folder ---- */

static kernel_compiler compiler = kernel_compile;
static int64_t compilations;
void kernel_use_compiler(kernel_compiler c) { compiler = c; }
int64_t kernel_compilations(void) { return compilations; }

/* The caller frees. NULL: kernels are not kept. */
static char *folder(void)
{
    const char *wish = getenv("ABLATE_KERNELS");
    return wish ? *wish ? xstrdup(wish) : NULL : path_in_cache("kernels");
}

static char *file_of(const char *in, const char *source, const char *expression, int capability)
{
    sha256 s;
    char hex[65];
    int version[3] = {capability, 0, 0};
    if (nvrtc_library) nvrtc.Version(&version[1], &version[2]);
    sha256_init(&s);
    sha256_add(&s, version, sizeof version);
    sha256_add(&s, expression, strlen(expression) + 1);
    sha256_add(&s, source, strlen(source) + 1);
    for (const kernel_header *h = kernel_headers; h->name; h++) sha256_add(&s, h->text, strlen(h->text) + 1);
    sha256_hex(&s, hex);
    char *name = xprintf("%s.cubin", hex), *path = path_join(in, name);
    free(name);
    return path;
}

/* Reads a cached file: a line with the kernel's name, then the code. False if there is none, or others may write it. */
static bool read_kept(const char *path, str *image, str *name)
{
    str text = {0};
    err unused = {0};
    struct stat s;
    bool mine = !stat(path, &s) && s.st_uid == geteuid() && !(s.st_mode & (S_IWGRP | S_IWOTH));
    const char *end = mine && !file_read(path, &text, &unused) ? memchr(text.s, '\n', text.n) : NULL;
    if (end) {
        str_clear(name), str_clear(image);
        str_addn(name, text.s, (size_t)(end - text.s));
        str_addn(image, end + 1, text.n - (size_t)(end + 1 - text.s));
    }
    str_free(&text);
    return end != NULL;
}

static void keep(const char *in, const char *path, const str *image, const str *name)
{
    str text = {0};
    err e = {0};
    str_addf(&text, "%s\n", str_text(name));
    str_addn(&text, image->s, image->n);
    bool ours = !is_folder(in);
    if (make_folders(in, &e) || (ours && chmod(in, S_IRWXU)) || file_write(path, text.s, text.n, &e))
        log_line(LOG_WARN, "a compiled kernel cannot be saved: %s", e.text[0] ? e.text : in);
    else
        chmod(path, S_IRUSR | S_IWUSR);
    str_free(&text);
}

/* ---- kernels that are loaded ---- */

typedef struct {
    char *source, *expression;
    void *kernel;
} loaded;
static loaded *table;
static size_t table_n, table_cap;

static void *load(const char *source, const char *expression, err *e)
{
    str image = {0}, name = {0};
    char *in = folder(), *path = NULL;
    int capability = gpu_capability();
    void *kernel = NULL;
    bool there = compiler != kernel_compile || kernel_compiler_found(e); /* first, because file_of hashes its version */
    if (there && in) path = file_of(in, source, expression, capability);
    if (there && !(path && read_kept(path, &image, &name))) {
        if (!compilations++)
            log_line(LOG_INFO, "compiling kernels for score programs, seconds each; %s", in ? in : "none is kept");
        there = !compiler(source, expression, capability, &image, &name, e);
        if (there && path) keep(in, path, &image, &name);
    }
    if (there) kernel = gpu_load_kernel(str_text(&image), str_text(&name));
    if (there && !kernel) fail(e, "%s", gpu_error());
    str_free(&image), str_free(&name);
    free(in), free(path);
    return kernel;
}

int compiled_kernel(const char *source, const char *expression, const char *without, void **kernel)
{
    err e = {0};
    *kernel = NULL;
    for (size_t i = 0; i < table_n && !*kernel; i++)
        if (same(table[i].expression, expression) && same(table[i].source, source)) *kernel = table[i].kernel;
    if (*kernel) return 0;
    *kernel = load(source, expression, &e);
    if (!*kernel) {
        char *words = xprintf("%s. %s", e.text, without);
        gpu_refuse(words);
        free(words);
        return -1;
    }
    table = grow(table, &table_cap, table_n + 1, sizeof *table);
    table[table_n++] = (loaded){xstrdup(source), xstrdup(expression), *kernel};
    return 0;
}

int compiled_wanted(void)
{
    const char *text = getenv("ABLATE_SCORE");
    err e = {0};
#ifdef GPU_ON_CPU /* the emulation cannot run NVRTC's code */
    if (!text || !*text) return 0;
#endif
    if (!text || !*text || same(text, "compiled")) return 1;
    if (same(text, "interpreted")) return 0;
    fail(&e, "ABLATE_SCORE is \"%s\", expected \"compiled\" or \"interpreted\"", text);
    return gpu_refuse(e.text);
}
