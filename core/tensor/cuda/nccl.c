/* nccl.c - the communicator for ranks on GPUs (comm/comm.h), over NCCL, whose library is searched for when such ranks
 * start (library.c).
 *
 * As in comm/mpi.c a sum is our own reduce-scatter and all-gather, by ncclSend and ncclRecv: ncclAllReduce's order of
 * additions depends on its algorithm and on how the GPUs are connected. Here ranks are added in order, so that results
 * have equal bits on every machine. Messages use the side stream (runtime.h), while the main stream computes the rest
 * of the backward pass.
 *
 * The ranks meet through a file in the run's folder, which holds NCCL's id; MPI is not needed. Wherever the host waits
 * for the GPU (gpu_while_waiting), a lost rank is noticed by ncclCommGetAsyncError, or when the wait exceeds
 * $ABLATE_NCCL_TIMEOUT. Then ncclCommAbort ends the kernels that wait for that rank. Otherwise the stream and any
 * release of memory would wait forever, and this rank could not report its error.
 */
#include "tensor/cuda/nccl.h"
#include "tensor/cuda/library.h"
#include "tensor/cuda/module.h"
#include "tensor/cuda/ops.h"
#include "tensor/cuda/services.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMEOUT = 600 }; /* longest sum [s]: ranks may have to wait for rank 0's checkpoint */

#define MEMBER(result, name, arguments) result(*name) arguments;
#define NAME(result, name, arguments)   #name,
static struct {
    NCCL_FUNCTIONS(MEMBER)
} nccl;
#undef MEMBER
static nccl_comm joined;
static int me, size;
static double timeout;
static char about[64];
static err gone; /* why the other ranks cannot be reached any more */

static int said(nccl_code code, const char *what, err *e)
{
    if (code == NCCL_SUCCESS) return 0;
    return fail(e, "%s: %s", what, nccl.ncclGetErrorString(code));
}

/* ---- joining ---- */

static int load(err *e)
{
    str path = {0};
    int version = 0;
    static const char *const names[] = {NCCL_FUNCTIONS(NAME) NULL};
    int bad = !library_functions(&library_nccl, names, &nccl, &path, e);
    if (!bad) bad = said(nccl.ncclGetVersion(&version), "ncclGetVersion", e);
    if (!bad && version < NCCL_OLDEST)
        bad = fail(e, "%s is version %d, expected at least %d", str_text(&path), version, NCCL_OLDEST);
    int major = version < 10000 ? version / 1000 : version / 10000,
        minor = version / 100 % (version < 10000 ? 10 : 100);
    snprintf(about, sizeof about, "NCCL %d.%d.%d", major, minor, version % 100);
    str_free(&path);
    return bad;
}

static int read_timeout(err *e)
{
    const char *text = getenv("ABLATE_NCCL_TIMEOUT");
    timeout = TIMEOUT;
    if (text && (!parse_real(text, &timeout) || timeout <= 0))
        return fail(e, "ABLATE_NCCL_TIMEOUT = %s: expected seconds above 0", text);
    return 0;
}

static int read_id(const char *path, nccl_id *id, err *e)
{
    str text = {0};
    double start = ticks();
    while (!file_exists(path))
        if (ticks() - start > timeout)
            return fail(e, "%s: rank 0 has not written it within %g s", path, timeout);
        else
            usleep(10000);
    int bad = file_read(path, &text, e);
    if (!bad && text.n != sizeof *id)
        bad = fail(e, "%s: found %zu bytes, expected NCCL's id of %zu", path, text.n, sizeof *id);
    if (!bad) memcpy(id, text.s, sizeof *id);
    str_free(&text);
    return bad;
}

static int join(const char *folder, err *e)
{
    nccl_id id = {{0}};
    char *path = comm_meeting(folder);
    int bad = me ? read_id(path, &id, e)
                 : said(nccl.ncclGetUniqueId(&id), "ncclGetUniqueId", e) || file_write(path, &id, sizeof id, e);
    nccl_code code = bad ? NCCL_SUCCESS : nccl.ncclCommInitRank(&joined, size, id, me);
    if (!bad) bad = said(code, "ncclCommInitRank", e);
    if (code == NCCL_INVALID_USAGE) fail_in(e, "does each rank have its own GPU? ");
    if (!me) unlink(path); /* when rank 0 has joined, all have read the file */
    free(path);
    return bad;
}

static void while_waiting(double seconds);

static int nccl_open(const backend *on, const char *folder, int *rank, int *ranks, err *e)
{
    int here;
    (void)on;
    if (!comm_place(&me, &size, &here)) return fail(e, "this process was not started by mpirun or srun");
    gone = (err){{0}};
    if (load(e) || read_timeout(e) || join(folder, e)) return -1;
    gpu_while_waiting(while_waiting);
    *rank = me, *ranks = size;
    return 0;
}

static void nccl_close(void)
{
    gpu_while_waiting(NULL);
    if (joined) nccl.ncclCommDestroy(joined);
    joined = NULL;
}

/* Ends this rank with an error. The launcher of the ranks then ends the others. */
static void nccl_abort(int code)
{
    if (joined) nccl.ncclCommAbort(joined);
    _exit(code);
}

static const char *nccl_description(void) { return about; }

/* ---- waiting ---- */

/* Disconnects from the other ranks. Returns -1 and e: why they cannot be reached. */
static int lose(err *e)
{
    if (joined) nccl.ncclCommAbort(joined);
    joined = NULL;
    return fail(e, "%s", gone.text);
}

