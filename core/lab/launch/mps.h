/* mps.h - several workers on one GPU: NVIDIA's Multi-Process Service. Without it their processes take turns, a time
 * slice each; with it their kernels run at the same time.
 *
 * A daemon that is there already is used and left alone: the one of $CUDA_MPS_PIPE_DIRECTORY, or of the default folder.
 * Else a private one is started, in a folder of its own. A process of its own (the keeper) tells the daemon to quit and
 * removes the folder as soon as this process has ended, in whatever way. (NVIDIA's MPS documentation, "Appendix: Tools
 * and Interface Reference", and nvidia-cuda-mps-control's manual page.) */
#ifndef ABLATE_MPS_H
#define ABLATE_MPS_H
#include "lab/launch/internal.h"

typedef struct {
    pid_t keeper; /* 0: no daemon was started */
    int life;     /* the keeper reads from this pipe until this process has ended */
    char folder[96];
} mps;

/* Where `at_once` processes share fewer GPUs and the caller has not refused: finds or starts a daemon, says so, and
 * sets the environment variables that workers inherit. Without NVIDIA's program it says that they take turns. {0}: *m
 * at first. 0, or -1 and e: no daemon could be started; or none answers where $CUDA_MPS_PIPE_DIRECTORY says. */
int mps_begin(mps *m, const launch_options *o, int at_once, progress *p, err *e);
/* Ends the daemon that was started, if any, and waits for that. keep: its logs stay, and are named. */
void mps_end(mps *m, bool keep, progress *p);
#endif
