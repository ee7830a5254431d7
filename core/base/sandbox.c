#include "base/sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- files: Landlock. Defines its numbers, which headers of older systems lack ---- */

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, BENEATH = 1, VERSION = 1 };
enum { /* rights; READ_FILE, READ_DIR and EXECUTE are not handled, hence allowed */
       WRITE_FILE = 1 << 1,
       CHANGES = 0x1ff0,  /* REMOVE_DIR, REMOVE_FILE, MAKE_CHAR .. MAKE_SYM */
       REFER = 1 << 13,   /* version 2: rename and link into other folders */
       TRUNCATE = 1 << 14 /* version 3 */
};
enum { SCOPED = 3 }; /* version 6: abstract sockets and signals reach only processes in the sandbox */
enum { TRUNCATES = 3, SIGNALS = 6 };
typedef struct {
    uint64_t files, network, scoped;
} ruleset; /* as of Landlock's version 6; earlier kernels read its beginning */
typedef struct {
    uint64_t allowed;
    int32_t folder;
} __attribute__((packed)) rule;

/* Landlock's version. ABLATE_LANDLOCK lowers it, so that tests reach the seccomp rules for older kernels. */
static long version(void)
{
    long v = syscall(CREATE_RULESET, NULL, 0, VERSION);
    double at_most = environment_real("ABLATE_LANDLOCK", 0);
    return at_most >= 1 && at_most < (double)v ? (long)at_most : v;
}

const char *sandbox_missing(void)
{
    return version() > 0 ? NULL : "this kernel has no Landlock (Linux 5.13, with landlock among its security modules)";
}

const char *sandbox_words(char out[256])
{
    long v = version();
    snprintf(out, 256, "sandbox: Landlock %ld and seccomp; reading files is not refused%s%s; MPS is off", v,
             v < TRUNCATES ? "; this kernel cannot refuse truncate by folder, so it is refused in all" : "",
             v < SIGNALS ? "; nor signals by process, so all but its own are" : "");
    return out;
}

static uint64_t rights_of(long v)
{
    return WRITE_FILE | CHANGES | (v >= 2 ? REFER : 0) | (v >= TRUNCATES ? TRUNCATE : 0);
}

static int allow(int rules, const char *path, uint64_t rights, err *e)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    rule r = {rights, fd};
    if (fd < 0) return fail(e, "sandbox: %s: %s", path, strerror(errno));
    int bad = syscall(ADD_RULE, rules, BENEATH, &r, 0) ? fail(e, "sandbox: %s: %s", path, strerror(errno)) : 0;
    close(fd);
    return bad;
}

static int allow_gpu(int rules, uint64_t rights, err *e)
{
    glob_t found = {0};
    int bad = glob("/dev/nvidia*", 0, NULL, &found) == GLOB_NOSPACE ? fail(e, "sandbox: %s", strerror(ENOMEM)) : 0;
    for (size_t i = 0; i < found.gl_pathc && !bad; i++) bad = allow(rules, found.gl_pathv[i], rights, e);
    globfree(&found);
    return bad;
}

static int shut_files(const char *const *writable, size_t n, int flags, err *e)
{
    long v = version();
    uint64_t all = rights_of(v), file = all & (WRITE_FILE | TRUNCATE);
    ruleset r = {.files = all, .scoped = SCOPED};
    int rules = (int)syscall(CREATE_RULESET, &r, v >= SIGNALS ? sizeof r : sizeof r.files, 0);
    if (rules < 0) return fail(e, "sandbox: %s", strerror(errno));
    int bad = allow(rules, "/dev/null", file, e);
    if (!bad && flags & SANDBOX_GPU) bad = allow_gpu(rules, file, e);
    for (size_t i = 0; i < n && !bad; i++) bad = allow(rules, writable[i], all, e);
    if (!bad && syscall(RESTRICT_SELF, rules, 0)) bad = fail(e, "sandbox: %s", strerror(errno));
    close(rules);
    return bad;
}

/* ---- all else: seccomp ---- */

#if defined __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCH AUDIT_ARCH_AARCH64
#endif
enum { /* system calls that older headers lack; their numbers are equal on all processors */
       PIDFD_SEND_SIGNAL = 424,
       IO_URING_SETUP,
       IO_URING_ENTER,
       IO_URING_REGISTER,
       OPEN_TREE,
       MOVE_MOUNT,
       FSOPEN,
       FSCONFIG,
       FSMOUNT,
       FSPICK,
       CLONE3 = 435,
       OPENAT2 = 437,
       PIDFD_GETFD,
       MOUNT_SETATTR = 442,
       FCHMODAT2 = 452,
       SETXATTRAT = 463,
       REMOVEXATTRAT = 466,
       OPEN_TREE_ATTR,
       FILE_SETATTR = 469
};
enum {
    X32 = 0x40000000,
    NAMESPACES =
        CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
};

