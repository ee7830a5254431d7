"""What a plugin's function gets: tensors of the graph that is being traced, and the place of its call."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Tuple, Union

from ablate._error import Error, nearest

if TYPE_CHECKING:
    from ablate._context import Context

Shape = Tuple[int, int, int, int]
Operand = Union["Tensor", float]

MAPS = "exp log tanh sigmoid relu sqrt square abs sign cos sin elu1 recip silu erf floor".split()


class Info:
    """
    The place of a call in the model.

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

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"info has no '{name}'{nearest(name, vars(self))}")


class Parameter:
    """
    The parameter that an optimizer updates.

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
    """

    name: str
    kind: int
    shape: Shape
    parts: tuple[int, ...]
    heads: int

    def __init__(self, of: Any) -> None:
        self.name, self.kind = of.name.decode(), of.kind
        a, b, c, d = of.dim
        self.shape = (a, b, c, d)
        self.parts = tuple(of.part[: of.n_parts])
        self.heads = of.heads


class Tensor:
    """
    A value of the graph, with four axes aligned at the right.

    Operators work elementwise and broadcast over axes of length 1, ``@`` multiplies the last two axes. Nothing is
    computed while a plugin's function runs: it only traces the graph.
    """

    __slots__ = ("_context", "_id")

    def __init__(self, context: Context, id_: int) -> None:
        self._context, self._id = context, id_

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a tensor has no '{name}'{nearest(name, dir(Tensor))}")

    def __repr__(self) -> str:
        return f"Tensor(shape={self.shape})"

    def __bool__(self) -> bool:
        raise Error(
            "a tensor has no truth value while the graph is traced; where(condition, a, b) chooses elements"
        )

    def __iter__(self) -> Any:
        raise Error("a tensor cannot be iterated over; slices keep an axis: t[..., 0:1]")

    @property
    def shape(self) -> Shape:
        """The four axes; missing ones have length 1."""
        return self._context._shape(self)

    @property
    def T(self) -> Tensor:  # noqa: N802
        """The tensor with its last two axes swapped."""
        return self._context.transpose(self, -2, -1)

    def _binary(self, name: str, a: Operand, b: Operand) -> Tensor:
        return self._context._call(name, a, b)

    def __add__(self, other: Operand) -> Tensor:
        if isinstance(other, (int, float)):
            return self._context.add_scalar(self, other)
        return self._binary("add", self, other)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Tensor:
        if isinstance(other, (int, float)):
            return self._context.add_scalar(self, -other)
        return self._binary("sub", self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return (
            self._context.add_scalar(-self, float(other))
            if isinstance(other, (int, float))
            else NotImplemented
        )

    def __mul__(self, other: Operand) -> Tensor:
        if isinstance(other, (int, float)):
            return self._context.mul_scalar(self, other)
        return self._binary("mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Tensor:
        if isinstance(other, (int, float)):
            return self._context.mul_scalar(self, 1 / other)
        return self._binary("div", self, other)

    def __rtruediv__(self, other: Operand) -> Tensor:
        one = self.recip()
        return one if other == 1 else one * other

    def __neg__(self) -> Tensor:
        return self._context.mul_scalar(self, -1)

    def __abs__(self) -> Tensor:
        return self.abs()

    def __pow__(self, power: float) -> Tensor:
        known: dict[float, Callable[[], Tensor]] = {
            1: lambda: self,
            2: self.square,
            3: lambda: self.square() * self,
            4: lambda: self.square().square(),
            0.5: self.sqrt,
            -0.5: lambda: self.sqrt().recip(),
            -1: self.recip,
            -2: lambda: self.square().recip(),
        }
        if power not in known:
            raise Error(
                f"** {power!r}: expected one of {', '.join(map(str, known))}; (t.log() * p).exp() for t > 0"
            )
        return known[power]()

    def __matmul__(self, other: Tensor) -> Tensor:
        return self._context.matmul(self, other)

    def __lt__(self, other: Operand) -> Tensor:
        return self._binary("less_than", self, other)

    def __gt__(self, other: Operand) -> Tensor:
        return self._binary("less_than", other, self)

    def __getitem__(self, index: Any) -> Tensor:
        parts = list(index) if isinstance(index, tuple) else [index]
        if Ellipsis in parts:
            at = parts.index(Ellipsis)
            parts[at : at + 1] = [slice(None)] * (5 - len(parts))
        y, shape = self, self.shape
        for axis, (part, length) in enumerate(zip(parts, shape)):
            if not isinstance(part, slice) or part.step not in (None, 1):
                raise Error(
                    f"index {part!r}: expected slices with step 1; t[..., 3:4] keeps the axis, as every function does"
                )
            first, end, _ = part.indices(length)
            if (first, end) != (0, length):
                y = self._context.slice(y, axis - 4, first, end - first)
        if len(parts) > 4:
            raise Error(f"{len(parts)} indices for shape {shape}: expected at most 4")
        return y

    def sum(self, axis: int) -> Tensor:
        """
        Sum over an axis, which remains with length 1.

        Parameters
        ----------
        axis : int
            From -4 to -1.

        Returns
        -------
        Tensor
            The sums.
        """
        return self._context.sum(self, axis)

    def mean(self, axis: int) -> Tensor:
        """
        Mean over an axis, which remains with length 1.

        Parameters
        ----------
        axis : int
            From -4 to -1.

        Returns
        -------
        Tensor
            The means.
        """
        return self._context.sum(self, axis) * (1 / self.shape[axis])

    def max(self, axis: int) -> Tensor:
        """
        Maximum over an axis, which remains with length 1.

        Parameters
        ----------
        axis : int
            From -4 to -1.

        Returns
        -------
        Tensor
            The largest values.
        """
        return self._context.max(self, axis)

    def reshape(self, *shape: int) -> Tensor:
        """
        Change the shape, in row-major order.

        Parameters
        ----------
        *shape : int
            One to four lengths.

        Returns
        -------
        Tensor
            The elements in the new shape.
        """
        return self._context.reshape(self, *shape)

    def _map(self, name: str) -> Tensor:
        return self._context._call("map", self, 1 + MAPS.index(name))

    def exp(self) -> Tensor:
        """e to the power of each element."""
        return self._map("exp")

    def log(self) -> Tensor:
        """Natural logarithm of each element."""
        return self._map("log")

    def tanh(self) -> Tensor:
        """Hyperbolic tangent of each element."""
        return self._map("tanh")

    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x)) of each element."""
        return self._map("sigmoid")

    def relu(self) -> Tensor:
        """max(0, x) of each element."""
        return self._map("relu")

    def sqrt(self) -> Tensor:
        """Square root of each element."""
        return self._map("sqrt")

    def square(self) -> Tensor:
        """Square of each element."""
        return self._map("square")

    def abs(self) -> Tensor:
        """Absolute value of each element."""
        return self._map("abs")

    def sign(self) -> Tensor:
        """-1, 0 or 1; no gradient."""
        return self._map("sign")

    def cos(self) -> Tensor:
        """Cosine of each element."""
        return self._map("cos")

    def sin(self) -> Tensor:
        """Sine of each element."""
        return self._map("sin")

    def elu1(self) -> Tensor:
        """elu(x) + 1 of each element."""
        return self._map("elu1")

    def recip(self) -> Tensor:
        """1 / x of each element."""
        return self._map("recip")

    def silu(self) -> Tensor:
        """x sigmoid(x) of each element."""
        return self._map("silu")

    def erf(self) -> Tensor:
        """Error function of each element."""
        return self._map("erf")

    def floor(self) -> Tensor:
        """The largest whole number not above each element; no gradient."""
        return self._map("floor")

    def gelu(self) -> Tensor:
        """x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) of each element."""
        return self._context.gelu(self)

    def detach(self) -> Tensor:
        """Return equal values without a gradient."""
        return self._context.detach(self)
