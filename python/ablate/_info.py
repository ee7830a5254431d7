"""The place of a plugin's call: in the model, and among the parameters of an optimizer."""

from __future__ import annotations

import ctypes

from ablate._error import Named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Tuple

    Shape = Tuple[int, int, int, int]


class Info(Named):
    """
    The place of a call in the model, `Context.info`.

    Parameters
    ----------
    of : Structure
        The program's ab_info.

    Attributes
    ----------
    heads, d_k, d_v, d_model, d_ff : int
        Sizes.
    layer, n_layers : int
        The layer's number, from 0, and their count.
    role : int
        `SELF`, `CAUSAL` or `CROSS`; outside attention `SELF` in the encoder, `CAUSAL` in the decoder.
    training : bool
        Whether dropout is on.
    dropout : float
        The dropout inside this sublayer.
    cross, feed_forward : bool
        For blocks: whether the layer reads an encoder's output; whether it has a feed-forward.
    tied : bool
        For heads: whether `token_vectors` is an embedding's table.
    vocabulary : int
        For heads: the number of tokens.
    """

    _whose = "info"
    heads: int
    d_k: int
    d_v: int
    d_model: int
    d_ff: int
    layer: int
    n_layers: int
    role: int
    training: bool
    dropout: float
    cross: bool
    feed_forward: bool
    tied: bool
    vocabulary: int

    def __init__(self, of: Any) -> None:
        for name, kind in of._fields_:
            value = getattr(of, name)
            setattr(self, name, bool(value) if kind is ctypes.c_uint32 and name != "role" else value)


class Plan(Named):
    """
    The run of a schedule: a copy, which the schedule may change.

    Parameters
    ----------
    of : Structure
        The program's ab_run_plan.

    Attributes
    ----------
    lr, lr_min : float
        The largest and the least learning rate of the INI.
    warmup, steps : int
        Updates of the warm-up, and of the run.
    d_model : int
        The model's width.
    """

    _whose = "the plan"
    lr: float
    lr_min: float
    warmup: int
    steps: int
    d_model: int

    def __init__(self, of: Any) -> None:
        for name, _ in of._fields_:
            setattr(self, name, getattr(of, name))


class Parameter(Named):
    """
    The parameter that an optimizer updates, `Context.this_parameter`.

    Parameters
    ----------
    of : Structure
        The program's ab_parameter.

    Attributes
    ----------
    name : str
        Such as ``"dec.0.self.qkv.w"``.
    kind : int
        `WEIGHT`, `BIAS`, `GAIN`, `EMBEDDING` or `TABLE`.
    shape : tuple of int
        Its four axes.
    parts : tuple of int
        Outputs of the matrices side by side in it.
    heads : int
        Heads side by side in each part; 1: none.
    """

    name: str
    kind: int
    shape: Shape
    parts: tuple[int, ...]
    heads: int
    _whose = "the parameter"

    def __init__(self, of: Any) -> None:
        self.name, self.kind = of.name.decode(), of.kind
        a, b, c, d = of.dim
        self.shape = (a, b, c, d)
        self.parts = tuple(of.part[: of.n_parts])
        self.heads = of.heads
