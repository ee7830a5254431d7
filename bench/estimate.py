#!/usr/bin/env python3
"""estimate.py [--train] ABLATE NAME... - the time that `run --dry-run --threads 1` says for shipped experiments, against the time that runs took.
--train trains one seed of every row here, one after the other, and compares the whole of it, searches too: nothing else should run. Without it:
against the recorded runs, row by row, comparable only on a machine like theirs (experiments/recorded/NAME.json names it) with as many runs at a time;
the program may have become faster since. ABLATE_ROWS: as `run --only`, for experiments whose rows are alike and take hours."""
import json, os, re, sqlite3, statistics, subprocess, sys, tempfile
from pathlib import Path

here = Path(__file__).resolve().parent.parent / "experiments"
unit = {"s": 1, "min": 60, "hours": 3600, "days": 86400, "years": 31557600}


def seconds(text):
    number, name = text.split()
    return float(number) * unit[name]


def call(program, name, *more, command="run"):
    rows = ["--only", os.environ["ABLATE_ROWS"]] if os.environ.get("ABLATE_ROWS") else []
    return subprocess.run([program, command, here / f"{name}.ini", "--threads", "1", *rows, *more], capture_output=True, text=True)


def dry_run(program, name, *more):
    return call(program, name, "--dry-run", *more).stderr


def trained(program, name):
    with tempfile.TemporaryDirectory() as folder:
        # what --dry-run prints is rounded to seconds; the process that it asks is more exact
        said = call(program, name, "--seeds", "1", "--dry-run", command="estimate").stdout
        promised = sum(sum(map(float, line.split("\t")[6:9])) for line in said.split("\n") if line.startswith("row\t"))
        ended = call(program, name, "--seeds", "1", "--workers", "1", "--progress", "none", "--db", f"{folder}/r.db")
        if ended.returncode:
            sys.exit(ended.stderr)
        took = sqlite3.connect(f"{folder}/r.db").execute("SELECT sum(ended_at - started_at), count(*) FROM attempt").fetchone()
    print(f"{name}: said {promised:.1f} s, took {took[0]:.1f} s for {took[1]} runs here: ratio {promised / took[0]:.2f}", flush=True)


def against_recorded(program, name):
    recorded = json.loads((here / "recorded" / f"{name}.json").read_text())
    names = {v["hash"]: v["name"] for v in recorded["variants"]}
    took = {}
    for run in recorded["runs"]:
        if run["status"] == "done" and run["attempts"]:
            last = run["attempts"][-1]
            took.setdefault(names[run["hash"]], []).append(last["ended_at"] - last["started_at"])
    said = dry_run(program, name)
    print(said.split("\n")[0])
    sums = [0, 0]
    for line in said.split("\n"):
        cells = re.split(r"\s{2,}", line.strip())
        if cells[0] in took and len(cells) > 5 and cells[5] != "?":
            pair = seconds(cells[5]), statistics.median(took[cells[0]])
            sums = [a + b for a, b in zip(sums, pair)]
            print(f"  {cells[0]:60} said {pair[0]:9.1f} s  recorded {pair[1]:9.1f} s  ratio {pair[0] / pair[1]:.2f}")
    if sums[1]:
        print(f"{name}: ratio {sums[0] / sums[1]:.2f}")


train, rest = "--train" in sys.argv, [a for a in sys.argv[1:] if a != "--train"]
for name in rest[1:]:
    (trained if train else against_recorded)(rest[0], name)
