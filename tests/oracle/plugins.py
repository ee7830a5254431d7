"""Writes golden/plugins.txt: every shipped plugin of a model, in plain NumPy from its paper's equations.

In a small Transformer one usual plugin is replaced. A case has the loss summed over four sentences (smoothed, with the
losses that plugins add in training). For each learned tensor it has the size, the first value, and the derivative of
the loss along a fixed direction, by central differences in fp64. tests/unit/check/test_equations.c compares.

    python plugins.py            # all of golden/plugins.txt; numpy alone, one minute
    python plugins.py NAME ...   # prints these cases
"""
import os
import sys

import numpy as np

from equations_attentions import ATTENTIONS
from equations_basics import log_softmax
from equations_heads import HEADS
from equations_layers import BLOCKS, FEED_FORWARDS, NORMS
from equations_positions import POSITIONS

VOCABULARY, SPECIALS, BOS, EOS = 13, 4, 2, 3
MASK = (1 << 64) - 1
USUAL = dict(d_model=8, d_ff=10, heads=2, d_k=4, d_v=3, layers_encoder=1, layers_decoder=1, share_embeddings="target",
             dropout=0, attention_dropout=0, activation_dropout=0, seed=7,
             feed_forward="gelu")  # a smooth function: relu's kink would spoil the differences
KINDS = dict(attention=ATTENTIONS, position=POSITIONS, feed_forward=FEED_FORWARDS, norm=NORMS, block=BLOCKS, head=HEADS)
STEP = 1e-4


