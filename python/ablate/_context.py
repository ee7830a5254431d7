"""Tensors of a graph that is being traced, and the functions that make them."""

from __future__ import annotations

import ctypes
import sys
from os.path import dirname
from typing import TYPE_CHECKING, Any, Callable, Sequence, Tuple, Union

from ablate import _native as native
from ablate._error import Error, nearest
from ablate._host import HostFunctions

if TYPE_CHECKING:
    from types import FrameType

    from ablate._kinds import Op

Shape = Tuple[int, int, int, int]
Operand = Union["Tensor", float]

_OWN = dirname(__file__)
_MAPS = "exp log tanh sigmoid relu sqrt square abs sign cos sin elu1 recip silu erf floor".split()
_QUERY, _KEY, _VALUE, _KEY_STEP, _VALUE_STEP = range(5)
_file_names: dict[str, bytes] = {}


def _caller() -> FrameType:
    """Return the frame of the plugin's own code that called this module."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename.startswith(_OWN) and frame.f_back:
        frame = frame.f_back
    return frame


def _python_words(text: str) -> str:
    """Return a message of the program with Python's names for its functions and constants."""
    import re

    text = re.sub(r" \(AB_PLUGIN\(.*?= (AB_\w+)\)\)", r" (claims=\1)", text)
    text = re.sub(r"\bab_(sum|max)_axis\b", r"\1", text)
    text = re.sub(r"\bab_info\(c\)(->)?", lambda m: "c.info" + ("." if m[1] else ""), text)
    return re.sub(r"\bab_(?=[a-z])", "c.", re.sub(r"\bAB_(?=[A-Z])", "ab.", text))


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
        return self._context._call("map", self, 1 + _MAPS.index(name))

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


