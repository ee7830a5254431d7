#!/usr/bin/env python3
"""estimate.py [--train] [-s KEY=VALUE]... ABLATE [NAME...] - compares the estimates of `run --dry-run` for shipped experiments with the time that runs took.

Without --train the runs are recorded ones (experiments/recorded/NAME.json.gz; default: all). Seconds are compared row by row, if they were recorded on such a
processor, with such an instruction set and as many threads: processor time if the record has it, else elapsed time, which other processes lengthened. The
program may have become faster since. Tokens per update and decoded tokens do not depend on the machine, and are compared for all records.
--train trains one seed of every row here, searches too, with one thread, and compares processor time, which other processes hardly change. ABLATE_ROWS (as
`run --only`) and -s steps=100 check an experiment that takes hours in seconds."""
import collections, gzip, json, os, re, sqlite3, statistics, subprocess, sys, tempfile
from pathlib import Path

here = Path(__file__).resolve().parent.parent / "experiments"


def call(program, command, name, threads, database, *more):
    rows = ["--only", os.environ["ABLATE_ROWS"]] if os.environ.get("ABLATE_ROWS") else []
    asked = [program, command, next(here.glob(f"**/{name}.ini")), "--threads", str(threads), "--db", database, *rows, *more]
    return subprocess.run(asked, capture_output=True, text=True)


def estimate(program, name, threads, *more):
    """What the process behind --dry-run prints for each row: seconds that are not rounded, and counts."""
    with tempfile.TemporaryDirectory() as folder:  # an empty database, so that no run counts as done
        done = call(program, "estimate", name, threads, f"{folder}/none.db", "--dry-run", *more)
    rows, times = {}, None
    for line in done.stdout.split("\n"):
        cells = line.split("\t")
        if cells[0] == "timed":
            times = {"run": float(cells[7]) + float(cells[8]), "search": float(cells[9]), "left": int(cells[2])}
        elif cells[0] == "counts":
            rows[cells[1]] = times | {k: float(v) for k, v in (pair.split("=") for pair in cells[2].split())}
        elif cells[0] in ("missing", "none"):
            print(f"{name}: {cells[-1]}")
    return rows


def trained(program, name, more):
    more = [x for setting in more for x in ("-s", setting)] + ["--seeds", "1"]
    said = sum(row["run"] + row["search"] for row in estimate(program, name, 1, *more).values())
    with tempfile.TemporaryDirectory() as folder:
        ended = call(program, "run", name, 1, f"{folder}/r.db", "--workers", "1", "--progress", "none", *more)
        if ended.returncode:
            sys.exit(f"{name}: {ended.stderr}")
        db = sqlite3.connect(f"{folder}/r.db")
        clock, runs = db.execute("SELECT sum(ended_at - started_at), count(*) FROM attempt").fetchone()
        cores = "SELECT sum(CAST(value AS REAL)) FROM tag t JOIN attempt a ON a.run_id = t.run_id WHERE tag = 'core_seconds' AND a.argv "
        took = db.execute(cores + "NOT LIKE ?", [f"%/{name}.time/%"]).fetchone()[0]
        asked = db.execute(cores + "LIKE ?", [f"%/{name}.time/%"]).fetchone()[0]
    beside = f", besides {asked:.1f} s of runs that match asks" if asked else ""
    took_here = f"took {took:.1f} s of a processor ({clock:.1f} s on the clock) for {runs} runs here{beside}"
    print(f"{name}: said {said:.1f} s, {took_here}: ratio {said / took:.2f}", flush=True)


def processor():
    text = Path("/proc/cpuinfo").read_text()
    return re.search(r"model name\s*: (.*)", text)[1] if "model name" in text else "unknown processor"


def family(words):
    """avx512 and avx512_bf16 are alike, as they differ in products only; amx and generic are not like others."""
    return "amx" if "amx" in words else "avx512" if "avx512" in words else "avx2" if "avx2" in words else "generic"


