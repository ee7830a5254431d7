/* fault.c - a library to preload: the Nth call of one kind fails, once or from then on. After SQLite's fault loops.
 *
 *   ABLATE_FAULT=KIND:N        KIND is malloc, open, write, fsync, rename, unlink, fork, mmap or sqlite; N = 0: only
 *                              counts
 *   ABLATE_FAULT=KIND:N:on     every later call of the kind fails too: a full disk, an exhausted memory
 *   ABLATE_FAULT=KIND:N:kill   the process is killed (SIGKILL) in place of its Nth call
 *   ABLATE_FAULT_COUNT=FILE    the counter, shared by the processes of a command; the file holds calls, faults
 *                              and what was called
 *   ABLATE_FAULT_PLACES=1      calls are counted by their place: a call whose stack was seen before counts nothing.
 *                              So a program with a million allocations has some thousand places, and loops end.
 *
 * "write" is write and pwrite, and stdio's functions that write; a function of stdio fails and its stream keeps the
 * error, as on a full disk.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* A call's place is its innermost eight stack frames, without the two frames of this file: the code that handles a
 * failure is near, and frames further out would only multiply the places. */
enum { SEEN = 1 << 16, FRAMES = 2 + 8 };
typedef struct {
    _Atomic long calls, faults;
    char first[64]; /* name of the function whose call failed first */
    _Atomic uint64_t seen[SEEN];
} counter;

static counter *count;
static const char *kind = "";
static long fail_at;
static int stays, kills, by_place;
static __thread int inside __attribute__((tls_model("initial-exec")));

/* Hashes the call stack, each address relative to its library, so that all processes get the same hash. */
static uint64_t place(void)
{
    void *at[FRAMES];
    int n = backtrace(at, FRAMES);
    uint64_t h = 14695981039346656037u;
    for (int i = 2; i < n; i++) { /* skips this function and due() */
        struct dl_find_object in;
        uintptr_t a = (uintptr_t)at[i];
        if (!_dl_find_object(at[i], &in)) a -= (uintptr_t)in.dlfo_map_start;
        h = (h ^ a) * 1099511628211u;
        h ^= h >> 29;
    }
    return h | 1;
}

static int is_new(uint64_t h)
{
    for (size_t i = h % SEEN, tries = 0; tries < SEEN; i = (i + 1) % SEEN, tries++) {
        uint64_t was = 0;
        if (atomic_compare_exchange_strong(&count->seen[i], &was, h)) return 1;
        if (was == h) return 0;
    }
    return 0;
}

/* Returns whether this call must fail. */
static int due(const char *of, const char *name)
{
    if (!count || inside || strcmp(of, kind)) return 0;
    inside = 1;
    int counted = !by_place || is_new(place());
    long now = counted ? ++count->calls : count->calls;
    int fails = fail_at && ((counted && now == fail_at) || (stays && now >= fail_at));
    if (fails && !count->faults++) strncpy(count->first, name, sizeof count->first - 1);
    inside = 0;
    if (fails && kills) kill(getpid(), SIGKILL);
    return fails;
}

__attribute__((constructor)) static void start(void)
{
    static char text[32];
    const char *spec = getenv("ABLATE_FAULT"), *file = getenv("ABLATE_FAULT_COUNT");
    if (!spec || !file) return;
    strncpy(text, spec, sizeof text - 1);
    char *colon = strchr(text, ':');
    if (!colon) return;
    *colon = 0;
    fail_at = strtol(colon + 1, &colon, 10);
    stays = !strcmp(colon, ":on");
    kills = !strcmp(colon, ":kill");
    by_place = getenv("ABLATE_FAULT_PLACES") != NULL;
    void *warm[2];
    backtrace(warm, 2); /* the first call of backtrace() loads a library */
    int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || syscall(SYS_ftruncate, fd, sizeof *count)) return;
    void *p = (void *)syscall(SYS_mmap, NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (p == MAP_FAILED) return;
    kind = text;
    count = p;
}

#define FAIL(of, why, result)                                                                                          \
    if (due(of, __func__)) return errno = (why), (result)
