"""Heads in plain NumPy, from their papers' equations: logits of the decoder's rows, and losses that are added in
training. A loss is a mean over tokens."""
import numpy as np

from equations_basics import linear, log_softmax, silu


class Softmax:  # Vaswani et al. 2017, section 3.4
    def logits(self, at, x):
        return x @ at.table.T

    def losses(self, at, xs, logits, targets):
        pass


class LogitSoftcap(Softmax):  # Gemma team 2024, section 2
    def logits(self, at, x):
        cap = at.option("logit_softcap.cap", 30)
        return cap * np.tanh(x @ at.table.T / cap)


class ZLoss(Softmax):  # Chowdhery et al. 2022, section 5
    def losses(self, at, xs, logits, targets):
        y = np.concatenate(logits)
        z = (y - log_softmax(y))[:, 0]
        at.loss((z**2).mean(), at.option("z_loss.weight", 1e-4))


class MultiToken(Softmax):  # Gloeckle et al. 2024, section 2
    def losses(self, at, xs, logits, targets):
        for k in range(1, at.option("multi_token.ahead", 1) + 1):
            nll = []
            for x, t in zip(xs, targets):
                y = log_softmax((x + silu(linear(at, x, f"ahead_{k}", at.d))) @ at.table.T)
                nll += [-y[i, t[i + k]] for i in range(len(t) - k)]
            at.loss(sum(nll) / (len(nll) + 1e-6), 1)


class Distillation(Softmax):  # Hinton et al. 2015, section 2; the teacher's logits are 2 sin(0.7 i)
    def losses(self, at, xs, logits, targets):
        y, t = np.concatenate(logits), np.concatenate(targets)
        log_p, log_q = log_softmax(2 * np.sin(0.7 * np.arange(y.size)).reshape(y.shape)), log_softmax(y)
        kl = (np.exp(log_p) * (log_p - log_q)).sum(1)
        at.loss((kl.sum() + log_q[np.arange(len(t)), t].sum()) / (len(t) + 1e-6), 0.5)


class Adaptive(Softmax):  # Grave et al. 2017, section 4: a short list, two clusters of d / 4 and d / 16 columns
    def logits(self, at, x):
        clusters, n = 2, int(0.2 * at.vocabulary + 0.5)
        tokens = at.table[:n] if at.table is not None else at.w("short", n, at.d)
        first = log_softmax(x @ np.concatenate([tokens, at.w("clusters", clusters, at.d)]).T)
        parts = [first[:, :n]]
        bounds = [n + (at.vocabulary - n) * i // clusters for i in range(clusters + 1)]
        for i in range(clusters):
            inner = linear(at, x, f"narrow_{i + 1}", max(at.d // 4 ** (i + 1), 1), False)
            tail = log_softmax(linear(at, inner, f"tail_{i + 1}", bounds[i + 1] - bounds[i], False))
            parts.append(first[:, n + i : n + i + 1] + tail)
        return np.concatenate(parts, 1)


HEADS = dict(adaptive=Adaptive(), distillation=Distillation(), logit_softcap=LogitSoftcap(), multi_token=MultiToken(),
             softmax=Softmax(), z_loss=ZLoss())
