/* comm.c - opens a communicator's module, and what can be said through any of them. */
#include "comm/comm.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const char *file, *entry, *override, *absent;
} module_file;
static const module_file mpi = {"ablate_mpi.so", "ablate_mpi", "ABLATE_MPI_MODULE",
                                "this build has no MPI module; install MPI's headers (Debian: libopenmpi-dev openmpi-bin) and build again"};
/* The module: where its variable says, else beside the program (build tree), else in lib/ablate of an installation. */
static void *open_file(const module_file *f, err *e)
{
    char program[4096] = "";
    const char *given = getenv(f->override);
    void *h = NULL;
    if (given) {
        if (!(h = dlopen(given, RTLD_NOW | RTLD_GLOBAL))) fail(e, "%s = %s: %s", f->override, given, dlerror());
        return h;
    }
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    char *slash = length > 0 ? strrchr(program, '/') : NULL;
    if (slash) *slash = 0;
    static const char *const places[] = {"backends", "../lib/ablate/backends"};
    for (size_t i = 0; i < LENGTH(places) && !h && !e->text[0]; i++) {
        char *path = xprintf("%s/%s/%s", program, places[i], f->file);
        if (file_exists(path) && !(h = dlopen(path, RTLD_NOW | RTLD_GLOBAL))) fail(e, "%s", dlerror()); /* global: Open MPI opens parts of its own */
        free(path);
    }
    if (!h && !e->text[0]) fail(e, "%s", f->absent);
    return h;
}

static const comm_module *module_of(const backend *on, err *e)
{
    const module_file *f = &mpi;
    void *h = on_device(on) ? NULL : open_file(f, e);
    ablate_comm_fn *entry = NULL;
    if (on_device(on)) fail(e, "ranks train on CPUs only: set device = cpu, or ranks = 1");
    if (!h) return NULL;
    *(void **)&entry = dlsym(h, f->entry);
    const comm_module *m = entry ? entry() : NULL;
    if (m && m->version == COMM_MODULE && m->layout == COMM_MODULE_LAYOUT) return m;
    fail(e, "%s was built from another version of ablate; build anew", f->file);
    return NULL;
}

/* How many ranks share this one's machine, by its name. */
static int count_here(comm *c, err *e)
{
    char mine[64] = "", *all = xcalloc((size_t)c->size, sizeof mine);
    gethostname(mine, sizeof mine - 1);
    int bad = c->m->gather(mine, all, sizeof mine, e);
    for (int i = 0; i < c->size && !bad; i++) c->here += !memcmp(all + (size_t)i * sizeof mine, mine, sizeof mine);
    free(all);
    return bad;
}

const comm *comm_open(const backend *on, int ranks, err *e)
{
    static comm c;
    c = (comm){.m = module_of(on, e)};
    if (!c.m) return fail_in(e, "ranks = %d: ", ranks), NULL;
    if (c.m->open(on, &c.rank, &c.size, e)) return fail_in(e, "%s: ", c.m->name), NULL;
    if (c.size != ranks) {
        fail(e, "%s: found %d rank%s, expected %d: was each started by the same mpirun or srun?", c.m->name, c.size, c.size == 1 ? "" : "s", ranks);
        return NULL;
    }
    if (count_here(&c, e)) return NULL;
    snprintf(c.about, sizeof c.about, "%d ranks, %s", c.size, c.m->description());
    return &c;
}

void comm_close(const comm *c)
{
    if (c) c->m->close();
}

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
            bad = fail(e, "rank %d has another %s than rank 0: do all ranks see the same files?", r, what);
    free(all);
    return bad;
}
