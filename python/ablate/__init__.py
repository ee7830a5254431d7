"""Plugins, runs, tables and verdicts of ablate from Python (docs/python.md)."""

from __future__ import annotations

from ablate._context import Context as Context
from ablate._error import Error as Error
from ablate._info import Info as Info, Parameter as Parameter
from ablate._kinds import (
    BIAS as BIAS,
    BIAS_HOOK as BIAS_HOOK,
    CAUSAL as CAUSAL,
    CROSS as CROSS,
    DISCONTINUOUS as DISCONTINUOUS,
    EMBED as EMBED,
    EMBEDDING as EMBEDDING,
    GAIN as GAIN,
    MIXES_TOKENS as MIXES_TOKENS,
    ROTATE as ROTATE,
    SCORES as SCORES,
    SELF as SELF,
    SURROGATE_GRADIENT as SURROGATE_GRADIENT,
    TABLE as TABLE,
    TRAINS_ON_BATCH as TRAINS_ON_BATCH,
    VALUES as VALUES,
    WEIGHT as WEIGHT,
    Op as Op,
    attention as attention,
    block as block,
    feed_forward as feed_forward,
    head as head,
    norm as norm,
    op as op,
    optimizer as optimizer,
    position as position,
    schedule as schedule,
    task as task,
)
from ablate._options import (
    Option as Option,
    boolean as boolean,
    choice as choice,
    integer as integer,
    real as real,
    text as text,
)
from ablate._tensor import Tensor as Tensor

TYPE_CHECKING = False  # a run starts sooner without `typing`; type checkers take this name as true
if TYPE_CHECKING:
    from ablate._frames import Chart as Chart, Frame as Frame, Table as Table, program as program
    from ablate._results import (
        curves as curves,
        judge as judge,
        plot as plot,
        query as query,
        run as run,
        runs as runs,
        table as table,
        to_parquet as to_parquet,
        to_wandb as to_wandb,
    )

# Imported at first use, since a run with a plugin in Python needs none of them.
_RESULTS = "Chart Frame Table curves judge plot program query run runs table to_parquet to_wandb".split()
__all__ = [
    name for name in dir() if not name.startswith("_") and name not in ("annotations", "TYPE_CHECKING")
] + _RESULTS


def _missing(name: str) -> object:
    if name in _RESULTS:
        from ablate import _results

        return getattr(_results, name)
    from ablate._error import missing

    raise missing("ablate", name, __all__)


if not TYPE_CHECKING:  # type checkers know what is missing
    __getattr__ = _missing