/* Can the other ranks still be reached, after a wait of `seconds`? */
static int there_after(double seconds, err *e)
{
    nccl_code found = NCCL_SUCCESS;
    if (!joined) return fail(e, "%s", gone.text[0] ? gone.text : "the ranks are not connected");
    if (said(nccl.ncclCommGetAsyncError(joined, &found), "ncclCommGetAsyncError", &gone)) return lose(e);
    if (found != NCCL_IN_PROGRESS && said(found, "another rank was lost", &gone)) return lose(e);
    if (seconds <= timeout) return 0;
    fail(&gone, "no data from the other ranks for %g s (ABLATE_NCCL_TIMEOUT)", timeout);
    return lose(e);
}
static int still_there(err *e) { return there_after(0, e); }
static void while_waiting(double seconds)
{
    err e = {{0}};
    if (joined && there_after(seconds, &e)) gpu_refuse(e.text);
}

static int wait_side(err *e)
{
    double start = ticks();
    for (;;) {
        int done = gpu_side_done(GPU_RANKS);
        if (done) return launched(done < 0 ? -1 : 0, e);
        double waited = ticks() - start;
        if (there_after(waited, e)) return -1;
        usleep(waited < 0.01 ? 20 : 1000);
    }
}

/* ---- messages ---- */

typedef struct {
    char *at;
    size_t n; /* elements */
} part;
typedef part part_of_rank(const void *self, int r);

/* Sends one message to each other rank and receives one from each, on the side stream; skips messages of 0 elements. If
 * `to` is NULL, sends this rank's part of `from` to every rank. */
static int exchange(const void *self, part_of_rank *to, part_of_rank *from, nccl_type type, err *e)
{
    if (still_there(e) || said(nccl.ncclGroupStart(), "ncclGroupStart", e)) return -1;
    int bad = 0;
    for (int r = 0; r < size && !bad; r++) {
        part out = to ? to(self, r) : from(self, me), in = from(self, r);
        if (r == me) continue;
        if (out.n) bad = said(nccl.ncclSend(out.at, out.n, type, r, joined, gpu_stream()), "ncclSend", e);
        if (in.n && !bad) bad = said(nccl.ncclRecv(in.at, in.n, type, r, joined, gpu_stream()), "ncclRecv", e);
    }
    return said(nccl.ncclGroupEnd(), "ncclGroupEnd", e) || bad ? -1 : 0;
}

/* Each rank has a part of the vector. given: this rank's part as the other ranks sent it, `stride` elements each. */
typedef struct {
    float *v, *given;
    size_t n, stride;
} sum;

static size_t part_at(const sum *s, int r) { return s->n * (size_t)r / (size_t)size; }
static part part_of(const void *self, int r)
{
    const sum *s = self;
    return (part){(char *)(s->v + part_at(s, r)), part_at(s, r + 1) - part_at(s, r)};
}
static part given_by(const void *self, int r)
{
    const sum *s = self;
    return (part){(char *)(s->given + (size_t)r * s->stride), part_of(s, me).n};
}

static int nccl_sum_begin(void *v, size_t n, dtype type, err *e)
{
    if (type != F32) return fail(e, "sums on a GPU need fp32, found %s", dtype_name(type));
    sum s = {.v = v, .n = n, .stride = n / (size_t)size + 1};
    s.given = gpu_scratch(SCRATCH_RANKS, (size_t)size * s.stride * sizeof *s.given);
    int bad = launched(gpu_side_begin(GPU_RANKS), e);
    part own = part_of(&s, me);
    if (!bad) bad = exchange(&s, part_of, given_by, NCCL_FLOAT32, e);
    if (!bad)
        bad = launched(gpu_add_ranks((float *)(void *)own.at, s.given, me, size, (int64_t)s.stride, (int64_t)own.n), e);
    if (!bad) bad = exchange(&s, NULL, part_of, NCCL_FLOAT32, e);
    gpu_side_end();
    return bad;
}

static int nccl_sum_end(err *e) { return launched(gpu_side_join(GPU_RANKS), e); }

/* The ranks' contributions in device memory: bytes of rank 0, of rank 1 ... */
typedef struct {
    char *all;
    size_t bytes;
} gathered;
static part place_of(const void *self, int r)
{
    const gathered *g = self;
    return (part){g->all + (size_t)r * g->bytes, g->bytes};
}

static int nccl_gather(const void *mine, void *all, size_t bytes, err *e)
{
    char nothing = 0, *ignored = bytes ? NULL : xmalloc((size_t)size);
    if (!bytes) mine = &nothing, all = ignored, bytes = 1;
    gathered g = {gpu_scratch(SCRATCH_RANKS, (size_t)size * bytes), bytes};
    int bad = launched(gpu_side_begin(GPU_RANKS), e);
    if (!bad) {
        gpu_copy_in(place_of(&g, me).at, mine, bytes);
        bad = exchange(&g, NULL, place_of, NCCL_INT8, e);
    }
    gpu_side_end();
    if (!bad) bad = wait_side(e) || launched(gpu_copy_out(all, g.all, (size_t)size * bytes), e);
    free(ignored);
    return bad;
}

static const comm_module module = {.version = COMM_MODULE,
                                   .layout = COMM_MODULE_LAYOUT,
                                   .name = "NCCL",
                                   .open = nccl_open,
                                   .close = nccl_close,
                                   .abort = nccl_abort,
                                   .description = nccl_description,
                                   .gather = nccl_gather,
                                   .sum_begin = nccl_sum_begin,
                                   .progress = still_there,
                                   .sum_end = nccl_sum_end,
                                   .wait = wait_side};

const comm_module *ablate_nccl(void) { return &module; }
