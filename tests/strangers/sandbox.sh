#!/usr/bin/env bash
# A plugin tries to reach outside of the sandbox, in `ablate check` and in workers with --sandbox, on this kernel and on
# one whose Landlock has version 2 (simulated): each attempt that succeeds without the sandbox is refused in it.
source "$(dirname "$0")/../cli/common.bash" "$@"
cat >reach.c <<'C'
#define _GNU_SOURCE
#include "ab_plugin.h"
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char *file(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", getenv("REACH"), name);
    return path;
}
/* Refused is what the sandbox refuses; all else has reached the kernel. */
static void got(const char *what, long result)
{
    int why = errno;
    if (result < 0 && (why == EPERM || why == EACCES || why == ENOSYS || why == EXDEV)) return;
    dprintf(2, "reached: %s\n", what);
}
#define TRY(call) (errno = 0, got(#call, (long)(call)))
static void try_files(void)
{
    struct timespec never[2] = {{0}};
    struct timeval old[2] = {{0}};
    int fd = open(file("victim"), O_RDONLY);
    TRY(open(file("new"), O_WRONLY | O_CREAT, 0666));
    TRY(open(file("victim"), O_WRONLY));
    TRY(open(file("victim"), O_RDONLY | O_TRUNC));
    TRY(open(file("victim"), O_ACCMODE | O_TRUNC));
    TRY(truncate(file("victim"), 1));
    TRY(open("/dev/shm/ablate-reach", O_RDWR | O_CREAT, 0600));
    TRY(open("/dev/zero", O_RDWR));
    TRY(open("/dev/ptmx", O_RDWR));
    TRY(chmod(file("victim"), 0604));
    TRY(fchmod(fd, 0640));
    TRY(fchmodat(AT_FDCWD, file("victim"), 0604, 0));
    TRY(syscall(452, AT_FDCWD, file("victim"), 0604, 0));
    TRY(chown(file("victim"), getuid(), getgid()));
    TRY(lchown(file("victim"), getuid(), getgid()));
    TRY(fchown(fd, getuid(), getgid()));
    TRY(fchownat(AT_FDCWD, file("victim"), getuid(), getgid(), 0));
    TRY(utimensat(AT_FDCWD, file("victim"), never, 0));
    TRY(futimens(fd, never));
    TRY(utimes(file("victim"), old));
    TRY(setxattr(file("victim"), "user.x", "1", 1, 0));
    TRY(lsetxattr(file("victim"), "user.x", "1", 1, 0));
    TRY(fsetxattr(fd, "user.x", "1", 1, 0));
    TRY(removexattr(file("victim"), "user.x"));
    TRY(ioctl(fd, 0x40086602, &(long){0})); /* FS_IOC_SETFLAGS */
    TRY(rename(file("victim"), file("moved")));
    TRY(syscall(437, AT_FDCWD, file("victim"), &(uint64_t[3]){O_RDONLY}, 24)); /* openat2 */
    close(fd);
}
static void try_others(pid_t other)
{
    struct rlimit most;
    struct sched_param batch = {0};
    cpu_set_t all;
    siginfo_t si = {.si_code = -1};
    sched_getaffinity(0, sizeof all, &all);
    getrlimit(RLIMIT_CORE, &most);
    TRY(kill(other, 0));
    TRY(syscall(__NR_tgkill, other, other, 0));
    TRY(syscall(__NR_tkill, other, 0));
    TRY(syscall(__NR_rt_sigqueueinfo, other, 0, &si));
    TRY(syscall(424, syscall(434, other, 0), 0, NULL, 0)); /* pidfd_send_signal */
    TRY(fcntl(0, F_SETOWN, other));
    TRY(prlimit(other, RLIMIT_CORE, &most, NULL));
    TRY(setpriority(PRIO_PROCESS, (id_t)other, 1));
    TRY(setpriority(PRIO_USER, 0, 1));
    TRY(sched_setscheduler(other, SCHED_BATCH, &batch));
    TRY(sched_setparam(other, &batch));
    TRY(sched_setaffinity(other, sizeof all, &all));
    TRY(syscall(__NR_ioprio_set, 1, other, 3 << 13));
    TRY(process_vm_writev(other, NULL, 0, NULL, 0, 0));
    TRY(ptrace(PTRACE_SEIZE, other, NULL, NULL));
}
static void try_system(void)
{
    int pair[2];
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "/nowhere"};
    TRY(socket(AF_UNIX, SOCK_STREAM, 0));
    TRY(socket(AF_INET, SOCK_STREAM, 0));
    TRY(socket(AF_NETLINK, SOCK_RAW, 0));
    TRY(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    if (!socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) {
        TRY(sendto(pair[0], "x", 1, 0, (struct sockaddr *)&at, sizeof at));
        TRY(bind(pair[0], (struct sockaddr *)&at, sizeof at));
    }
    TRY(ioctl(0, TIOCSTI, "x"));
    TRY(ioctl(0, 0x541c, "x")); /* TIOCLINUX */
    TRY(ioctl(0, TIOCSETD, "x"));
    TRY(ioctl(0, 0x8901, "x")); /* FIOSETOWN */
    int memory = shmget(IPC_PRIVATE, 4096, 0600), semaphore, queue;
    got("shmget", memory);
    TRY(shmat(99999999, NULL, 0));
    got("semget", semaphore = semget(IPC_PRIVATE, 1, 0600));
    got("msgget", queue = msgget(IPC_PRIVATE, 0600));
    TRY(mq_open("/ablate-reach", O_RDWR | O_CREAT, 0600, NULL));
    shmctl(memory, IPC_RMID, NULL), semctl(semaphore, 0, IPC_RMID), msgctl(queue, IPC_RMID, NULL);
    mq_unlink("/ablate-reach");
    TRY(syscall(__NR_keyctl, 99999));
    TRY(syscall(__NR_bpf, 99999, NULL, 0));
    TRY(syscall(__NR_userfaultfd, 99999));
    TRY(syscall(__NR_perf_event_open, NULL, 0, -1, -1, 0));
    TRY(syscall(425, 1, NULL)); /* io_uring_setup */
    TRY(syscall(435, NULL, 0)); /* clone3 */
    TRY(unshare(0));
    TRY(syscall(__NR_mount, NULL, "/nowhere", NULL, 0, NULL));
    TRY(syscall(__NR_settimeofday, NULL, (void *)8));
}
static void try_limits(void) /* what `check` refuses too */
{
    struct rlimit most;
    getrlimit(RLIMIT_NOFILE, &most);
    pid_t child = fork();
    if (!child) _exit(0);
    got("fork", child);
    if (child > 0) waitpid(child, NULL, 0);
    TRY(execv("/nowhere", (char *[]){NULL}));
    TRY(setrlimit(RLIMIT_NOFILE, &most));
    void *much = mmap(NULL, 17ul << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = EPERM;
    got("17 GiB", much == MAP_FAILED ? -1 : 0);
}
__attribute__((constructor)) static void born(void)
{
    if (!getenv("REACH")) return;
    try_files(), try_others(atoi(getenv("REACH_PID"))), try_system(), try_limits();
}
static ab_t forward(ab_ctx *c, const void *cfg, ab_t x) { return (void)cfg, (void)c, x; }
static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(char, params, &self, .name = "reach", .doc = "rows as they are");
C
cat >quits.c <<'C'
#include <stdlib.h>
__attribute__((constructor)) static void born(void) { exit(0); }
C
cc -shared -fPIC -o quits.so quits.c
export REACH=$work/mine
victim() { rm -rf mine && mkdir mine && echo precious >mine/victim && touch -d 2001-01-01 mine/victim; }
state() { echo "$(ls mine) $(cat mine/victim) $(stat -c %a-%Y mine/victim)"; }
victim
before=$(state)
sleep 600 &
export REACH_PID=$!
unlimited='^$'
if grep -q __asan_init "$program"; then unlimited='^17 GiB$'; fi # AddressSanitizer itself maps more memory
reached() { sed -n 's/^reached: //p' err | sort -u; }

echo "outside"
ablate list plugins >/dev/null # the header's folder is known
ablate check ./reach.c --no-sandbox >out 2>err
reached >outside
[ "$(wc -l <outside)" -ge 40 ] || wrong "outside of the sandbox only this succeeds: $(cat outside)"
rm -f /dev/shm/ablate-reach
for version in "" 2; do
    echo "check${version:+, Landlock $version}"
    victim
    ABLATE_LANDLOCK=$version ablate check ./reach.c >out 2>err
    if grep -q "checked without a sandbox" err; then echo "skipped: $(cat err)"; exit 77; fi
    has err "sandbox: Landlock ${version:-}"
    has err "MPS is off"
    [ -z "$version" ] || has err "this kernel cannot refuse truncate by folder"
    equal "$(reached | grep -v "$unlimited")" "" "what it reaches from the sandbox${version:+ with Landlock $version}"
    equal "$(state)" "$before" "the files after it"
    kill -0 $REACH_PID || wrong "another process is gone"
    for how in "--device cpu ./reach.so" "--coordinates -s feed_forward=$work/reach.so"; do
        # shellcheck disable=SC2086
        ABLATE_LANDLOCK=$version ablate check $how >out 2>err
        equal "$(reached | grep -v "$unlimited")" "" "what it reaches from check $how"
    done
    echo "run --sandbox${version:+, Landlock $version}"
    victim
    name=reach$version
    tiny $name 5 | sed '/^\[base\]/a feed_forward = ./reach.so' >$name.ini
    exits 0 env ABLATE_LANDLOCK=$version "$program" run $name.ini --threads 1 --progress plain --sandbox
    has err "sandbox: Landlock ${version:-}"
    equal "$(reached | grep -v "^17 GiB$")" "" "what it reaches from planning"
    find . -path "*/$name/*" -name log.txt -exec cat {} + >err
    equal "$(reached | grep -v -e '^fork$' -e '^execv(' -e '^setrlimit(' -e '^17 GiB$')" "" "what it reaches from a worker"
    [ -n "$(reached)" ] || wrong "the worker does not open it"
    equal "$(state)" "$before" "the files after a run"
done
kill -0 $REACH_PID || wrong "another process is gone"

echo "who exits has not passed"
for how in ./quits.so "--device cpu ./quits.so" "--coordinates -s feed_forward=$work/quits.so"; do
    # shellcheck disable=SC2086
    exits 1 ablate check $how
    cat out err >said
    has said "exit status 0"
done

echo "a check that ran out of time is not remembered"
cat >slow.c <<'C'
#include "ab_plugin.h"
#include <time.h>
#include <unistd.h>
static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    if (!access(SLOW, F_OK))
        for (clock_t end = clock() + CLOCKS_PER_SEC / 200; clock() < end;) {}
    return ab_linear(c, x, "w", ab_info(c)->d_model, 1);
}
static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(char, params, &self, .name = "slow", .doc = "a linear map, slowly");
C
unset REACH
sed -i "1i #define SLOW \"$work/slowly\"" slow.c
touch slowly
tiny slow 5 | sed '/^\[base\]/a feed_forward = ./slow.c' >slow.ini
sed 's/= slow$/= again/' slow.ini >again.ini
exits 0 env ABLATE_CHECK_SECONDS=1 "$program" run slow.ini --threads 1 --progress plain
has err "feed_forward/slow is new and failed \`ablate check\`: calls: took longer than 1 s of processor time in 'calls'"
rm slowly
exits 0 ablate run again.ini --threads 1 --progress plain
has err "feed_forward/slow is new and passed \`ablate check\`"

