"""Calls of the program's functions: arguments, results, and refusals at the line of the plugin's call."""

from __future__ import annotations

import ctypes
import sys
from os import fsencode, sep
from os.path import dirname

from ablate import _native as native
from ablate._error import Error, Named
from ablate._host import HostFunctions
from ablate._tensor import MAPS, Tensor
from ablate._words import in_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Sequence

    from ablate._info import Info, Shape

OWN = dirname(__file__) + sep  # where this module's files lie
OPTIONAL = {("delta_scan", 4), ("delta_scan", 5), ("long_conv", 3)}  # arguments that may be None
WHOLE = {"int", "int64_t", "ab_fn", "ab_projection"}
_file_names: dict[str, bytes] = {}  # as the program reads them; empty: this module's own


def _caller() -> tuple[FrameType, bytes]:
    """Return the frame of the plugin's own code that called this module, and its file's name."""
    frame = sys._getframe(2)
    while True:
        file = frame.f_code.co_filename
        name = _file_names.get(file)
        if name is None:
            name = _file_names[file] = b"" if file.startswith(OWN) else fsencode(file)
        before = None if name else frame.f_back
        if not before:
            return frame, name
        frame = before


class Calls(HostFunctions, Named):
    """How a context reaches the program."""

    _whose = "the context"

    def __init__(self, address: int) -> None:
        self._address = address
        self._ended = False
        self._info: Info | None = None
        self._kept: list[Any] = []  # callbacks that the program may call before this call returns

    def _lacks(self, name: str) -> AttributeError:
        if name in MAPS:
            return AttributeError(f"the context has no function '{name}' (a method of tensors: t.{name}())")
        return super()._lacks(name)

    def _at(self) -> int:
        if self._ended:
            raise Error("a context of another call; contexts end with their call")
        frame, name = _caller()
        return native.host.at(self._address, name, frame.f_lineno)

    def _own(self, value: Tensor, what: str) -> Tensor:
        if value._context._ended or value._context._address != self._address:
            raise Error(f"{what} a tensor of another call; tensors end with their call")
        return value

    def _convert(self, name: str, place: int, kind: str, value: Any) -> Any:
        if kind == "ab_t":
            if isinstance(value, Tensor):
                return self._own(value, f"{name}: argument {place} is")._id
            if value is None and ((name, place) in OPTIONAL or name.startswith("grad of ")):
                return 0
            if isinstance(value, (int, float)):
                return self._raw("full", *self._dims((1,)), float(value))
            hint = "; is a `return` missing?" if value is None else ""
            raise Error(f"{name}: argument {place} is {value!r}, expected a tensor or a number{hint}")
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
        result: Any = native.host.function(name).call(self._at(), *arguments)
        if not result or result < 0:
            self._raise()
        return result or 0

    def _raise(self) -> None:
        """Raise the program's refusal, if there is one."""
        message = native.services.error(self._address)
        if message:
            native.services.clear(self._address)
            text: str = message.decode(errors="replace")
            frame = _caller()[0]
            prefix = f"{frame.f_code.co_filename}:{frame.f_lineno}: "
            mine = text.startswith(prefix)
            raise Error(in_python(text[len(prefix) :]) if mine else text, placed=not mine)

    def _ids(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        kinds = native.host.function(name).kinds
        if len(arguments) != len(kinds):
            raise Error(f"{name}: {len(arguments)} arguments, expected {len(kinds)}")
        return [self._convert(name, i + 1, kind, a) for i, (kind, a) in enumerate(zip(kinds, arguments))]

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
