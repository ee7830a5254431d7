"""The encoder-decoder of "Attention is all you need" (Vaswani et al. 2017), as plainly as PyTorch can say it.

This file is the other opinion that ablate is compared with: it favours reading over speed, works on padded batches, and
keeps its parameters in a dict under the names that ablate's checkpoints use. Weight matrices are [in, out]: y = x W + b.

Two sources of parameters:
  hashed(c)       the same numbers in any language, without a random number library (see golden/README.md)
  load(path)      a safetensors checkpoint written by ablate
"""
import json
import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F

BOS, EOS = 1, 2                     # in the golden numbers; a checkpoint's vocabulary has 2, 3


@dataclass
class Config:
    """Names as in the INI. d_k and d_v are widths per head."""
    vocab: int = 97
    d_model: int = 16
    d_ff: int = 32
    heads: int = 4
    d_k: int = 4
    d_v: int = 4
    layers: int = 2
    norm: str = "post"              # post: LN(x + f(x)); pre: x + f(LN(x)) and a last LN in both stacks
    dropout: float = 0.0
    label_smoothing: float = 0.1
    smoothing: str = "all"          # all: (1-eps) one-hot + eps/V; others: 1-eps on gold, eps/(V-1) on each other token
    eps: float = 1e-6
    bos: int = BOS
    eos: int = EOS


def shapes(c):
    """Returns [(name, shape)] of every parameter. Parameter number p is entry p."""
    d, k, v = c.d_model, c.heads * c.d_k, c.heads * c.d_v
    out = [("embed", (c.vocab, d))]

    def linear(name, rows, cols):
        out.append((name + ".w", (rows, cols)))
        out.append((name + ".b", (cols,)))

    def norm(name):
        out.append((name + ".g", (d,)))
        out.append((name + ".b", (d,)))

    def self_attention(p):
        linear(p + ".self.qkv", d, 2 * k + v)       # columns: q heads, k heads, v heads
        linear(p + ".self.o", v, d)
        norm(p + ".self.ln")

    def ffn(p):
        linear(p + ".ffn.1", d, c.d_ff)
        linear(p + ".ffn.2", c.d_ff, d)
        norm(p + ".ffn.ln")

    for i in range(c.layers):
        self_attention(f"enc.{i}")
        ffn(f"enc.{i}")
    for i in range(c.layers):
        self_attention(f"dec.{i}")
        linear(f"dec.{i}.cross.q", d, k)
        linear(f"dec.{i}.cross.kv", d, k + v)
        linear(f"dec.{i}.cross.o", v, d)
        norm(f"dec.{i}.cross.ln")
        ffn(f"dec.{i}")
    if c.norm == "pre":
        norm("enc.ln")
        norm("dec.ln")
    return out


# ---- numbers that every language computes alike ----

MASK = (1 << 64) - 1


