/* emulated_module.c - makes the emulated GPU's functions visible to the stand-ins of cuDNN and cuBLASLt, which it loads itself: the program
 * opens its module for itself alone. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>

__attribute__((constructor)) static void open_to_all(void)
{
    static const char here = 0; /* an address in this module */
    Dl_info info;
    if (dladdr(&here, &info)) dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}
