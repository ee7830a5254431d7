"""Tensors of the graph that is being traced."""

from __future__ import annotations

from ablate._error import Error, Named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Union

    from ablate._context import Context
    from ablate._info import Shape

    Operand = Union["Tensor", float]

_ALL = slice(None)
MAPS = "exp log tanh sigmoid relu sqrt square abs sign cos sin elu1 recip silu erf floor".split()


class Tensor(Named):
    """
    A value of the graph, with four axes aligned at the right.

    Operators work elementwise and broadcast over axes of length 1, ``@`` multiplies the last two axes. Nothing is
    computed while a plugin's function runs: it only traces the graph. Functions of `Context` make tensors.

    Parameters
    ----------
    context : Context
        The graph.
    id_ : int
        The tensor's number in it.
    """

    __slots__ = ("_context", "_id", "_axes")
    _whose = "a tensor"

    def __init__(self, context: Context, id_: int) -> None:
        self._context, self._id = context, id_
        self._axes: Shape | None = None

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
        if self._axes is None:
            self._axes = self._context._shape(self)
        return self._axes

    @property
    def T(self) -> Tensor:  # noqa: N802
        """The tensor with its last two axes swapped."""
        return self._context._call("transpose", self, -2, -1)

    def __add__(self, other: Operand) -> Tensor:
        if isinstance(other, (int, float)):
            return self._context.add_scalar(self, other)
        return self._context._call("add", self, other)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Tensor:
        if isinstance(other, (int, float)):
            return self._context.add_scalar(self, -other)
        return self._context._call("sub", self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return (
            self._context.add_scalar(-self, float(other))
            if isinstance(other, (int, float))
            else NotImplemented
        )

    def __mul__(self, other: Operand) -> Tensor:
        if isinstance(other, (int, float)):
            return self._context.mul_scalar(self, other)
        return self._context._call("mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Tensor:
        if isinstance(other, (int, float)):
            return self._context.mul_scalar(self, 1 / other)
        return self._context._call("div", self, other)

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
        return self._context._call("less_than", self, other)

    def __gt__(self, other: Operand) -> Tensor:
        return self._context._call("less_than", other, self)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, (int, float, Tensor)):
            raise Error("== and != compare no values of tensors; (a - b).abs() < 0.5 and a > b do, with 1 or 0 each")
        return NotImplemented

    __hash__ = object.__hash__

    def __getitem__(self, index: Any) -> Tensor:
        parts = list(index) if isinstance(index, tuple) else [index]
        if Ellipsis in parts:
            at = parts.index(Ellipsis)
            parts[at : at + 1] = [_ALL] * (5 - len(parts))
        y, shape = self, self.shape
        for axis, (part, length) in enumerate(zip(parts, shape)):
            if part is _ALL:
                continue
            if not isinstance(part, slice) or part.step not in (None, 1):
                raise Error(
                    f"index {part!r}: expected slices with step 1; t[..., 3:4] keeps the axis, as every function does"
                )
            first, end, _ = part.indices(length)
            if first or end != length:
                y = self._context._call("slice", y, axis - 4, first, end - first)
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
        """
        Raise e to the power of each element.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._map("exp")

    def log(self) -> Tensor:
        """
        Compute the natural logarithm of each element.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._map("log")

    def tanh(self) -> Tensor:
        """
        Compute the hyperbolic tangent of each element.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._map("tanh")

    def sigmoid(self) -> Tensor:
        """
        Compute 1 / (1 + exp(-x)) of each element.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._map("sigmoid")

    def relu(self) -> Tensor:
        """
        Compute max(0, x) of each element.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._map("relu")

    def sqrt(self) -> Tensor:
        """
        Compute the square root of each element.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._map("sqrt")

    def square(self) -> Tensor:
        """
        Multiply each element by itself.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._map("square")

    def abs(self) -> Tensor:
        """
        Return the absolute value of each element.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._map("abs")

    def sign(self) -> Tensor:
        """
        Return -1, 0 or 1 for each element; no gradient.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._map("sign")

    def cos(self) -> Tensor:
        """
        Compute the cosine of each element, in radians.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._map("cos")

    def sin(self) -> Tensor:
        """
        Compute the sine of each element, in radians.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._map("sin")

    def elu1(self) -> Tensor:
        """
        Compute elu(x) + 1 of each element.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._map("elu1")

    def recip(self) -> Tensor:
        """
        Compute 1 / x of each element.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._map("recip")

    def silu(self) -> Tensor:
        """
        Compute x sigmoid(x) of each element.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._map("silu")

    def erf(self) -> Tensor:
        """
        Compute the error function of each element.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._map("erf")

    def floor(self) -> Tensor:
        """
        Return the largest whole number not above each element; no gradient.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._map("floor")

    def gelu(self) -> Tensor:
        """
        Compute x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) of each element.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._context.gelu(self)

    def detach(self) -> Tensor:
        """
        Return equal values without a gradient.

        Returns
        -------
        Tensor
            The same shape.
        """
        return self._context.detach(self)
