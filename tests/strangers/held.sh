#!/usr/bin/env bash
# A backup locks the database longer than other commands wait: a run continues, an interrupt reaches it, its results are
# written afterwards, and messages mark when the wait begins and ends.
source "$(dirname "$0")/../cli/common.bash" "$@"
command -v python3 >/dev/null || { echo "skipped: python3 is missing"; exit 77; }
export ABLATE_DATABASE_WAIT=1
tiny held 1000000 | sed 's/^eval_every.*/eval_every = 1/' >held.ini
"$program" run held.ini --threads 1 --progress plain >host.out 2>host.err &
host=$!
wait_for 30 grep -q '^eval' host.err || wrong "no run trains: $(cat host.err)"
worker=$(pgrep -P $host)
python3 - "$ABLATE_DB" <<'P' &
import os, sqlite3, sys, time
q = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
q.execute("BEGIN IMMEDIATE")
open("locked", "w").close()
for _ in range(900):
    if os.path.exists("release"): break
    time.sleep(0.1)
P
holder=$!
wait_for 20 test -e locked || wrong "found no lock"
before=$(awk '/^rchar/ { print $2 }' /proc/$host/io)
exits 1 ablate tag held/base@1 kept=yes
has err "another process still holds the database"
wait_for 20 grep -q "is held by another process (a backup?): waiting for it after 5 s" host.err ||
    wrong "the host does not say that it waits: $(tail -n 3 host.err)"
reported() { [ "$(awk '/^rchar/ { print $2 }' /proc/$host/io)" -gt $((before + 131072)) ]; }
wait_for 60 reported || wrong "the host has not read more than a pipe holds"
touch mark
trains_on() { find "$ABLATE_DB.runs" home/runs -name state.safetensors -newer mark 2>/dev/null | grep -q .; }
wait_for 20 trains_on || wrong "the run does not train on while the database is held"
kill -TERM $host
gone() { ! grep -q "^State:.[RSD]" "/proc/$worker/status"; } # dead, or a zombie while the host waits for the database
wait_for 20 gone || wrong "the run did not stop while the database was held"
kill -0 $holder 2>/dev/null || wrong "the lock ended too early"
touch release
wait $host
equal $? 143 "exit code after an interrupt"
has host.err "is free again after"
equal "$(sql "SELECT status FROM run")" queued "the interrupted run"
points="FROM point p JOIN metric m ON m.id=metric_id WHERE m.name='dev_PPL'"
equal "$(sql "SELECT count(*)-max(step) $points")" 0 "evaluations that were reported but not written"
finish
