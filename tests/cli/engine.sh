#!/usr/bin/env bash
# --launcher COMMAND: any job engine trains the runs. Tested: plain shells; GNU parallel, here and over ssh to this
# machine; HyperQueue if it is installed. Results equal a local sweep's bit for bit. Killed tasks, killed engines, two
# tasks for one run, Ctrl-C and a host that ends early lose nothing.
source "$(dirname "$0")/common.bash" "$@"
export ABLATE_TASK_LEASE=5
sweep() { # NAME STEPS
    tiny "$1" "$2"
    printf '[sweep a]\ncombine = grid\nheads = 1, 2, 4\ndropout = 0, 0.1\n'
}
figures() { sql "SELECT variant,metric,printf('%.17g',value) FROM results WHERE experiment='$1' ORDER BY 1,2"; }
status() { sql "SELECT status,count(*) FROM runs WHERE experiment='$1' GROUP BY 1" | tr '\r\n' '  '; }
launch() { ablate run "$@" --threads 1 --progress plain; }
sweep near 500 >near.ini
exits 0 launch near.ini --workers 2
as_near() { # NAME: its results equal the local sweep's, and no files are left
    equal "$(figures "$1")" "$(figures near)" "results of $1"
    equal "$(find "$ABLATE_HOME/runs/$1" -path '*engine/*' | wc -l)" 0 "what the launcher left in the folder of $1"
    equal "$(find "$ABLATE_HOME/runs/$1" -name 'job*' -o -name 'step-*' | wc -l)" 0 "files left in the runs of $1"
}

echo "a shell per run"
sweep each 500 >each.ini
exits 0 launch each.ini --workers 2 --launcher 'sh -c "{}"'
has err '6 runs handed to: sh -c "{}"'
as_near each

echo "killed: a task with its worker; a second task changes nothing"
{ tiny kills 6000; printf '[sweep a]\nheads = 1, 4\n'; } >kills.ini
"$program" run kills.ini --threads 1 --workers 2 --launcher 'sh -c "{}"' --progress plain >kills.out 2>kills.err &
host=$!
tasks() { pgrep -f "^$program worker $ABLATE_HOME/runs/kills/"; }
wait_for 30 tasks >/dev/null
task=$(tasks | head -1)
folder=$(tr '\0' '\n' <"/proc/$task/cmdline" | tail -1)
exits 0 ablate worker "$folder"
kill -9 "$task" "$(pgrep -P "$task")"
wait "$host"
equal $? 0 "exit code after the kills: $(grep -v eval kills.err)"
has kills.err "its task is silent"
equal "$(status kills)" "done,3 " "runs"
equal "$(find "$ABLATE_HOME/runs/kills" -name 'job*' -o -name 'step-*' | wc -l)" 0 "files left in the runs of kills"

