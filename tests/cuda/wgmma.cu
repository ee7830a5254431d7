/* wgmma.cu - compiles the kernels of attend_wgmma.h with nvcc, for nvcc's log. A run of ablate compiles these kernels
 * with NVRTC. */
#include "tensor/cuda/attend_wgmma.h"

extern const void *const kernels[] = {(const void *)attend_wgmma<64>, (const void *)attend_wgmma<128>};
