#!/usr/bin/env python3
"""Upper limits of this GPU, as one line of JSON: a large copy in its memory (bytes read and written), large products of random numbers in
bf16, tf32 and fp32. usage: ceilings_gpu.py [--device cpu]   (cpu: small sizes, to test this program)"""
import json
import statistics
import sys
import time

import torch


CPU = sys.argv[1:] == ["--device", "cpu"]
DEVICE = "cpu" if CPU else "cuda"


def once(work):
    if CPU:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began
    a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    a.record()
    work()
    b.record()
    torch.cuda.synchronize()
    return a.elapsed_time(b) / 1e3


def seconds(work, repeats=12):
    for _ in range(3):
        work()
    return statistics.median(once(work) for _ in range(repeats))


def product(dtype, precision="highest", n=64 if CPU else 8192):
    torch.set_float32_matmul_precision(precision)
    a, b = (torch.randn(n, n, device=DEVICE, dtype=dtype) for _ in range(2))
    return 2 * n**3 / seconds(lambda: a @ b) * 1e-12


def main():
    a = torch.randn(1 << (10 if CPU else 30), device=DEVICE)
    b = torch.empty_like(a)
    copy = 2 * a.numel() * 4 / seconds(lambda: b.copy_(a)) * 1e-12
    rate = lambda x: float(f"{x:.4g}")
    print(json.dumps(dict(what="ceilings", device="cpu" if CPU else torch.cuda.get_device_name(), torch=torch.__version__, copy_tb_s=rate(copy),
                          bf16_tflops=rate(product(torch.bfloat16)), fp32_tflops=rate(product(torch.float32)),
                          tf32_tflops=rate(product(torch.float32, "high")))))


if __name__ == "__main__":
    main()
