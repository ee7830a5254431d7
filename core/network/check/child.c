/* child.c - opens and checks a plugin in a child process in a sandbox with limits. A crash, endless loop or exit is a
 * failure of the running check. The parent opens no plugin and accepts only a complete list of results. */
#include "base/sandbox.h"
#include "network/check/internal.h"
#include "tensor/device/device.h"
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {                   /* limits, also listed in docs/plugins.md and `check --help` */
       PATIENCE = 120,   /* limit of processor time for one check [seconds] */
       CLOCK = 3600,     /* seconds on the clock for one check: a check that only waits uses no processor time */
       PROCESSOR = 3600, /* seconds of processor time for all checks */
       FILES = 256,      /* open files */
       POLL = 5000       /* microseconds between looks at the child */
};
/* PATIENCE, or the smaller number in ABLATE_CHECK_SECONDS (for tests). */
static int patience(void)
{
    double n = environment_real("ABLATE_CHECK_SECONDS", PATIENCE);
    return n >= 1 && n < PATIENCE ? (int)n : PATIENCE;
}
static const rlim_t MEMORY = 16ull << 30, FILE_SIZE = 64 << 20;

typedef struct { /* shared by both processes; its pointers are to constants, which both have at the same address */
    check_report report;
    uint64_t done; /* the parent's random number, which the child copies here when it ends properly */
    int code;      /* check_shut_in's result; < 0: the fork failed with errno -code */
    const char *check, *hook;
    char stack[65536]; /* stack for on_crash, because a plugin may have overflowed the usual stack */
} shared;

static struct {
    shared *page;
    const check_room *room;
} own;
static bool on_gpu(void) { return own.room->device && !same(own.room->device, "cpu"); }

void check_begins(const char *name, size_t n_done)
{
    if (!own.page) return;
    own.page->check = name;
    own.page->report.n = n_done;
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = patience()}, NULL);
}

/* In the dying child: records which hook was running. on_crash then raises the signal again. */
static void record_hook(void)
{
#define HOOK_DOC(NAME, owner, doc) doc,
    static const char *const names[AB_HOOK_COUNT] = {NULL, AB_HOOKS(HOOK_DOC)};
    own.page->hook = tape_latest ? names[tape_latest->hook] : NULL;
}
static void on_crash(int signal_number)
{
    record_hook();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void limit(int what, rlim_t most) { setrlimit(what, &(struct rlimit){most, most}); }

/* In the child: sets signal handlers and resource limits. */
static void prepare(void)
{
    static const int deaths[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGPROF};
    struct sigaction a = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_NODEFER};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigaltstack(&(stack_t){.ss_sp = own.page->stack, .ss_size = sizeof own.page->stack}, NULL);
    for (size_t i = 0; i < LENGTH(deaths); i++) sigaction(deaths[i], &a, NULL);
    atexit(record_hook);
    limit(RLIMIT_CORE, 0);
    if (own.room->no_sandbox) return;
    limit(RLIMIT_CPU, PROCESSOR);
    limit(RLIMIT_FSIZE, FILE_SIZE); /* limits files in memory, too */
    limit(RLIMIT_NOFILE, FILES);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* these sanitizers and CUDA map terabytes */
    if (!on_gpu()) limit(RLIMIT_AS, MEMORY);
#endif
}

static int shut(err *e)
{
    int flags = SANDBOX_ALONE | (on_gpu() ? SANDBOX_GPU : 0);
    if (!own.room->no_sandbox && !sandbox_missing() && sandbox_enter(NULL, 0, flags, e)) return -1;
    return plugin_open_described(e);
}

/* Did LLVM's OpenMP (seen with version 14) abort because the sandbox forbids shared memory? */
static bool openmp_shut_out(void)
{
    return !own.room->no_sandbox && !own.page->check && dlsym(RTLD_DEFAULT, "__kmpc_fork_call");
}

/* Writes the failure of a child that did not end properly. */
static void describe(int status, bool waited, check_result *r)
{
    const char *hook = own.page->hook ? own.page->hook : "", *in = *hook ? ", in " : "";
    int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    *r = (check_result){.name = own.page->check ? own.page->check : "start", .measured = -1};
    r->late = own.page->code < 0 || waited || by == SIGPROF || by == SIGXCPU;
    if (own.page->code < 0)
        check_fail(r, "cannot start a process for the check: %s", strerror(-own.page->code));
    else if (waited)
        check_fail(r, "took longer than %d s on the clock in '%s'%s%s", CLOCK, r->name, in, hook);
    else if (r->late)
        check_fail(r, "took longer than %d s of processor time in '%s'%s%s", by == SIGPROF ? patience() : PROCESSOR,
                   r->name, in, hook);
    else if (by == SIGABRT && openmp_shut_out())
        check_fail(
            r, "the OpenMP of this build (LLVM's) ends where it cannot make shared memory, as in the sandbox: check "
               "with --no-sandbox, or build with GCC");
    else if (by && same(r->name, "load"))
        check_fail(r,
                   "cannot be opened: died by signal %d (%s) while it was opened; is the file complete, does it have a "
                   "constructor?",
                   by, strsignal(by));
    else if (!by && same(r->name, "load"))
        check_fail(r, "cannot be opened: it ends the process with exit status %d while it is opened",
                   WEXITSTATUS(status));
    else if (by)
        check_fail(r, "died by signal %d (%s) in '%s'%s%s", by, strsignal(by), r->name, in, hook);
    else
        check_fail(r, "ended the process with exit status %d in '%s'%s%s: plugins return, they do not exit",
                   WEXITSTATUS(status), r->name, in, hook);
}

