#include "base/sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- files: Landlock. Its numbers stand here because headers of older systems lack them ---- */

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, BENEATH = 1, VERSION = 1 };
enum { /* rights; READ_FILE, READ_DIR and EXECUTE are not handled, so they stay free */
       WRITE_FILE = 1 << 1,
       CHANGES = 0x1ff0,  /* REMOVE_DIR, REMOVE_FILE, MAKE_CHAR .. MAKE_SYM */
       REFER = 1 << 13,   /* version 2: rename and link into other folders */
       TRUNCATE = 1 << 14 /* version 3 */
};
enum { SCOPED = 3 }; /* version 6: abstract sockets and signals reach processes of the sandbox only */
typedef struct {
    uint64_t files, network, scoped;
} ruleset; /* version 6; earlier ones take its beginning */
typedef struct {
    uint64_t allowed;
    int32_t folder;
} __attribute__((packed)) rule;

static long version(void) { return syscall(CREATE_RULESET, NULL, 0, VERSION); }

const char *sandbox_missing(void)
{
    return version() > 0 ? NULL : "this kernel has no Landlock (Linux 5.13, with landlock among its security modules)";
}

static uint64_t rights_of(long v) { return WRITE_FILE | CHANGES | (v >= 2 ? REFER : 0) | (v >= 3 ? TRUNCATE : 0); }

static int allow(int rules, const char *path, uint64_t rights, err *e)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    rule r = {rights, fd};
    if (fd < 0) return fail(e, "sandbox: %s: %s", path, strerror(errno));
    int bad = syscall(ADD_RULE, rules, BENEATH, &r, 0) ? fail(e, "sandbox: %s: %s", path, strerror(errno)) : 0;
    close(fd);
    return bad;
}

static int shut_files(const char *const *writable, size_t n, bool devices, err *e)
{
    long v = version();
    uint64_t all = rights_of(v), file = all & (WRITE_FILE | TRUNCATE);
    ruleset r = {.files = all, .scoped = SCOPED};
    int rules = (int)syscall(CREATE_RULESET, &r, v >= 6 ? sizeof r : sizeof r.files, 0);
    if (rules < 0) return fail(e, "sandbox: %s", strerror(errno));
    int bad = allow(rules, devices ? "/dev" : "/dev/null", file, e);
    for (size_t i = 0; i < n && !bad; i++) bad = allow(rules, writable[i], all, e);
    if (!bad && syscall(RESTRICT_SELF, rules, 0)) bad = fail(e, "sandbox: %s", strerror(errno));
    close(rules);
    return bad;
}

/* ---- the network and other processes: seccomp ---- */

#if defined __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCH AUDIT_ARCH_AARCH64
#endif
enum { IO_URING_SETUP = 425, X32 = 0x40000000 };

static int shut_calls(err *e)
{
#define LOAD(field)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, what)
#define REFUSE(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), ANSWER(SECCOMP_RET_ERRNO | EPERM)
    static const struct sock_filter code[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
        ANSWER(SECCOMP_RET_ERRNO | EPERM), /* the calls of another processor family */
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1),
        ANSWER(SECCOMP_RET_ERRNO | EPERM),
        REFUSE(IO_URING_SETUP),
        REFUSE(__NR_ptrace),
        REFUSE(__NR_process_vm_writev),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 3),
        LOAD(args[0]), /* its lower half: x86-64 and aarch64 are little-endian */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0),
        ANSWER(SECCOMP_RET_ERRNO | EPERM),
        ANSWER(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {LENGTH(code), (struct sock_filter *)code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return fail(e, "sandbox: seccomp: %s", strerror(errno));
    return 0;
}

int sandbox_enter(const char *const *writable, size_t n, bool devices, err *e)
{
    const char *missing = sandbox_missing();
    if (missing) return fail(e, "no sandbox: %s", missing);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return fail(e, "sandbox: %s", strerror(errno));
    return shut_files(writable, n, devices, e) || shut_calls(e) ? -1 : 0;
}
