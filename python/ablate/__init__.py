"""Plugins, runs, tables and verdicts of ablate from Python (docs/python.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from ablate._results import (
        Chart,
        Frame,
        Table,
        curves,
        judge,
        plot,
        program,
        query,
        run,
        runs,
        table,
        to_parquet,
        to_wandb,
    )

# Imported when they are first used: a run with a plugin in Python needs none of them.
_RESULTS = "Chart Frame Table curves judge plot program query run runs table to_parquet to_wandb".split()
__all__ = [
    name for name in dir() if not name.startswith("_") and name not in ("annotations", "TYPE_CHECKING")
] + _RESULTS


def __getattr__(name: str) -> object:
    if name in _RESULTS:
        from ablate import _results

        return getattr(_results, name)
    from ablate._error import nearest

    raise AttributeError(f"ablate has no '{name}'{nearest(name, __all__)}")
