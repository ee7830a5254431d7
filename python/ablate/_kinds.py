"""Decorators that make a plugin of a function or of a class of functions."""

from __future__ import annotations

import sys

from ablate._error import Error, nearest
from ablate._options import Option, list_of_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Sequence, TypeVar

    from ablate._context import Context
    from ablate._tensor import Tensor

    F = TypeVar("F", bound=Callable[..., Any])

# The numbers of ab_plugin.h, under its names.
SELF, CAUSAL, CROSS = 1, 2, 4
EMBED, ROTATE, BIAS_HOOK, SCORES, VALUES = 1, 2, 4, 8, 16
WEIGHT, BIAS, GAIN, EMBEDDING, TABLE = 1, 2, 3, 4, 5
TRAINS_ON_BATCH, SURROGATE_GRADIENT, DISCONTINUOUS, MIXES_TOKENS = 1, 2, 4, 8


# ---- kinds ----


class Kind:
    """A kind of plugin: its number, its settings, and its hooks with their C prototypes."""

    def __init__(self, number: int, settings: str, main: str, **hooks: str) -> None:
        self.number, self.settings, self.main, self.hooks = number, settings.split(), main, hooks


_FORWARD = "ab_t f(ab_ctx *c, const void *cfg, ab_t x)"
_UPDATE = "void f(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)"
KINDS = {
    "attention": Kind(1, "roles accepts", "forward", forward="ab_t f(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)"),
    "position": Kind(
        2, "relative", "",
        embed="ab_t f(ab_ctx *c, const void *cfg, ab_t x, ab_t pos)",
        rotate="ab_t f(ab_ctx *c, const void *cfg, ab_t qk, ab_t pos)",
        bias="ab_t f(ab_ctx *c, const void *cfg, ab_t qpos, ab_t kpos)",
        scores="ab_t f(ab_ctx *c, const void *cfg, ab_t s, ab_t q, ab_t k, ab_t qpos, ab_t kpos)",
        values="ab_t f(ab_ctx *c, const void *cfg, ab_t y, ab_t p, ab_t qpos, ab_t kpos)",
        rotate_by="ab_t f(ab_ctx *c, const void *cfg, ab_t qk, ab_t pos, ab_t x)",
    ),
    "feed_forward": Kind(3, "", "forward", forward=_FORWARD),
    "norm": Kind(4, "", "forward", forward=_FORWARD, add="ab_t f(ab_ctx *c, const void *cfg, ab_t x, ab_t s)"),
    "block": Kind(5, "", "forward", forward=_FORWARD, finish=_FORWARD),
    "optimizer": Kind(
        6, "elementwise slots evaluated", "update",
        update=_UPDATE,
        slot_shape="void f(const void *cfg, const ab_parameter *of, uint32_t i, int64_t *dim)",
        period="int64_t f(const void *cfg)",
        refresh=_UPDATE,
        measure=_UPDATE.replace("void f", "ab_t f"),
        shift=_UPDATE,
    ),
    "schedule": Kind(7, "", "lr", lr="double f(const void *cfg, const ab_run_plan *plan, int64_t step)"),
    "task": Kind(8, "vocab symbols shared decoder_only", ""),
    "head": Kind(
        9, "", "logits",
        logits=_FORWARD,
        losses="void f(ab_ctx *c, const void *cfg, ab_t x, ab_t logits, ab_t target)",
        ahead="int64_t f(const void *cfg)",
        propose="ab_t f(ab_ctx *c, const void *cfg, ab_t x, int64_t by)",
    ),
}  # fmt: skip


class Plugin:
    """What a decorator recorded."""

    def __init__(self, kind: str, name: str, module: str, line: int) -> None:
        self.kind, self.name, self.module, self.line = kind, name, module, line
        self.doc: str | None = None
        self.paper: str | None = None
        self.version: str | None = None
        self.claims = 0
        self.calls: tuple[str, ...] = ()
        self.options: dict[str, Option] = {}
        self.settings: dict[str, Any] = {}
        self.hooks: dict[str, Callable[..., Any]] = {}


found: list[Plugin] = []  # in order, since the module was imported


_ANY_KEYWORDS = 8  # inspect.CO_VARKEYWORDS; importing inspect takes as long as all of this module


def argument_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """
    Return the names of a function's arguments.

    Parameters
    ----------
    function : callable
        A function of Python.

    Returns
    -------
    tuple of str
        Those that can be passed by name.
    """
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _check_signature(plugin: Plugin, hook: str, function: Callable[..., Any]) -> None:
    names = argument_names(function)
    missing = [name for name in plugin.options if name not in names]
    if missing and not function.__code__.co_flags & _ANY_KEYWORDS:
        raise Error(
            f"{plugin.name}: {hook} has no argument '{missing[0]}', a parameter of the plugin{nearest(missing[0], names)}"
        )