cat >other.c <<'C'
#include "ab_plugin.h"
static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    int64_t d = ab_info(c)->d_model;
    return ab_layer_norm(c, x, ab_weight_full(c, "g", 1, d), ab_weight(c, "b", 0, d), 1e-5);
}
static const ab_option params[] = {{0}};
static const ab_norm_plugin self = {.forward = forward};
AB_PLUGIN(char, params, &self, .name = "other", .doc = "a layer norm");
C
echo "a matched budget, counted in the sandbox and outside"
rm -f slowly
chosen() { grep "^match = params: row gets" err; }
for how in --sandbox ""; do
    name=match${how#--}
    tiny $name 5 | sed 's/^\[experiment\]/&\nmatch = params by d_ff/' >$name.ini
    printf '[variant row]\nattention = differential\n' >>$name.ini
    sed -i '/^\[base\]/a norm = ./other.c' $name.ini
    # shellcheck disable=SC2086
    exits 0 ablate run $name.ini --threads 1 --progress plain $how
    [ -z "$how" ] || has err "norm/other is new and passed \`ablate check\`"
    equal "$(chosen)" "$(cat chosen 2>/dev/null || chosen)" "the matched value $how"
    chosen >chosen
    [ -s chosen ] || wrong "no value is matched"
done

echo "a step that does not end, in the sandbox"
sed 's/clock() < end;) {}/;) {}/; s/"slow"/"stuck"/' slow.c >stuck.c
touch slowly
tiny stuck 5 | sed '/^\[base\]/a feed_forward = ./stuck.c' >stuck.ini
exits 1 ablate run stuck.ini --threads 1 --progress plain --sandbox --no-check --step-limit 2
has err "(--step-limit)"
kill $REACH_PID
finish
