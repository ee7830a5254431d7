"""The same Transformer as ablate's, written for speed in PyTorch on a CPU. bench/train_torch.py times it.

Fast paths: fused q,k,v projection, logits only for real target tokens, fused cross-entropy, and a choice of
  layout     padded   rows are [B * T, d], padding included: no copies around attention
             packed   rows are real tokens only; scattered to [B, T] inside attention
  attention  sdpa     F.scaled_dot_product_attention (flash kernel, causal flag instead of a mask)
             sdpa32   the same in fp32: with bf16 the flash kernel's backward took 60 % of a step at tiny (torch 2.15)
             math     two batched products and a softmax
Dropout, biases, norms, smoothing and tied embedding as in the paper. tests/oracle/model.py is the plain, slow, readable version.
"""
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass(frozen=True)
class Size:
    d_model: int
    d_ff: int
    heads: int
    layers: int
    dropout: float
    vocab: int = 10000


SIZES = {
    "tiny": Size(128, 256, 4, 4, 0.1),
    "small": Size(256, 1024, 4, 3, 0.1),
    "base": Size(512, 2048, 8, 6, 0.1),
    "table3-quarter": Size(64, 256, 8, 3, 0.1, 2000),
    "table3-core": Size(128, 512, 4, 3, 0.1, 4000),
}


class Unpack(torch.autograd.Function):
    """rows [R, w] -> [n, w], with zeros where no row goes; index [R]: distinct targets."""

    @staticmethod
    def forward(ctx, rows, index, n):
        ctx.save_for_backward(index)
        return rows.new_zeros(n, rows.shape[1]).index_copy_(0, index, rows)

    @staticmethod
    def backward(ctx, g):
        return g.index_select(0, ctx.saved_tensors[0]), None, None


class Pack(torch.autograd.Function):
    """The inverse of Unpack: [n, w] -> rows [R, w]. The gradient of index_select would be a slow scatter-add."""

    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        ctx.n = x.shape[0]
        return x.index_select(0, index)

    @staticmethod
    def backward(ctx, g):
        return g.new_zeros(ctx.n, g.shape[1]).index_copy_(0, ctx.saved_tensors[0], g), None


class Side:
    """Tensors of one side of a batch.

    ids, pos: [rows]; shape: (B, T); index: [real rows], where each real token stands in [B * T]; mask: [B, 1, 1, T], 0 or -inf,
    or None where all sentences are equally long (unless always_mask: each form would be compiled).
    """

    def __init__(self, lengths, vocab, packed, dtype, generator, always_mask=False):
        b, t = len(lengths), max(lengths)
        n = torch.tensor(lengths)
        real = torch.arange(t)[None] < n[:, None]
        ids = torch.randint(4, vocab, (b, t), generator=generator)
        ids[torch.arange(b), n - 1] = 2                                  # EOS
        pos = torch.arange(t).expand(b, t)
        self.shape = (b, t)
        self.index = real.flatten().nonzero()[:, 0]
        self.packed = packed
        self.ids, self.pos = (x.flatten()[self.index] if packed else x.flatten().contiguous() for x in (ids, pos))
        self.gold = ids.flatten()[self.index]
        self.mask = None
        if always_mask or not bool(real.all()):
            self.mask = torch.zeros(b, 1, 1, t).masked_fill_(~real[:, None, None], -math.inf).to(dtype)

    def shifted(self):
        """The decoder's input: BOS, then the sentence without its last token."""
        first = self.pos == 0
        self.ids = self.ids.roll(1).masked_fill(first, 1)
        return self


def sdpa(q, k, v, mask, causal):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)


def sdpa32(q, k, v, mask, causal):
    with torch.autocast("cpu", enabled=False):
        return sdpa(q.float(), k.float(), v.float(), None if mask is None else mask.float(), causal).to(v.dtype)


def math_attention(q, k, v, mask, causal):
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
    if causal:
        mask = torch.full(scores.shape[-2:], -math.inf, dtype=scores.dtype).triu(1)
    return (scores if mask is None else scores + mask).softmax(-1, dtype=scores.dtype) @ v