/* System calls refused by number, whatever their arguments. */
static const int refused[] = {
#ifdef __x86_64__
    __NR_chmod, __NR_chown, __NR_lchown, __NR_utime, __NR_utimes, __NR_futimesat, __NR_iopl, __NR_ioperm,
    __NR_create_module, __NR__sysctl, __NR_uselib,
#endif
    /* modes, owners, times, attributes of files */
    __NR_fchmod, __NR_fchmodat, FCHMODAT2, __NR_fchown, __NR_fchownat, __NR_utimensat, __NR_setxattr, __NR_lsetxattr,
    __NR_fsetxattr, SETXATTRAT, __NR_removexattr, __NR_lremovexattr, __NR_fremovexattr, REMOVEXATTRAT, FILE_SETATTR,
    /* the network and local sockets; unnamed pairs stay allowed */
    __NR_socket, __NR_connect, __NR_bind, __NR_listen, __NR_accept, __NR_accept4,
    /* other processes */
    __NR_ptrace, __NR_process_vm_writev, PIDFD_GETFD, PIDFD_SEND_SIGNAL, __NR_tkill, __NR_ioprio_set,
    __NR_sched_setparam, __NR_sched_setscheduler, __NR_sched_setattr,
    /* shared memory */
    __NR_shmget, __NR_shmat, __NR_shmctl, __NR_semget, __NR_semop, __NR_semtimedop, __NR_semctl, __NR_msgget,
    __NR_msgsnd, __NR_msgrcv, __NR_msgctl, __NR_mq_open, __NR_mq_unlink,
    /* calls whose arguments the filter cannot see */
    IO_URING_SETUP, IO_URING_ENTER, IO_URING_REGISTER,
    /* the system */
    __NR_mount, __NR_umount2, __NR_pivot_root, __NR_chroot, OPEN_TREE, OPEN_TREE_ATTR, MOVE_MOUNT, FSOPEN, FSCONFIG,
    FSMOUNT, FSPICK, MOUNT_SETATTR, __NR_unshare, __NR_setns, __NR_add_key, __NR_request_key, __NR_keyctl, __NR_bpf,
    __NR_userfaultfd, __NR_perf_event_open, __NR_fanotify_init, __NR_open_by_handle_at, __NR_kexec_load,
    __NR_init_module, __NR_finit_module, __NR_delete_module, __NR_reboot, __NR_swapon, __NR_swapoff, __NR_settimeofday,
    __NR_clock_settime, __NR_clock_adjtime, __NR_adjtimex, __NR_sethostname, __NR_setdomainname, __NR_quotactl,
    __NR_acct, __NR_syslog, __NR_vhangup};

typedef struct {
    struct sock_filter code[512];
    unsigned short n;
} filter;

static void add(filter *f, uint16_t what, uint32_t k, uint8_t yes, uint8_t no)
{
    f->code[f->n++] = (struct sock_filter){what, yes, no, k};
}
static void load(filter *f, size_t at) { add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)at, 0, 0); }
static void answer(filter *f, uint32_t what) { add(f, BPF_RET | BPF_K, what, 0, 0); }
static void jump(filter *f, long value, uint8_t yes, uint8_t no)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)value, yes, no);
}
enum { NO = SECCOMP_RET_ERRNO | EPERM, NONE = SECCOMP_RET_ERRNO | ENOSYS };

static void refuse(filter *f, int call, uint32_t how)
{
    jump(f, call, 0, 1);
    answer(f, how);
}

/* x86-64 and aarch64 are little-endian: the lower half comes first. */
static size_t argument(int i, bool upper) { return offsetof(struct seccomp_data, args[i]) + (upper ? 4 : 0); }

