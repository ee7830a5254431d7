"""Positions in plain NumPy, from their papers' equations: a vector for the embedding, a rotation, terms for the scores
and the output."""
import math

import numpy as np

from equations_basics import distances, softplus


class Position:
    def embed(self, at, x):
        return x

    def rotate(self, at, q):
        return q

    def scores(self, at, q, n_keys):
        """[H,Tq,Tk], added to scale q k'."""
        return 0

    def values(self, at, p):
        """[H,Tq,d_v], added to p v."""
        return 0


class Sinusoid(Position):  # Vaswani et al. 2017, section 3.5
    def embed(self, at, x):
        d, pe = x.shape[1], np.zeros(x.shape)
        for t in range(len(x)):
            for j in range(d):
                angle = t / 10000 ** ((j - j % 2) / d)
                pe[t, j] = math.cos(angle) if j % 2 else math.sin(angle)
        return x + pe


class Learned(Position):  # Gehring et al. 2017, section 3.1
    def embed(self, at, x):
        return x + at.w("pos", at.option("learned.max_len", 1024), x.shape[1])[: len(x)]


class Rotary(Position):  # Su et al. 2021, eq. 34; pairs are i and i + d / 2, as in GPT-NeoX
    def rotate(self, at, q):
        half = q.shape[-1] // 2
        angle = np.arange(q.shape[1])[:, None] * 10000.0 ** (-2 * np.arange(half) / q.shape[-1])
        a, b = q[..., :half], q[..., half:]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)


class Alibi(Position):  # Press et al. 2022, section 3: slopes 2^(-8 h / H), h = 1 .. H
    def scores(self, at, q, n_keys):
        slopes = 2.0 ** (-8 * np.arange(1, at.H + 1) / at.H)
        return -slopes[:, None, None] * abs(distances(q.shape[1], n_keys))


class Kerple(Position):  # Chi et al. 2022, eq. 3, the logarithmic variant
    def scores(self, at, q, n_keys):
        r1, r2 = (softplus(at.w(n, at.H, first=0.0)) for n in ("kerple_r1", "kerple_r2"))
        away = abs(distances(q.shape[1], n_keys))
        return -r1[:, None, None] * np.log(1 + r2[:, None, None] * away)


class T5(Position):  # Raffel et al. 2020, section 2.1, and its program's buckets
    def bucket(self, away, n, most, both):
        first = 0
        if both:
            n //= 2
            first = n if away > 0 else 0
            away = abs(away)
        else:
            away = max(-away, 0)
        exact = n // 2
        if away < exact:
            return first + away
        far = exact + int(math.log(away / exact) / math.log(most / exact) * (n - exact))
        return first + min(far, n - 1)

    def scores(self, at, q, n_keys):
        n, most = at.option("t5.buckets", 32), at.option("t5.max_distance", 128)
        table = at.w("rel_bias", at.H, n)
        away = distances(q.shape[1], n_keys)
        ids = np.array([[self.bucket(int(a), n, most, not at.causal) for a in row] for row in away])
        return table[:, ids]


class Shaw(Position):  # Shaw et al. 2018, eq. 3 and 4
    def vectors(self, at, name, width, n_queries, n_keys):
        clip = at.option("shaw.clip", 16)
        return at.w(name, 2 * clip + 1, width)[np.clip(distances(n_queries, n_keys), -clip, clip) + clip]

    def scores(self, at, q, n_keys):
        return np.einsum("hid,ijd->hij", q, self.vectors(at, "rel_k", q.shape[2], q.shape[1], n_keys)) / math.sqrt(at.dk)

    def values(self, at, p):
        return np.einsum("hij,ijd->hid", p, self.vectors(at, "rel_v", at.dv, *p.shape[1:]))


POSITIONS = dict(alibi=Alibi(), kerple=Kerple(), learned=Learned(), none=Position(), rotary=Rotary(), shaw=Shaw(),
                 sinusoid=Sinusoid(), t5=T5())
