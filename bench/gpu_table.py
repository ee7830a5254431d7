#!/usr/bin/env python3
"""The table of bench/gpu.sh: floor, ours, PyTorch, ratio. usage: gpu_table.py GPU_RESULTS LENGTHS RESULTS.json [EARLIER_RESULTS.json]

GPU_RESULTS is the folder filled by gpu.sh, LENGTHS the folder of batch lengths (bench/recorded/lengths). With the results of an earlier call, our
figures are also compared with that call's, and PyTorch's are taken from there if this call has none.

The floor is computed: each operation of a step takes at least its floating-point operations over the measured rate of a large product, and at
least its bytes (each input read once, each output written once, fused where possible) over the measured rate of a copy. The larger of the two
counts, summed over operations. No program on this GPU can be faster.
"""
import datetime
import json
import os
import sys

SIZES = dict(small=(256, 1024, 3, 4, 10000), base=(512, 2048, 6, 8, 37000), big=(1024, 4096, 6, 16, 37000))  # d, ff, layers, heads, vocab
FILES = dict(small="multi30k-8k.txt", wmt="wmt-like-25k.txt", news="newstest2014.txt", long="long-25k.txt")
# ceilings of an H200, for calls that measured none
NOMINAL = dict(bf16_tflops=790.0, fp32_tflops=52.0, copy_tb_s=4.3)


# ---- the floor ----

class Roof:
    """Sums the least possible seconds of operations."""

    def __init__(self, ceilings, precision):
        self.flops = ceilings["bf16_tflops" if precision == "bf16" else "fp32_tflops"] * 1e12
        self.rate, self.size, self.seconds = ceilings["copy_tb_s"] * 1e12, 2 if precision == "bf16" else 4, 0.0

    def add(self, flops, elements, fixed=0, times=1):
        """elements: of the model's type; fixed: bytes of other types"""
        self.seconds += times * max(flops / self.flops, (elements * self.size + fixed) / self.rate)

    def product(self, rows, wide, out, more=0):
        """y [rows, out] = x [rows, wide] W, forward; then dx and dW (in fp32). more: elements that a fused epilogue
        reads or writes"""
        f = 2.0 * rows * wide * out
        self.add(f, rows * wide + wide * out + rows * out + more)
        self.add(f, rows * out + wide * out + rows * wide + more)
        self.add(f, rows * (wide + out), 4 * wide * out)


def attention(roof, pairs, rows, keys, width, heads, back):
    """pairs: pairs of query and key that are not masked, per head."""
    if not back:
        roof.add(4 * pairs * width, width * (2 * rows + 2 * keys), 4 * heads * rows)
    else:
        roof.add(10 * pairs * width, width * (4 * rows + 4 * keys), 8 * heads * rows)


def sums(batch):
    s, t = (float(sum(p[i] for p in batch)) for i in (0, 1))
    return s, t, dict(encoder=sum(a * a for a, _ in batch), decoder=sum(b * (b + 1) / 2 for _, b in batch), cross=sum(a * b for a, b in batch))


def parameters(config):
    d, ff, layers, _, vocab = SIZES[config]
    encoder, decoder = 4 * d * d + 2 * d * ff + 9 * d + ff, 8 * d * d + 2 * d * ff + 15 * d + ff
    return layers * (encoder + decoder) + vocab * d


def step_floor(config, batch, ceilings, precision):
    """Least seconds of a training step over the real tokens of a batch."""
    d, ff, layers, heads, vocab = SIZES[config]
    roof, (s, t, pairs) = Roof(ceilings, precision), sums(batch)

    # dropout, residual and norm, forward and backward
    def sublayer(rows):
        roof.add(0, 4 * rows * d, 8 * rows)
        roof.add(0, 4 * rows * d, 8 * rows)

    def feed_forward(rows):
        roof.product(rows, d, ff, rows * ff / 16)                         # the ReLU's mask
        roof.product(rows, ff, d)
        sublayer(rows)

    for _ in range(layers):
        for rows, role in ((s, "encoder"), (t, "decoder")):
            roof.product(rows, d, 3 * d)
            for back in (False, True):
                attention(roof, pairs[role], rows, rows, d, heads, back)
            roof.add(0, 3 * rows * d)                                     # bias gradients
            roof.product(rows, d, d)
            sublayer(rows)
            feed_forward(rows)
        roof.product(t, d, d)
        roof.product(s, d, 2 * d)
        for back in (False, True):
            attention(roof, pairs["cross"], t, s, d, heads, back)
        roof.add(0, t * d + 2 * s * d)
        roof.product(t, d, d)
        sublayer(t)
    roof.add(0, 2 * (s + t) * d)                                          # embedding
    roof.add(0, (s + t) * d, 8 * min(vocab, s + t) * d)
    roof.product(t, d, vocab)
    roof.add(0, 2 * t * vocab)                                            # softmax with smoothing, gradient in place
    roof.add(0, 0, (30 if precision == "bf16" else 28) * parameters(config))
    return roof.seconds


