"""Messages of the program, which names functions and constants as in C, in the names of this module."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any, Callable, Union

    _Form = Union[str, Callable[["re.Match[str]"], str]]

# Functions and constants with another name here.
_FUNCTIONS = {
    "const": "c.constant", "consts": "c.constant", "computed_table": "c.table", "sum_axis": "c.sum", "max_axis": "c.max",
    "map": "t.exp and the like", "dim": "t.shape",
}  # fmt: skip
_CONSTANTS = {
    "POS_EMBED": "ab.EMBED", "POS_ROTATE": "ab.ROTATE", "POS_BIAS": "ab.BIAS_HOOK", "POS_SCORES": "ab.SCORES",
    "POS_VALUES": "ab.VALUES", "RELATIVE": "relative=True", "ELEMENTWISE": "elementwise=True",
    "DECODER_ONLY": "decoder_only=True",
}  # fmt: skip


def _function(found: re.Match[str]) -> str:
    from ablate._context import Context

    name = found[1]
    return _FUNCTIONS.get(name) or (f"c.{name}" if hasattr(Context, name) else found[0])


def _constant(found: re.Match[str]) -> str:
    from ablate import _kinds

    name = found[1]
    return _CONSTANTS.get(name) or (f"ab.{name}" if hasattr(_kinds, name) else found[0])


# In order: sentences about C, then forms of C, then single names, which no path contains.
_FORMS: list[tuple[str, _Form]] = [
    (r"in C, 1 / in->(\w+) is 0: write 1\.0 / in->\w+", r"1 // c.info.\1 is 0: write 1 / c.info.\1"),
    (r"a plugin frees what it allocates, and need not allocate( at all)?", "the file's lists and dicts keep what calls add"),
    (r"an uninitialised array, a counter,", "a counter, a list that grows,"),
    (r"not on time, environment, addresses or files", "not on time, environment, files, id(), hash() or the order of a set"),
    (r"through its inputs and attr\b", "through its inputs and attributes"),
    (r"AB_PLUGIN\(\.\.\., \.calls = names\), with [^{]*\{(\"[^\"]*\"), NULL\}", r"@ab.attention(..., calls=[\1])"),
    (r"AB_PLUGIN\(\.\.\., \.(\w+) = (\w+)\)", r"\1=\2"),
    (r"(?<![\w/])\.(calls|accepts)\b(?!\.)", r"`\1`"),
    (r"\bab_info\(c\)->(cross|feed_forward) is 0\b", r"c.info.\1 is False"),
    (r"\bab_info\(c\)(?:->)?(?=(\w?))", lambda m: "c.info." if m[1] else "c.info"),
    (r"(?<![\w./-])(ab_\w+)\(c, ", r"\1("),
    (r"(?<![\w./-])ab_([a-z]\w*)(?!\w*\.\w)", _function),
    (r"(?<![\w./-])AB_([A-Z]\w*)(?!\w*\.\w)", _constant),
]  # fmt: skip


def in_python(text: str) -> str:
    """
    Return a message with this module's names for functions, constants and settings of a plugin.

    Parameters
    ----------
    text : str
        What the program says to the author of a plugin in C.

    Returns
    -------
    str
        The same for the author of a plugin in Python.
    """
    import re

    changed: Any = text
    for pattern, words in _FORMS:
        changed = re.sub(pattern, words, changed)
    return str(changed)
