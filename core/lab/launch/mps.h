/* mps.h - several workers on one GPU: with NVIDIA's Multi-Process Service their kernels run at the same time, not in
 * time slices. An existing daemon, in $CUDA_MPS_PIPE_DIRECTORY or the default folder, is used and left running.
 * Otherwise a private one starts in its own folder; a process, the keeper, ends it and removes the folder as soon as
 * this process has ended, in whatever way. (NVIDIA's MPS documentation, "Appendix: Tools and Interface Reference", and
 * nvidia-cuda-mps-control's manual page.) */
#ifndef ABLATE_MPS_H
#define ABLATE_MPS_H
#include "lab/launch/internal.h"

typedef struct {
    pid_t keeper; /* 0: no daemon was started */
    int life;     /* the keeper reads from this socket until this process has ended */
    char folder[96];
} mps;

/* If there are fewer GPUs than `at_once` processes, and no_mps is false, uses an existing daemon or starts one, prints
 * which, and sets the workers' environment variables. Without NVIDIA's program prints that workers take turns. *m is
 * {0} before. 0, or -1 and e: no daemon could be started, or none answers in $CUDA_MPS_PIPE_DIRECTORY. */
int mps_begin(mps *m, const launch_options *o, int at_once, progress *p, err *e);
/* Ends the daemon if mps_begin started it, and waits for its end. keep: keeps its logs and prints where they are. */
void mps_end(mps *m, bool keep, progress *p);
#endif
