#!/usr/bin/env python3
"""estimate.py ABLATE NAME... - the times that `run --dry-run --threads 1` says for rows of a shipped experiment, next to the times of its recorded
runs. Comparable only on a machine like the recorded one (experiments/recorded/NAME.json names it) that is otherwise idle; the program may have become
faster since. Ends with the ratio of the sums."""
import json, re, statistics, subprocess, sys
from pathlib import Path

here = Path(__file__).resolve().parent.parent / "experiments"
unit = {"s": 1, "min": 60, "hours": 3600, "days": 86400, "years": 31557600}


def seconds(text):
    number, name = text.split()
    return float(number) * unit[name]


for name in sys.argv[2:]:
    recorded = json.loads((here / "recorded" / f"{name}.json").read_text())
    names = {v["hash"]: v["name"] for v in recorded["variants"]}
    took = {}
    for run in recorded["runs"]:
        if run["status"] == "done" and run["attempts"]:
            last = run["attempts"][-1]
            took.setdefault(names[run["hash"]], []).append(last["ended_at"] - last["started_at"])
    said = subprocess.run([sys.argv[1], "run", here / f"{name}.ini", "--dry-run", "--threads", "1"], capture_output=True, text=True).stderr
    print(said.split("\n")[0])
    sums = [0, 0]
    for line in said.split("\n"):
        cells = re.split(r"\s{2,}", line.strip())
        if cells[0] in took and len(cells) > 5:
            pair = seconds(cells[5]), statistics.median(took[cells[0]])
            sums = [a + b for a, b in zip(sums, pair)]
            print(f"  {cells[0]:60} said {pair[0]:9.1f} s  recorded {pair[1]:9.1f} s  ratio {pair[0] / pair[1]:.2f}")
    if sums[1]:
        print(f"{name}: ratio {sums[0] / sums[1]:.2f}")