def attention_floor(batch, role, heads, d_k, ceilings, back):
    s, t, pairs = sums(batch)
    roof = Roof(ceilings, "bf16")
    attention(roof, pairs[role], s if role == "encoder" else t, t if role == "decoder" else s, heads * d_k, heads, back)
    return roof.seconds


def decode_floor(config, lengths, beam, batch, ceilings):
    """Seconds of a beam search over sentences with these lengths (EOS counted), sorted into batches: every step reads the weights, the
    cached keys and values, and makes the logits of all live rows."""
    d, ff, layers, _, vocab = SIZES[config]
    lengths, roof = sorted((n for n in lengths if n > 1), reverse=True), Roof(ceilings, "bf16")
    for i in range(0, len(lengths), batch):
        part = lengths[i:i + batch]
        source = sum(part)
        for out in (3 * d, d, ff, ff):
            roof.add(2.0 * source * d * out, source * (d + out) + d * out, times=layers)
        roof.add(2.0 * source * d * 2 * d, 3 * source * d + 2 * d * d, times=layers)
        for step in range(part[0] - 1):
            live = [n for n in part if n - 1 > step]
            rows = beam * len(live)
            for wide, out in ((d, 3 * d), (d, d), (d, d), (d, d), (d, ff), (ff, d)):
                roof.add(2.0 * rows * wide * out, rows * (wide + out) + wide * out, times=layers)
            roof.add(4.0 * rows * (step + 1) * d, 2 * rows * (step + 1) * d, times=layers)
            roof.add(4.0 * beam * sum(live) * d, 2 * sum(live) * d, times=layers)
            roof.add(2.0 * rows * d * vocab, rows * (d + vocab) + d * vocab)
            roof.add(0, rows * vocab)
    return roof.seconds


# ---- measurements ----

def read_lengths(path):
    with open(path) as f:
        lines = [line.split("#")[0].split() for line in f]
    return [[tuple(map(int, p.split(":"))) for p in line] for line in lines if line]