class Context(HostFunctions):
    """The graph that is being traced, for one call of a plugin's function."""

    def __init__(self, address: int) -> None:
        self._address = address
        self._kept: list[Any] = []  # callbacks that the program may call before this call returns

    def __getattr__(self, name: str) -> Any:
        extra = " (a method of tensors: t.exp())" if name in _MAPS else nearest(name, dir(Context))
        raise AttributeError(f"the context has no function '{name}'{extra}")

    # ---- calls of the program ----

    def _at(self) -> int:
        frame = _caller()
        name = frame.f_code.co_filename
        if name not in _file_names:
            _file_names[name] = name.encode()
        return native.host.at(self._address, _file_names[name], frame.f_lineno)

    def _convert(self, name: str, place: int, kind: str, value: Any) -> Any:
        if kind == "ab_t":
            if isinstance(value, Tensor):
                if value._context._address != self._address:
                    raise Error(
                        f"{name}: argument {place} is a tensor of another call; tensors end with their call"
                    )
                return value._id
            if value is None:
                return 0
            if isinstance(value, (int, float)):
                return self.full(float(value), 1)._id
            raise Error(f"{name}: argument {place} is {value!r}, expected a tensor or a number")
        if kind == "double":
            if isinstance(value, (int, float)):
                return float(value)
            what = "a tensor" if isinstance(value, Tensor) else repr(value)
            raise Error(f"{name}: argument {place} is {what}, expected a number")
        if kind == "const char *":
            if isinstance(value, str):
                return value.encode()
            raise Error(f"{name}: argument {place} is {value!r}, expected a text")
        if isinstance(value, int):
            return value
        if hasattr(value, "__index__"):
            return value.__index__()
        raise Error(f"{name}: argument {place} is {value!r}, expected a whole number")

    def _raw(self, name: str, *arguments: Any) -> Any:
        function = native.host.function(name)
        address = self._at()
        result: Any = function.call(address, *arguments)
        if not result or result < 0:
            message = native.services.error(self._address)
            if message:
                native.services.clear(self._address)
                text: str = message.decode(errors="replace")
                frame = _caller()
                prefix = f"{frame.f_code.co_filename}:{frame.f_lineno}: "
                mine = text.startswith(prefix)
                raise Error(_python_words(text[len(prefix) :]) if mine else text, placed=not mine)
        return result or 0

    def _ids(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        kinds = native.host.function(name).kinds
        if len(arguments) != len(kinds):
            raise Error(f"{name}: {len(arguments)} arguments, expected {len(kinds)}")
        return [self._convert(name, i + 1, kind, a) for i, (kind, a) in enumerate(zip(kinds, arguments))]

    def _call(self, name: str, *arguments: Any) -> Tensor:
        return Tensor(self, self._raw(name, *self._ids(name, arguments)))

    def _call_none(self, name: str, *arguments: Any) -> None:
        self._raw(name, *self._ids(name, arguments))

    def _axis(self, name: str, axis: int) -> int:
        if not isinstance(axis, int) or not -4 <= axis <= 3:
            raise Error(f"{name}: axis {axis!r}, expected -4 to 3, or -1 for the last")
        return axis

    def _shape(self, x: Tensor) -> Shape:
        dim = (ctypes.c_int64 * 4)()
        native.services.shape(self._address, x._id, dim)
        return (dim[0], dim[1], dim[2], dim[3])

    def _dims(self, shape: Sequence[int]) -> tuple[int, Any]:
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = shape[0]
        for n in shape:
            if not hasattr(n, "__index__"):
                raise Error(f"shape {tuple(shape)!r}: expected whole numbers")
        return len(shape), (ctypes.c_int64 * max(1, len(shape)))(*shape)

    def _named(self, function: str, name: str, shape: Sequence[int], number: float) -> Tensor:
        text = self._convert(function, 1, "const char *", name)
        return Tensor(self, self._raw(function, text, *self._dims(shape), float(number)))

    # ---- functions with shapes, callbacks or several results ----

    @property
    def info(self) -> Info:
        """The place of this call in the model."""
        return Info(native.AbInfo.from_address(native.host.function("info").call(self._at())))

    @property
    def this_parameter(self) -> Parameter:
        """The parameter that this update of an optimizer is about."""
        return Parameter(
            native.AbParameter.from_address(native.host.function("this_parameter").call(self._at()))
        )

    def fail(self, message: str) -> None:
        """
        Refuse the row with a message of the plugin's own.

        Parameters
        ----------
        message : str
            What is wrong, what was found and what was expected.
        """
        raise Error(message)

    def dropout(self, a: Tensor, p: float | None = None) -> Tensor:
        """
        Drop elements with probability p and scale the rest; identity when not training.

        Parameters
        ----------
        a : Tensor
            The elements.
        p : float, optional
            The probability; by default the run's dropout inside this sublayer, `Info.dropout`.

        Returns
        -------
        Tensor
            The remaining elements.
        """
        return self._call("dropout", a, self.info.dropout if p is None else p)

    def reshape(self, a: Tensor, *shape: int) -> Tensor:
        """
        Change the shape, in row-major order.

        Parameters
        ----------
        a : Tensor
            The elements.
        *shape : int
            One to four lengths.

        Returns
        -------
        Tensor
            The elements in the new shape.
        """
        return Tensor(self, self._raw("reshape", self._convert("reshape", 1, "ab_t", a), *self._dims(shape)))

    def full(self, value: float, *shape: int) -> Tensor:
        """
        Return a constant tensor.

        Parameters
        ----------
        value : float
            Every element.
        *shape : int
            One to four lengths.

        Returns
        -------
        Tensor
            The constant.
        """
        return Tensor(self, self._raw("full", *self._dims(shape), float(value)))

    def constant(self, values: Sequence[Any], *shape: int) -> Tensor:
        """
        Return a constant with these elements.

        Parameters
        ----------
        values : sequence of float
            The elements in row-major order: a list, or anything with ``tolist``, such as an array of NumPy.
        *shape : int
            One to four lengths; by default the number of elements.

        Returns
        -------
        Tensor
            The constant.
        """
        flat: list[float] = []
        pending: list[Any] = [values.tolist() if hasattr(values, "tolist") else values]
        while pending:
            one = pending.pop()
            if isinstance(one, (list, tuple)):
                pending.extend(reversed(one))
            else:
                flat.append(float(one))
        rank, dims = self._dims(shape or getattr(values, "shape", None) or (len(flat),))
        n = 1
        for i in range(rank):
            n *= dims[i]
        if n != len(flat):
            raise Error(f"constant: {len(flat)} elements for shape {tuple(dims)}, expected {n}")
        return Tensor(self, self._raw("consts", rank, dims, (ctypes.c_double * n)(*flat)))

    def table(self, element: Callable[..., float], *shape: int, **settings: float) -> Tensor:
        """
        Return a constant whose elements a function computes once.

        Parameters
        ----------
        element : callable
            ``element(i, j, ..., **settings)`` for the indices of the shape's axes; a function of a module, since the
            program keeps its tables.
        *shape : int
            One to four lengths.
        **settings : float
            Passed to the function.

        Returns
        -------
        Tensor
            The table.
        """
        rank, dims = self._dims(shape)
        function = native.element_callback(element, rank, tuple(settings))
        packed = (ctypes.c_double * max(1, len(settings)))(*settings.values())
        y = self._raw("computed_table", rank, dims, function, packed, 8 * len(settings))
        if native.failed:
            raise native.failed.pop()
        return Tensor(self, y)

    def weight(self, name: str, *shape: int, scale: float = 0) -> Tensor:
        """
        Return a learned value of this layer.

        Parameters
        ----------
        name : str
            Its name below the layer; the same name gives the same value.
        *shape : int
            One to four lengths.
        scale : float
            Initially uniform in [-scale, scale]; 0: zeros; below 0: normal, with deviation -scale.

        Returns
        -------
        Tensor
            The value.
        """
        return self._named("weight", name, shape, scale)

    def weight_full(self, name: str, value: float, *shape: int) -> Tensor:
        """
        Return a learned value that is initially equal everywhere.

        Parameters
        ----------
        name : str
            Its name below the layer.
        value : float
            The initial value.
        *shape : int
            One to four lengths.

        Returns
        -------
        Tensor
            The value.
        """
        return self._named("weight_full", name, shape, value)

    def buffer(self, name: str, value: float, *shape: int) -> Tensor:
        """
        Return a buffer: a value that training sets, but that has no gradient.

        Parameters
        ----------
        name : str
            Its name below the layer.
        value : float
            The initial value.
        *shape : int
            One to four lengths.

        Returns
        -------
        Tensor
            The value before this step.
        """
        return self._named("buffer", name, shape, value)

    def uniform(self, *shape: int) -> Tensor:
        """
        Return noise in (0,1), different in every call and reproducible; 1/2 outside training.

        Parameters
        ----------
        *shape : int
            One to four lengths.

        Returns
        -------
        Tensor
            The noise.
        """
        return Tensor(self, self._raw("noise", 0, *self._dims(shape)))

    def normal(self, *shape: int) -> Tensor:
        """
        Return normal noise of variance 1, different in every call and reproducible; 0 outside training.

        Parameters
        ----------
        *shape : int
            One to four lengths.

        Returns
        -------
        Tensor
            The noise.
        """
        return Tensor(self, self._raw("noise", 1, *self._dims(shape)))

    def query(self, x: Tensor) -> Tensor:
        """
        Project rows x to queries: linear, heads, rotation.

        Parameters
        ----------
        x : Tensor
            The x that the function got, rows [rows,d_model].

        Returns
        -------
        Tensor
            [B,H,Tq,d_k].
        """
        return self._call("project", x, _QUERY)

    def key(self, mem: Tensor) -> Tensor:
        """
        Project rows mem to keys; in decoding all keys so far.

        Parameters
        ----------
        mem : Tensor
            The mem that the function got, rows [rows,d_model].

        Returns
        -------
        Tensor
            [B,H,Tk,d_k].
        """
        return self._call("project", mem, _KEY)

    def value(self, mem: Tensor) -> Tensor:
        """
        Project rows mem to values; in decoding all values so far.

        Parameters
        ----------
        mem : Tensor
            The mem that the function got, rows [rows,d_model].

        Returns
        -------
        Tensor
            [B,H,Tk,d_v].
        """
        return self._call("project", mem, _VALUE)

    def key_step(self, mem: Tensor) -> Tensor:
        """
        Project rows mem to keys; in decoding only this step's.

        Parameters
        ----------
        mem : Tensor
            The mem that the function got, rows [rows,d_model].

        Returns
        -------
        Tensor
            [B,H,T,d_k].
        """
        return self._call("project", mem, _KEY_STEP)

    def value_step(self, mem: Tensor) -> Tensor:
        """
        Project rows mem to values; in decoding only this step's.

        Parameters
        ----------
        mem : Tensor
            The mem that the function got, rows [rows,d_model].

        Returns
        -------
        Tensor
            [B,H,T,d_v].
        """
        return self._call("project", mem, _VALUE_STEP)

    def scan(
        self, step: Callable[[Context, Tensor, Tensor], Tensor], x: Tensor, d: int, backwards: bool = False
    ) -> Tensor:
        """
        Run a recurrence over time.

        Parameters
        ----------
        step : callable
            ``step(c, x_t, h)`` returns the next state [B,d] from x_t [B,n] and the state h [B,d].
        x : Tensor
            [1,B,T,n].
        d : int
            Width of the state.
        backwards : bool
            Whether to run from the end.

        Returns
        -------
        Tensor
            The states, [1,B,T,d].
        """
        callback = native.step_callback(step)
        self._kept.append(callback)
        address = ctypes.cast(callback, ctypes.c_void_p)
        return Tensor(
            self, self._raw("scan", address, None, self._convert("scan", 2, "ab_t", x), d, int(backwards))
        )

    def _with_ids(self, name: str, a: Tensor, n: int) -> tuple[Tensor, Tensor]:
        ids = ctypes.c_int32()
        y = self._raw(name, self._convert(name, 1, "ab_t", a), n, ctypes.byref(ids))
        return Tensor(self, y), Tensor(self, ids.value)

    def top_k(self, a: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """
        Return the k largest elements of the last axis, largest first, and their indices.

        Parameters
        ----------
        a : Tensor
            [..,n].
        k : int
            How many.

        Returns
        -------
        Tensor
            The elements, [..,k].
        Tensor
            Their indices, as ids.
        """
        return self._with_ids("top_k", a, k)

    def sort(self, a: Tensor, descending: bool = False) -> tuple[Tensor, Tensor]:
        """
        Sort the last axis.

        Parameters
        ----------
        a : Tensor
            [..,n].
        descending : bool
            Whether the largest comes first.

        Returns
        -------
        Tensor
            The sorted elements.
        Tensor
            Their indices, as ids.
        """
        return self._with_ids("sort", a, int(descending))

    def log(self, name: str, value: Tensor) -> None:
        """
        Record a number, or a vector of at most 64, as a curve PLUGIN.name.

        Parameters
        ----------
        name : str
            Lower-case letters, digits and _.
        value : Tensor
            One number or a vector.
        """
        if isinstance(name, Tensor):
            raise Error("log: records a curve: c.log(name, value); the logarithm is t.log()")
        self._call_none("log", name, value)

    def print(self, name: str, x: Tensor) -> None:
        """
        Print a tensor's shape, mean, range and first numbers in the steps that ``ablate replay`` shows.

        Parameters
        ----------
        name : str
            What to print before it.
        x : Tensor
            The tensor.
        """
        self._call_none("print", name, x)

    def call(self, op: Op, *inputs: Tensor, **attributes: float) -> Tensor:
        """
        Apply an operation made by `ablate.op`.

        Parameters
        ----------
        op : Op
            The operation.
        *inputs : Tensor
            Its inputs.
        **attributes : float
            Its attributes.

        Returns
        -------
        Tensor
            Its result.
        """
        return op._apply(self, inputs, attributes)
