"""What the program calls: it gives its table of functions, and gets the description of a file's plugin."""

from __future__ import annotations

import ctypes
import os

from ablate import _guard as guard
from ablate import _kinds as kinds
from ablate import _native as native
from ablate._calls import OWN
from ablate._context import Context
from ablate._elsewhere import disturb, move
from ablate._error import Error
from ablate._files import run
from ablate._info import Parameter, Plan
from ablate._options import BOOL, CHOICE, REAL, TEXT
from ablate._tensor import Tensor
from ablate._words import in_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

MAGIC, MAJOR = 0x41424C54, 2
_kept: list[Any] = []  # objects that descriptions point at; plugins live to the end
_C_KINDS = "task attention position feed_forward norm block head optimizer schedule".split()


def start(address: int) -> bool:
    """
    Take the program's services.

    Parameters
    ----------
    address : int
        Address of `services` in core/network/plugin/python.c.

    Returns
    -------
    bool
        True.
    """
    table = native.ServicesTable.from_address(address)
    _kept.append(table)
    for name in ("error", "clear", "shape", "log"):
        setattr(native.services, name, getattr(table, name))
    native.services.minor = table.minor
    functions: list[str] = []
    while table.functions[len(functions)]:
        functions.append(table.functions[len(functions)].decode())
    native.host.open(table.host, functions)
    structures = (
        native.AbPlugin, native.AbOption, native.AbInfo, native.AbParameter, native.AbRunPlan, native.AbMetric,
        native.AbLikelihood, native.AbVocabs, native.AbOp,
    )  # fmt: skip
    for made, size in zip(structures, table.sizes):
        _expect_size(made.__name__, ctypes.sizeof(made), size)
    for kind, size in zip(_C_KINDS, table.kinds):
        if kind == "task":
            from ablate._tasks import AbTask

            _expect_size(kind, ctypes.sizeof(AbTask), size)
        else:
            _expect_size(kind, ctypes.sizeof(_interface(kind)), size)
    guard.start()
    disturb(os.environb[b"PYTHONHASHSEED"])
    return True


def _expect_size(name: str, found: int, expected: int) -> None:
    if found != expected:
        raise Error(
            f"{name}: the module has {found} bytes, the program {expected}: they are of different versions"
        )


# ---- errors ----


def _place(error: BaseException, path: str) -> tuple[str, int]:
    """Return file and line of the plugin's code at fault: the innermost that is not this module's."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return error.filename, error.lineno
    file, line, trace = path, 0, error.__traceback__
    while trace:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith((OWN, "<")):
            if name == path or os.path.dirname(name) == os.path.dirname(path):
                file, line = name, trace.tb_lineno
        trace = trace.tb_next
    return file, line


def _words(error: BaseException) -> str:
    if isinstance(error, Error):
        return str(error)
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    if isinstance(error, SystemExit):
        return "the plugin ends the process: plugins return, they do not exit"
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException as second:
        return f"{type(error).__name__}, whose text fails with {type(second).__name__}"


def _bytes(text: str) -> bytes:
    """Return a text as the program reads it, whatever it contains; a file's name as the system has it."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode(errors="replace")


_logged: set[str] = set()


