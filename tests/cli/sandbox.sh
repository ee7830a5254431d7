#!/usr/bin/env bash
# A plugin tries to write files, open sockets and signal other processes: all of this fails in `ablate check` and in
# workers with --sandbox. Results with --sandbox equal those without it.
source "$(dirname "$0")/common.bash" "$@"
cat >spy.c <<'C'
#include "ab_plugin.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
typedef struct {
    int64_t unused;
} config;
static void mark(const char *what) /* leaves a file where it can */
{
    char path[512];
    const char *folder = getenv("SPY");
    if (!folder) return;
    snprintf(path, sizeof path, "%s/%s", folder, what);
    FILE *f = fopen(path, "w");
    if (f) fclose(f);
}
__attribute__((constructor)) static void born(void) { mark("constructor"); }
static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    mark("forward");
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (s >= 0) fprintf(stderr, "a socket\n"), close(s);
    int other = getenv("SPY_PID") ? atoi(getenv("SPY_PID")) : 0; /* `check` changes the environment, too */
    if (other > 1) kill(other, SIGTERM);
    const char *victim = getenv("SPY_VICTIM");
    if (victim) unlink(victim), rename(victim, "elsewhere");
    return ab_output(c, ab_attend(c, ab_query(c, x), ab_key(c, mem), ab_value(c, mem), 1));
}
static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL | AB_CROSS,
                                         .accepts = AB_POS_EMBED, /* fewer encodings to check with */
                                         .forward = forward};
AB_PLUGIN(config, params, &self, .name = "spy", .doc = "dot-product attention that looks around", .version = "1.0");
C
mkdir seen
echo precious >precious
sleep 600 & # the plugin tries to kill this process
export SPY=$work/seen SPY_VICTIM=$work/precious SPY_PID=$!
alive() { kill -0 $SPY_PID 2>/dev/null && echo yes; }
tiny free 20 | sed '/^\[base\]/a attention = ./spy.c' >free.ini
sed 's/= free/= shut/' free.ini >shut.ini
ablate list plugins ./spy.c >/dev/null
if ! [ -e seen/constructor ]; then wrong "the plugin does not even write without a sandbox"; fi
rm -f seen/*
kill $SPY_PID 2>/dev/null # it may be dead already
sleep 600 &
SPY_PID=$!
echo precious >precious

echo "check"
exits 0 ablate check ./spy.c
if grep -q "checked without a sandbox" err; then echo "skipped: $(cat err)"; exit 77; fi
equal "$(ls seen)" "" "files written while it was checked"
equal "$(cat precious) $(alive)" "precious yes" "a file and another process after the check"
hasnt err "a socket"
has out "the same bits in a second process"
exits 0 ablate check ./spy.c --no-sandbox
has <(ls seen) forward
has err "a socket"

echo "LLVM's OpenMP, which aborts where it finds no shared memory: the cause is named"
cat >llvm.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>
void __kmpc_fork_call(void) {} /* by this name it is known */
pid_t fork(void)
{
    pid_t (*real)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork"), pid = real();
    if (!pid) abort();
    return pid;
}
C
cc -shared -fPIC -o llvm.so llvm.c -ldl
exits 1 env LD_PRELOAD="$work/llvm.so" "$program" check feed_forward/relu
has out "the OpenMP of this build (LLVM's) ends where it cannot make shared memory, as in the sandbox: check with"
exits 1 env LD_PRELOAD="$work/llvm.so" "$program" check feed_forward/relu --no-sandbox
has out "died by signal 6 (Aborted) in 'start'"

echo "workers"
rm -f seen/*
sleep 600 & SPY_PID=$!
echo precious >precious
exits 0 ablate run shut.ini --threads 1 --progress none --no-check --sandbox
equal "$(ls seen | grep -v constructor)" "" "files written by the worker"
equal "$(cat precious) $(alive)" "precious yes" "a file and another process after the run"
exits 0 ablate run free.ini --threads 1 --progress none --no-check
has <(ls seen) forward
[ -e precious ] && wrong "without a sandbox the plugin does not remove what it may"
results() { sql "SELECT metric,printf('%.17g',value) FROM results WHERE experiment='$1' ORDER BY 1"; }
equal "$(results shut)" "$(results free)" "results with and without a sandbox"
equal "$(sql "SELECT count(*) FROM attempt WHERE argv LIKE '%--sandbox%'")" 1 "attempts that say so"
exits 1 ablate run shut.ini --threads 1 --progress none --no-check --sandbox -s ranks=2
has err "--sandbox: found several ranks, which need a network"

echo "a run stopped and resumed in a sandbox"
tiny again 6000 >again.ini
"$program" run again.ini --threads 1 --progress plain --sandbox >/dev/null 2>again.err &
host=$!
begun() { grep -q eval again.err; }
wait_for 30 begun
kill -TERM $host
wait $host
equal $? 143 "exit code of the stopped sweep"
exits 0 ablate run again.ini --threads 1 --progress none --sandbox
exits 0 ablate watch again/base --log
has out "resumed at step"
kill $SPY_PID 2>/dev/null
finish