def record(kind: str, target: Any, words: dict[str, Any]) -> Any:
    """
    Record a plugin; the function or class stays as it is.

    Parameters
    ----------
    kind : str
        A key of KINDS.
    target : function or class
        The main hook, or a class whose functions are hooks.
    words : dict
        The decorator's arguments.

    Returns
    -------
    function or class
        The target.
    """
    code = getattr(target, "__code__", None)
    line = code.co_firstlineno if code else sys._getframe(2).f_lineno
    plugin = Plugin(kind, words.pop("name", None) or target.__name__, target.__module__, line)
    plugin.doc = words.pop("doc", None)
    plugin.paper, plugin.version = words.pop("paper", None), words.pop("version", None)
    plugin.claims, plugin.calls = words.pop("claims", 0), tuple(words.pop("calls", ()))
    for key, given in (("doc", plugin.doc), ("paper", plugin.paper), ("version", plugin.version)):
        if not isinstance(given, (str, type(None))):
            raise Error(f"@{kind}({key}={given!r}): expected a text")
    facts = KINDS[kind]
    for key in ("roles", "accepts", "claims"):
        given = plugin.claims if key == "claims" else words.get(key, 0)
        if not isinstance(given, int):
            raise Error(f"@{kind}({key}={given!r}): expected constants such as ab.CAUSAL, joined by |")
    for key in ("elementwise", "relative", "shared", "decoder_only"):
        if key in facts.settings and words.get(key, True) not in (True, False):
            raise Error(f"@{kind}({key}={words[key]!r}): expected True or False")
    if "slots" in facts.settings:
        list_of_words("slots", words.get("slots", ()))
    plugin.settings = {name: words.pop(name) for name in facts.settings if name in words}
    for name, option in words.items():
        if not isinstance(option, Option):
            raise Error(
                f"@{kind}({name}={option!r}): expected a setting, {', '.join(['doc', 'paper', 'claims', *facts.settings])}, "
                f"or a parameter such as {name}=ab.real(default, low, high, doc){nearest(name, ['doc', 'paper', 'claims', *facts.settings])}"
            )
        plugin.options[name] = option
    if code:
        if not facts.main:
            raise Error(f"@{kind} above a function: expected a class with some of {', '.join(facts.hooks)}")
        plugin.hooks[facts.main] = target
    else:
        owners = {name: owner for owner in reversed(target.__mro__[:-1]) for name in vars(owner)}
        for name, owner in owners.items():
            value = vars(owner)[name]
            function = value.__func__ if isinstance(value, staticmethod) else value
            if name.startswith("_") or not (callable(function) or isinstance(value, classmethod)):
                continue
            if isinstance(value, classmethod):
                raise Error(f"{target.__name__}: '{name}' is a classmethod, expected a staticmethod")
            if facts.hooks and name not in facts.hooks:
                raise Error(
                    f"{target.__name__}: found the function '{name}', expected some of "
                    f"{', '.join(facts.hooks)}{nearest(name, facts.hooks)}"
                )
            plugin.hooks[name] = function
    if facts.hooks and not plugin.hooks:
        raise Error(f"{target.__name__}: found no function, expected some of {', '.join(facts.hooks)}")
    for name, function in plugin.hooks.items():
        _check_signature(plugin, name, function)
    found.append(plugin)
    return target


def attention(
    *, doc: str, name: str | None = None, paper: str | None = None, roles: int = SELF | CAUSAL | CROSS,
    accepts: int = EMBED | ROTATE | BIAS_HOOK | SCORES | VALUES, claims: int = 0, calls: Iterable[str] = (), **parameters: Option,
) -> Callable[[F], F]:  # fmt: skip
    """
    Make ``f(c, x, mem, **parameters)`` an attention.

    Parameters
    ----------
    doc : str
        What it does, in one line.
    name : str, optional
        Its name; by default the function's.
    paper : str, optional
        Who, when, equation.
    roles : int
        Where it can stand: `SELF`, `CAUSAL`, `CROSS`.
    accepts : int
        Hooks of positions that it honours: `EMBED`, `ROTATE`, `BIAS_HOOK`, `SCORES`, `VALUES`.
    claims : int
        Deviations that ``ablate check`` accepts: `TRAINS_ON_BATCH`, `SURROGATE_GRADIENT`, `DISCONTINUOUS`.
    calls : iterable of str
        Attentions that it calls.
    **parameters : Option
        Its INI keys, made by `real`, `integer`, `boolean`, `choice` and `text`.

    Returns
    -------
    callable
        The decorator. x and mem are rows [rows,d_model], of the query and of the key side; the function returns
        rows [rows,d_model].
    """
    words = {
        **parameters,
        **dict(doc=doc, name=name, paper=paper, roles=roles, accepts=accepts, claims=claims, calls=calls),
    }
    return lambda f: record("attention", f, dict(words))