def hashed(place, n):
    """n numbers in [-1, 1) that depend on stream and index alone."""
    i = np.arange(n, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = (np.uint64(place * 1000003 & MASK) + i) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return ((z ^ z >> np.uint64(31)) >> np.uint64(40)) / 8388608.0 - 1


def stream(name):
    """FNV-1a of a learned value's name, 32 bits."""
    h = 2166136261
    for byte in name.encode():
        h = (h ^ byte) * 16777619 & 0xFFFFFFFF
    return h


def tokens(place, first, n):
    h = hashed(place, first + n)[first:]
    return SPECIALS + ((h + 1) / 2 * (VOCABULARY - SPECIALS)).astype(int)


def sentences():
    pairs = []
    for i, (ns, nt) in enumerate(zip((5, 3, 7, 7), (6, 8, 3, 6))):
        src, tgt = tokens(101, i * 256, ns), tokens(102, i * 256, nt)
        src[-1] = tgt[-1] = EOS
        pairs.append((src, tgt))
    return pairs


class Values:
    """The learned values by name; a value is made when it is first used."""

    def __init__(self):
        self.by_name, self.first = {}, {}

    def get(self, name, shape, first):
        if name not in self.by_name:
            n = int(np.prod(shape))
            self.by_name[name] = first + 0.5 * hashed(stream(name), n).reshape(shape)
            self.first[name] = first
        assert self.by_name[name].shape == tuple(shape), (name, self.by_name[name].shape, shape)
        return self.by_name[name]


class Place:
    """What a plugin sees at its place in the model."""

    def __init__(self, net, scope, role, layer):
        self.net, self.scope, self.role, self.layer, self.set = net, scope, role, layer, net.set
        self.d, self.d_ff, self.H, self.dk, self.dv = (net.set[k] for k in ("d_model", "d_ff", "heads", "d_k", "d_v"))
        self.causal, self.cross = role == "causal", role == "cross"

    def w(self, name, *shape, first=0.0):
        return self.net.values.get(self.scope + name, shape, first)

    def option(self, key, default):
        return self.set.get(key, default)

    def at(self, scope):
        return Place(self.net, self.scope + scope, self.role, self.layer)

    def position(self):
        return None if self.cross else POSITIONS[self.net.plugin["position"]]

    def loss(self, value, weight):
        """Adds a loss to the summed loss: the loss is a mean over the tokens, so it counts once for each target
        token."""
        self.net.added += weight * value * self.net.target_tokens


class Net:
    def __init__(self, settings):
        self.set = {**USUAL, **settings}
        self.plugin = dict(position="sinusoid", norm="layer_norm", block="post_norm",
                           head="softmax")
        self.plugin.update({k: v for k, v in self.set.items() if k in (*self.plugin, "feed_forward")})
        usual = self.set.get("attention", "scaled_dot")
        self.attention = {s: self.set.get("attention_" + n, usual)
                          for s, n in (("self", "encoder"), ("causal", "decoder"), ("cross", "cross"))}
        self.values, self.pairs = Values(), sentences()
        self.target_tokens = sum(len(t) for _, t in self.pairs)

    def layer(self, stack, layer, xs, mems):
        """xs: the rows of every sentence."""
        role = "causal" if stack == "dec" else "self"
        at = Place(self, f"{stack}.{layer}.", role, layer)

        def attend(kind, rows):
            place = Place(self, f"{stack}.{layer}.{'cross' if kind == 'cross' else 'self'}.", kind, layer)
            f = ATTENTIONS[self.attention[kind]]
            return [f(place, x, mem) for x, mem in zip(rows, mems if kind == "cross" else rows)]

        def normalize(rows, name):
            return [NORMS[self.plugin["norm"]](at.at(name + "."), x) for x in rows]

        def feed_forward(rows, name="ffn"):
            f = FEED_FORWARDS[self.plugin["feed_forward"]]
            return f and f(at.at(name + "."), rows)

        return BLOCKS[self.plugin["block"]](at, xs, lambda r: attend(role, r),
                                            (lambda r: attend("cross", r)) if mems else None,
                                            feed_forward if FEED_FORWARDS[self.plugin["feed_forward"]] else None,
                                            normalize)

    def stack(self, stack, ids, mems):
        d = self.set["d_model"]
        table = self.values.get("src.embed" if stack == "enc" else "tgt.embed", (VOCABULARY, d), 0.0)
        role = "causal" if stack == "dec" else "self"
        place = Place(self, stack + ".", role, 0)
        embed = POSITIONS[self.plugin["position"]].embed
        xs = [embed(place, table[i] * np.sqrt(d)) for i in ids]
        for layer in range(self.set["layers_encoder" if stack == "enc" else "layers_decoder"]):
            xs = self.layer(stack, layer, xs, mems)
        if self.plugin["block"] in ("pre_norm", "sandwich", "macaron", "parallel", "hyper_connections", "mhc_lite.py",
                                    "denseformer.py"):
            xs = [NORMS[self.plugin["norm"]](place.at("ln."), x) for x in xs]
        return xs, table

    def loss(self):
        self.added = 0.0
        mems, _ = self.stack("enc", [s for s, _ in self.pairs], None)
        inputs = [np.concatenate([[BOS], t[:-1]]) for _, t in self.pairs]
        xs, table = self.stack("dec", inputs, mems)
        head = HEADS[self.plugin["head"]]
        place = Place(self, "head.", "causal", 0)
        if self.set["share_embeddings"] == "none":
            table = None if self.plugin["head"] == "adaptive" else self.values.get("softmax", table.shape, 0.0)
        place.table, place.vocabulary = table, VOCABULARY
        logits = [head.logits(place, x) for x in xs]
        total, eps = 0.0, 0.1
        for y, (_, t) in zip(logits, self.pairs):
            log_p = log_softmax(y)
            total += -((1 - eps) * log_p[np.arange(len(t)), t] + eps * log_p.mean(1)).sum()
        head.losses(place, xs, logits, [t for _, t in self.pairs])
        return total + self.added


def lines(name, settings):
    net = Net(settings)
    loss = net.loss()
    out = ["case " + name + "".join(f" {k} {v}" for k, v in net.set.items()), f"loss {loss!r}"]
    for key, value in list(net.values.by_name.items()):
        way = hashed(5000 + stream(key), value.size).reshape(value.shape)
        at = {}
        for s in (-2, -1, 1, 2):
            net.values.by_name[key] = value + s * STEP * way
            at[s] = net.loss()
        net.values.by_name[key] = value
        slope = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * STEP)
        out.append(f"grad {key} {value.size} {net.values.first[key]:.10g} {slope:.12g}")
    return [line.replace("np.float64(", "").replace(")", "") for line in out]


