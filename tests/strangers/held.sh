# A backup holds the database longer than other commands wait: the runs of `run` go on, what they report is written
# afterwards, and both ends of the wait are told. Meanwhile an interrupt reaches the runs.
source "$(dirname "$0")/../cli/common.bash" "$@"
command -v python3 >/dev/null || { echo "skipped: python3 is missing"; exit 77; }
export ABLATE_DATABASE_WAIT=1
hold() { # SECONDS: returns when the lock is there
    rm -f locked
    python3 - "$ABLATE_DB" "$1" <<'P' &
import sqlite3, sys, time
q = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
q.execute("BEGIN IMMEDIATE")
open("locked", "w").close()
time.sleep(float(sys.argv[2]))
P
    holder=$!
    wait_for 20 test -e locked || wrong "found no lock"
}
started() { grep -q '^start' host.err; }
run() {
    rm -f host.err
    "$program" run "$@" --threads 1 --progress plain >host.out 2>host.err &
    host=$!
    wait_for 30 started || wrong "no run started: $(cat host.err)"
}
tiny held 200 >held.ini
run held.ini --seeds 1..3
hold 6
exits 1 ablate tag held/base@1 kept=yes
has err "another process still holds the database"
wait $host
equal $? 0 "exit code of the sweep: $(cat host.err)"
has host.err "is held by another process (a backup?): waiting for it after 5 s"
has host.err "is free again after"
equal "$(sql "SELECT group_concat(status) FROM run")" '"done,done,done"' "runs"
equal "$(sql "SELECT count(DISTINCT step) FROM point JOIN metric m ON m.id=metric_id WHERE m.name='train_PPL' GROUP BY run_id" |
    uniq | wc -l)" 1 "different numbers of points of the runs"

tiny stopped 20000 >stopped.ini
run stopped.ini
worker=$(pgrep -P $host)
hold 3
kill -TERM $host
gone() { ! grep -q "^State:.[RSD]" "/proc/$worker/status"; } # a zombie, as the host waits
wait_for 2 gone || wrong "the run did not stop while the database was held"
wait $host
equal $? 143 "exit code after an interrupt"
equal "$(sql "SELECT status FROM runs WHERE experiment='stopped'")" queued "the interrupted run"
finish