def record_of(name):
    """The record's complete runs by row, its device, and why runs are left out."""
    recorded = json.loads(gzip.decompress((here / "recorded" / f"{name}.json.gz").read_bytes()))
    names = {v["hash"]: v["name"] for v in recorded["variants"]}
    runs, devices, left_out = collections.defaultdict(list), collections.Counter(), collections.Counter()
    for run in recorded["runs"]:
        if run["status"] != "done" or not run["attempts"]:
            left_out[f"{names[run['hash']]}: a run is {run['status']}"] += 1
            continue
        last, tags = run["attempts"][-1], {t["tag"]: t["value"] for t in run["tags"]}
        devices[last["device"]] += 1
        if last["n"] > 1:
            left_out[f"{names[run['hash']]}: a run was resumed, and its record has the last part's time"] += 1
            continue
        got = {"clock": last["ended_at"] - last["started_at"]}
        if "core_seconds" in tags:
            got["processor"] = float(tags["core_seconds"])
        if run.get("step") and last.get("tokens_second") and "train_seconds" in tags:
            got["tokens"] = last["tokens_second"] * float(tags["train_seconds"]) / run["step"]
        if "decode_seconds" in tags:
            got["decoded"] = float(tags["decode_seconds"]) * float(tags["decode_tokens_second"])
        runs[names[run["hash"]]].append(got)
    searched = sum(t["seconds"] or 0 for t in recorded.get("trials", []))
    return runs, devices.most_common(1)[0][0], left_out, searched


def middle(runs, what):
    values = [run[what] for run in runs if what in run]
    return statistics.median(values) if len(values) == len(runs) else None


def ratio_of(pairs):
    return f"{sum(p[0] for p in pairs) / sum(p[1] for p in pairs):.2f}" if pairs else "-"


def against_recorded(program, name):
    runs, device, left_out, searched = record_of(name)
    threads = int(re.search(r"(\d+) thread", device)[1])
    mine = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    said = estimate(program, name, threads)
    pairs, how = {"time": [], "tokens": [], "decoded": []}, "processor" if all("processor" in r for x in runs.values() for r in x) else "clock"
    alike = device.startswith(processor() + ",") and family(device) == family(mine)
    for row, taken in runs.items():
        if row not in said:
            left_out[f"{row}: no row to estimate"] += len(taken)
            continue
        for what in ("tokens", "decoded"):
            if middle(taken, what) and said[row][what]:
                pairs[what].append((said[row][what], middle(taken, what)))
        if alike:
            seconds = middle(taken, how) / (threads if how == "processor" else 1)
            pairs["time"].append((said[row]["run"], seconds))
            print(f"  {row:60} said {said[row]['run']:9.1f} s  recorded {seconds:9.1f} s  ratio {said[row]['run'] / seconds:.2f}")
    if not alike:
        left_out[f"all rows' seconds: recorded on {device}; here: {processor()}, {family(mine)}"] += 1
    for why, n in left_out.items():
        print(f"  left out: {why}" + (f" ({n} runs)" if n > 1 else ""))
    if searched and alike:
        looked = sum(row["search"] for row in said.values())
        print(f"  searches: said {looked:.1f} s, recorded {searched:.1f} s on the clock: ratio {looked / searched:.2f}")
    time = f"{ratio_of(pairs['time'])} ({how})"
    print(f"{name}: ratio of seconds {time}, of tokens per update {ratio_of(pairs['tokens'])}, of tokens decoded {ratio_of(pairs['decoded'])}", flush=True)


train, more, rest, asked = False, [], [], iter(sys.argv[1:])
for word in asked:
    if word == "--train":
        train = True
    elif word == "-s":
        more.append(next(asked))
    else:
        rest.append(word)
for name in rest[1:] or sorted(path.name[:-8] for path in (here / "recorded").glob("*.json.gz")):
    if train:
        trained(rest[0], name, more)
    else:
        against_recorded(rest[0], name)
