/* test_lt.c - where the program searches for cuBLASLt, and that an installed library has every function we call. Also,
 * compiled here, what a build without cuDNN's header does. Needs no GPU. */
#undef HAVE_CUDNN
#include "tensor/cuda/cudnn/dnn_attend.c"
#include "tensor/cuda/cublaslt.h"
#include "test.h"
#include <dlfcn.h>
#include <unistd.h>

/* Loads the library that is found if ABLATE_CUBLASLT is not set. Returns NULL if no library is found. */
static void *real_library(str *path, err *e)
{
    unsetenv("ABLATE_CUBLASLT");
    return library_load(&library_lt, path, e);
}

static void test_wish(void)
{
    err e = {{0}};
    str path = {0};
    setenv("ABLATE_CUBLASLT", "/no/such/libcublasLt.so.13", 1);
    CHECK(library_load(&library_lt, &path, &e) == NULL);
    CHECK_HAS(e.text, "ABLATE_CUBLASLT names a file that cannot be loaded: /no/such/libcublasLt.so.13: cannot open "
                      "shared object file");
    CHECK_INT(strstr(e.text, "python") != NULL, 0); /* no other place is searched */
    e.text[0] = 0;
    setenv("ABLATE_CUBLASLT", SOURCE_DIR "/README.md", 1);
    CHECK(library_load(&library_lt, &path, &e) == NULL);
    CHECK_HAS(e.text, "README.md");
    str_free(&path);
}

/* A library beside the program (or module) is used first; a library in a Python package only if no other is found. */
static void test_places(void)
{
    char folder[] = "/tmp/ablate-lt-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    char *lib = xprintf("%s/lib/python3.11/site-packages/nvidia/cublas/lib", folder),
         *file = xprintf("%s/libcublasLt.so.12", lib);
    err e = {{0}};
    str path = {0};
    CHECK_INT(make_folders(lib, &e), 0);
    CHECK_INT(file_write(file, "no library", 10, &e), 0);
    setenv("VIRTUAL_ENV", folder, 1);
    void *library = real_library(&path, &e);
    if (library) {
        printf("found: %s\n", str_text(&path));
        dlclose(library);
    } else {
        CHECK_HAS(e.text, "ABLATE_CUBLASLT may name the file");
        CHECK_HAS(e.text, "libcublasLt.so.13: cannot open shared object file");
        CHECK_HAS(e.text, file); /* was tried, and is no library */
    }
    remove(file);
    for (char *end = lib + strlen(lib); strlen(lib) >= strlen(folder); *end = 0) {
        /* removes the folders, innermost first */
        remove(lib);
        end = strrchr(lib, '/');
    }
    free(lib), free(file);
    str_free(&path);
}

/* Finds the library beside the python3 on PATH, even if no virtual environment is activated: in NVIDIA's own packages,
 * and in the packages that PyTorch installs. */
static void test_python(void)
{
    static const char *const places[] = {"nvidia/cu13/lib", "torch/lib"};
    static const library_kind kind = {"a stand-in", "ABLATE_STAND_IN", {"libablate_packed.so.7"}, "stand_in"};
    if (!file_exists(BUILD_DIR "/stand_in.so")) return;
    char *before = xstrdup(getenv("PATH"));
    unsetenv("VIRTUAL_ENV");
    for (size_t i = 0; i < LENGTH(places); i++) {
        char folder[] = "/tmp/ablate-lt-XXXXXX";
        CHECK(mkdtemp(folder) != NULL);
        char *bin = xprintf("%s/bin", folder), *lib = xprintf("%s/lib/python3.12/site-packages/%s", folder, places[i]);
        char *python = xprintf("%s/python3", bin), *file = xprintf("%s/libablate_packed.so.7", lib);
        char *search = xprintf("/nowhere:%s:%s", bin, before), *clear = xprintf("rm -rf %s", folder);
        err e = {{0}};
        str path = {0};
        char *away = xprintf("%s/away", folder), *link = xprintf("%s/python3", away);
        CHECK_INT(make_folders(bin, &e) || make_folders(lib, &e) || file_write(python, "", 0, &e), 0);
        CHECK_INT(make_folders(away, &e) || symlink(python, link), 0);
        CHECK_INT(symlink(BUILD_DIR "/stand_in.so", file), 0);
        void *without = library_load(&kind, &path, &e);
        setenv("PATH", search, 1);
        void *with = library_load(&kind, &path, &e);
        setenv("PATH", away, 1);
        void *linked = library_load(&kind, &path, &e);
        setenv("PATH", before, 1);
        CHECK_THAT(!without && with && linked, "%s: found %p, by a link to python3 %p, without python3 on PATH %p: %s",
                   places[i], with, linked, without, e.text);
        CHECK_INT(system(clear), 0);
        free(bin), free(lib), free(python), free(file), free(search), free(clear), free(away), free(link);
        str_free(&path);
    }
    free(before);
}