def cases():
    both = lambda name, **more: dict(attention_encoder=name, attention_decoder=name, **more)
    self_only = {"convolutional", "delta_net", "delta_product", "gated_delta_net", "gated_linear", "hyena", "kda", "lstm", "mamba2", "moba",
                 "recurrent", "retention", "rwkv7", "synthesizer"}
    more = {  # settings by which a small model uses the plugin's special cases
        "moba": {"moba.block": 2, "moba.top_k": 2}, "restricted": {"restricted.r": 1}, "hyena": {
            "hyena.length": 8, "hyena.bands": 2, "hyena.width": 3}, "synthesizer": {"synthesizer.max_len": 9},
        "low_rank_value": {"low_rank_value.rank": 2}, "softcap": {"softcap.cap": 0.7},
        "additive": {"additive.hidden": 3}, "retention": {"retention.chunk": 2}, "gated_linear": {"gated_linear.chunk": 2},
        "differential": {"layers_decoder": 2}, "scaled_dot": {"scaled_dot.temperature": 2},
        "learned": {"learned.max_len": 9}, "shaw": {"shaw.clip": 2}, "t5": {"t5.buckets": 8, "t5.max_distance": 6},
        "moe": {"moe.capacity": 64}, "soft_moe": {"soft_moe.experts": 2, "soft_moe.slots": 2},
        "z_loss": {"z_loss.weight": 0.25}, "multi_token": {"multi_token.ahead": 2},
        "logit_softcap": {"logit_softcap.cap": 2}, "distillation": {"teacher": "made_up"}, "canon": {"canon.width": 3},
        "rwkv7": {"rwkv7.rank": 3, "layers_decoder": 2}, "kda": {"kda.rank": 3}, "path": {"path.rank": 3, "path.block": 3},
        "hyper_connections": {"hyper_connections.n": 2, "layers_decoder": 2}, "mhc_lite.py": {"layers_decoder": 2},
        "denseformer.py": {"layers_decoder": 3}, "titans.py": {"titans.hidden": 3},
        "log_linear.py": {"log_linear.levels": 3}, "value_residual.py": {"layers_decoder": 2},
    }
    for kind, plugins in KINDS.items():
        for name in plugins:
            if kind != "attention":
                yield f"{kind}/{name}", {kind: name, **more.get(name, {})}
            elif name in ("path", "log_linear.py", "titans.py"):
                yield f"attention/{name}", {"attention_decoder": name, **more.get(name, {})}
            elif name in ("aligned", "gaussian_window"):
                yield f"attention/{name}", {"attention_cross": name}
            elif name in self_only:
                yield f"attention/{name}", both(name, **more.get(name, {}))
            else:
                yield f"attention/{name}", {"attention": name, **more.get(name, {})}
    yield "attention/entmax_2", {"attention": "entmax", "entmax.alpha": 2}
    yield "attention/sink_zero", {"attention": "sink", "sink.logit": "zero"}
    yield "attention/sigmoid_none", {"attention": "sigmoid", "sigmoid.bias": "none"}
    yield "attention/synthesizer_random", both("synthesizer", **{"synthesizer.kind": "random", "synthesizer.max_len": 9})
    yield "attention/convolutional_glu", both("convolutional", **{"convolutional.glu": "true"})
    yield "attention/convolutional_separable", both("convolutional", **{"convolutional.separable": "true",
                                                                       "convolutional.dilation": 2})
    yield "head/adaptive_own", {"head": "adaptive", "share_embeddings": "none"}


if __name__ == "__main__":
    wanted = sys.argv[1:]
    text = ["# Made by tests/oracle/plugins.py: see there."]
    for name, settings in cases():
        if not wanted or name in wanted or name.split("/")[1] in wanted:
            text += lines(name, settings)
            print(name, file=sys.stderr)
    if wanted:
        print("\n".join(text))
    else:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden", "plugins.txt"), "w") as f:
            f.write("\n".join(text) + "\n")
