#!/usr/bin/env python3
"""What this GPU can do at most, as one line of JSON: a large copy in its memory (bytes read and written), large products of random numbers
in bf16, tf32 and fp32. usage: ceilings_gpu.py"""
import json
import statistics

import torch


def seconds(work, repeats=12):
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        a.record()
        work()
        b.record()
        torch.cuda.synchronize()
        times.append(a.elapsed_time(b) / 1e3)
    return statistics.median(times)


def product(dtype, precision="highest", n=8192):
    torch.set_float32_matmul_precision(precision)
    a, b = (torch.randn(n, n, device="cuda", dtype=dtype) for _ in range(2))
    return 2 * n**3 / seconds(lambda: a @ b) * 1e-12


def main():
    a = torch.randn(1 << 30, device="cuda")
    b = torch.empty_like(a)
    copy = 2 * a.numel() * 4 / seconds(lambda: b.copy_(a)) * 1e-12
    print(json.dumps(dict(what="ceilings", device=torch.cuda.get_device_name(), torch=torch.__version__, copy_tb_s=round(copy, 3),
                          bf16_tflops=round(product(torch.bfloat16), 1), fp32_tflops=round(product(torch.float32), 1),
                          tf32_tflops=round(product(torch.float32, "high"), 1))))


if __name__ == "__main__":
    main()