static void test_functions(void)
{
    err e = {{0}};
    str path = {0};
    void *library = real_library(&path, &e);
    if (!library) {
        printf("functions not checked: %s\n", e.text);
        return;
    }
#define CHECK_FUNCTION(name)                                                                                           \
    {                                                                                                                  \
        void (*at)(void) = NULL;                                                                                       \
        CHECK_INT(library_function(&library_lt, library, #name, &at, &e), 0);                                          \
        CHECK(at != NULL);                                                                                             \
    }
    LT_FUNCTIONS(CHECK_FUNCTION)
    CHECK_TEXT(e.text, "");
    size_t (*version)(void) = NULL;
    CHECK_INT(library_function(&library_lt, library, "cublasLtGetVersion", &version, &e), 0);
    printf("version %zu, %s\n", version ? version() : 0, str_text(&path));
    CHECK(version && version() >= 120000);
    void (*none)(void) = NULL;
    CHECK_INT(library_function(&library_lt, library, "cublasLtNoSuchFunction", &none, &e), -1);
    CHECK_HAS(e.text, "has no function cublasLtNoSuchFunction");
    dlclose(library);
    str_free(&path);
}

/* A library's dependencies are loaded from neighbouring package folders; later they are found by file name alone. */
static void test_needs(void)
{
    char folder[] = "/tmp/ablate-lt-XXXXXX";
    if (!file_exists(BUILD_DIR "/stand_in.so")) {
        printf("what libraries need is not checked: there is no %s/stand_in.so here\n", BUILD_DIR);
        return;
    }
    static const char *const names[] = {"libablate_stand_in.so.7", "libablate_nowhere.so.1", NULL};
    CHECK(mkdtemp(folder) != NULL);
    char *lib = xprintf("%s/nvidia/stand_in/lib", folder), *own = xprintf("%s/nvidia/cudnn/lib", folder);
    char *link = xprintf("%s/%s", lib, names[0]), *path = xprintf("%s/libcudnn.so.9", own);
    err e = {{0}};
    CHECK_INT(make_folders(lib, &e) || make_folders(own, &e), 0);
    CHECK_INT(symlink(BUILD_DIR "/stand_in.so", link), 0);
    CHECK(dlopen(names[0], RTLD_NOW) == NULL);
    CHECK_INT(library_open_needs(path, names), 1);
    CHECK(dlopen(names[0], RTLD_NOW) != NULL); /* found by its file name, without a folder */
    remove(link);
    char *end[] = {lib, own};
    for (int i = 0; i < 2; i++)
        for (char *at = end[i] + strlen(end[i]); strlen(end[i]) >= strlen(folder); *at = 0) {
            remove(end[i]);
            at = strrchr(end[i], '/');
        }
    free(lib), free(own), free(link), free(path);
}

static void test_no_cudnn(void)
{
    static const struct {
        const char *wish, *refused;
    } cases[] = {
        {"", NULL},
        {"own", NULL},
        {"auto", NULL},
        {"cudnn", "ABLATE_ATTENTION=cudnn: this was built without cuDNN's header, expected own, wgmma or auto"},
        {"cudn", "ABLATE_ATTENTION=cudn: expected own, cudnn, wgmma or auto"}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        err e = {{0}};
        setenv("ABLATE_ATTENTION", cases[i].wish, 1);
        CHECK_INT(dnn_attend(&(gpu_attention){.rows = 1}, &(attend_extent){.queries = 4096}, false, &e),
                  cases[i].refused ? -1 : 1);
        CHECK_TEXT(e.text, cases[i].refused ? cases[i].refused : "");
    }
    unsetenv("ABLATE_ATTENTION");
    CHECK_INT(dnn_attend_counts().own, 3);
}

int main(void)
{
    test_no_cudnn();
    test_needs();
    test_wish();
    test_places();
    test_python();
    test_functions();
    return test_end();
}
