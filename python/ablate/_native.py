"""The program's C side: structures of ab_plugin.h, its functions, and callbacks into Python."""

from __future__ import annotations

import ctypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

I32, I64, U32 = ctypes.c_int32, ctypes.c_int64, ctypes.c_uint32
F64, TEXT, ADDRESS, SIZE = ctypes.c_double, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t


def _structure(name: str, *fields: tuple[str, Any]) -> Any:
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


def _ints(kind: Any, names: str) -> list[tuple[str, Any]]:
    return [(n, kind) for n in names.split()]


# Structures of ab_plugin.h and ab_task.h. `start` compares their sizes with the program's.
AbOption = _structure(
    "AbOption", ("name", TEXT), ("type", ctypes.c_int), ("offset", SIZE), *_ints(F64, "default low high"),
    ("choices", TEXT), ("doc", TEXT))  # fmt: skip
AbInfo = _structure(
    "AbInfo", *_ints(I64, "heads d_k d_v d_model d_ff layer n_layers"), *_ints(U32, "role training"), ("dropout", F64),
    *_ints(U32, "cross feed_forward tied"), ("vocabulary", I64))  # fmt: skip
AbParameter = _structure(
    "AbParameter",
    ("name", TEXT),
    ("kind", ctypes.c_int),
    ("dim", I64 * 4),
    ("n_parts", I64),
    ("part", I64 * 3),
    ("heads", I64),
)
AbRunPlan = _structure("AbRunPlan", *_ints(F64, "lr lr_min"), *_ints(I64, "warmup steps d_model"))
AbPlugin = _structure(
    "AbPlugin", *_ints(U32, "magic major minor size iface_size"), ("kind", ctypes.c_int),
    *_ints(TEXT, "name doc paper version"), ("cfg_size", SIZE), *_ints(ADDRESS, "params ops iface host"),
    ("claims", U32), ("calls", ADDRESS))  # fmt: skip
AbOp = _structure(
    "AbOp", ("name", TEXT), ("doc", TEXT), ("n_in", ctypes.c_int), *_ints(ADDRESS, "reference grad cpu cuda")
)
AbExample = _structure("AbExample", ("src", TEXT), ("tgt", TEXT))
AbMetric = _structure(
    "AbMetric", ("name", ctypes.c_char * 24), ("signature", ctypes.c_char * 160), ("unit", ctypes.c_char * 16),
    ("better", ctypes.c_int), ("value", F64), ("sum", ctypes.c_int), ("n_stats", I64), ("stats", ADDRESS))  # fmt: skip
AbEnv = _structure("AbEnv", ("data_dir", TEXT), ("seed", I64), ("no_data", I64))
AbVocabs = _structure(
    "AbVocabs", ("flags", U32), *_ints(ctypes.c_int, "src tgt"), ("symbols", ADDRESS),
    *_ints(I64, "n_symbols window given endless"), ("documents", ADDRESS * 3), ("n_documents", I64 * 3))  # fmt: skip
AbLikelihood = _structure("AbLikelihood", ("log_likelihood", F64), *_ints(I64, "tokens right"))

# A C type as ctypes passes it. ab_t, a structure of one int32, is passed as that int32.
_TYPES = {
    "ab_t": I32, "int": ctypes.c_int, "int64_t": I64, "double": F64, "size_t": SIZE, "const char *": TEXT,
    "ab_fn": ctypes.c_int, "ab_projection": ctypes.c_int, "ab_noise": ctypes.c_int, "uint32_t": U32, "void": None,
    "ab_split": ctypes.c_int,
}  # fmt: skip


def _type(declared: str) -> str:
    """Return a declaration without its name: ``"const char *"`` of ``"const char *name"``."""
    words = declared.replace("*", " * ").split()
    return " ".join(words if words[-1] == "*" else words[:-1])


def prototype(text: str) -> tuple[Any, list[str]]:
    """
    Read a C prototype.

    Parameters
    ----------
    text : str
        Such as ``"ab_t add(ab_ctx *c, ab_t a, ab_t b)"``; names of parameters may be missing after a ``*``.

    Returns
    -------
    type
        The function's type for ctypes.
    list of str
        The C types of its parameters.
    """
    result, inside = text.strip().rstrip(")").split("(")
    kinds = [_type(one) for one in inside.split(",")]
    types: list[Any] = [_TYPES.get(kind, ADDRESS) for kind in kinds]
    return ctypes.CFUNCTYPE(_TYPES.get(_type(result), ADDRESS), *types), kinds


