/* comm.h - communication between the processes ("ranks") that train one run together.
 *
 * A communicator is a module opened by dlopen: backends/ablate_mpi.so for ranks that compute on CPUs (comm/mpi.c), and
 * for GPUs one in the CUDA backend's module, which opens NCCL's library (cuda/nccl.c). ablate itself is linked with
 * neither. Ranks are numbered from 0; rank 0 evaluates, writes checkpoints and reports to the host.
 *
 * All ranks call every function except progress, abort and description, in the same order. On an error a function
 * returns -1 and e; the ranks cannot continue then, and the caller ends them all with `abort`.
 */
#ifndef ABLATE_COMM_H
#define ABLATE_COMM_H
#include "tensor/graph/backend.h"

/* Program and module must be built from the same sources: these values must agree. */
enum { COMM_MODULE = 2, COMM_MOST_RANKS = 4096 };
#define COMM_MODULE_LAYOUT (sizeof(comm_module) * 1000003u + sizeof(backend) * 101u + sizeof(err))

typedef struct {
    uint32_t version; /* COMM_MODULE */
    uint64_t layout;  /* COMM_MODULE_LAYOUT */
    const char *name; /* "MPI" */
    /* Joins the other ranks of this job; `on` is the backend they compute on. All ranks see `folder`, where a module
     * may leave files (NCCL: comm_meeting). */
    int (*open)(const backend *on, const char *folder, int *rank, int *size, err *e);
    void (*close)(void);
    void (*abort)(int code);          /* ends every rank at once; does not return */
    const char *(*description)(void); /* "Open MPI 4.1.4"; static storage */
    /* Copies rank r's `mine` (host memory) to all[r * bytes]; waits for all ranks. With 0 bytes it is a barrier. */
    int (*gather)(const void *mine, void *all, size_t bytes, err *e);
    /* Begins summing v over ranks, n elements of F32 or F64 in the backend's memory, in rank order: results are
     * bit-identical on all ranks and between runs. Returns at once; v must not be used before sum_end. */
    int (*sum_begin)(void *v, size_t n, dtype type, err *e);
    int (*progress)(err *e); /* advances pending sums; cheap, called between kernels */
    /* Waits for all sums. On a device the host does not wait: only work that is given to the backend later waits. */
    int (*sum_end)(err *e);
    /* On a device: makes the host wait too, and fails if a rank is lost, which a read of device memory would not
     * report. NULL: the host already waits in sum_end. */
    int (*wait)(err *e);
} comm_module;
typedef const comm_module *ablate_comm_fn(void);

typedef struct {
    const comm_module *m;
    int rank, size;
    int here;       /* ranks on this rank's machine, including itself */
    char about[96]; /* "2 ranks, Open MPI 4.1.4" */
} comm;

/* Reads the environment that mpirun, srun or MPICH's mpiexec set for this process: its rank, the number of ranks, and
 * its number among the ranks on its machine. Returns false if none of them started this process. */
bool comm_place(int *rank, int *size, int *here);
/* FOLDER/meeting: the file by which rank 0 tells the others how to connect, for modules without another way. The
 * program that starts ranks removes the file first. The caller frees the path. */
char *comm_meeting(const char *folder);

/* Joins the ranks of this job, `ranks` in number. NULL and e if the module is missing or a rank cannot be reached. */
const comm *comm_open(const backend *on, const char *folder, int ranks, err *e);
/* comm_open with a given module */
const comm *comm_join(const comm_module *m, const backend *on, const char *folder, int ranks, err *e);
void comm_close(const comm *c); /* c may be NULL */
/* True for rank 0 and for a run without ranks. */
static inline bool comm_leads(const comm *c) { return !c || c->rank == 0; }
int comm_wait(const comm *c, err *e); /* call before the host reads summed values; c may be NULL */
int comm_barrier(const comm *c, err *e);
/* v[i] = the sum over ranks, in rank order: n doubles of host memory. c may be NULL. */
int comm_add(const comm *c, double *v, size_t n, err *e);
/* Checks that all ranks have the same `bytes` at `mine`. If not: -1 and e, "rank 2 has another WHAT than rank 0". */
int comm_agree(const comm *c, const void *mine, size_t bytes, const char *what, err *e);
#endif
