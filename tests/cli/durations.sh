# A run's time is the sum of the periods in which it trained, without the pauses between them, by a monotonic clock.
source "$(dirname "$0")/common.bash" "$@"

fast=(--threads 1 --progress none)
tiny parts 10000000 | sed 's/^save_every.*/save_every = 100/; s/^eval_every.*/eval_every = 100000/' >parts.ini

echo "core seconds and seconds of a run that was stopped and resumed are those of both parts"
tag() { sql "SELECT CAST(1000 * value AS INTEGER) FROM tag WHERE tag = '$1'"; }
written() { stat -c %y home/runs/parts/*/state.safetensors 2>/dev/null; }
saved() { [ "$(written)" != "$before" ]; }
part() { # SECONDS: trains that long, then stops the run
    before=$(written)
    "$program" run parts.ini "${fast[@]}" >out 2>err &
    local host=$!
    wait_for 60 saved || wrong "no checkpoint: $(cat err)"
    sleep "$1"
    kill -TERM $host
    wait $host
}
part 2
core=$(tag core_seconds) seconds=$(tag run_seconds)
checks=$((checks + 1))
[ "$seconds" -ge 2000 ] || wrong "seconds of the first part: found $seconds ms, expected 2000 or more"
sleep 3
part 0.2
checks=$((checks + 2))
[ "$(tag core_seconds)" -gt "$core" ] || wrong "core seconds of both parts: found $(tag core_seconds) ms, of the first $core"
all=$(tag run_seconds) clock=$(sql "SELECT CAST(1000 * (max(a.ended_at) - min(a.started_at)) AS INTEGER) FROM attempt a")
[ "$all" -gt "$seconds" ] && [ "$all" -le $((clock - 2500)) ] ||
    wrong "seconds of both parts: found $all ms, of the first $seconds, from start to end $clock with a pause of 3000"

grep -q __asan_init "$program" && finish # a sanitizer's runtime is loaded first
# clock.so shifts the wall clock by the seconds in the file $CLOCK, if it exists, and names the machine $MACHINE.
cat >clock.c <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t which, struct timespec *t)
{
    int rc = (int)syscall(SYS_clock_gettime, which, t);
    FILE *f = which == CLOCK_REALTIME ? fopen(getenv("CLOCK"), "r") : NULL;
    long off = 0;
    if (f && fscanf(f, "%ld", &off) == 1) t->tv_sec += off;
    if (f) fclose(f);
    return rc;
}
int gethostname(char *name, size_t n) { return snprintf(name, n, "%s", getenv("MACHINE")), 0; }
C
cc -shared -fPIC -o clock.so clock.c || wrong "clock.c does not build"
# CLOCK MACHINE COMMAND...: runs ablate as on MACHINE; file CLOCK has the seconds by which the wall clock is shifted
clocked() {
    env LD_PRELOAD="$work/clock.so" CLOCK="$work/$1" MACHINE="$2" "$program" "${@:3}"
}
trains() { ls home/runs/$1/*/state.safetensors; }

echo "a clock that is set back by 30 days while a run trains"
{ tiny jumped 20 && printf '[variant one]\nheads = 1\n'; } | sed 's/^steps.*/steps = 3000/' >jumped.ini
clocked jump here run jumped.ini "${fast[@]}" >out 2>err &
host=$!
wait_for 60 trains jumped || wrong "no checkpoint: $(cat err)"
echo $((-30 * 86400)) >jump
wait $host
equal $? 0 "exit code"
equal "$(sql "SELECT count(*) FROM runs r JOIN tag t ON t.run_id = r.run WHERE experiment = 'jumped' AND status = 'done'
    AND tag = 'run_seconds' AND CAST(value AS REAL) BETWEEN 0 AND 300")" 2 \
    "runs with a time that can be"
equal "$(sql "SELECT count(*) FROM runs WHERE experiment = 'jumped' AND seconds BETWEEN 0 AND 300")" 2 \
    "times that can be in the view runs"
equal "$(sql "SELECT count(*) > 20, min(p.seconds) >= 0, max(p.seconds) < 300 FROM point p JOIN runs r ON r.run = p.run_id
    WHERE experiment = 'jumped'")" 1,1,1 "curves: their points, and times that can be"