def text_of(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def samples_of(path):
    """[(seconds since 1970, MiB in use, MHz, W, degrees, bits of the reasons why the clock is held back)]; values that
    are not numbers are None"""
    def value(text, kind):
        try:
            return kind(text)
        except ValueError:
            return None
    out = []
    for line in text_of(path).splitlines():
        fields = line.split(", ")
        try:
            when = datetime.datetime.strptime(fields[0], "%Y/%m/%d %H:%M:%S.%f").timestamp()
        except ValueError:
            continue                                                      # the last line may be cut
        if len(fields) == 6:
            out.append((when, *(value(x, float) for x in fields[1:5]), value(fields[5], lambda x: int(x, 16))))
    return out


def during(samples, began, ended):
    """What the GPU did during a part: largest memory [MB], least and mean clock [MHz], largest power [W], reasons why
    the clock was held back."""
    here = [x for x in samples if began <= x[0] <= ended]
    column = lambda i: [x[i] for x in here if x[i] is not None]
    clocks, reasons = column(2), 0
    for x in column(5):
        reasons |= x
    return dict(gpu_mb=max(column(1), default=None), clock_least=min(clocks, default=None), clock_mean=clocks and round(sum(clocks) / len(clocks)) or None,
                power_most=max(column(3), default=None), degrees_most=max(column(4), default=None), held_back=hex(reasons))


def read_parts(folder):
    samples, parts = samples_of(f"{folder}/samples.csv"), []
    for line in text_of(f"{folder}/parts.tsv").splitlines():
        n, rc, began, ended, limit, name = line.split("\t")
        out = text_of(f"{folder}/parts/{n}.out")
        rows = []
        for row in out.splitlines():
            if row.startswith("{"):
                try:
                    rows.append(json.loads(row))
                except json.JSONDecodeError:
                    pass
        parts.append(dict(name=name, rc=rc if rc == "skipped" else int(rc), began=float(began), seconds=round(float(ended) - float(began), 2),
                          limit_s=int(limit), rows=rows, **during(samples, float(began), float(ended)), out=out[-20000:],
                          err=text_of(f"{folder}/parts/{n}.err")[-8000:]))
    return sorted(parts, key=lambda p: p["began"])


class Found:
    def __init__(self, parts, earlier):
        self.parts = {p["name"]: p for p in parts}
        lines = lambda some: [r for p in some for r in p["rows"] if str(r.get("who", "")).startswith("torch")]
        self.torch = lines(parts) or lines(earlier)

    def ours(self, name, key):
        rows = self.parts.get(name, {}).get("rows", [])
        return rows[0].get(key) if rows else None

    def rivals(self, key, **wanted):
        """[(value, mode)] of PyTorch's results with these entries, smallest value first"""
        return sorted((r[key], r["mode"]) for r in self.torch if key in r and all(r.get(k) == v for k, v in wanted.items()))


# ---- the table ----

def number(x, digits=2):
    return "-" if x is None else f"{x:,.{digits}f}"


def line(what, floor, ours, best, unit, faster_is_more=False):
    """best: (value, mode) or None"""
    ratio = None if ours is None or best is None else (ours / best[0] if faster_is_more else best[0] / ours)
    over = None if not ours or not floor else (floor / ours if faster_is_more else ours / floor)
    digits = 0 if faster_is_more else 3
    return dict(what=what, unit=unit, floor=floor, ours=ours, torch=best and best[0], torch_mode=best and best[1], ratio=ratio, times_floor=over,
                text=f"{what:40}{unit:>8}{number(floor, digits):>12}{number(ours, digits):>12}{number(best and best[0], digits):>12}"
                     f"{number(ratio):>8}{number(over):>9}  {best[1] if best else '-'}")


def training_rows(found, files, ceilings):
    for precision in ("bf16", "fp32"):
        for config in SIZES:
            batches = files["small" if config == "small" else "wmt"]
            floor = 1e3 * sum(step_floor(config, b, ceilings, precision) for b in batches) / len(batches)
            modes = [(v, m) for v, m in found.rivals("ms_per_step", what="train", config=config) if m.startswith("fp32") == (precision == "fp32")]
            for how in ("graph", "stream", "graph, plain products", "graph, algorithms chosen by time", "graph, odd vocabulary",
                        "graph, with a batch of pairs"):
                ours = found.ours(f"train {config} {precision} {how}", "ms_per_step")
                if ours is not None or (how == "graph" and modes):
                    yield line(f"train {config} {precision}, {how}", floor, ours, modes[0] if modes else None, "ms/step")
            tokens = sum(t for b in batches for _, t in b) / len(batches)
            ours = found.ours(f"train {config} {precision} graph", "target_tokens_per_s")
            best = (1e3 * tokens / modes[0][0], modes[0][1]) if modes else None
            if ours is not None or best:
                yield line(f"  the same, target tokens", tokens / floor * 1e3, ours, best, "tok/s", True)


def attention_rows(found, files, ceilings):
    ways = [(role, way) for role in ("encoder", "decoder", "cross") for way in ("forward", "backward")]
    for key, word, hows in (("wmt", "", ("",)), ("long", "long ", (" own", " cudnn"))):
        for role, way in ways:
            floor = 1e3 * sum(attention_floor(b, role, 8, 64, ceilings, way == "backward") for b in files[key]) / len(files[key])
            rivals = found.rivals(f"{way}_ms", what="attention", role=role, lengths=FILES[key])
            for how in hows:
                ours = found.ours(f"attention {word}{role}{how}", f"{way}_ms")
                if ours is not None or rivals:
                    yield line(f"attention {word}{role} {way}{how}, h 8 d_k 64", floor, ours, rivals[0] if rivals else None, "ms")
                    for value, mode in rivals[1:]:
                        yield line(f"  the same, beside {mode}", floor, ours, (value, mode), "ms")


def decode_rows(found, files, ceilings):
    best = [(v, m) for v, m in reversed(found.rivals("target_tokens_per_s", what="decode"))]
    lengths = [s for b in files["news"] for s, _ in b]
    for batch in (64, 256, 512):
        ours = found.ours(f"decode base bf16 {batch}", "target_tokens_per_s")
        if ours is not None or (batch == 256 and best):
            floor = (sum(lengths) - len(lengths)) / decode_floor("base", lengths, 4, batch, ceilings)
            yield line(f"decode base, beam 4, batch {batch}", floor, ours, best[0] if best else None, "tok/s", True)


def together_rows(found):
    one = found.ours("together 1", "target_tokens_per_s")
    for n, how in ((1, ""), (4, ""), (4, ", MPS"), (8, ""), (8, ", MPS")):
        rows = found.parts.get(f"together {n}{how}", {}).get("rows", [])
        if len(rows) == n:
            total, late = sum(r["target_tokens_per_s"] for r in rows), max(r["late_s"] for r in rows)
            words = f"{number(total / one)} of one run" if one else "-"
            if late:
                words += f", but {late:.1f} s late: not all at once"
            what = f"{n} small runs at once{how}"
            yield dict(what=what, unit="tok/s", ours=total, text=f"{what:40}{'tok/s':>8}{'-':>12}{number(total, 0):>12}{'-':>12}{'-':>8}{'-':>9}  {words}")


def complaint(part):
    """What went wrong in a part, or None."""
    if part["rc"] in (0, 77):                                             # 77: the test skipped itself
        return None
    if part["rc"] == "skipped":
        return "no time was left"
    last = ([x for x in (part["out"] + "\n" + part["err"]).splitlines() if x.strip()] or ["it said nothing"])[-1][:150]
    why = f"ran out of its {part['limit_s']} s" if part["rc"] in (124, 137) else f"rc {part['rc']}"
    return f"{why}: {last}"


def checks(parts):
    """Number of checks that passed, and a line for each distinct complaint with the checks that made it."""
    tests = [p for p in parts if p["name"].startswith(("test ", "sanitizer ", "torch check", "ablate check", "table 3 base", "decode base, "))]
    yield f"checks: {sum(p['rc'] == 0 for p in tests)} of {len(tests)} passed"
    heard = {}
    for p in parts:
        if complaint(p):
            heard.setdefault(complaint(p), []).append(p["name"])
        for r in p["rows"]:
            if "error" in r:
                heard.setdefault(r["error"][:150], []).append(f"{p['name']} {r.get('role', '')} {r['mode']}".replace("  ", " "))
    for words, names in heard.items():
        yield f"  {words}\n      {', '.join(names)}"


def since(rows, earlier):
    """Lines that compare our figures with an earlier call's."""
    before = {(r["what"], r["unit"]): r["ours"] for r in earlier if r.get("ours")}
    for r in rows:
        old = before.get((r["what"], r["unit"]))
        if old and r.get("ours"):
            yield f"{r['what']:40}{r['unit']:>8}{number(old, 3):>14}{number(r['ours'], 3):>14}{r['ours'] / old:>9.3f}"


def main():
    folder, lengths, target = sys.argv[1:4]
    parts, earlier = read_parts(folder), dict(parts=[], rows=[])
    if len(sys.argv) > 4:
        with open(sys.argv[4]) as f:
            earlier = json.load(f)
    found = Found(parts, earlier["parts"])
    files = {k: read_lengths(os.path.join(lengths, f)) for k, f in FILES.items()}
    measured = next((r for p in parts + earlier["parts"] for r in p["rows"] if r.get("what") == "ceilings"), None)
    ceilings = measured or NOMINAL
    rows = [*training_rows(found, files, ceilings), *attention_rows(found, files, ceilings), *decode_rows(found, files, ceilings),
            *together_rows(found)]
    text = [f"ceilings {'measured' if measured else 'of an H200, not measured here'}: bf16 {ceilings['bf16_tflops']:.4g} TFLOP/s, "
            f"fp32 {ceilings['fp32_tflops']:.4g}, copy {ceilings['copy_tb_s']:.3g} TB/s",
            *checks(parts), "",
            f"{'':40}{'unit':>8}{'floor':>12}{'ours':>12}{'PyTorch':>12}{'ratio':>8}{'x floor':>9}  PyTorch's mode",
            *(r["text"] for r in rows), "ratio: above 1, ours is faster. PyTorch: the fastest of its modes, unless a line names another."]
    old = list(since(rows, earlier["rows"]))
    if old:
        text += ["", f"{'':40}{'unit':>8}{'before':>14}{'now':>14}{'now/before':>11}", *old]
    with open(target, "w") as f:
        json.dump(dict(ceilings=ceilings, ceilings_measured=bool(measured), parts=parts,
                       rows=[{k: v for k, v in r.items() if k != "text"} for r in rows], table=text), f, indent=1)
    print("\n".join(text))


if __name__ == "__main__":
    main()