/* Refuses the call if (argument & mask) == value is `equal`. */
static void refuse_where(filter *f, int call, size_t at, uint32_t mask, long value, bool equal)
{
    jump(f, call, 0, 5);
    load(f, at);
    add(f, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    jump(f, value, equal ? 0 : 1, equal ? 1 : 0);
    answer(f, NO);
    load(f, offsetof(struct seccomp_data, nr));
}
static void only(filter *f, int call, int i, long value)
{
    refuse_where(f, call, argument(i, false), UINT32_MAX, value, false);
}
static void only_null(filter *f, int call, int i)
{
    only(f, call, i, 0);
    refuse_where(f, call, argument(i, true), UINT32_MAX, 0, false);
}

/* Allows the ioctl calls that a program needs for its own files, and a GPU driver's, of types 'F' and 0. */
static void shut_devices(filter *f, int flags)
{
    static const long allowed[] = {TCGETS, TIOCGWINSZ, TIOCGPGRP, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX};
    bool gpu = flags & SANDBOX_GPU;
    jump(f, __NR_ioctl, 0, (uint8_t)(2 * LENGTH(allowed) + 2 + (gpu ? 5 : 0)));
    load(f, argument(1, false));
    for (size_t i = 0; i < LENGTH(allowed); i++) {
        jump(f, allowed[i], 0, 1);
        answer(f, SECCOMP_RET_ALLOW);
    }
    if (gpu) {
        add(f, BPF_ALU | BPF_AND | BPF_K, 0xff00, 0, 0);
        jump(f, 'F' << 8, 0, 1);
        answer(f, SECCOMP_RET_ALLOW);
        jump(f, 0, 0, 1);
        answer(f, SECCOMP_RET_ALLOW);
    }
    answer(f, NO);
}

/* Refuses limits, priorities and signals of other processes. */
static void shut_processes(filter *f, int flags)
{
    static const int mine[] = {__NR_prlimit64, __NR_sched_setaffinity, __NR_migrate_pages, __NR_move_pages};
    for (size_t i = 0; i < LENGTH(mine); i++) only(f, mine[i], 0, 0);
    only(f, __NR_setpriority, 0, PRIO_PROCESS);
    only(f, __NR_setpriority, 1, 0);
    refuse_where(f, __NR_fcntl, argument(1, false), UINT32_MAX, F_SETOWN, true);
    refuse_where(f, __NR_fcntl, argument(1, false), UINT32_MAX, F_SETOWN_EX, true);
    refuse_where(f, __NR_socketpair, argument(1, false), 0xf, SOCK_DGRAM, true); /* its sockets can send to any name */
    only_null(f, __NR_sendto, 4);
    refuse(f, CLONE3, NONE); /* libraries then use clone, whose flags the filter sees */
    refuse(f, OPENAT2, NONE);
    refuse_where(f, __NR_clone, argument(0, false), NAMESPACES, 0, false);
    if (flags & SANDBOX_ALONE) {
        only_null(f, __NR_prlimit64, 2);
        refuse(f, __NR_execve, NO);
        refuse(f, __NR_execveat, NO);
        refuse_where(f, __NR_clone, argument(0, false), CLONE_THREAD, 0, true);
#ifdef __x86_64__
        refuse(f, __NR_fork, NO);
        refuse(f, __NR_vfork, NO);
        refuse(f, __NR_setrlimit, NO);
#endif
    }
    if (version() >= SIGNALS) return;
    static const int signals[] = {__NR_kill, __NR_tgkill, __NR_rt_sigqueueinfo, __NR_rt_tgsigqueueinfo};
    for (size_t i = 0; i < LENGTH(signals); i++) only(f, signals[i], 0, getpid());
}

static void shut_truncation(filter *f)
{
    static const struct {
        int call, flags;
    } opens[] = {{__NR_openat, 2},
#ifdef __x86_64__
                 {__NR_open, 1}
#endif
    };
    refuse(f, __NR_truncate, NO);
    for (size_t i = 0; i < LENGTH(opens); i++) /* O_TRUNC without opening for writing, which Landlock does not see */
        for (int mode = 0; mode <= O_ACCMODE; mode += O_ACCMODE)
            refuse_where(f, opens[i].call, argument(opens[i].flags, false), O_TRUNC | O_ACCMODE, O_TRUNC | mode, true);
}

static int shut_calls(int flags, err *e)
{
    filter f = {.n = 0};
    load(&f, offsetof(struct seccomp_data, arch));
    jump(&f, ARCH, 1, 0);
    answer(&f, NO); /* system calls of another processor family */
    load(&f, offsetof(struct seccomp_data, nr));
    add(&f, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
    answer(&f, NO);
    for (size_t i = 0; i < LENGTH(refused); i++) refuse(&f, refused[i], NO);
    shut_processes(&f, flags);
    if (version() < TRUNCATES) shut_truncation(&f);
    shut_devices(&f, flags);
    answer(&f, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {f.n, f.code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? fail(e, "sandbox: seccomp: %s", strerror(errno)) : 0;
}

int sandbox_enter(const char *const *writable, size_t n, int flags, err *e)
{
    const char *missing = sandbox_missing();
    if (missing) return fail(e, "no sandbox: %s", missing);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return fail(e, "sandbox: %s", strerror(errno));
    return shut_files(writable, n, flags, e) || shut_calls(flags, e) ? -1 : 0;
}
