/* mpi.c - the communicator for CPUs, over MPI: a separate module (backends/ablate_mpi.so), built if mpi.h is installed.
 *
 * A sum is our own reduce-scatter and all-gather, because MPI does not define the order of a sum: the vector is split
 * into one part per rank; rank p receives part p of all ranks, adds them in rank order, and sends the sum to all.
 * Messages are point to point, so sums may complete in any order on any rank. */
#include "tensor/comm/comm.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *v;
    size_t n, width; /* elements; bytes per element */
    dtype type;
    int tag; /* tag + 1 marks the messages that carry finished sums */
    enum { FREE, SCATTER, GATHER, OVER } stage;
    char *parts; /* [size][largest part]: the other ranks' values of this rank's part */
    size_t parts_size;
    MPI_Request *request; /* [2 size] */
} sum;
enum { MOST = 256, TAGS = 16384 }; /* MOST: pending sums. TAGS: every MPI allows the largest tag, 2 TAGS + 1 */

static int me, size, next_tag;
static sum sums[MOST];
static int n_sums;

static int said(int code, const char *what, err *e)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    if (code == MPI_SUCCESS) return 0;
    MPI_Error_string(code, text, &n);
    return fail(e, "%s: %s", what, text);
}

static int mpi_open(const backend *on, const char *folder, int *rank, int *ranks, err *e)
{
    int given;
    (void)on, (void)folder;
    if (said(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given), "MPI_Init_thread", e)) return -1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    *rank = me, *ranks = size;
    return 0;
}

static void mpi_close(void)
{
    for (int i = 0; i < MOST; i++) free(sums[i].parts), free(sums[i].request);
    MPI_Finalize();
}

static void mpi_abort(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
    abort();
}

static const char *mpi_description(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int n = 0;
    if (!text[0]) MPI_Get_library_version(text, &n);
    text[strcspn(text, ",\n")] = 0; /* "Open MPI v4.1.4" */
    return text;
}

static int mpi_gather(const void *mine, void *all, size_t bytes, err *e)
{
    if (!bytes) return said(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier", e);
    return said(MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD), "MPI_Allgather",
                e);
}

/* Part p of a sum: elements from .. from + n - 1. */
static size_t part_at(const sum *s, int p) { return s->n * (size_t)p / (size_t)size; }
static size_t part_n(const sum *s, int p) { return part_at(s, p + 1) - part_at(s, p); }
static char *part_of(const sum *s, int p) { return s->v + part_at(s, p) * s->width; }
static char *given_by(const sum *s, int rank) { return s->parts + (size_t)rank * (s->n / (size_t)size + 1) * s->width; }
static MPI_Datatype type_of(const sum *s) { return s->type == F64 ? MPI_DOUBLE : MPI_FLOAT; }

/* Sends each rank the rank's part of this vector and receives the other ranks' values of this rank's part. */
static int scatter(sum *s, err *e)
{
    int n = 0, bad = 0;
    s->stage = SCATTER;
    for (int r = 0; r < size && !bad; r++) {
        s->request[2 * r] = s->request[2 * r + 1] = MPI_REQUEST_NULL;
        if (r == me) continue;
        n = (int)part_n(s, me);
        bad = said(MPI_Irecv(given_by(s, r), n, type_of(s), r, s->tag, MPI_COMM_WORLD, &s->request[2 * r]), "MPI_Irecv",
                   e);
        if (!bad)
            bad = said(MPI_Isend(part_of(s, r), (int)part_n(s, r), type_of(s), r, s->tag, MPI_COMM_WORLD,
                                 &s->request[2 * r + 1]),
                       "MPI_Isend", e);
    }
    return bad;
}