ATTENTIONS = {"sdpa": sdpa, "sdpa32": sdpa32, "math": math_attention}


class Attention(nn.Module):
    def __init__(self, s, cross, mix):
        super().__init__()
        d = s.d_model
        self.mix = mix
        self.h, self.cross = s.heads, cross
        if cross:
            self.q, self.kv = nn.Linear(d, d), nn.Linear(d, 2 * d)
        else:
            self.qkv = nn.Linear(d, 3 * d)
        self.o = nn.Linear(d, d)

    def heads(self, rows, side, parts):
        """rows [R, parts d] -> parts tensors [B, h, T, d_k]"""
        b, t = side.shape
        if side.packed:
            rows = Unpack.apply(rows, side.index, b * t)
        return [x.transpose(1, 2) for x in rows.view(b, t, parts, self.h, -1).unbind(2)]

    def forward(self, x, side, memory=None, source=None, causal=False):
        if self.cross:
            (q,) = self.heads(self.q(x), side, 1)
            k, v = self.heads(self.kv(memory), source, 2)
            mask = source.mask
        else:
            q, k, v = self.heads(self.qkv(x), side, 3)
            mask = None if causal else side.mask
        y = self.mix(q, k, v, mask, causal).transpose(1, 2).reshape(side.shape[0] * side.shape[1], -1)
        return self.o(Pack.apply(y, side.index) if side.packed else y)


class Layer(nn.Module):
    def __init__(self, s, decoder, mix):
        super().__init__()
        self.p, self.decoder = s.dropout, decoder
        self.self_attention, self.norm1 = Attention(s, False, mix), nn.LayerNorm(s.d_model, 1e-6)
        if decoder:
            self.cross, self.norm2 = Attention(s, True, mix), nn.LayerNorm(s.d_model, 1e-6)
        self.ffn1, self.ffn2 = nn.Linear(s.d_model, s.d_ff), nn.Linear(s.d_ff, s.d_model)
        self.norm3 = nn.LayerNorm(s.d_model, 1e-6)

    def forward(self, x, side, memory=None, source=None):
        drop = lambda y: F.dropout(y, self.p, self.training)
        x = self.norm1(x + drop(self.self_attention(x, side, causal=self.decoder)))
        if self.decoder:
            x = self.norm2(x + drop(self.cross(x, side, memory, source)))
        return self.norm3(x + drop(self.ffn2(F.relu(self.ffn1(x)))))


class Model(nn.Module):
    def __init__(self, s, smoothing=0.1, longest=512, chunked=False, attention="sdpa"):
        super().__init__()
        self.s, self.smoothing, self.chunked = s, smoothing, chunked
        self.embed = nn.Embedding(s.vocab, s.d_model)
        nn.init.normal_(self.embed.weight, std=s.d_model**-0.5)
        self.encoder = nn.ModuleList(Layer(s, False, ATTENTIONS[attention]) for _ in range(s.layers))
        self.decoder = nn.ModuleList(Layer(s, True, ATTENTIONS[attention]) for _ in range(s.layers))
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight)
                nn.init.zeros_(m.bias)
        angle = torch.arange(longest)[:, None] * 10000.0 ** (-torch.arange(0, s.d_model, 2) / s.d_model)
        self.register_buffer("table", torch.stack((angle.sin(), angle.cos()), -1).reshape(longest, s.d_model))

    def start(self, side):
        x = self.embed(side.ids) * math.sqrt(self.s.d_model) + self.table[side.pos]
        return F.dropout(x, self.s.dropout, self.training)

    def forward(self, source, target):
        """The smoothed loss, a mean over the real target tokens."""
        x, y = self.start(source), self.start(target)
        for layer in self.encoder:
            x = layer(x, source)
        for layer in self.decoder:
            y = layer(y, target, x, source)
        if not target.packed:
            y = Pack.apply(y, target.index)
        if self.chunked:
            return F.linear_cross_entropy(y, self.embed.weight, target.gold, label_smoothing=self.smoothing,
                                          options=torch.nn.LinearCrossEntropyOptions())
        return F.cross_entropy(F.linear(y, self.embed.weight), target.gold, label_smoothing=self.smoothing)
