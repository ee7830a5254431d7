# Times of a run: all its parts together, without what lies between them, by a clock that does not jump.
source "$(dirname "$0")/common.bash" "$@"

fast=(--threads 1 --progress none)
tiny parts 10000000 | sed 's/^save_every.*/save_every = 100/; s/^eval_every.*/eval_every = 100000/' >parts.ini

echo "core seconds and seconds of a run that was stopped and resumed are those of both parts"
tag() { sql "SELECT CAST(1000 * value AS INTEGER) FROM tag WHERE tag = '$1'"; }
written() { stat -c %y home/runs/parts/*/state.safetensors 2>/dev/null; }
saved() { [ "$(written)" != "$before" ]; }
part() { # SECONDS: trains that long and is stopped
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

echo "a clock that is set back by 30 days while a run trains"
if ! grep -q __asan_init "$program"; then
    cat >jump.c <<'C'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t which, struct timespec *t)
{
    int rc = (int)syscall(SYS_clock_gettime, which, t);
    if (which == CLOCK_REALTIME && !access(JUMPED, F_OK)) t->tv_sec -= 30 * 86400;
    return rc;
}
C
    cc -shared -fPIC -DJUMPED="\"$work/jumped\"" -o jump.so jump.c || wrong "jump.c does not build"
    { tiny jumped 20 && printf '[variant one]\nheads = 1\n'; } | sed 's/^steps.*/steps = 3000/' >jumped.ini
    LD_PRELOAD=$work/jump.so "$program" run jumped.ini "${fast[@]}" >out 2>err &
    host=$!
    trains() { ls home/runs/jumped/*/state.safetensors; }
    wait_for 60 trains || wrong "no checkpoint: $(cat err)"
    touch jumped
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
fi
finish