exits 0 ablate ls jumped
equal "$(grep -cE ' -[0-9]+ s|[0-9]{6,} s' out)" 0 "impossible times in the list"
exits 0 ablate table jumped --stats full
hasnt out "-2592"

echo "watch: a clock that jumps by an hour, forward and back, while it looks on"
tiny looked 10000000 | sed 's/^eval_every.*/eval_every = 500/; s/^save_every.*/save_every = 100/' >looked.ini
"$program" run looked.ini "${fast[@]}" >out 2>err &
host=$!
rates() { "$@" | grep -oE '[0-9.e+]+/s' | sed 's|/s||'; }
rated() { rates ablate watch looked --once | grep -q .; }
checks=$((checks + 1))
wait_for 60 rated || wrong "watch prints no rate: $(ablate watch looked --once)"
if command -v script >/dev/null; then
    mkfifo keys
    rm -f jump
    script -qfec "env TERM=xterm LD_PRELOAD=$work/clock.so CLOCK=$work/jump MACHINE=here $program watch looked --every 0.2" \
        /dev/null <keys >screen 2>&1 &
    viewer=$!
    exec 7>keys
    frames() { [ "$(grep -c 'looked  1 run' screen)" -ge "$1" ]; }
    wait_for 20 frames 3 || wrong "watch draws nothing: $(cat -v screen)"
    echo 3600 >jump
    wait_for 20 frames $(($(grep -c 'looked  1 run' screen) + 3)) || wrong "no frame after the jump"
    echo -3600 >jump
    wait_for 20 frames $(($(grep -c 'looked  1 run' screen) + 3)) || wrong "no frame after the second jump"
    printf q >&7
    exec 7>&-
    wait $viewer
    rates cat screen | sort -g >found
    checks=$((checks + 1))
    awk 'NR == 1 { low = $1 } { high = $1 } END { exit !(NR > 8 && low > 0 && high < 4 * low) }' found ||
        wrong "rates: found $(xargs <found), expected them alike"
else
    echo "skipped: a terminal (there is no program \"script\")"
fi
for off in -3600 3600; do
    echo $off >jump
    exits 0 clocked jump here watch looked --once
    equal "$(grep -cE -- '-[0-9]+[hms/]' out)" 0 "times and rates below 0 where the clock is off by $off s"
done
kill -TERM $host
wait $host

echo "leases between machines: one whose clock is an hour off takes a run that trains, or leaves a dead host's"
tiny shared 6000 | sed 's/^eval_every.*/eval_every = 1500/; s/^save_every.*/save_every = 100/' >shared.ini
exits 0 ablate run shared.ini "${fast[@]}" --db alone.db
result="SELECT quote(value) FROM results WHERE metric = 'PPL'"
# seconds; a negative number shifts the clock of the machine that trains, a positive one the clock of the other machine
for off in -3600 3600; do
    rm -rf results.db* home/runs/shared before after
    [ $off = 3600 ] || echo $off >before
    [ $off = -3600 ] || echo $off >after
    clocked before one run shared.ini --threads 1 --progress plain >one.out 2>one.err &
    host=$!
    wait_for 60 trains shared || wrong "no checkpoint: $(cat one.err)"
    exits 0 clocked after two run shared.ini --threads 1 --progress plain
    wait $host
    has one.err "lost "
    equal "$(sql "SELECT status, attempt FROM run")" "done,2" "the run that another machine took"
    equal "$(sql "$result")" "$(sql "$result" alone.db)" "its result, beside one of a run alone"
done
rm -rf results.db* home/runs/shared before after
echo 3600 >before
clocked before one run shared.ini "${fast[@]}" >one.out 2>one.err &
wait_for 60 trains shared || wrong "no checkpoint: $(cat one.err)"
owner=$(sql "SELECT owner FROM run") # an owner is PLACE/PROCESS/START
owner=${owner%/*}
kill -9 "${owner##*/}"
for process in $(leftovers); do kill -9 "$process"; done
wait
exits 1 clocked after two run shared.ini --threads 1 --progress plain
has err "1 are running in another process"
echo 3800 >after # the lease of 120 s has ended, even by the clock that was ahead
exits 0 clocked after two run shared.ini "${fast[@]}"
equal "$(sql "$result")" "$(sql "$result" alone.db)" "the result of the dead host's run, beside one of a run alone"
finish
