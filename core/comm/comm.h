/* comm.h - the processes ("ranks") that train one run together: what they say to each other.
 *
 * A communicator is a module, opened at run time by dlopen: backends/ablate_mpi.so for ranks that compute on CPUs (comm/mpi.c), and in the
 * CUDA backend's own module one for GPUs, which opens NCCL's library in turn (cuda/nccl.c). Ablate itself is linked with neither. Ranks are
 * numbered from 0; rank 0 is the one that evaluates, writes checkpoints and tells the host.
 *
 * Every function but progress, abort and description is called by all ranks, in the same order. Errors: -1 and words; the ranks cannot
 * go on then, and the caller ends them all by `abort`.
 */
#ifndef ABLATE_COMM_H
#define ABLATE_COMM_H
#include "graph/backend.h"

/* Program and module are built from one tree: both must agree on this. */
enum { COMM_MODULE = 2, COMM_MOST_RANKS = 4096 };
#define COMM_MODULE_LAYOUT (sizeof(comm_module) * 1000003u + sizeof(backend) * 101u + sizeof(err))

typedef struct {
    uint32_t version; /* COMM_MODULE */
    uint64_t layout;  /* COMM_MODULE_LAYOUT */
    const char *name; /* "MPI" */
    /* Joins the other ranks of this job; `on` is where they compute. `folder` is one that all see, for what a module must leave there
     * (NCCL: comm_meeting). */
    int (*open)(const backend *on, const char *folder, int *rank, int *size, err *e);
    void (*close)(void);
    void (*abort)(int code);           /* ends every rank at once; does not return */
    const char *(*description)(void);  /* "Open MPI 4.1.4"; static storage */
    /* all[r * bytes] becomes what rank r gave as `mine` (host memory); waits for all. With 0 bytes it is a barrier. */
    int (*gather)(const void *mine, void *all, size_t bytes, err *e);
    /* Begins v += the others' v, n elements of F32 or F64 in the backend's memory, in the order of ranks: the same ranks give the same
     * bits, and all ranks the same ones. Returns at once; v is not to be touched before sum_end. */
    int (*sum_begin)(void *v, size_t n, dtype type, err *e);
    int (*progress)(err *e); /* lets sums under way go on; cheap, called between kernels */
    /* Waits for all sums begun. On a device the host goes on at once; what it gives the backend from now on waits. */
    int (*sum_end)(err *e);
    /* On a device: the host waits too, and sees when a rank is gone, which a read of the device's memory would not. NULL: sum_end did. */
    int (*wait)(err *e);
} comm_module;
typedef const comm_module *ablate_comm_fn(void);

typedef struct {
    const comm_module *m;
    int rank, size;
    int here;        /* ranks on this rank's machine, itself counted */
    char about[96];  /* "2 ranks, Open MPI 4.1.4" */
} comm;

/* This process's place among those that one command started, by what mpirun, srun or MPICH's mpiexec say in the environment: its rank, how
 * many there are, and which one it is of those on its machine. false: none of them started it. */
bool comm_place(int *rank, int *size, int *here);
/* FOLDER/meeting: where rank 0 of a module without a meeting place of its own leaves word. Whoever starts ranks removes it first. The caller frees. */
char *comm_meeting(const char *folder);

/* Joins the ranks of this job: `ranks` of them are expected. NULL and e: the module is not there (and why), or they do not come together. */
const comm *comm_open(const backend *on, const char *folder, int ranks, err *e);
const comm *comm_join(const comm_module *m, const backend *on, const char *folder, int ranks, err *e); /* the same by this module */
void comm_close(const comm *c); /* c may be NULL */
/* Is rank 0, or has no others. */
static inline bool comm_leads(const comm *c) { return !c || c->rank == 0; }
int comm_wait(const comm *c, err *e); /* before the host reads what sums have changed; c may be NULL */
int comm_barrier(const comm *c, err *e);
/* v[i] = the sum over ranks, added in their order: n doubles of host memory. c may be NULL. */
int comm_add(const comm *c, double *v, size_t n, err *e);
/* Do all ranks have the same `bytes` at `mine`? -1 and words: rank 2 has another WHAT than rank 0. */
int comm_agree(const comm *c, const void *mine, size_t bytes, const char *what, err *e);
#endif