def splitmix64(x):
    z = (x + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def uniform(p, j):
    """Element j of stream p: exact in fp32, in [-1, 1)."""
    return (splitmix64(p * 1000003 + j) >> 40) / 2.0**23 - 1.0


def hashed_tensor(p, shape, scale=1.0, shift=0.0):
    """shift + scale * uniform(p, j), computed in double, rounded once to fp32."""
    n = math.prod(shape)
    values = [shift + scale * uniform(p, j) for j in range(n)]
    return torch.tensor(values, dtype=torch.float64).to(torch.float32).reshape(shape)


def hashed(c):
    """Parameter number p of shapes(c), by kind: embed d^-1/2 u, gain 1 + 0.1 u, bias 0.1 u, matrix (3/rows)^1/2 u."""
    out = {}
    for p, (name, shape) in enumerate(shapes(c)):
        if name == "embed":
            out[name] = hashed_tensor(p, shape, 1.0 / math.sqrt(c.d_model))
        elif name.endswith(".g"):
            out[name] = hashed_tensor(p, shape, 0.1, 1.0)
        elif name.endswith(".b"):
            out[name] = hashed_tensor(p, shape, 0.1)
        else:
            out[name] = hashed_tensor(p, shape, math.sqrt(3.0 / shape[0]))
    return out


def load(path):
    """A checkpoint of ablate: (Config, parameters, metadata)."""
    from safetensors import safe_open
    with safe_open(path, "pt") as f:
        meta = f.metadata() or {}
        params = {name: f.get_tensor(name).float() for name in f.keys() if not name.startswith("optim.")}
    c = config_of(json.loads(meta["config"]), params)
    missing = [n for n, s in shapes(c) if n not in params or tuple(params[n].shape) not in (s, (1,) + s)]
    if missing:
        raise SystemExit(f"{path}: parameters missing or of another shape: {', '.join(missing)}")
    return c, {n: params[n].reshape(s) for n, s in shapes(c)}, meta


def config_of(keys, params):
    """Returns the Config of a checkpoint: the settings are the checkpoint's, the vocabulary's size is the embedding's.
    Settings that this model lacks are refused."""
    c = Config(vocab=params["embed"].shape[0], d_model=params["embed"].shape[1], bos=2, eos=3)
    c.layers, c.heads, c.d_ff, c.d_k, c.d_v = (int(keys[k]) for k in ("layers", "heads", "d_ff", "d_k", "d_v"))
    c.norm, c.eps = "pre" if keys["block"] == "pre_norm" else "post", float(keys["layer_norm.eps"])
    c.label_smoothing, c.smoothing = float(keys["label_smoothing"]), keys["label_smoothing_over"]
    known = dict(attention_encoder="scaled_dot", attention_decoder="scaled_dot", attention_cross="scaled_dot", position="sinusoid",
                 feed_forward="relu", norm="layer_norm", block="pre_norm" if c.norm == "pre" else "post_norm",
                 share_embeddings="all", bias=True, layers_encoder=c.layers, layers_decoder=c.layers)
    other = [f"{k} = {keys[k]}" for k, v in known.items() if keys.get(k, v) != v]
    if other:
        raise SystemExit(f"not the paper's model: {', '.join(other)}")
    return c


# ---- the model ----

def sinusoid(length, d_model, dtype):
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(the same)."""
    pos = torch.arange(length, dtype=torch.float64)[:, None]
    angle = pos * 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return torch.stack((angle.sin(), angle.cos()), -1).reshape(length, d_model).to(dtype)


class Transformer:
    """params: dict of tensors of one dtype. Ids are [B, T] with -1 where a sentence has ended."""

    def __init__(self, c, params, training=False):
        self.c, self.p, self.training = c, params, training

    def drop(self, x):
        return F.dropout(x, self.c.dropout, self.training)

    def linear(self, name, x):
        return x @ self.p[name + ".w"] + self.p[name + ".b"]

    def norm(self, name, x):
        return F.layer_norm(x, (self.c.d_model,), self.p[name + ".g"], self.p[name + ".b"], self.c.eps)

    def sublayer(self, name, x, f):
        """Applies the sublayer f and its norm; `name` is the sublayer's name."""
        if self.c.norm == "post":
            return self.norm(name + ".ln", x + self.drop(f(x)))
        return x + self.drop(f(self.norm(name + ".ln", x)))

    def embed(self, ids):
        x = self.p["embed"][ids.clamp(min=0)] * math.sqrt(self.c.d_model)
        return self.drop(x + sinusoid(ids.shape[1], self.c.d_model, x.dtype))

    def mix(self, q, k, v, mask):
        """softmax(q k' / sqrt(d_k)) v per head. q [B,Tq,h d_k]; k, v [B,Tk,h d_k|d_v]; mask [B,1|Tq,Tk]: true where a
        query may see a key."""
        heads = lambda x, width: x.reshape(x.shape[0], x.shape[1], self.c.heads, width).transpose(1, 2)
        q, k, v = heads(q, self.c.d_k), heads(k, self.c.d_k), heads(v, self.c.d_v)
        scores = (q @ k.transpose(-1, -2)) / math.sqrt(self.c.d_k)
        weights = scores.masked_fill(~mask[:, None], -math.inf).softmax(-1)
        return (weights @ v).transpose(1, 2).flatten(2)

    def self_attention(self, p, x, mask):
        k, v = self.c.heads * self.c.d_k, self.c.heads * self.c.d_v
        q, key, value = self.linear(p + ".self.qkv", x).split((k, k, v), -1)
        return self.linear(p + ".self.o", self.mix(q, key, value, mask))

    def cross_attention(self, p, x, memory, mask):
        k, v = self.c.heads * self.c.d_k, self.c.heads * self.c.d_v
        key, value = self.linear(p + ".cross.kv", memory).split((k, v), -1)
        return self.linear(p + ".cross.o", self.mix(self.linear(p + ".cross.q", x), key, value, mask))

    def ffn(self, p, x):
        return self.linear(p + ".ffn.2", F.relu(self.linear(p + ".ffn.1", x)))

    def encode(self, src):
        seen = (src >= 0)[:, None, :]
        x = self.embed(src)
        for i in range(self.c.layers):
            p = f"enc.{i}"
            x = self.sublayer(p + ".self", x, lambda y: self.self_attention(p, y, seen))
            x = self.sublayer(p + ".ffn", x, lambda y: self.ffn(p, y))
        return self.norm("enc.ln", x) if self.c.norm == "pre" else x

    def decode(self, memory, src, tgt_in):
        """Logits [B, T, V]."""
        seen = (src >= 0)[:, None, :]
        t = tgt_in.shape[1]
        past = torch.ones(t, t, dtype=torch.bool).tril()[None]
        x = self.embed(tgt_in)
        for i in range(self.c.layers):
            p = f"dec.{i}"
            x = self.sublayer(p + ".self", x, lambda y: self.self_attention(p, y, past))
            x = self.sublayer(p + ".cross", x, lambda y: self.cross_attention(p, y, memory, seen))
            x = self.sublayer(p + ".ffn", x, lambda y: self.ffn(p, y))
        if self.c.norm == "pre":
            x = self.norm("dec.ln", x)
        return x @ self.p["embed"].T

    def logits(self, src, tgt_in):
        return self.decode(self.encode(src), src, tgt_in)

    def losses(self, src, tgt_in, tgt_out):
        """(smoothed loss, unsmoothed cross-entropy, logits [N, V]): both losses are means over the target tokens
        without padding."""
        real = tgt_out >= 0
        z = self.logits(src, tgt_in)[real]
        logp = z.log_softmax(-1)
        gold = logp.gather(1, tgt_out[real][:, None])[:, 0]
        ce = -gold.mean()
        eps, v = self.c.label_smoothing, self.c.vocab
        if self.c.smoothing == "all":
            loss = -((1 - eps) * gold + eps / v * logp.sum(-1)).mean()
        else:
            low = eps / (v - 1)
            loss = -((1 - eps - low) * gold + low * logp.sum(-1)).mean()
        return loss, ce, z

    @torch.no_grad()
    def greedy(self, src, max_len):
        """Greedy decoding: lists of ids, with EOS if it was predicted."""
        memory = self.encode(src)
        ids = torch.full((src.shape[0], 1), self.c.bos)
        done = torch.zeros(src.shape[0], dtype=torch.bool)
        for _ in range(max_len):
            best = self.decode(memory, src, ids)[:, -1].argmax(-1)
            ids = torch.cat((ids, torch.where(done, torch.tensor(self.c.eos), best)[:, None]), 1)
            done |= best == self.c.eos
            if done.all():
                break
        return [until(self.c.eos, row[1:].tolist()) for row in ids]

    @torch.no_grad()
    def beam(self, src, beam, alpha, max_len):
        """The best hypothesis for one sentence [1, T]: (ids with EOS, log-probability / ((5 + len) / 6)^alpha).  len
        counts EOS. The search ends when no live hypothesis can still beat the best finished one: a log-probability only
        falls, and the penalty is largest at max_len."""
        penalty = lambda n: ((5 + n) / 6) ** alpha
        memory = self.encode(src)
        live, finished = [([self.c.bos], 0.0)], []
        for t in range(1, max_len + 1):
            ids = torch.tensor([h for h, _ in live])
            n = len(live)
            logp = self.decode(memory.expand(n, -1, -1), src.expand(n, -1), ids)[:, -1].log_softmax(-1)
            total = logp + torch.tensor([s for _, s in live], dtype=logp.dtype)[:, None]
            score, at = total.flatten().topk(min(2 * beam, total.numel()))
            grown = [(live[a // self.c.vocab][0] + [a % self.c.vocab], s) for s, a in zip(score.tolist(), at.tolist())]
            finished += [(s / penalty(t), h) for h, s in grown[:beam] if h[-1] == self.c.eos]
            live = [(h, s) for h, s in grown if h[-1] != self.c.eos][:beam]
            if finished and max(finished)[0] >= max(s for _, s in live) / penalty(max_len):
                break
        if not finished:
            finished = [(s / penalty(max_len), h) for h, s in live]
        score, ids = max(finished)
        return ids[1:], score


def until(eos, ids):
    return ids[: ids.index(eos) + 1] if eos in ids else ids


def pad(rows):
    """Pads lists of ids to [B, T], with -1 after each end."""
    t = max(len(r) for r in rows)
    return torch.tensor([list(r) + [-1] * (t - len(r)) for r in rows])