def _log(error: BaseException) -> None:
    """Log the traceback of an exception once, if it has more to say than the message's file and line."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    if sum(not frame.filename.startswith((OWN, "<")) for frame in frames) < 2:
        return
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    if text not in _logged:
        _logged.add(text)
        native.services.log(_bytes(text.rstrip()))


def _refuse(address: int, error: BaseException, path: str, first: int) -> None:
    """
    Make an exception the graph's error; the innermost call of nested plugins has placed it.

    Parameters
    ----------
    address : int
        Of the context.
    error : BaseException
        The exception.
    path : str
        The file of the function that was called.
    first : int
        The function's line, for an exception about what it returned.
    """
    if native.services.error(address):
        return
    file, line = _place(error, path)
    placed = isinstance(error, Error) and error.placed
    if not placed:
        _log(error)
    name = native.host.at(address, None if placed else _keep_text(file), line or first)
    native.host.function("fail").call(name, _bytes(_words(error)))


_texts: dict[str, bytes] = {}


def _keep_text(text: str | None) -> bytes | None:
    """Return bytes that live to the end, one for each text."""
    return None if text is None else _texts.setdefault(text, _bytes(text))


# ---- calls of the plugin's functions ----


def traced(address: int, function: Callable[..., Any], call: Callable[..., Any], void: bool = False) -> int:
    """
    Run a function of a plugin that traces a part of the graph. No exception leaves it.

    Parameters
    ----------
    address : int
        Address of the context.
    function : callable
        The plugin's function, for messages.
    call : callable
        ``call(c, tensor)`` calls it; ``tensor(id)`` makes its arguments.
    void : bool
        Whether it returns nothing.

    Returns
    -------
    int
        The id of the tensor that it returned; 0 if it failed.
    """
    code = getattr(function, "__code__", None)
    path = code.co_filename if code else ""
    c = Context(address)
    made: dict[int, Tensor] = {}
    move()
    try:
        with guard.tracing():
            y = call(c, lambda i: made.setdefault(i, Tensor(c, i)))
        if void:
            if y is not None:
                raise Error(f"{getattr(function, '__name__', 'the function')} returned {y!r}, expected nothing")
            return 0
        name = getattr(function, "__name__", "the function")
        if isinstance(y, Tensor):
            return c._own(y, f"{name} returned")._id
        hint = "; is a `return` missing?" if y is None else ""
        raise Error(f"{name} returned {y!r}, expected a tensor{hint}")
    except BaseException as error:
        with guard.tracing(False):
            _refuse(address, error, path, code.co_firstlineno if code else 0)
        return 0
    finally:
        c._ended = True


class Description:
    """A plugin as the program reads it."""

    def __init__(self, plugin: kinds.Plugin, path: str, ops: list[kinds.Op]) -> None:
        self.plugin, self.path = plugin, path
        self.names = list(plugin.options)
        fields = [
            (name, {REAL: native.F64, TEXT: native.TEXT}.get(o.type, native.I64))
            for name, o in plugin.options.items()
        ]
        self.config: Any = type(
            "Config", (ctypes.Structure,), {"_fields_": fields or [("unused", native.I64)]}
        )
        interface = _interface(plugin.kind)
        self.interface = interface() if plugin.kind != "task" else None
        if plugin.kind != "task":
            self._settings()
            for name, function in plugin.hooks.items():
                callback = self._hook(name, function)
                _kept.append(callback)
                setattr(self.interface, name, ctypes.cast(callback, native.ADDRESS))
        else:
            from ablate._tasks import Task

            self.task = Task(self)
            self.interface = self.task.interface
        self.c = self._describe(ops)

    def parameters(self, cfg: int) -> dict[str, Any]:
        """Return the values of a C configuration."""
        if not self.names:
            return {}
        values = self.config.from_address(cfg)
        read = {}
        for name, option in self.plugin.options.items():
            value = getattr(values, name)
            if option.type == BOOL:
                value = bool(value)
            elif option.type == CHOICE:
                value = (option.choices or "").split("|")[value]
            elif option.type == TEXT:
                value = (value or b"").decode()
            read[name] = value
        return read

    def _settings(self) -> None:
        s: dict[str, Any] = self.plugin.settings
        to: Any = self.interface
        if self.plugin.kind == "attention":
            to.roles, to.accepts = s["roles"], s["accepts"]
        elif self.plugin.kind == "position":
            to.claims = int(s.get("relative", False))
        elif self.plugin.kind == "optimizer":
            slots = s.get("slots", ())
            names = (native.TEXT * max(1, len(slots)))(*(name.encode() for name in slots))
            _kept.append(names)
            to.flags, to.n_slots, to.slots = (
                int(s.get("elementwise", False)),
                len(slots),
                ctypes.addressof(names),
            )
            if s.get("evaluated"):
                if s["evaluated"] not in slots:
                    raise Error(f"evaluated={s['evaluated']!r}: expected one of the slots {', '.join(slots)}")
                to.evaluated = 1 + list(slots).index(s["evaluated"])

    def _hook(self, name: str, f: Callable[..., Any]) -> Any:
        made, c_types = native.prototype(kinds.KINDS[self.plugin.kind].hooks[name])
        read = self.parameters
        if c_types[0] != "ab_ctx *":
            return made(self._plain(name, f))
        is_slot = [kind == "const ab_t *" for kind in c_types[2:]]
        n_slots, plain = len(self.plugin.settings.get("slots", ())), [kind != "ab_t" for kind in c_types[2:]]
        void = kinds.KINDS[self.plugin.kind].hooks[name].startswith("void")

        def call(address: int, cfg: int, *given: Any) -> int | None:
            def inner(c: Context, tensor: Callable[[int], Tensor]) -> Any:
                arguments = [
                    [tensor(i) if i else None for i in (native.I32 * n_slots).from_address(g)] if slot and n_slots
                    else [] if slot else g if number else tensor(g)
                    for g, slot, number in zip(given, is_slot, plain)
                ]  # fmt: skip
                return f(c, *arguments, **read(cfg))

            result = traced(address, f, inner, void)
            return None if void else result

        return made(call)

    def _plain(self, name: str, f: Callable[..., Any]) -> Callable[..., Any]:
        """Return a hook without a graph: a schedule's rate, a period, a slot's shape."""
        read = self.parameters

        def plain(cfg: int, given: Any) -> Any:
            if name == "lr":
                rate = f(Plan(native.AbRunPlan.from_address(given[0])), given[1], **read(cfg))
                if not isinstance(rate, (int, float)):
                    raise Error(f"lr returned {rate!r}, expected a number{'; is a `return` missing?' if rate is None else ''}")
                return float(rate)
            if name == "slot_shape":
                shape = f(Parameter(native.AbParameter.from_address(given[0])), given[1], **read(cfg)) or (0,)
                to: Any = (native.I64 * 4).from_address(given[2])
                to[:] = [1] * (4 - len(shape)) + list(shape)
                return None
            return int(f(**read(cfg)))

        def call(cfg: int, *given: Any) -> Any:
            try:
                with guard.tracing():
                    return plain(cfg, given)
            except BaseException as error:
                file, line = _place(error, self.path)
                native.services.log(_bytes(f"{file}:{line or f.__code__.co_firstlineno}: {_words(error)}"))
                if name != "slot_shape":
                    return float("nan") if name == "lr" else -1
                shape: Any = (native.I64 * 4).from_address(given[2])
                shape[:] = [-1] * 4
                return None

        return call

    def _describe(self, ops: list[kinds.Op]) -> Any:
        p = self.plugin
        options = (native.AbOption * (len(p.options) + 1))()
        config: Any = self.config
        interface: Any = self.interface
        for to, (name, o) in zip(options, p.options.items()):
            to.name, to.type, to.offset = name.encode(), o.type, getattr(config, name).offset
            to.default, to.low, to.high = o.default, o.low, o.high
            to.choices, to.doc = o.choices.encode() if o.choices is not None else None, o.doc.encode()
        name_bytes = (p.name + "\0").encode()  # a single byte would lie in Python's own library, not in the plugin
        host = native.ADDRESS()
        calls = (native.TEXT * (len(p.calls) + 1))(*(name.encode() for name in p.calls))
        listed = (native.ADDRESS * (len(ops) + 1))(*(ctypes.addressof(op_structure(o)) for o in ops))
        made = native.AbPlugin(
            magic=MAGIC, major=MAJOR, minor=native.services.minor, size=ctypes.sizeof(native.AbPlugin),
            iface_size=ctypes.sizeof(interface), kind=kinds.KINDS[p.kind].number, name=name_bytes,
            doc=(p.doc or "").encode(), paper=p.paper.encode() if p.paper else None,
            version=p.version.encode() if p.version else None, cfg_size=ctypes.sizeof(config),
            params=ctypes.addressof(options), ops=ctypes.addressof(listed) if ops else None,
            iface=ctypes.addressof(interface), host=ctypes.addressof(host), claims=p.claims,
            calls=ctypes.addressof(calls) if p.calls else None,
        )  # fmt: skip
        _kept.extend([self, options, host, calls, listed, made])
        return made


def _interface(kind: str) -> Any:
    """Return the structure ab_KIND_plugin of ab_plugin.h."""
    hooks = [(name, native.ADDRESS) for name in kinds.KINDS[kind].hooks]
    numbers = {"attention": "roles accepts", "position": "claims"}.get(kind, "")
    fields: list[tuple[str, Any]] = [(n, native.U32) for n in numbers.split()] + hooks
    if kind == "optimizer":
        fields = [("flags", native.U32), ("n_slots", native.U32), ("slots", native.ADDRESS), *hooks[:2],
                  ("evaluated", native.U32), *hooks[2:]]  # fmt: skip
    return type(f"Ab_{kind}", (ctypes.Structure,), {"_fields_": fields})


# ---- operations ----


def op_structure(op: kinds.Op) -> Any:
    """
    Return an operation as the program reads it.

    Parameters
    ----------
    op : Op
        The operation.

    Returns
    -------
    Structure
        Its ab_op, which lives to the end.
    """
    if op.made:
        return op.made
    n, names = op.n_in, op.attributes

    def values(attr: int) -> dict[str, float]:
        return dict(zip(names, (native.F64 * len(names)).from_address(attr))) if names else {}

    def reference(address: int, inputs: int, attr: int) -> int:
        ids = (native.I32 * n).from_address(inputs)
        return traced(address, op.reference, lambda c, t: op.reference(c, *map(t, ids), **values(attr)))

    def gradient(address: int, inputs: int, y: int, dy: int, to: int, attr: int) -> None:
        ids, rule = (native.I32 * n).from_address(inputs), op.gradient
        assert rule

        def call(c: Context, t: Callable[[int], Tensor]) -> None:
            given = rule(c, [t(i) for i in ids], t(y), t(dy), **values(attr))
            if not isinstance(given, (list, tuple)) or len(given) != n:
                raise Error(f"{op.name}: its grad returned {given!r}, expected a list of {n}, one for each input")
            for i, one in enumerate(given):
                (native.I32 * n).from_address(to)[i] = c._convert(f"grad of {op.name}", i + 1, "ab_t", one)

        traced(address, rule, call, void=True)

    callbacks = [
        native.prototype("ab_t f(ab_ctx *c, const ab_t *in, const void *attr)")[0](reference),
        native.prototype("void f(ab_ctx *c, const ab_t *in, ab_t y, ab_t dy, ab_t *din, const void *attr)")[
            0
        ](gradient),
    ]
    op.made = native.AbOp(
        name=op.name.encode(), doc=op.doc.encode(), n_in=n, reference=ctypes.cast(callbacks[0], native.ADDRESS),
        grad=ctypes.cast(callbacks[1], native.ADDRESS) if op.gradient else None)  # fmt: skip
    _kept.extend([callbacks, op.made])
    return op.made


def call_op(op: kinds.Op, c: Context, inputs: Any, attributes: list[float]) -> Tensor:
    """
    Apply an operation.

    Parameters
    ----------
    op : Op
        The operation.
    c : Context
        The graph.
    inputs : sequence of Tensor
        Its inputs.
    attributes : list of float
        Its attributes, in their order.

    Returns
    -------
    Tensor
        The result.
    """
    ids = (native.I32 * op.n_in)(*(c._convert(op.name, i + 1, "ab_t", x) for i, x in enumerate(inputs)))
    packed = (native.F64 * max(1, len(attributes)))(*attributes)
    return Tensor(c, c._raw("call", ctypes.addressof(op_structure(op)), ids, packed, 8 * len(attributes)))


# ---- files ----


def describe(file: bytes, address: int, size: int) -> None:
    """
    Run a file and describe its plugin, or the error.

    Parameters
    ----------
    file : bytes
        Its path.
    address : int
        Address of the `python_answer` to write.
    size : int
        Its bytes.
    """
    _expect_size("Answer", ctypes.sizeof(native.Answer), size)
    answer, path = native.Answer.from_address(address), os.fsdecode(file)
    try:
        first = len(kinds.found)
        module = run(path)
        mine = [p for p in kinds.found[first:] if p.module == module.__name__]
        if len(mine) != 1:
            names = ", ".join(p.name for p in mine)
            hint = "; put @ablate.attention(doc=...) or another kind above its function" if not mine else ""
            raise Error(f"found {len(mine)} plugins{f' ({names})' if mine else ''}, expected one{hint}")
        ops = [value for value in vars(module).values() if isinstance(value, kinds.Op)]
        answer.plugin = ctypes.addressof(Description(mine[0], path, ops).c)
    except BaseException as error:
        place, line = _place(error, path)
        _log(error)
        answer.error = _bytes(f"{place}{f':{line}' if line else ''}: {_words(error)}")[:1990]


def reword(message: bytes, address: int, size: int) -> None:
    """
    Write a message about a plugin in Python with Python's names.

    Parameters
    ----------
    message : bytes
        The message.
    address : int
        Where to write.
    size : int
        How many bytes are there.
    """
    text = in_python(message.decode(errors="surrogateescape")).encode(errors="surrogateescape")
    (ctypes.c_char * size).from_address(address).value = text[: size - 1]
