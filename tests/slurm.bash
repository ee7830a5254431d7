# slurm.bash - a private Slurm for tests on this machine: `slurm_start FOLDER NODES CPUS` starts munged, slurmctld and a
# slurmd per node with all their files in FOLDER; `slurm_stop FOLDER` ends them by their pid files. Both need root and
# Debian's slurm-wlm and munge.

# Prints why Slurm cannot run; prints nothing if Slurm can run. As root, installs the packages first.
slurm_missing() {
    [ "$(id -u)" = 0 ] || { echo "starting a Slurm needs root"; return; }
    local name
    if ! command -v slurmctld slurmd sbatch munged >/dev/null && command -v apt-get >/dev/null; then
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends slurm-wlm munge >/dev/null 2>&1 \
            </dev/null || true
    fi
    for name in slurmctld slurmd sbatch munged; do
        command -v $name >/dev/null || { echo "$name is missing (Debian: slurm-wlm, munge)"; return; }
    done
}

slurm_start() {
    local at=$1 nodes=$2 cpus=$3 host i
    host=$(hostname -s)
    mkdir -p "$at"/{state,spool,munge}
    chmod 755 "$at"
    if ! [ -S /run/munge/munge.socket.2 ] || ! munge -n </dev/null >/dev/null 2>&1; then
        dd if=/dev/urandom of="$at/munge/key" bs=128 count=1 2>/dev/null
        chmod 600 "$at/munge/key"
        chown -R munge "$at/munge"
        mkdir -p /run/munge && chown munge /run/munge && chmod 755 /run/munge
        setpriv --reuid munge --regid munge --clear-groups munged --force --key-file "$at/munge/key" --pid-file \
            "$at/munge/pid" \
            --log-file "$at/munge/log" --seed-file "$at/munge/seed" >"$at/munge/out" 2>&1 || return 1
    fi
    {
        printf '%s\n' ClusterName=ablate "SlurmctldHost=$host" SlurmUser=root SlurmdUser=root AuthType=auth/munge \
            ProctrackType=proctrack/linuxproc TaskPlugin=task/none SelectType=select/cons_tres \
            SelectTypeParameters=CR_Core \
            ReturnToService=2 JobAcctGatherType=jobacct_gather/none MpiDefault=none \
            SchedulerParameters=batch_sched_delay=1,sched_interval=1,sched_min_interval=0 \
            KillWait=5 MinJobAge=30 SlurmctldTimeout=60 SlurmdTimeout=30 "SlurmctldPort=16817" \
            "StateSaveLocation=$at/state" "SlurmctldPidFile=$at/slurmctld.pid" "SlurmctldLogFile=$at/slurmctld.log" \
            "SlurmdSpoolDir=$at/spool/%n" "SlurmdPidFile=$at/slurmd-%n.pid" "SlurmdLogFile=$at/slurmd-%n.log"
        for i in $(seq "$nodes"); do
            echo "NodeName=node$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((16900 + i)) CPUs=$cpus RealMemory=2000 State=UNKNOWN"
        done
        echo "PartitionName=all Nodes=node[1-$nodes] Default=YES State=UP OverSubscribe=NO"
    } >"$at/slurm.conf"
    [ "$nodes" -gt 1 ] || sed -i 's/Nodes=node\[1-1\]/Nodes=node1/' "$at/slurm.conf"
    export SLURM_CONF=$at/slurm.conf
    slurmctld -c >"$at/slurmctld.out" 2>&1 || return 1
    for i in $(seq "$nodes"); do slurmd -N "node$i" >"$at/slurmd-node$i.out" 2>&1 || return 1; done
    for i in $(seq 100); do
        [ "$(sinfo -h -N -o %T 2>/dev/null | grep -c idle)" = "$nodes" ] && return 0
        sleep 0.2
    done
    return 1
}

slurm_stop() {
    local at=$1 f
    for f in "$at"/slurmd-*.pid "$at/slurmctld.pid" "$at/munge/pid"; do
        [ -e "$f" ] && kill "$(cat "$f")" 2>/dev/null
    done
    return 0
}