#define ADD_IN_ORDER(T)                                                                                                \
    static void add_##T(const sum *s)                                                                                  \
    {                                                                                                                  \
        enum { BLOCK = 1024 };                                                                                         \
        T total[BLOCK], *own = (T *)(void *)part_of(s, me);                                                            \
        size_t n = part_n(s, me);                                                                                      \
        for (size_t at = 0; at < n; at += BLOCK) {                                                                     \
            size_t some = n - at < BLOCK ? n - at : BLOCK;                                                             \
            for (int r = 0; r < size; r++) {                                                                           \
                const T *x = r == me ? own + at : (const T *)(void *)given_by(s, r) + at;                              \
                for (size_t i = 0; i < some; i++) total[i] = r ? total[i] + x[i] : x[i];                               \
            }                                                                                                          \
            memcpy(own + at, total, some * sizeof *total);                                                             \
        }                                                                                                              \
    }
ADD_IN_ORDER(float)
ADD_IN_ORDER(double)

/* Sends the sum of this rank's part to all ranks and receives the sums of their parts. */
static int gather_parts(sum *s, err *e)
{
    int bad = 0;
    s->stage = GATHER;
    for (int r = 0; r < size && !bad; r++) {
        s->request[2 * r] = s->request[2 * r + 1] = MPI_REQUEST_NULL;
        if (r == me) continue;
        bad = said(
            MPI_Irecv(part_of(s, r), (int)part_n(s, r), type_of(s), r, s->tag + 1, MPI_COMM_WORLD, &s->request[2 * r]),
            "MPI_Irecv", e);
        if (!bad)
            bad = said(MPI_Isend(part_of(s, me), (int)part_n(s, me), type_of(s), r, s->tag + 1, MPI_COMM_WORLD,
                                 &s->request[2 * r + 1]),
                       "MPI_Isend", e);
    }
    return bad;
}

static int go_on(sum *s, err *e)
{
    int done = 0;
    if (s->stage == OVER) return 0;
    if (said(MPI_Testall(2 * size, s->request, &done, MPI_STATUSES_IGNORE), "MPI_Testall", e)) return -1;
    if (!done) return 0;
    if (s->stage == GATHER) return s->stage = OVER, 0;
    if (s->type == F64)
        add_double(s);
    else
        add_float(s);
    return gather_parts(s, e);
}

static int mpi_progress(err *e)
{
    for (int i = 0; i < n_sums; i++)
        if (go_on(&sums[i], e)) return -1;
    return 0;
}

static int mpi_sum_end(err *e)
{
    for (bool all = false; !all;) {
        all = true;
        if (mpi_progress(e)) return -1;
        for (int i = 0; i < n_sums; i++) all = all && sums[i].stage == OVER;
    }
    n_sums = 0;
    return 0;
}

static int mpi_sum_begin(void *v, size_t n, dtype type, err *e)
{
    if (type != F32 && type != F64) return fail(e, "found %s, expected fp32 or fp64 to sum", dtype_name(type));
    if (n_sums == MOST && mpi_sum_end(e)) return -1;
    sum *s = &sums[n_sums++];
    s->v = v, s->n = n, s->type = type, s->width = dtype_size(type), s->tag = 2 * next_tag;
    next_tag = (next_tag + 1) % TAGS;
    s->parts = grow(s->parts, &s->parts_size, (size_t)size * (n / (size_t)size + 1) * s->width, 1);
    if (!s->request) s->request = xcalloc(2 * (size_t)size, sizeof *s->request);
    return scatter(s, e);
}

static const comm_module module = {.version = COMM_MODULE,
                                   .layout = COMM_MODULE_LAYOUT,
                                   .name = "MPI",
                                   .open = mpi_open,
                                   .close = mpi_close,
                                   .abort = mpi_abort,
                                   .description = mpi_description,
                                   .gather = mpi_gather,
                                   .sum_begin = mpi_sum_begin,
                                   .progress = mpi_progress,
                                   .sum_end = mpi_sum_end};

__attribute__((visibility("default"))) const comm_module *ablate_mpi(void);
const comm_module *ablate_mpi(void) { return &module; }
