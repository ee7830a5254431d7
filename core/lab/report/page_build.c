/* page_build.c - an experiment's page from a child process: over a pipe comes PAGE and the page, or WORDS and why there
 * is none. */
#include "lab/report/page_build.h"
#include "lab/report/page.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 'p', WORDS = 'w' };

static void send_all(int fd, const char *p, size_t n)
{
    for (ssize_t k; n && ((k = write(fd, p, n)) > 0 || errno == EINTR);)
        if (k > 0) p += k, n -= (size_t)k;
}

/* Closes all files but the standard ones and this one: a connection that the server closes is over only when no child
 * holds it. */
static void close_others(int kept)
{
    long most = sysconf(_SC_OPEN_MAX);
    for (int fd = 3; fd < (most > 0 && most < 4096 ? (int)most : 4096); fd++)
        if (fd != kept) close(fd);
}

/* The child. Its connection is the first of both processes: SQLite keeps what it knows of a file's locks for a process,
 * so one that is open at a fork, in whichever, would mislead the child's. */
static void build(int to, const db_options *o, const char *name, const char *state)
{
    err e = {0};
    str page = {0};
    reader *r = reader_open_any(o, &e);
    bool bad = !r || page_print(r, name, state, &page, &e);
    send_all(to, (const char[]){bad ? WORDS : PAGE}, 1);
    send_all(to, bad ? e.text : page.s, bad ? strlen(e.text) : page.n);
    str_free(&page);
    reader_close(r);
}

int page_build_start(page_build *b, const db_options *o, const char *name, const char *state, err *e)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return fail(e, "building the page: %s", strerror(errno));
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        fail(e, "building the page: %s", strerror(errno));
        close(ends[0]), close(ends[1]);
        return -1;
    }
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1); /* it ended before */
        close_others(ends[1]);
        build(ends[1], o, name, state);
        _exit(0);
    }
    close(ends[1]);
    str_clear(&b->text);
    b->pid = pid, b->fd = ends[0], b->began = ticks();
    return 0;
}

/* Reaps the child. */
static int ended(page_build *b)
{
    int status = 0;
    close(b->fd);
    while (waitpid(b->pid, &status, 0) < 0 && errno == EINTR) {}
    b->pid = 0;
    return status;
}

bool page_build_take(page_build *b, bool wait, str *page, err *e)
{
    char part[65536];
    struct pollfd p = {.fd = b->fd, .events = POLLIN};
    for (;;) {
        int ready = poll(&p, 1, wait ? -1 : 0);
        if (ready < 0 && errno == EINTR) continue;
        if (!ready) return false;
        ssize_t n = read(b->fd, part, sizeof part);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        str_addn(&b->text, part, (size_t)n);
    }
    int status = ended(b);
    str_clear(page);
    if (WIFSIGNALED(status))
        fail(e, "building the page ended by signal %d", WTERMSIG(status));
    else if (!b->text.n || status)
        fail(e, "building the page failed");
    else if (b->text.s[0] == WORDS)
        fail(e, "%s", b->text.s + 1);
    else
        str_addn(page, b->text.s + 1, b->text.n - 1);
    str_clear(&b->text);
    return true;
}

void page_build_end(page_build *b)
{
    if (b->pid) {
        kill(b->pid, SIGKILL);
        ended(b);
    }
    str_free(&b->text);
}
