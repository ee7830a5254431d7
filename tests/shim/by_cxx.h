/* by_cxx.h - compiles generated kernels for the emulation, in place of NVRTC (compiled.h): the C++ compiler makes a
 * shared object with a function that launches the kernel. */
#ifndef ABLATE_BY_CXX_H
#define ABLATE_BY_CXX_H
#include "tensor/cuda/compiled.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifndef BY_CXX_FLAGS
#define BY_CXX_FLAGS ""
#endif

static const char launcher_by_cxx[] =
    "\n#include <utility>\n"
    "template <class... P, size_t... I>\n"
    "static int launch_with(void (*kernel)(P...), const char *name, unsigned blocks, unsigned threads, size_t shared, "
    "void **arguments, std::index_sequence<I...>)\n{\n"
    "    return gpu_call(name, kernel, dim3(blocks), dim3(threads), shared, *(P *)arguments[I]...);\n}\n"
    "template <class... P> static int launch(void (*kernel)(P...), const char *name, unsigned blocks, unsigned "
    "threads, size_t shared, void **arguments)\n{\n"
    "    return launch_with(kernel, name, blocks, threads, shared, arguments, std::index_sequence_for<P...>());\n}\n";

static int compile_by_cxx(const char *source, const char *expression, int capability, str *image, str *name, err *e)
{
    char folder[] = "/tmp/ablate_kernelXXXXXX";
    /* a folder of changed headers, each with a planted mistake (wgmma_breaks.sh) */
    const char *broken = getenv("ABLATE_BROKEN_KERNELS");
    (void)capability;
    if (!mkdtemp(folder)) return fail(e, "%s cannot be made", folder);
    char *file = path_join(folder, "kernel.cc"), *library = path_join(folder, "kernel.so");
    char *text = xprintf("%s%sextern \"C\" int launch_it(unsigned blocks, unsigned threads, size_t shared, void "
                         "**arguments)\n{\n"
                         "    return launch(%s, \"%s\", blocks, threads, shared, arguments);\n}\n",
                         source, launcher_by_cxx, expression, expression);
    /* compiles and links in two steps: in one, the race detector's flags would link a library */
    char *command =
        xprintf("c++ -std=gnu++17 -O1 -w -Wno-psabi -ffp-contract=off -fPIC %s -DGPU_ON_CPU -I%s "
                "-I%s/core -I%s/tests/shim -c -o %s.o %s && c++ -shared -o %s %s.o",
                BY_CXX_FLAGS, broken ? broken : folder, SOURCE_DIR, SOURCE_DIR, library, file, library, library);
    char *clear = xprintf("rm -rf %s", folder);
    int bad = file_write(file, text, strlen(text), e);
    if (!bad && system(command)) bad = fail(e, "%s: does not compile", command);
    bad = bad || file_read(library, image, e) || system(clear);
    str_clear(name);
    str_add(name, "launch_it");
    free(file), free(library), free(text), free(command), free(clear);
    return bad ? -1 : 0;
}
#endif
