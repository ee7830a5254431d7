"""Parameters that plugins declare: each is an INI key with a type, a default and a range."""

from __future__ import annotations

from ablate._error import Error, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence

INT, REAL, BOOL, CHOICE, TEXT = 1, 2, 3, 4, 5  # the numbers of ab_type in ab_plugin.h


class Option:
    """
    A parameter of a plugin: an INI key.

    `real`, `integer`, `boolean`, `choice` and `text` make it.

    Parameters
    ----------
    type_ : int
        The number of ab_type.
    default, low, high : float
        Its default and range; of a choice, the index of its default.
    choices : str or None
        Words with ``|`` between them, or the default of a text.
    doc : str
        What it is.
    """

    def __init__(
        self, type_: int, default: float, low: float, high: float, choices: str | None, doc: str
    ) -> None:
        if not isinstance(doc, str):
            raise Error(f"doc: found {doc!r}, expected a text")
        for number in (default, low, high):
            if not isinstance(number, (int, float)) or number - number != 0:
                raise Error(f"found {number!r}, expected a finite number")
        if type_ == INT and any(number != int(number) for number in (default, low, high)):
            raise Error(f"found {default!r}, {low!r}, {high!r}, expected whole numbers")
        self.type, self.default, self.low, self.high = type_, default, low, high
        self.choices, self.doc = choices, doc


def list_of_words(what: str, given: Any) -> Any:
    """
    Return a sequence of texts as it is; anything else is an error.

    Parameters
    ----------
    what : str
        What it is, for the message.
    given : object
        What should be a list or tuple of texts without ``|``.

    Returns
    -------
    sequence of str
        The same object.
    """
    if isinstance(given, (list, tuple)) and all(isinstance(w, str) and w and "|" not in w for w in given):
        return given
    raise Error(f"{what}: found {given!r}, expected a list of texts without '|'")


def real(default: float, low: float, high: float, doc: str) -> Option:
    """
    Declare a real parameter.

    Parameters
    ----------
    default, low, high : float
        Its default and range.
    doc : str
        What it is, with the unit in brackets: ``"multiplies the cosine [none]"``.

    Returns
    -------
    Option
        The parameter.
    """
    return Option(REAL, default, low, high, None, doc)


def integer(default: int, low: int, high: int, doc: str, words: Sequence[str] = ()) -> Option:
    """
    Declare a whole parameter.

    Parameters
    ----------
    default, low, high : int
        Its default and range.
    doc : str
        What it is, with the unit in brackets.
    words : sequence of str
        Words for the values -1, -2, ...

    Returns
    -------
    Option
        The parameter.
    """
    return Option(INT, default, low, high, "|".join(list_of_words("words", words)) or None, doc)


def boolean(default: bool, doc: str) -> Option:
    """
    Declare a parameter that is true or false.

    Parameters
    ----------
    default : bool
        Its default.
    doc : str
        What it is.

    Returns
    -------
    Option
        The parameter.
    """
    if default not in (True, False):
        raise Error(f"found the default {default!r}, expected True or False")
    return Option(BOOL, int(default), 0, 1, None, doc)


def choice(default: str, choices: Sequence[str], doc: str) -> Option:
    """
    Declare a parameter with a few values.

    Parameters
    ----------
    default : str
        One of the choices.
    choices : sequence of str
        The values.
    doc : str
        What it is.

    Returns
    -------
    Option
        The parameter.
    """
    if default not in list_of_words("choices", choices):
        raise Error(
            f"found the default {default!r}, expected one of {', '.join(choices)}{nearest(default, choices)}"
        )
    return Option(CHOICE, list(choices).index(default), 0, 0, "|".join(choices), doc)


def text(default: str, doc: str) -> Option:
    """
    Declare a parameter of text.

    Parameters
    ----------
    default : str
        Its default.
    doc : str
        What it is.

    Returns
    -------
    Option
        The parameter.
    """
    if not isinstance(default, str):
        raise Error(f"found the default {default!r}, expected a text")
    return Option(TEXT, 0, 0, 0, default, doc)