/* Declares `real`, the C library's function of the caller's name. */
#define REAL(name)                                                                                                     \
    static __typeof__(name) *real;                                                                                     \
    if (!real) inside++, *(void **)&real = dlsym(RTLD_NEXT, #name), inside--

/* ---- malloc ---- */

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t n)
{
    FAIL("malloc", ENOMEM, NULL);
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t size)
{
    FAIL("malloc", ENOMEM, NULL);
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n)
{
    FAIL("malloc", ENOMEM, NULL);
    return __libc_realloc(p, n);
}
void *aligned_alloc(size_t align, size_t n)
{
    FAIL("malloc", ENOMEM, NULL);
    return __libc_memalign(align, n);
}
int posix_memalign(void **p, size_t align, size_t n)
{
    if (due("malloc", __func__)) return ENOMEM;
    *p = __libc_memalign(align, n);
    return *p ? 0 : ENOMEM;
}

/* ---- open ---- */

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;                                              \
        va_end(more);                                                                                                  \
        FAIL("open", EMFILE, -1);                                                                                      \
        REAL(name);                                                                                                    \
        return real(path, flags, mode);                                                                                \
    }
OPEN(open)
OPEN(open64)
FILE *fopen(const char *path, const char *mode)
{
    FAIL("open", EMFILE, NULL);
    REAL(fopen);
    return real(path, mode);
}
FILE *fopen64(const char *path, const char *mode)
{
    FAIL("open", EMFILE, NULL);
    REAL(fopen64);
    return real(path, mode);
}
int mkdir(const char *path, mode_t mode)
{
    FAIL("open", ENOSPC, -1);
    REAL(mkdir);
    return real(path, mode);
}
int pipe2(int ends[2], int flags)
{
    FAIL("open", EMFILE, -1);
    REAL(pipe2);
    return real(ends, flags);
}

/* ---- write ---- */

ssize_t write(int fd, const void *data, size_t n)
{
    FAIL("write", ENOSPC, -1);
    REAL(write);
    return real(fd, data, n);
}
ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    FAIL("write", ENOSPC, -1);
    REAL(pwrite);
    return real(fd, data, n, at);
}
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
    FAIL("write", ENOSPC, -1);
    REAL(pwrite64);
    return real(fd, data, n, at);
}

/* Makes a stream fail and keep the error, as after a write that the kernel refused. Standard error never fails, since
 * its messages are checked. */
static int stream_fails(FILE *f, const char *name)
{
    if (f == stderr || !due("write", name)) return 0;
    f->_flags |= 0x20; /* glibc's _IO_ERR_SEEN */
    errno = ENOSPC;
    return 1;
}
static int has_pending(const FILE *f) { return f->_IO_write_ptr > f->_IO_write_base; }
size_t fwrite(const void *data, size_t size, size_t n, FILE *f)
{
    REAL(fwrite);
    return stream_fails(f, __func__) ? 0 : real(data, size, n, f);
}
int fputs(const char *s, FILE *f)
{
    REAL(fputs);
    return stream_fails(f, __func__) ? EOF : real(s, f);
}
int fputc(int c, FILE *f)
{
    REAL(fputc);
    return stream_fails(f, __func__) ? EOF : real(c, f);
}
int putc(int c, FILE *f)
{
    REAL(putc);
    return stream_fails(f, __func__) ? EOF : real(c, f);
}
int putchar(int c)
{
    REAL(putchar);
    return stream_fails(stdout, __func__) ? EOF : real(c);
}
int puts(const char *s)
{
    REAL(puts);
    return stream_fails(stdout, __func__) ? EOF : real(s);
}
int vfprintf(FILE *f, const char *format, va_list args)
{
    REAL(vfprintf);
    return stream_fails(f, __func__) ? -1 : real(f, format, args);
}
int fprintf(FILE *f, const char *format, ...)
{
    if (stream_fails(f, __func__)) return -1;
    inside++; /* counted once */
    va_list args;
    va_start(args, format);
    int n = vfprintf(f, format, args);
    va_end(args);
    inside--;
    return n;
}
int printf(const char *format, ...)
{
    if (stream_fails(stdout, __func__)) return -1;
    inside++;
    va_list args;
    va_start(args, format);
    int n = vfprintf(stdout, format, args);
    va_end(args);
    inside--;
    return n;
}
int fflush(FILE *f)
{
    REAL(fflush);
    return f && has_pending(f) && stream_fails(f, __func__) ? EOF : real(f);
}
int fclose(FILE *f)
{
    REAL(fclose);
    int failed = has_pending(f) && stream_fails(f, __func__), rc = real(f);
    return failed ? errno = ENOSPC, EOF : rc;
}