class Function:
    """A function of the host's table."""

    def __init__(self, text: str, address: int) -> None:
        made, kinds = prototype(text)
        self.call: Callable[..., Any] = made(address)
        self.kinds = kinds[1:]


class Host:
    """The table `struct ab_host`; functions are made when they are first called."""

    def __init__(self) -> None:
        self._made: dict[str, Function] = {}
        self._rows: dict[str, tuple[str, int]] = {}
        self.at: Callable[..., int] = lambda *_: 0

    def open(self, address: int, functions: list[str]) -> None:
        """
        Read the names of the table's functions.

        Parameters
        ----------
        address : int
            Address of the table.
        functions : list of str
            Their C prototypes, in the table's order.
        """
        for i, text in enumerate(functions):
            name = text[: text.index("(")].split()[-1].lstrip("*")
            self._rows[name] = (text, ADDRESS.from_address(address + 8 + 8 * i).value or 0)
        self.at = self.function("at").call

    def function(self, name: str) -> Function:
        """
        Return a function of the table.

        Parameters
        ----------
        name : str
            Its name in AB_HOST.

        Returns
        -------
        Function
            With a context as the first argument of its call.
        """
        made = self._made.get(name)
        if not made:
            made = self._made[name] = Function(*self._rows[name])
        return made


host = Host()


class Services:
    """What the program offers besides the table (core/network/plugin/python.c)."""

    error: Callable[[int], bytes]
    clear: Callable[[int], None]
    shape: Callable[[int, int, Any], None]
    log: Callable[[bytes], None]
    minor: int


services = Services()
ServicesTable = _structure(
    "ServicesTable", ("host", ADDRESS), ("functions", ctypes.POINTER(TEXT)), ("error", ctypes.CFUNCTYPE(TEXT, ADDRESS)),
    ("clear", ctypes.CFUNCTYPE(None, ADDRESS)), ("shape", ctypes.CFUNCTYPE(None, ADDRESS, I32, ADDRESS)),
    ("log", ctypes.CFUNCTYPE(None, TEXT)), ("minor", SIZE),
    ("sizes", SIZE * 9), ("kinds", SIZE * 9))  # fmt: skip
Answer = _structure("Answer", ("plugin", ADDRESS), ("error", ctypes.c_char * 2000))

_elements: dict[tuple[Any, int, tuple[str, ...]], Any] = {}


def element_callback(element: Callable[..., float], rank: int, names: tuple[str, ...]) -> Any:
    """
    Return the C callback of a table's element; one for each function, since the program keeps tables by it.

    Parameters
    ----------
    element : callable
        The function.
    rank : int
        How many indices it takes.
    names : tuple of str
        Names of its settings.

    Returns
    -------
    c_void_p
        The callback.
    """
    key = (element, rank, names)
    if key not in _elements:
        indices, settings = I64 * rank, F64 * len(names)

        def call(cfg: int, index: int) -> float:
            at = indices.from_address(index)
            try:
                if not names:
                    return float(element(*at))
                return float(element(*at, **dict(zip(names, settings.from_address(cfg)))))
            except BaseException as error:
                failed.append(error)
                return 0.0

        made = ctypes.CFUNCTYPE(F64, ADDRESS, ADDRESS)(call)
        _elements[key] = (made, ctypes.cast(made, ADDRESS))
    return _elements[key][1]


failed: list[BaseException] = []  # exceptions of elements, which have no way to refuse


def step_callback(step: Callable[..., Any]) -> Any:
    """
    Return the C callback of a step of a scan.

    Parameters
    ----------
    step : callable
        ``step(c, x_t, h)``.

    Returns
    -------
    CFUNCTYPE
        The callback, which must be kept while it may be called.
    """
    from ablate._bridge import traced

    return ctypes.CFUNCTYPE(I32, ADDRESS, ADDRESS, I32, I32)(
        lambda c, cfg, x, h: traced(c, step, lambda k, t: step(k, t(x), t(h)))
    )