echo "a run that is started again leaves alone those that wait for their first start"
{ tiny waits 4000; printf '[sweep a]\nheads = 1, 4\n'; } >waits.ini
"$program" run waits.ini --threads 1 --launcher '{}; [ -e quick ] || sleep 25' --progress plain >waits.out 2>waits.err &
host=$!
first() { pgrep -f "^ablate worker .*/runs/waits/|^$program worker $ABLATE_HOME/runs/waits/"; }
begun() { ls "$ABLATE_HOME"/runs/waits/engine/*/owner-* >/dev/null 2>&1 && first; } # before that it may be in a queue
wait_for 30 begun >/dev/null
kill -9 $(first)
again() { grep -q '^again' waits.err; }
wait_for 40 again
touch quick # the other runs still wait, since their launcher sleeps
wait "$host"
equal $? 0 "exit code: $(grep -v eval waits.err)"
equal "$(grep -c '^again' waits.err)" 1 "runs started again"
equal "$(status waits)" "done,3 " "runs"

echo "the process that starts the commands is killed"
sweep dies 500 >dies.ini
"$program" run dies.ini --threads 1 --launcher 'sh -c "{}"' --progress plain >dies.out 2>dies.err &
host=$!
begun() { grep -q eval dies.err; }
wait_for 30 begun
kill -9 "$(pgrep -f "launch-round $ABLATE_HOME/runs/dies/" | head -1)"
wait "$host"
equal $? 0 "exit code after the kill: $(grep -v eval dies.err)"
has dies.err "its launcher ended without training it"
as_near dies

echo "stopped, then the same command"
sweep stops 1000 >stops.ini
"$program" run stops.ini --threads 1 --workers 2 --launcher 'sh -c "{}"' --progress plain >stops.out 2>stops.err &
host=$!
begun() { grep -q eval stops.err; }
wait_for 30 begun
kill -TERM $host
wait $host
equal $? 143 "exit code of an interrupted sweep"
left() { [ -z "$(pgrep -f "[a]blate worker.*$ABLATE_HOME/runs/stops/")" ]; }
checks=$((checks + 1))
wait_for 20 left || wrong "workers are left: $(pgrep -af "$ABLATE_HOME/runs/stops/")"
equal "$(sql "SELECT count(*) FROM runs WHERE experiment='stops' AND status='running'")" 0 "runs that look alive"
exits 0 launch stops.ini --workers 2 --launcher 'sh -c "{}"'
equal "$(status stops)" "done,6 " "runs"

echo "a host that leaves, and sync"
sweep leaves 500 >leaves.ini
exits 0 launch leaves.ini --workers 2 --launcher 'sh -c "{}"' --detach
has err "6 runs are with the launcher; \`ablate sync leaves\` records their progress"
exits 0 ablate sync leaves --wait
has out "6 runs ended, 0 not finished"
as_near leaves

echo "a host that is killed while it hands over: the same command finishes the sweep"
library=${ABLATE_FAULTS:-$(dirname "$program")/tests/fault.so}
checks=$((checks + 1))
[ -f "$library" ] || wrong "found no $library; ninja -C build tests/fault.so"
{ tiny handed 10 && printf '[sweep a]\nheads = 1\n'; } >handed.ini
handed=0
each=$([ -n "${ABLATE_TEST_WHOLE-}" ] && echo 1 || echo 2)
# Kills ablate at its n-th rename of a file; without ABLATE_TEST_WHOLE only at odd or only at even n.
for ((n = 1 + RANDOM % each; n <= 14; n += each)); do
    rm -f count
    ABLATE_FAULT=rename:$n:kill ABLATE_FAULT_COUNT=$work/count LD_PRELOAD=$library \
        "$program" run handed.ini --threads 1 --launcher 'sh -c "{}"' --progress plain >out 2>err
    [ $? != 137 ] || handed=$((handed + 1))
    exits 0 ablate sync handed --wait
    exits 0 launch handed.ini --launcher 'sh -c "{}"' --rerun failed
    equal "$(status handed)" "done,2 " "runs after a kill at file $n"
    exits 0 ablate rm --experiment handed --yes
done
[ $handed -ge 5 ] || wrong "$handed kills of a host, expected at least 5"

echo "where nothing can be written to tell how long a task has been silent, neither host nor task waits for ever"
tiny unsure 20000 >unsure.ini
"$program" run unsure.ini --threads 1 --launcher 'sh -c "{}"' --progress plain >unsure.out 2>unsure.err &
host=$!
task() { pgrep -f "^$program worker $ABLATE_HOME/runs/unsure/"; }
wait_for 30 task
folder=$(tr '\0' '\n' <"/proc/$(task | head -1)/cmdline" | tail -1) spool=$(head -1 "$(echo home/runs/unsure/*/job)")
exits 1 timeout -k 5 30 sh -c "mkdir $spool/probe-\$\$; exec $program worker $folder"
has err "cannot be written: Is a directory"
rmdir "$spool"/probe-*
mkdir "$spool/probe-$host"
gone() { [ ! -d /proc/$host ] || grep -q '^State:.Z' /proc/$host/status; }
checks=$((checks + 1))
wait_for 30 gone || { wrong "a host that cannot write waits on" && kill -9 $host; }
wait $host
equal $? 1 "exit code of a host that cannot write"
has unsure.err "cannot be written: Is a directory; the runs continue, and \`ablate sync\` records their results"
rmdir "$spool/probe-$host"
exits 0 ablate sync unsure --wait
has out "1 run ended, 0 not finished"
tiny blind 10 >blind.ini
"$program" run blind.ini --threads 1 --launcher 'sleep 30; {}' --progress plain >blind.out 2>blind.err &
host=$!
handed() { spool=$(dirname home/runs/blind/engine/*/round-1) && [ -d "$spool" ]; }
wait_for 30 handed
ln -s owner-0 "$spool/owner-0"
checks=$((checks + 1))
wait_for 30 gone || { wrong "a host that cannot open a task's file waits on" && kill -9 $host; }
wait $host
equal $? 1 "exit code of a host that cannot open a task's file"
has blind.err "owner-0: cannot be opened: Too many levels of symbolic links; the runs continue"

echo "what is wrong is said"
exits 2 launch near.ini --launcher slrum
has err "--launcher slrum: expected local, slurm, or a command with a blank or {} in it"
tiny wrong 10 >wrong.ini
exits 1 launch wrong.ini --launcher 'no-such-program {}'
has err "its launcher ended 3 times without training it, at last with status 127"
exits 1 ablate worker "$ABLATE_HOME/runs"
has err "no run waits for a task here"
mkdir "a place"
exits 1 ablate run wrong.ini --db "$work/a place/other.db" --launcher 'sh -c "{}"' --progress none
has err "found ' ' in the path, expected only letters, digits"
exits 2 ablate worker

if command -v parallel >/dev/null; then
    echo "GNU parallel"
    sweep lines 500 >lines.ini
    exits 0 launch lines.ini --launcher 'parallel -j 2'
    as_near lines
    if [ -x /usr/sbin/sshd ] && command -v ssh-keygen >/dev/null; then
        echo "GNU parallel, over ssh"
        for key in host user; do ssh-keygen -q -t ed25519 -N '' -f $key; done
        port=$((20000 + $$ % 20000))
        mkdir -p /run/sshd
        printf '%s\n' "Port $port" "ListenAddress 127.0.0.1" "HostKey $work/host" "PidFile $work/sshd.pid" \
            "AuthorizedKeysFile $work/user.pub" "StrictModes no" "UsePAM no" "PermitRootLogin yes" >sshd.conf
        /usr/sbin/sshd -f "$work/sshd.conf" -E sshd.log
        answers() { [ -s sshd.pid ]; }
        wait_for 10 answers
        ssh="ssh -p $port -i $work/user -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
        if $ssh 127.0.0.1 true 2>said; then
            sweep shells 500 >shells.ini
            exits 0 launch shells.ini --launcher "parallel -j 2 --ssh '$ssh' -S 127.0.0.1"
            as_near shells
        else
            echo "left out: ssh to this machine does not work: $(tail -1 said)"
        fi
        kill "$(cat sshd.pid)"
    else
        echo "left out: no sshd"
    fi
else
    echo "left out: no GNU parallel"
fi

python3 -m venv hq >/dev/null 2>&1
if hq/bin/pip install -q hyperqueue 2>/dev/null; then
    echo "HyperQueue"
    sweep queue 500 >queue.ini
    exits 0 launch queue.ini --launcher "hq/bin/python $source/tests/oracle/hyperqueue_launcher.py"
    as_near queue
else
    echo "left out: no HyperQueue from PyPI"
fi
finish
