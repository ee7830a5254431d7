/* test_lt.c - where cuBLASLt is looked for, and that a library that is there has every function we call. Needs no GPU. */
#include "cuda/cublaslt.h"
#include "test.h"
#include <dlfcn.h>

/* A library's own name is enough where the loader finds it; it is skipped where there is none. */
static void *real_library(str *path, err *e)
{
    unsetenv("ABLATE_CUBLASLT");
    return lt_load(path, e);
}

static void test_wish(void)
{
    err e = {{0}};
    str path = {0};
    setenv("ABLATE_CUBLASLT", "/no/such/libcublasLt.so.13", 1);
    CHECK(lt_load(&path, &e) == NULL);
    CHECK_HAS(e.text, "ABLATE_CUBLASLT names a file that cannot be loaded: /no/such/libcublasLt.so.13: cannot open shared object file");
    CHECK_INT(strstr(e.text, "python") != NULL, 0); /* nothing else is tried */
    e.text[0] = 0;
    setenv("ABLATE_CUBLASLT", SOURCE_DIR "/README.md", 1);
    CHECK(lt_load(&path, &e) == NULL);
    CHECK_HAS(e.text, "README.md");
    str_free(&path);
}

/* A library that lies beside the program (or module) is taken first, one of Python's packages where there is no other. */
static void test_places(void)
{
    char folder[] = "/tmp/ablate-lt-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    char *lib = xprintf("%s/lib/python3.11/site-packages/nvidia/cublas/lib", folder), *file = xprintf("%s/libcublasLt.so.12", lib);
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
        CHECK_HAS(e.text, file); /* was tried, and is none */
    }
    remove(file);
    for (char *end = lib + strlen(lib); strlen(lib) >= strlen(folder); *end = 0) { /* folder after folder, from the inside */
        remove(lib);
        end = strrchr(lib, '/');
    }
    free(lib), free(file);
    str_free(&path);
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
        CHECK_INT(lt_function(library, #name, &at, &e), 0);                                                            \
        CHECK(at != NULL);                                                                                             \
    }
    LT_FUNCTIONS(CHECK_FUNCTION)
    CHECK_TEXT(e.text, "");
    size_t (*version)(void) = NULL;
    CHECK_INT(lt_function(library, "cublasLtGetVersion", &version, &e), 0);
    printf("version %zu, %s\n", version ? version() : 0, str_text(&path));
    CHECK(version && version() >= 120000);
    void (*none)(void) = NULL;
    CHECK_INT(lt_function(library, "cublasLtNoSuchFunction", &none, &e), -1);
    CHECK_HAS(e.text, "has no function cublasLtNoSuchFunction");
    dlclose(library);
    str_free(&path);
}

int main(void)
{
    test_wish();
    test_places();
    test_functions();
    return test_end();
}
