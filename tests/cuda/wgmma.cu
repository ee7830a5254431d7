/* wgmma.cu - the kernels of attend_wgmma.h by nvcc, for its log: a run compiles them with NVRTC. */
#include "tensor/cuda/attend_wgmma.h"

extern const void *const kernels[] = {(const void *)attend_wgmma<64>, (const void *)attend_wgmma<128>};
