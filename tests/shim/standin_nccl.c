/* standin_nccl.c - a libnccl.so.2 for tests without GPUs: ncclSend and ncclRecv between processes of one machine, which
 * really send.
 *
 * A communicator is a block of shared memory, named by its id, with a ring of bytes for each pair of ranks. The
 * emulated GPU sends a group's messages when it reaches them; the host waits for that. A rank that has ended is
 * reported as NCCL does: calls succeed, ncclCommGetAsyncError returns ncclRemoteError, and the stream never ends before
 * ncclCommAbort. */
#include "tensor/cuda/nccl.h"
#include "tensor/cuda/runtime.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    MOST = 8,
    RING = 1 << 15,
    QUEUE = 2 * MOST,
    DECIDE = 512 /* how many polls of the rings come between two checks that all ranks live */
};

typedef struct {
    _Atomic uint64_t written, read;
    char bytes[RING];
} ring;
typedef struct {
    _Atomic int joined, aborted;
    _Atomic pid_t pid[MOST];
    ring from_to[MOST][MOST];
} shared;
struct ncclComm {
    shared *at;
    int rank, size, alive[MOST]; /* pidfds */
    nccl_code found;
};
typedef struct {
    nccl_comm comm;
    char *at;
    size_t n, done;
    int peer;
    int sends;
} message;

typedef struct {
    message of[QUEUE];
    int n;
} message_group;
static message_group queue;
static int groups;

static size_t width(nccl_type t) { return t == NCCL_FLOAT32 ? 4 : 1; }

/* Finds a symbol of the emulated GPU: in the test program, or in the module that the program opens. */
static void *emulation(const char *name) { return dlsym(RTLD_DEFAULT, name); }

/* ---- living ranks ---- */

static int someone_gone(nccl_comm c)
{
    for (int r = 0; r < c->size; r++) {
        struct pollfd p = {.fd = c->alive[r], .events = POLLIN};
        if (r != c->rank && poll(&p, 1, 0) > 0) return 1;
    }
    return c->at->aborted;
}

static void lose(nccl_comm c)
{
    int *stuck = emulation("gpu_side_stuck");
    c->found = NCCL_REMOTE_ERROR;
    if (stuck) *stuck = 1;
}

nccl_code ncclGetVersion(int *version) { return *version = 22809, NCCL_SUCCESS; }

nccl_code ncclGetUniqueId(nccl_id *id)
{
    static int made;
    memset(id, 0, sizeof *id);
    snprintf(id->bytes, sizeof id->bytes, "/ablate-nccl-%d-%d", (int)getpid(), made++);
    int fd = shm_open(id->bytes, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(shared))) return NCCL_INVALID_USAGE;
    close(fd);
    return NCCL_SUCCESS;
}

nccl_code ncclCommInitRank(nccl_comm *out, int size, nccl_id id, int rank)
{
    nccl_comm c = calloc(1, sizeof *c);
    int fd = size <= MOST && c ? shm_open(id.bytes, O_RDWR, 0) : -1;
    if (fd < 0) return free(c), NCCL_INVALID_USAGE;
    c->at = mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    c->rank = rank, c->size = size;
    c->at->pid[rank] = getpid();
    c->at->joined++;
    while (c->at->joined < size) usleep(100);
    for (int r = 0; r < size; r++) c->alive[r] = (int)syscall(SYS_pidfd_open, c->at->pid[r], 0);
    if (rank == 0) shm_unlink(id.bytes);
    *out = c;
    return NCCL_SUCCESS;
}

nccl_code ncclCommDestroy(nccl_comm c)
{
    for (int r = 0; r < c->size; r++) close(c->alive[r]);
    munmap(c->at, sizeof(shared));
    free(c);
    return NCCL_SUCCESS;
}

nccl_code ncclCommAbort(nccl_comm c)
{
    int *stuck = emulation("gpu_side_stuck");
    c->at->aborted = 1; /* ends operations in progress */
    c->found = NCCL_REMOTE_ERROR;
    if (stuck) *stuck = 0;
    return NCCL_SUCCESS;
}
nccl_code ncclCommGetAsyncError(nccl_comm c, nccl_code *found)
{
    if (someone_gone(c)) lose(c);
    return *found = c->found, NCCL_SUCCESS;
}

const char *ncclGetErrorString(nccl_code code)
{
    return code == NCCL_SUCCESS        ? "no error"
           : code == NCCL_REMOTE_ERROR ? "remote process exited or there was a network error"
                                       : "invalid usage";
}

/* ---- messages ---- */

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Sends or receives as many bytes as fit now; returns their number. */
static size_t carry(message *m)
{
    nccl_comm c = m->comm;
    ring *r = m->sends ? &c->at->from_to[c->rank][m->peer] : &c->at->from_to[m->peer][c->rank];
    uint64_t written = r->written, read = r->read;
    uint64_t place = (m->sends ? written : read) % RING;
    size_t free_or_full = m->sends ? RING - (size_t)(written - read) : (size_t)(written - read);
    size_t n = least(least(free_or_full, m->n - m->done), (size_t)(RING - place));
    if (m->sends)
        memcpy(r->bytes + place, m->at + m->done, n), r->written = written + n;
    else
        memcpy(m->at + m->done, r->bytes + place, n), r->read = read + n;
    m->done += n;
    return n;
}

static void carry_all(void *arg)
{
    message_group *g = arg;
    nccl_comm c = g->of[0].comm;
    const int *stuck = emulation("gpu_side_stuck");
    void (*touches)(const void *, size_t, int) = NULL;
    *(void **)&touches = emulation("gpu_touches");
    for (int i = 0; i < g->n && touches; i++) touches(g->of[i].at, g->of[i].n, !g->of[i].sends);
    for (unsigned looks = 1; c->found == NCCL_SUCCESS && !(stuck && *stuck); looks++) {
        int left = 0;
        size_t moved = 0;
        for (int i = 0; i < g->n; i++) moved += carry(&g->of[i]), left += g->of[i].done < g->of[i].n;
        if (!left) break;
        if (moved) continue;
        sched_yield();
        if (looks % DECIDE == 0 && someone_gone(c)) lose(c);
    }
}

nccl_code ncclGroupStart(void) { return groups++, NCCL_SUCCESS; }

nccl_code ncclGroupEnd(void)
{
    if (--groups || !queue.n) return NCCL_SUCCESS;
    void (*call)(void (*)(void *), const void *, size_t) = NULL;
    *(void **)&call = emulation("gpu_host_call");
    if (call)
        call(carry_all, &queue, sizeof queue);
    else
        carry_all(&queue);
    queue.n = 0;
    return NCCL_SUCCESS;
}

static nccl_code add(nccl_comm c, const void *at, size_t bytes, int peer, int sends)
{
    if (!groups || queue.n == QUEUE || peer == c->rank) return NCCL_INVALID_USAGE;
    queue.of[queue.n++] = (message){.comm = c, .at = (char *)at, .n = bytes, .peer = peer, .sends = sends};
    return NCCL_SUCCESS;
}
nccl_code ncclSend(const void *from, size_t n, nccl_type type, int to, nccl_comm c, void *stream)
{
    (void)stream;
    return add(c, from, n * width(type), to, 1);
}
nccl_code ncclRecv(void *to, size_t n, nccl_type type, int from, nccl_comm c, void *stream)
{
    (void)stream;
    return add(c, to, n * width(type), from, 0);
}
