"""Writes golden/schedules.txt: the rates of every shipped schedule at some updates, from the papers' formulas.

    python schedules.py
"""
import math
import os

STEPS, D_MODEL, LR, LEAST = 1000, 64, 0.3, 0.01
AT = (1, 2, 50, 99, 100, 101, 400, 550, 899, 900, 901, 950, 999, 1000)


def noam(s, w):  # Vaswani et al. 2017, eq. 3
    return LR * D_MODEL**-0.5 * min(s**-0.5, s * w**-1.5 if w else math.inf)


def constant(s, w):
    return LR


def cosine(s, w):  # Loshchilov and Hutter 2017, eq. 5, over the updates after the warm-up
    return LEAST + 0.5 * (LR - LEAST) * (1 + math.cos(math.pi * (s - w) / (STEPS - w)))


def linear(s, w):  # Devlin et al. 2019, appendix A.2
    return LR + (LEAST - LR) * (s - w) / (STEPS - w)


def wsd(s, w):  # Hu et al. 2024, section 4: the rate falls in the last tenth
    return LR if s <= 900 else LR + (LEAST - LR) * (s - 900) / 100


def warmed(f):
    return lambda s, w: LR * s / w if s < w else f(s, w)


SCHEDULES = dict(constant=warmed(constant), cosine=warmed(cosine), linear=warmed(linear), noam=noam, wsd=warmed(wsd))

if __name__ == "__main__":
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden", "schedules.txt"), "w") as f:
        f.write("# Made by tests/oracle/schedules.py. schedule NAME WARMUP, then an update and its rate, ...\n")
        for name, rate in SCHEDULES.items():
            for warmup in (100, 0):
                f.write(f"schedule {name} {warmup} " + " ".join(f"{s} {rate(s, warmup):.15g}" for s in AT) + "\n")
