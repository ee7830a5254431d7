"""The functions of a context that python/generate.py does not make: with shapes, callbacks or several results."""

from __future__ import annotations

import ctypes

from ablate import _native as native
from ablate._calls import WHOLE, Calls
from ablate._error import Error
from ablate._info import Info, Parameter
from ablate._tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Sequence

    from ablate._kinds import Op

_QUERY, _KEY, _VALUE, _KEY_STEP, _VALUE_STEP = range(5)


class Context(Calls):
    """
    The graph that is being traced, for one call of a plugin's function.

    Its functions raise `Error` at the plugin's line if shapes, names or the place of the call do not fit.

    Parameters
    ----------
    address : int
        Address of the program's ab_ctx.
    """

    def _call(self, name: str, *arguments: Any) -> Tensor:
        function = native.host.function(name)
        if len(arguments) != len(function.kinds):
            self._ids(name, arguments)  # refuses
        given: list[Any] = [self._at()]
        mine = None if self._ended else self
        for kind, a in zip(function.kinds, arguments):
            if kind == "ab_t" and type(a) is Tensor and a._context is mine:
                given.append(a._id)
            elif type(a) is int and kind in WHOLE:
                given.append(a)
            else:
                given.append(self._convert(name, len(given), kind, a))
        made = function.call(*given)
        if not made or made < 0:
            self._raise()
        return Tensor(self, made)

    def _call_none(self, name: str, *arguments: Any) -> None:
        self._raw(name, *self._ids(name, arguments))

    def _named(self, function: str, name: str, shape: Sequence[int], number: float) -> Tensor:
        text = self._convert(function, 1, "const char *", name)
        return Tensor(self, self._raw(function, text, *self._dims(shape), float(number)))

    @property
    def info(self) -> Info:
        """The place of this call in the model."""
        if not self._info:
            found = native.AbInfo.from_address(native.host.function("info").call(self._at()))
            self._raise()
            self._info = Info(found)
        return self._info

    @property
    def this_parameter(self) -> Parameter:
        """The parameter that this update of an optimizer is about."""
        found = native.AbParameter.from_address(native.host.function("this_parameter").call(self._at()))
        self._raise()
        return Parameter(found)

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
