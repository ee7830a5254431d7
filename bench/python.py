#!/usr/bin/env python3
"""python.py [--quick] [--pairs N] [--only PART] ABLATE - measures what plugins in Python cost beside their twins in C, the shipped plugins. The ports are
those of tests/python/ports, whose digits tests/cli/python_ports.sh compares. Prints a line of JSON for each measurement:

  speed   tokens per second of the port as a part of its twin's, where all batches have one shape: median, least and most of N pairs [10]; with two
          processors a pair runs side by side, on changing sides; last, the median of all pairs of all ports with its 95 % interval
  traced  microseconds for each call of the port's functions, and for each function of the program that it calls, where few shapes repeat
  start   milliseconds that a run of one step takes longer with Python, found before and remembered: of the run's process, and of the whole command
  memory  megabytes of the host's process after run 1,000 minus those after run 100

--quick: sizes for a test of this program (2 pairs, runs 10 and 100). Run the full sizes on an idle machine."""
import argparse, json, math, os, re, statistics, subprocess, tempfile, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TWINS = {
    "additive": "attention", "entmax": "attention", "gated_delta_net": "attention_encoder attention_decoder", "recurrent": "attention_encoder attention_decoder",
    "t5": "position", "rotary": "position", "swiglu": "feed_forward", "rms_norm": "norm", "pre_norm": "block", "z_loss": "head", "adamw": "optimizer",
    "wsd": "schedule",
}
COUNTER = '''
from ablate import _kinds, _native
_counts = [0, 0]


def _counted(function):
    def call(*given, **named):
        _counts[0] += 1
        made = function(*given, **named)
        _native.services.log(f"counted {_counts[0]} {_counts[1]}".encode())
        return made

    return call


def _at(*given, _original=_native.host.at):
    _counts[1] += 1
    return _original(*given)


_native.host.at = _at
_kinds.found[-1].hooks.update({name: _counted(hook) for name, hook in _kinds.found[-1].hooks.items()})
'''


