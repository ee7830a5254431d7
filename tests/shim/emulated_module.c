/* emulated_module.c - makes the emulated GPU's functions visible to the stand-ins of cuDNN and cuBLASLt, which it loads
 * itself, and to generated kernels, which the C++ compiler makes: the program opens its module for itself alone. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "by_cxx.h"
#include <dlfcn.h>

__attribute__((constructor)) static void open_to_all(void)
{
    static const char here = 0; /* an address in this module */
    Dl_info info;
    if (dladdr(&here, &info)) dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    /* kept kernels would be stale: their files' names do not depend on the emulation's headers */
    setenv("ABLATE_KERNELS", "", 0);
    kernel_use_compiler(compile_by_cxx);
}