/* ---- fsync, rename, unlink, fork, mmap ---- */

int fsync(int fd)
{
    FAIL("fsync", EIO, -1);
    REAL(fsync);
    return real(fd);
}
int fdatasync(int fd)
{
    FAIL("fsync", EIO, -1);
    REAL(fdatasync);
    return real(fd);
}
int ftruncate(int fd, off_t n)
{
    FAIL("write", EIO, -1);
    REAL(ftruncate);
    return real(fd, n);
}
int ftruncate64(int fd, off64_t n)
{
    FAIL("write", EIO, -1);
    REAL(ftruncate64);
    return real(fd, n);
}
int rename(const char *from, const char *to)
{
    FAIL("rename", EIO, -1);
    REAL(rename);
    return real(from, to);
}
int unlink(const char *path)
{
    FAIL("unlink", EIO, -1);
    REAL(unlink);
    return real(path);
}
/* This function never fails. It reports a signal to a process that has already been waited for, since another process
 * may have that number by now. */
int kill(pid_t pid, int signal)
{
    REAL(kill);
    int rc = real(pid, signal);
    if (rc && errno == ESRCH && pid > 0 && signal)
        dprintf(2, "fault: signal %d to process %d, which is gone\n", signal, (int)pid);
    return rc;
}
pid_t fork(void)
{
    FAIL("fork", EAGAIN, -1);
    REAL(fork);
    return real();
}
void *mmap(void *at, size_t n, int protect, int flags, int fd, off_t from)
{
    FAIL("mmap", ENOMEM, MAP_FAILED);
    REAL(mmap);
    return real(at, n, protect, flags, fd, from);
}
void *mmap64(void *at, size_t n, int protect, int flags, int fd, off64_t from)
{
    FAIL("mmap", ENOMEM, MAP_FAILED);
    REAL(mmap64);
    return real(at, n, protect, flags, fd, from);
}

/* ---- sqlite ---- */

enum { DISK_ERROR = 10 }; /* SQLITE_IOERR */
static __thread int pretended;

static int sqlite_fails(const char *name) { return pretended = due("sqlite", name); }

int sqlite3_open_v2(const char *path, void **out, int flags, const char *vfs)
{
    REAL(sqlite3_open_v2);
    if (sqlite_fails(__func__)) return *out = NULL, DISK_ERROR;
    return real(path, out, flags, vfs);
}
int sqlite3_prepare_v2(void *db, const char *sql, int n, void **out, const char **end)
{
    REAL(sqlite3_prepare_v2);
    if (sqlite_fails(__func__)) return *out = NULL, DISK_ERROR;
    return real(db, sql, n, out, end);
}
int sqlite3_step(void *statement)
{
    REAL(sqlite3_step);
    return sqlite_fails(__func__) ? DISK_ERROR : real(statement);
}
int sqlite3_exec(void *db, const char *sql, void *row, void *arg, char **words)
{
    REAL(sqlite3_exec);
    if (sqlite_fails(__func__)) return words ? *words = NULL, DISK_ERROR : DISK_ERROR;
    inside++; /* this function's own calls neither count nor fail */
    int rc = real(db, sql, row, arg, words);
    inside--;
    return rc;
}
const char *sqlite3_errmsg(void *db)
{
    REAL(sqlite3_errmsg);
    return pretended ? "disk I/O error" : real(db);
}