class Bench:
    def __init__(self, program, quick, pairs):
        self.program, self.quick = os.path.abspath(program), quick
        self.pairs = pairs or (2 if quick else 10)
        self.number, self.started, self.parts = 0, None, []
        self.folder = tempfile.TemporaryDirectory()
        for port in (ROOT / "tests/python/ports").glob("*.py"):
            Path(self.folder.name, port.name).write_text(port.read_text())
        found = subprocess.run(
            [os.environ.get("ABLATE_PYTHON", "python3"), "-I", "-S", ROOT / "python/ablate/_find.py"], capture_output=True, text=True, check=True
        ).stdout
        self.environment = {**os.environ, "ABLATE_PYTHON_FOUND": found}  # as a run's process inherits it

    def ini(self, twin, python, steps, seeds="1", lengths=(16, 16), wide=True):
        """The text of an INI of one row with the port (python: its file's stem) or the shipped plugin."""
        small = self.quick or not wide
        settings = {
            "task": "sequence", "layers": 1 if small else 2, "d_model": 32 if small else 256, "d_ff": 64 if small else 1024, "heads": 2 if small else 4,
            "d_k": 16 if small else 64, "batch_tokens": 256 if small else 2048, "steps": steps, "schedule": "noam", "warmup": 10,
            "eval_every": max(1, steps // 4), "save_every": steps, "beam_size": 1, "sequence.min_length": lengths[0], "sequence.max_length": lengths[1],
            "sequence.test_length": lengths[1] + 1, "sequence.train_examples": 400 if small else 20000, "sequence.test_examples": 10,
        }  # fmt: skip
        if TWINS[twin] == "schedule":
            settings["lr"] = 0.0003
        for key in TWINS[twin].split():
            settings[key] = f"./{python}.py" if python else twin
        self.number += 1
        lines = [f"{key} = {value}" for key, value in settings.items()]
        return "\n".join(["[experiment]", f"name = bench{self.number}", f"seeds = {seeds}", "[base]", *lines, ""])

    def run(self, text, done=lambda count, pid: None, processor=None):
        """Runs an INI. Returns the seconds of the last run's process, those of the command, the rate between the run's first and third quarter [tokens/s],
        and its log. Calls done with each run's number and the host's process id when the run ends. processor: the only one to use; None: any."""
        name = re.search(r"name = (\w+)", text)[1]
        ini, database = Path(self.folder.name, f"{name}.ini"), Path(self.folder.name, f"{name}.db")
        ini.write_text(text)
        words = [self.program, "run", ini.name, "--threads", "1", "--no-check", "--progress", "json", "--db", database.name]
        words = ["taskset", "-c", str(processor), *words] if processor is not None else words
        began, since, own, rates, count, said = time.monotonic(), 0, 0, [], 0, []
        host = subprocess.Popen(words, cwd=self.folder.name, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in host.stdout:
            if not line.startswith('{"event"'):
                said.append(line)
                continue
            event = json.loads(line)
            if event["event"] == "start":
                since = time.monotonic()
            elif event["event"] == "eval":
                rates.append(event["tokens_second"])
            elif event["event"] == "done":
                own, count = time.monotonic() - since, count + 1
                done(count, host.pid)
            elif event["event"] == "end":
                command = time.monotonic() - began
        if host.wait() or not count:
            raise SystemExit(f"{ini.name}: exit code {host.returncode}\n{text}\n{''.join(said)}")
        logs = sorted(Path(f"{database}.runs").glob("*/*/log.txt"))
        return own, command, statistics.mean(rates[1:3] or rates), logs[0].read_text() if logs else ""

    def alternate(self, pairs, *texts):
        """Runs texts() of C and of Python by turns; returns both lists of results. A first pair, which fills caches, does not count."""
        results = [[self.run(text()) for text in texts] for _ in range(pairs + 1)][1:]
        return list(zip(*results))

    def speed(self, twin):
        steps = 20
        if not self.quick:  # four seconds of training
            steps = max(steps, int(4 * self.run(self.ini(twin, "", steps))[2] / 2048))
        processors = sorted(os.sched_getaffinity(0))[:2]
        if len(processors) < 2:
            c, python = self.alternate(self.pairs, *(lambda p=p: self.ini(twin, p, steps) for p in ("", twin + "_py")))
        else:
            c, python = zip(*(self.side_by_side(twin, steps, processors[:: 1 if i % 2 else -1]) for i in range(self.pairs + 1)))
            c, python = c[1:], python[1:]
        parts = [b[2] / a[2] for a, b in zip(c, python)]
        self.parts += parts
        return {"part_of_c": statistics.median(parts), "least": min(parts), "most": max(parts), "tokens_s": statistics.median(b[2] for b in python)}

    def side_by_side(self, twin, steps, processors):
        texts = [self.ini(twin, p, steps) for p in ("", twin + "_py")]
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda text, processor: self.run(text, processor=processor), texts, processors))

    def every(self):
        """The median of all pairs of all ports, and its 95 % interval by order statistics."""
        parts, n = sorted(self.parts), len(self.parts)
        below, last = 0.0, -1  # the last rank whose binomial tail is at most 0.025
        while below + math.comb(n, last + 1) / 2**n <= 0.025:
            last += 1
            below += math.comb(n, last) / 2**n
        return {"pairs": n, "part_of_c": statistics.median(parts), "low": parts[max(last, 0)], "high": parts[n - 1 - max(last, 0)]}

    def start(self):
        """Seconds that a run of one step takes longer: its process, the command."""
        if not self.started:
            pairs = 3 if self.quick else 20
            c, python = self.alternate(pairs, *(lambda p=p: self.ini("swiglu", p, 1, wide=False) for p in ("", "swiglu_py")))
            self.started = [statistics.median(x[i] for x in python) - statistics.median(x[i] for x in c) for i in (0, 1)]
        return self.started

    def traced(self, twin):
        steps, stem = 30 if self.quick else 300, f"{twin}_counted"
        Path(self.folder.name, stem + ".py").write_text(Path(self.folder.name, f"{twin}_py.py").read_text() + COUNTER)
        ini = lambda p: self.ini(twin, p, steps, lengths=(1, 60), wide=False)
        log = self.run(ini(stem))[3]
        calls, inside = map(int, re.findall(r"counted (\d+) (\d+)", log)[-1])
        c, python = self.alternate(self.pairs, lambda: ini(""), lambda: ini(f"{twin}_py"))
        more = statistics.median(b[0] - a[0] for a, b in zip(c, python)) - self.start()[0]
        return {"calls": calls, "us_per_call": more / calls * 1e6, "host_calls": inside, "us_per_host_call": more / inside * 1e6}

    def memory(self, python):
        first, last, at = (10, 100, {}) if self.quick else (100, 1000, {})

        def done(count, pid):
            if count in (first, last):
                status = Path(f"/proc/{pid}/status").read_text()
                at[count] = int(re.search(r"VmRSS:\s*(\d+)", status)[1]) / 1024

        self.run(self.ini("swiglu", python, 1, seeds=f"1..{last}", wide=False), done)
        return {"runs": [first, last], "mb": [at[first], at[last]], "mb_more": at[last] - at[first]}


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("program", metavar="ABLATE")
    asked.add_argument("--quick", action="store_true")
    asked.add_argument("--pairs", type=int, default=0)
    asked.add_argument("--only", choices=("speed", "traced", "start", "memory"))
    o = asked.parse_args()
    bench = Bench(o.program, o.quick, o.pairs)

    def show(what, figures, **about):
        digits = {k: [round(x, 4) for x in v] if isinstance(v, list) else round(v, 4) if isinstance(v, float) else v for k, v in figures.items()}
        print(json.dumps({"what": what, **about, **digits}), flush=True)

    for what in (o.only,) if o.only else ("start", "speed", "traced", "memory"):
        if what == "start":
            show(what, {"ms_of_the_run": bench.start()[0] * 1e3, "ms_of_the_command": bench.start()[1] * 1e3})
        elif what == "memory":
            for python in ("", "swiglu_py"):
                show(what, bench.memory(python), plugin=python or "swiglu")
        else:
            for twin in TWINS if what == "speed" else ("swiglu", "t5", "additive"):
                show(what, getattr(bench, what)(twin), twin=twin, pairs=bench.pairs)
            if what == "speed":
                show(what, bench.every(), twin="all")


main()
