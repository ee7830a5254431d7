#!/usr/bin/env python3
"""Sums Nsight Compute's counters per kernel, longest time first. usage: gpu_counters.py NCU.csv

Columns: launches, time, share of total time, bytes from and to memory and their rate, instructions, warp occupancy (mean weighted by time),
tensor core instructions, registers per thread. The CSV is from `ncu --csv --page raw` with bench/gpu.sh's metrics.
"""
import csv
import sys

UNITS = {"ns": 1e-9, "nsecond": 1e-9, "us": 1e-6, "usecond": 1e-6, "ms": 1e-3, "msecond": 1e-3, "s": 1, "second": 1,
         "byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "inst": 1, "Kinst": 1e3, "Minst": 1e6}


def read(path):
    """A dictionary per launch: numbers in seconds, bytes, instructions"""
    with open(path, errors="replace", newline="") as f:
        lines = [x for x in f if x.startswith('"')]                       # lines of ncu itself begin with ==
    rows = list(csv.reader(lines))
    if len(rows) < 3:
        sys.exit(f"{path}: found {len(rows)} lines of CSV, expected names, units and a line a launch")
    names, units = rows[:2]
    for row in rows[2:]:
        out = {}
        for name, unit, value in zip(names, units, row):
            try:
                out[name] = float(value.replace(",", "")) * UNITS.get(unit, 1)
            except ValueError:
                out[name] = value
        yield out


def short(name):
    """A kernel's name without template arguments and parameters."""
    return name.split("(")[0].replace("void ", "")[:60]


def main():
    kernels = {}
    for r in read(sys.argv[1]):
        k = kernels.setdefault(short(r["Kernel Name"]), dict(n=0, s=0.0, bytes=0.0, inst=0.0, tensor=0.0, warps=0.0, registers=0.0))
        seconds = r.get("gpu__time_duration.sum", 0.0)
        k["n"] += 1
        k["s"] += seconds
        k["bytes"] += r.get("dram__bytes_read.sum", 0.0) + r.get("dram__bytes_write.sum", 0.0)
        k["inst"] += r.get("smsp__inst_executed.sum", 0.0)
        k["tensor"] += r.get("sm__inst_executed_pipe_tensor.sum", 0.0)
        k["warps"] += seconds * r.get("sm__warps_active.avg.pct_of_peak_sustained_active", 0.0)
        k["registers"] = max(k["registers"], r.get("launch__registers_per_thread", 0.0))
    total, launches = sum(k["s"] for k in kernels.values()), sum(k["n"] for k in kernels.values())
    print(f"{launches} launches, {1e3 * total:.3f} ms of kernels")
    print(f"{'kernel':62}{'n':>5}{'ms':>9}{'%':>6}{'MB':>10}{'TB/s':>7}{'Minst':>9}{'warps %':>9}{'tensor M':>10}{'regs':>6}")
    for name, k in sorted(kernels.items(), key=lambda x: -x[1]["s"]):
        s = k["s"] or 1e-12
        print(f"{name:62}{k['n']:>5}{1e3 * s:>9.3f}{100 * s / (total or 1):>6.1f}{k['bytes'] / 1e6:>10.1f}{k['bytes'] / s / 1e12:>7.2f}{k['inst'] / 1e6:>9.2f}"
              f"{k['warps'] / s:>9.1f}{k['tensor'] / 1e6:>10.2f}{k['registers']:>6.0f}")


if __name__ == "__main__":
    main()
