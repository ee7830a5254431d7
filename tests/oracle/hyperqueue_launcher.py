"""hyperqueue_launcher.py - `ablate run SPEC.ini --launcher 'python tests/oracle/hyperqueue_launcher.py'`: a HyperQueue
server and worker on this machine train the runs whose commands come on standard input (pip install hyperqueue)."""
import shlex
import sys
import tempfile

from hyperqueue import Job, LocalCluster

with LocalCluster() as cluster:
    cluster.start_worker()
    client = cluster.client()
    job = Job(default_workdir=tempfile.mkdtemp(), max_fails=1)
    for line in sys.stdin:
        job.program(shlex.split(line))
    client.wait_for_jobs([client.submit(job)])
