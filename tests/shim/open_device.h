/* open_device.h - opens the CUDA backend and the plugins as the program does. */
#ifndef ABLATE_OPEN_DEVICE_H
#define ABLATE_OPEN_DEVICE_H
#include "tensor/cuda/module.h"
#include "network/plugin/plugin.h"
#include <stdio.h>
#include <stdlib.h>

/* Opens the first GPU; ends the test as skipped if there is none. Returns NULL and sets e if it cannot be opened. */
static inline const backend *open_device(const cuda_module **m, err *e)
{
    const char *why = NULL;
    plugin_add_folder(BUILD_DIR "/plugins");
    *m = ablate_cuda();
    if ((*m)->count(&why) < 1) {
        printf("no GPU: %s\n", why);
        exit(77);
    }
    return (*m)->open(0, e);
}
#endif
