"""Refuses what a graph may not depend on: while a function of a plugin traces one, it may not call the usual functions
that read the time, the environment, files or the process."""

from __future__ import annotations

import builtins
import io
import os
import sys
import time

from ablate._error import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator

_WATCHED = (
    (time, "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time process_time_ns thread_time "
     "thread_time_ns clock_gettime clock_gettime_ns localtime gmtime ctime asctime strftime"),
    (os, "open stat lstat access listdir scandir getcwd getpid getppid uname urandom getloadavg times"),
    (os.path, "exists isfile isdir getsize getmtime"),
    (builtins, "open"),
    (io, "open"),
)  # fmt: skip
# Python's own code that may read files: it imports modules and prints tracebacks.
_IMPORTS = "<frozen importlib"
_EXEMPT = {os.path.join(os.path.dirname(os.__file__), name) for name in ("linecache.py", "traceback.py", "tokenize.py")}
_stand_ins: dict[int, Any] = {}  # by the function's id
_depth = 0


class tracing:  # noqa: N801
    """
    A block in which a plugin's function traces a graph.

    Parameters
    ----------
    on : bool
        False: a block of this module's own inside it.
    """

    def __init__(self, on: bool = True) -> None:
        self.on, self.before = on, 0

    def __enter__(self) -> None:
        global _depth
        self.before, _depth = _depth, _depth + 1 if self.on else 0

    def __exit__(self, *error: object) -> None:
        global _depth
        _depth = self.before


def _check(name: str) -> None:
    if not _depth:
        return
    frame: Any = sys._getframe(2)
    while frame:
        file = frame.f_code.co_filename
        if file.startswith(_IMPORTS) or file in _EXEMPT:
            return
        frame = frame.f_back
    raise Error(
        f"{name} was used while the graph is traced: a graph may depend on arguments and settings only, not on the "
        "time, the environment, files or the process; make it a parameter of the plugin, or a constant of its file"
    )


class _StandIn:
    """A function that checks before it runs. As an object it does not become a method in a class, like the original."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name, self._function = name, function
        self.__name__, self.__doc__, self.__wrapped__ = function.__name__, function.__doc__, function

    def __call__(self, *arguments: Any, **words: Any) -> Any:
        _check(self._name)
        return self._function(*arguments, **words)

    def __eq__(self, other: object) -> bool:
        return bool(self._function == (other._function if isinstance(other, _StandIn) else other))

    def __hash__(self) -> int:
        return hash(self._function)


def _stand_in(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    made = _stand_ins[id(function)] = _StandIn(name, function)
    return made


def _watch_environment() -> None:
    kind: Any = type(os.environ)
    for method in ("__getitem__", "__iter__", "__len__"):
        original = getattr(kind, method)

        def watched(self: Any, *arguments: Any, _original: Callable[..., Any] = original) -> Any:
            _check("os.environ")
            return _original(self, *arguments)

        setattr(kind, method, watched)


def start() -> None:
    """Put functions that check before they read in the place of those of Python's modules."""
    for module, names in _WATCHED:
        label = "" if module is builtins else module.__name__.replace("posixpath", "os.path") + "."
        for name in names.split():
            function = getattr(module, name)
            setattr(module, name, _stand_ins.get(id(function)) or _stand_in(label + name, function))
    _watch_environment()


def watch(names: dict[str, Any]) -> None:
    """
    Put them in the place of what a plugin's file has imported by name, and of the clock of `datetime`.

    Parameters
    ----------
    names : dict
        The file's globals.
    """
    for name, value in _replaced(names):
        names[name] = value


def _replaced(names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    module: Any = sys.modules.get("datetime")
    for name, value in list(names.items()):
        if id(value) in _stand_ins:
            yield name, _stand_ins[id(value)]
        elif module and value is module:
            yield name, _Datetime(module)
        elif module and (value is module.datetime or value is module.date):
            yield name, _clock(value)


class _Kind(type):
    """The type of the classes below: objects of the original class are theirs."""

    def __instancecheck__(cls, instance: object) -> bool:
        original = cls.__dict__.get("_original")
        return isinstance(instance, original) if original else super().__instancecheck__(instance)


_clocks: dict[Any, Any] = {}


def _clock(kind: Any) -> Any:
    """Return a class of dates whose now, utcnow and today check; one for each."""
    if kind in _clocks:
        return _clocks[kind]
    members: dict[str, Any] = {
        name: staticmethod(_stand_in(f"{kind.__name__}.{name}", getattr(kind, name)))
        for name in ("now", "utcnow", "today")
        if hasattr(kind, name)
    }
    members["_original"] = kind
    _clocks[kind] = _Kind(kind.__name__, (kind,), members)
    return _clocks[kind]


class _Datetime:
    """The module `datetime` with such classes."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self.datetime, self.date = _clock(module.datetime), _clock(module.date)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)
