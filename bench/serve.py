#!/usr/bin/env python3
"""serve.py ABLATE DATABASE EXPERIMENT [SECONDS] - how fast `report --serve` answers while a sweep writes.

For SECONDS (300) it asks for /state and every tenth time for the page, as fast as the answers come, beside 50
connections that say nothing; twice a second a heartbeat of a run under way is written, so that the page is never up to
date. Prints one line of JSON: requests, milliseconds to the whole answer (median, 99 %, most), the server's processor
time a request, and its memory after the first second and at the end. The database is copied. With
`ablate bench host --folder /dev/shm --keep /dev/shm/many.db --runs 1 --points 1 --rows 1 --seeds 1 --workers 1
--events 1` the experiment is `watched`, of 10,000 runs.
"""
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time


def memory(pid):
    """Resident bytes of the process."""
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def processor(pid):
    """Seconds of user and system time of the process, without its children."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def ask(port, path):
    """Seconds to the whole answer, and its text."""
    began = time.monotonic()
    with connect(port) as s:
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
        parts = []
        while part := s.recv(1 << 20):
            parts.append(part)
    answer = b"".join(parts)
    if not answer.startswith(b"HTTP/1.1 200"):
        sys.exit(f"serve.py: {path}: found {answer[:200]!r}, expected status 200")
    return time.monotonic() - began, answer.split(b"\r\n\r\n", 1)[1]


def main():
    program, database, experiment = sys.argv[1:4]
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 300
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = os.path.join(folder, "results.db")
        shutil.copy(database, path)
        server = subprocess.Popen([program, "report", experiment, "--serve", "--port", "0", "--db", path],
                                  stderr=subprocess.PIPE, text=True)
        try:
            line = server.stderr.readline()
            found = re.search(r"127\.0\.0\.1:(\d+)", line)
            if not found:
                sys.exit(f"serve.py: found {line!r}, expected an address")
            port = int(found.group(1))
            writer = sqlite3.connect(path, timeout=30)
            times = {"/state": [], "/": []}
            states, idle, wrote, first = set(), [], 0.0, None
            began = time.monotonic()
            while (now := time.monotonic()) < began + seconds:
                if now > wrote + 0.5:
                    writer.execute("UPDATE run SET heartbeat_at=? WHERE status='running'", (time.time(),))
                    writer.commit()
                    wrote = now
                    for old in idle:
                        old.close()
                    idle = [connect(port) for _ in range(50)]
                what = "/" if sum(map(len, times.values())) % 10 == 9 else "/state"
                took, text = ask(port, what)
                times[what].append(took)
                if what == "/state":
                    states.add(text)
                if first is None and now > began + 1:
                    first = memory(server.pid)
            out = {"seconds": seconds, "new_pages": len(states) - 1, "memory_first_MB": first / 1e6,
                   "memory_end_MB": memory(server.pid) / 1e6,
                   "processor_ms": 1e3 * processor(server.pid) / sum(map(len, times.values()))}
            for what, name in (("/state", "state"), ("/", "page")):
                t = sorted(times[what])
                out[name] = {"requests": len(t), "median_ms": 1e3 * t[len(t) // 2],
                             "99_percent_ms": 1e3 * t[len(t) * 99 // 100], "most_ms": 1e3 * t[-1]}
            print(json.dumps(out))
        finally:
            server.terminate()
            server.wait()


main()
