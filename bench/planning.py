#!/usr/bin/env python3
"""planning.py [--rows N] ABLATE [FILE.ini]... - measures time and memory of `run --dry-run` for sweeps of N rows [1,000]. Default files: ten shipped
experiments of different kinds. Adds a sweep to each file, over d_ff, whose models are counted one by one, and over learning rates, which need no further count.
Prints rows, seconds, processor seconds, and the size of the largest process. Exit code 1 if a file takes over 10 s or 2 GB, or is refused. Run it on an idle
machine."""
import os, re, subprocess, sys, tempfile, time
from pathlib import Path

MOST_SECONDS, MOST_BYTES = 10, 2e9
WIDTHS = 10  # number of values of d_ff
usual = ["quick", "paper/table3-multi30k", "paper/table3-wmt14", "paper/extrapolation", "paper/table4-wsj", "parsing/parsing-ablation", "methods/factors",
         "tasks/mqar", "tasks/mad", "tasks/addition"]


def plan(program, ini, database):
    """Runs a dry run. Returns exit code, standard error, seconds, processor seconds, and bytes of the largest
    process."""
    began = time.monotonic()
    asked = subprocess.Popen([program, "run", ini, "--dry-run", "--db", database], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = asked.stderr.read()
    _, status, used = os.wait4(asked.pid, 0)
    return os.waitstatus_to_exitcode(status), said, time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def rows_of(said):
    found = re.search(r": (\d+) rows?\b", said)
    return int(found[1]) if found else 0


def planned(program, file, rates):
    """plan() of the file with a sweep of so many rates for each d_ff; 0: of the file unchanged."""
    sweep = f"\n[sweep planned]\ncombine = grid\nd_ff = {', '.join(str(64 + 8 * i) for i in range(WIDTHS))}\n"
    sweep += f"lr = {', '.join(f'{1e-4 * (i + 1):.4f}' for i in range(rates))}\n"
    large = file.parent / f".planned-{os.getpid()}.ini"  # in the file's folder, so that its includes are found
    with tempfile.TemporaryDirectory() as work:
        try:
            large.write_text(file.read_text() + (sweep if rates else ""))
            return plan(program, large, f"{work}/none.db")
        finally:
            large.unlink(missing_ok=True)


def main(arguments):
    rows = 1000
    if arguments[:1] == ["--rows"]:
        rows, arguments = int(arguments[1]), arguments[2:]
    if not arguments:
        sys.exit(__doc__)
    folder = Path(__file__).resolve().parent.parent / "experiments"
    program, files, bad = os.path.abspath(arguments[0]), [Path(x) for x in arguments[1:]] or [folder / f"{x}.ini" for x in usual], 0
    for file in files:
        before, first = (rows_of(planned(program, file, n)[1]) for n in (0, 1))
        each = max(1, first - before)  # rows per rate: a file with conditions has one for each condition
        code, said, clock, processor, memory = planned(program, file, max(1, -((before - rows) // each)))
        over = code or rows_of(said) < rows or clock > MOST_SECONDS or memory > MOST_BYTES
        bad |= bool(over)
        print(f"{file.stem:18} {rows_of(said):5} rows {clock:6.1f} s, {processor:6.1f} s of processors, {memory / 1e9:.2f} GB{'  TOO MUCH' if over else ''}", flush=True)
        if code:
            print(f"    exit code {code}: {said.strip().splitlines()[-1:]}")
    return bad


sys.exit(main(sys.argv[1:]))
