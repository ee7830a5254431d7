/* emulated_module.c - part of the emulated CUDA module that the program opens. The program opens modules with their
 * functions hidden, so this file makes the emulation's functions visible to the stand-ins of cuDNN and cuBLASLt, which
 * it loads, and to generated kernels, which the C++ compiler makes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "by_cxx.h"
#include <dlfcn.h>

__attribute__((constructor)) static void open_to_all(void)
{
    static const char here = 0; /* the address of `here` tells which module this code is in */
    Dl_info info;
    if (dladdr(&here, &info)) dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    /* keeps no files of compiled kernels: their names do not depend on the emulation's headers, so a file could be
     * stale */
    setenv("ABLATE_KERNELS", "", 0);
    kernel_use_compiler(compile_by_cxx);
}