/* Runs `work` in a child. Returns true if the child ended properly. Else sets *status; *waited: killed after CLOCK. */
static bool run_apart(void (*work)(void *self), void *self, int *status, bool *waited)
{
    uint64_t number = 0;
    while (getrandom(&number, sizeof number, 0) < 0 || !number) continue;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prepare();
        work(self);
        own.page->done = number;
        _exit(0);
    }
    if (pid < 0) own.page->code = -errno;
    const char *check = NULL;
    double since = ticks();
    for (pid_t ended = 0; pid > 0 && ended != pid; usleep(POLL)) {
        ended = waitpid(pid, status, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR)) break;
        if (own.page->check != check) check = own.page->check, since = ticks();
        if (ticks() - since < CLOCK || *waited) continue;
        *waited = true;
        kill(pid, SIGKILL);
    }
    return own.page->done == number && WIFEXITED(*status) && !WEXITSTATUS(*status);
}

static bool open_page(const check_room *where, err *e)
{
    own.room = where;
    own.page = mmap(NULL, sizeof *own.page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (own.page == MAP_FAILED) return own.page = NULL, fail(e, "no memory for a check"), false;
    return true;
}
static void close_page(void)
{
    munmap(own.page, sizeof *own.page);
    own.page = NULL;
}

static void check_named(void *self)
{
    const char *name = self;
    check_report *out = &own.page->report;
    err e = {0};
    const backend *on = NULL;
    check_second_start(shut);
    if (shut(&e) || (own.room->device && !(on = device_open(own.room->device, &e)))) {
        out->state = CHECK_USAGE;
    } else {
        check_use_device(on);
        own.page->check = "load";
        const plugin *p = check_find(name, &e);
        out->state = p ? CHECK_DONE : file_exists(name) ? CHECK_REFUSED : CHECK_USAGE;
        if (p && check_settings_fit(p, &e)) out->state = CHECK_USAGE, p = NULL;
        if (p) {
            snprintf(out->name, sizeof out->name, "%s", p->desc.name);
            snprintf(out->path, sizeof out->path, "%s", p->path);
            out->kind = p->desc.kind;
            out->n = check_plugin(p, NULL, out->r);
        }
    }
    snprintf(out->message, sizeof out->message, "%s", e.text);
}

void check_in_sandbox(const char *name, const check_room *where, check_report *out)
{
    err e = {0};
    int status = 0;
    bool waited = false;
    *out = (check_report){.state = file_exists(name) ? CHECK_REFUSED : CHECK_USAGE};
    AUTOFREE char *file = plugin_suffix(name) ? plugin_prepare(name, &e) : NULL;
    if (e.text[0] || !open_page(where, &e)) {
        snprintf(out->message, sizeof out->message, "%s", e.text);
        return;
    }
    bool ended = run_apart(check_named, file ? file : (char *)name, &status, &waited);
    *out = own.page->report;
    out->name[sizeof out->name - 1] = out->path[sizeof out->path - 1] = out->message[sizeof out->message - 1] = 0;
    if (out->n > CHECK_MOST - 1) out->n = 0;
    for (size_t i = 0; i < out->n; i++) out->r[i].message[sizeof out->r[i].message - 1] = 0;
    bool whole = check_is_whole(out->kind, out->r, out->n, ended);
    if (!ended || (out->state == CHECK_DONE && !whole)) {
        if (!whole) out->n = 0;
        out->state = CHECK_DONE;
        if (!*out->path) snprintf(out->path, sizeof out->path, "%s", name);
        describe(status, waited, &out->r[out->n++]);
    }
    close_page();
}

typedef struct {
    int (*work)(void *self);
    void *self;
} task;
static void work_shut_in(void *self)
{
    err e = {0};
    const task *t = self;
    own.page->code = shut(&e) ? fprintf(stderr, "%s\n", e.text), 1 : t->work(t->self);
    fflush(NULL);
}

int check_shut_in(int (*work)(void *self), void *self, const check_room *where, err *e)
{
    int status = 0;
    bool waited = false;
    check_result r;
    if (!open_page(where, e)) return -1;
    int code = run_apart(work_shut_in, &(task){work, self}, &status, &waited)
                   ? own.page->code
                   : (describe(status, waited, &r), fail(e, "%s", r.message));
    close_page();
    return code;
}
