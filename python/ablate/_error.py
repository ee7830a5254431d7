"""Errors, and names that are nearly right."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable


class Error(Exception):
    """
    A refusal of the program: a shape, a name, an axis or a function that does not fit.

    Parameters
    ----------
    text : str
        What was found and what was expected.
    placed : bool
        Whether the text begins with file and line.
    """

    def __init__(self, text: str, placed: bool = False) -> None:
        super().__init__(text)
        self.placed = placed


def nearest(name: str, names: Iterable[str]) -> str:
    """
    Return a question that names the nearest candidate.

    Parameters
    ----------
    name : str
        What was found.
    names : iterable of str
        What could have been meant.

    Returns
    -------
    str
        ``"; did you mean 'softmax'?"``, or an empty string if nothing is near.
    """
    import difflib

    near = difflib.get_close_matches(name, [n for n in names if not n.startswith("_")], 1, 0.6)
    return f"; did you mean '{near[0]}'?" if near else ""


def missing(whose: str, name: str, names: Iterable[str]) -> AttributeError:
    """
    Return the error about a name that an object lacks.

    Parameters
    ----------
    whose : str
        The object, such as ``"a tensor"``.
    name : str
        What was found.
    names : iterable of str
        What it has.

    Returns
    -------
    AttributeError
        Names the nearest one.
    """
    return AttributeError(f"{whose} has no '{name}'{nearest(name, names)}")


class Named:
    """A class whose objects answer a name that they lack with the nearest one."""

    __slots__ = ()
    _whose = ""

    def _lacks(self, name: str) -> AttributeError:
        mine = type(self)
        return missing(self._whose, name, [*dir(mine), *getattr(mine, "__annotations__", ())])

    def _missing(self, name: str) -> Any:
        raise self._lacks(name)

    if not TYPE_CHECKING:  # type checkers know what is missing
        __getattr__ = _missing
