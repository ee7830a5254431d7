"""Plugins, runs, tables and verdicts of ablate from Python (docs/python.md)."""

from __future__ import annotations

from ablate._context import Context, Info, Parameter, Tensor
from ablate._error import Error
from ablate._kinds import (
    BIAS,
    BIAS_HOOK,
    CAUSAL,
    CROSS,
    DISCONTINUOUS,
    EMBED,
    EMBEDDING,
    GAIN,
    MIXES_TOKENS,
    ROTATE,
    SCORES,
    SELF,
    SURROGATE_GRADIENT,
    TABLE,
    TRAINS_ON_BATCH,
    VALUES,
    WEIGHT,
    Op,
    Option,
    attention,
    block,
    boolean,
    choice,
    feed_forward,
    head,
    integer,
    norm,
    op,
    optimizer,
    position,
    real,
    schedule,
    task,
    text,
)

__all__ = [name for name in dir() if not name.startswith("_") and name != "annotations"]


def __getattr__(name: str) -> object:
    from ablate._error import nearest

    raise AttributeError(f"ablate has no '{name}'{nearest(name, __all__)}")
