/* child.c - checks a plugin in a child process, so that a crash, endless loop or exit is a failure of the named
 * check. */
#include "base/sandbox.h"
#include "network/check/internal.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE = 120 }; /* seconds for one check */

typedef struct { /* shared by both processes; pointers are to constants, which have one address in both */
    size_t n;
    bool done;
    const char *check, *hook;
    check_result r[CHECK_MOST];
} shared;

static shared *page;
static bool open_doors;
void check_without_sandbox(void) { open_doors = true; }

void check_begins(const char *name, size_t n_done)
{
    if (!page) return;
    page->check = name;
    page->n = n_done;
    alarm(PATIENCE);
}

/* In the dying process: records where the plugin was. Then the signal takes its course. */
static void note_hook(void)
{
#define HOOK_DOC(NAME, owner, doc) doc,
    static const char *const names[AB_HOOK_COUNT] = {NULL, AB_HOOKS(HOOK_DOC)};
    page->hook = tape_latest ? names[tape_latest->hook] : NULL;
}
static void on_crash(int signal_number)
{
    note_hook();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* In the child: no core file; the handler has a stack of its own, for a plugin that has used up the other. */
static void prepare(void)
{
    static char stack[65536];
    static const int deaths[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM};
    struct rlimit none = {0, 0};
    struct sigaction a = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_NODEFER};
    setrlimit(RLIMIT_CORE, &none);
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    for (size_t i = 0; i < LENGTH(deaths); i++) sigaction(deaths[i], &a, NULL);
    atexit(note_hook);
}

/* LLVM's OpenMP (seen with version 14) ends a process in which it cannot make its shared memory, as in the sandbox. */
static bool openmp_shut_out(void)
{
    if (open_doors || page->check || !dlsym(RTLD_DEFAULT, "__kmpc_fork_call")) return false;
    char name[64];
    snprintf(name, sizeof name, "/ablate-check-%d", (int)getpid());
    int fd = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (fd < 0) return true;
    close(fd);
    shm_unlink(name);
    return false;
}

/* Describes how the child ended, unless it ended normally. */
static void describe(int status, check_result *r)
{
    const char *hook = page->hook ? page->hook : "", *in = *hook ? ", in " : "";
    *r = (check_result){.name = page->check ? page->check : "start", .outcome = CHECK_FAIL, .measured = -1};
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(r->message, sizeof r->message, "took longer than %d s in '%s'%s%s", PATIENCE, r->name, in, hook);
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && openmp_shut_out())
        snprintf(r->message, sizeof r->message,
                 "the OpenMP of this build (LLVM's) ends where it cannot make shared memory, as in the sandbox: check "
                 "with --no-sandbox, or build with GCC");
    else if (WIFSIGNALED(status))
        snprintf(r->message, sizeof r->message, "died by signal %d (%s) in '%s'%s%s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), r->name, in, hook);
    else
        snprintf(r->message, sizeof r->message,
                 "ended the process with exit status %d in '%s'%s%s: plugins return, they do not exit",
                 WEXITSTATUS(status), r->name, in, hook);
}

size_t check_in_child(const plugin *p, check_result out[CHECK_MOST])
{
    if (check_the_device()) return check_plugin(p, out); /* a GPU's context does not live through fork */
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return page = NULL, check_plugin(p, out);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prepare();
        err none = {0};
        if (!open_doors && !sandbox_missing()) sandbox_enter(NULL, 0, false, &none);
        page->n = check_plugin(p, page->r);
        page->done = true;
        _exit(0);
    }
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    size_t n = page->n;
    memcpy(out, page->r, n * sizeof *out);
    if (pid > 0 && !page->done) describe(status, &out[n++]);
    munmap(page, sizeof *page);
    page = NULL;
    return pid < 0 ? check_plugin(p, out) : n;
}
