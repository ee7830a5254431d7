/* comm.c - opens a communicator's module; functions common to all modules. */
#include "tensor/comm/comm.h"
#include "tensor/comm/open_module.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const module_file mpi = {
    "ablate_mpi.so", "ABLATE_MPI_MODULE",
    "this build has no MPI module; install MPI's headers (Debian: libopenmpi-dev openmpi-bin) and build again",
    RTLD_NOW | RTLD_GLOBAL}; /* RTLD_GLOBAL: the plugins that Open MPI opens need Open MPI's symbols */

static const comm_module *module_of(const backend *on, err *e)
{
    const module_file *f = on_device(on) ? &cuda_module_file : &mpi;
    void *h = open_module(f, e);
    ablate_comm_fn *entry = NULL;
    if (!h) return NULL;
    *(void **)&entry = dlsym(h, on_device(on) ? "ablate_nccl" : "ablate_mpi");
    const comm_module *m = entry ? entry() : NULL;
    if (m && m->version == COMM_MODULE && m->layout == COMM_MODULE_LAYOUT) return m;
    fail(e, "%s was built from another version of ablate; rebuild it", f->file);
    return NULL;
}

/* Counts the ranks whose machine has this rank's host name. */
static int count_here(comm *c, err *e)
{
    char mine[64] = "", *all = xcalloc((size_t)c->size, sizeof mine);
    gethostname(mine, sizeof mine - 1);
    int bad = c->m->gather(mine, all, sizeof mine, e);
    for (int i = 0; i < c->size && !bad; i++) c->here += !memcmp(all + (size_t)i * sizeof mine, mine, sizeof mine);
    free(all);
    return bad;
}

bool comm_place(int *rank, int *size, int *here)
{
    /* Set by: Open MPI's mpirun; hydra (MPICH and others); srun. srun comes last: mpirun may run in a Slurm task. */
    static const char *const all[][3] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
                                         {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
                                         {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"}};
    for (size_t i = 0; i < LENGTH(all); i++) {
        int64_t n[3] = {0};
        const char *text[3] = {getenv(all[i][0]), getenv(all[i][1]), getenv(all[i][2])};
        if (!text[0] || !text[1] || !parse_int(text[0], &n[0]) || !parse_int(text[1], &n[1])) continue;
        if (text[2] && !parse_int(text[2], &n[2])) continue;
        if (n[0] < 0 || n[0] >= n[1] || n[1] > COMM_MOST_RANKS || n[2] < 0 || n[2] >= n[1]) continue;
        *rank = (int)n[0], *size = (int)n[1], *here = (int)n[2];
        return true;
    }
    return false;
}

char *comm_meeting(const char *folder) { return path_join(folder, "meeting"); }

const comm *comm_open(const backend *on, const char *folder, int ranks, err *e)
{
    const comm_module *m = module_of(on, e);
    return m ? comm_join(m, on, folder, ranks, e) : (fail_in(e, "ranks = %d: ", ranks), NULL);
}

const comm *comm_join(const comm_module *m, const backend *on, const char *folder, int ranks, err *e)
{
    comm *c = xcalloc(1, sizeof *c);
    c->m = m;
    int bad = m->open(on, folder, &c->rank, &c->size, e);
    if (bad)
        fail_in(e, "%s: ", m->name);
    else if (c->size != ranks)
        bad = fail(e, "%s: found %d rank%s, expected %d: were all started by the same mpirun or srun?", m->name,
                   c->size, c->size == 1 ? "" : "s", ranks);
    else
        bad = count_here(c, e);
    if (bad) return free(c), NULL;
    snprintf(c->about, sizeof c->about, "%d ranks, %s", c->size, m->description());
    return c;
}

void comm_close(const comm *c)
{
    if (!c) return;
    c->m->close();
    free((void *)c);
}

int comm_wait(const comm *c, err *e) { return c && c->m->wait ? c->m->wait(e) : 0; }

int comm_barrier(const comm *c, err *e) { return c ? c->m->gather(NULL, NULL, 0, e) : 0; }

int comm_add(const comm *c, double *v, size_t n, err *e)
{
    if (!c || !n) return 0;
    double *all = xcalloc((size_t)c->size * n, sizeof *all);
    int bad = c->m->gather(v, all, n * sizeof *v, e);
    for (size_t i = 0; i < n && !bad; i++) {
        v[i] = all[i];
        for (int r = 1; r < c->size; r++) v[i] += all[(size_t)r * n + i];
    }
    free(all);
    return bad;
}

int comm_agree(const comm *c, const void *mine, size_t bytes, const char *what, err *e)
{
    if (!c) return 0;
    char *all = xcalloc((size_t)c->size, bytes);
    int bad = c->m->gather(mine, all, bytes, e);
    for (int r = 1; r < c->size && !bad; r++)
        if (memcmp(all, all + (size_t)r * bytes, bytes))
            bad = fail(e, "rank %d has a different %s from rank 0: do all ranks see the same files?", r, what);
    free(all);
    return bad;
}