def _decorator(kind: str, about: str) -> Any:
    def made(*, doc: str, name: str | None = None, paper: str | None = None, **words: Any) -> Any:
        every = {**words, "doc": doc, "name": name, "paper": paper}
        return lambda target: record(kind, target, dict(every))

    made.__name__ = made.__qualname__ = kind
    made.__doc__ = f"""
    {about}

    Parameters
    ----------
    doc : str
        What it does, in one line.
    name : str, optional
        Its name; by default that of the function or class.
    paper : str, optional
        Who, when, equation.
    **words : Option or int
        Its INI keys, made by `real`, `integer`, `boolean`, `choice` and `text`; also {", ".join(f"``{s}``" for s in ["claims", *KINDS[kind].settings])}.

    Returns
    -------
    callable
        The decorator of a {"function or a class" if KINDS[kind].main else "class"} with {", ".join(KINDS[kind].hooks) or "examples and score"}.
    """
    return made


position = _decorator("position", "Make a class a positional encoding; each of its functions is a hook.")
feed_forward = _decorator(
    "feed_forward", "Make ``f(c, x, **parameters)`` a feed-forward: rows [rows,d_model] to the same shape."
)
norm = _decorator("norm", "Make ``f(c, x, **parameters)`` a norm: rows [rows,d_model] to the same shape.")
block = _decorator("block", "Make ``f(c, x, **parameters)`` a block, which arranges a layer's sublayers.")
head = _decorator(
    "head", "Make ``f(c, x, **parameters)`` a head: rows [rows,d_model] to logits [rows,vocabulary]."
)
optimizer = _decorator(
    "optimizer",
    "Make ``f(c, p, g, slot, lr, step, **parameters)`` an optimizer, which assigns p and its slots.",
)
schedule = _decorator(
    "schedule",
    "Make ``f(plan, step, **parameters)`` a schedule, which returns the learning rate of an update.",
)


task = _decorator(
    "task",
    "Make a class a task: ``examples(split, seed)`` yields pairs, ``score(outputs, references)`` rates outputs.",
)


class Op:
    """
    An operation with a gradient of its own, made by `op`.

    Parameters
    ----------
    reference : callable
        ``f(c, *inputs, **attributes)``, its definition in other operations.
    name : str
        The function's.
    doc : str
        What it does.
    attributes : sequence of str
        Names of its numbers.
    """

    def __init__(
        self, reference: Callable[..., Tensor], name: str, doc: str, attributes: Sequence[str]
    ) -> None:
        self.reference, self.name, self.doc, self.attributes = reference, name, doc, tuple(attributes)
        self.gradient: Callable[..., Sequence[Tensor | None]] | None = None
        self.n_in = len(argument_names(reference)) - 1 - len(self.attributes)
        self.made: Any = None

    def grad(self, function: F) -> F:
        """
        Make ``g(c, inputs, y, dy, **attributes)``, which returns the inputs' gradients, this operation's rule.

        Parameters
        ----------
        function : callable
            Returns a tensor, or None, for each input.

        Returns
        -------
        callable
            The function.
        """
        self.gradient = function
        return function

    def __call__(self, c: Context, *inputs: Tensor, **attributes: float) -> Tensor:
        return self._apply(c, inputs, attributes)

    def _apply(self, c: Context, inputs: Sequence[Tensor], attributes: dict[str, float]) -> Tensor:
        from ablate._bridge import call_op

        for name in attributes:
            if name not in self.attributes:
                raise Error(
                    f"{self.name}: found '{name}', expected {', '.join(self.attributes) or 'no attribute'}{nearest(name, self.attributes)}"
                )
        if len(inputs) != self.n_in or len(attributes) != len(self.attributes):
            raise Error(
                f"{self.name}: {len(inputs)} inputs and {len(attributes)} attributes, expected {self.n_in} and "
                f"{len(self.attributes)}"
            )
        return call_op(self, c, inputs, [float(attributes[name]) for name in self.attributes])


def op(*, doc: str, attributes: Sequence[str] = ()) -> Callable[[Callable[..., Tensor]], Op]:
    """
    Make ``f(c, *inputs, **attributes)`` an operation: its definition in other operations, without a kernel.

    Parameters
    ----------
    doc : str
        What it does.
    attributes : sequence of str
        Names of its numbers.

    Returns
    -------
    callable
        The decorator, which returns an `Op`: call it with a context.
    """
    return lambda f: Op(f, f.__name__, doc, attributes)
