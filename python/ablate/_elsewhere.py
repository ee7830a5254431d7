"""Moves objects in memory: a graph may not depend on their addresses, which differ between the processes of ``check``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_SIZES: list[Callable[[], object]] = [object, lambda: complex(1, 1), *(lambda k=k: bytes(k) for k in range(8, 480, 16))]
_kept: list[Any] = []
_number = 0


def disturb(number: bytes, *_: int) -> None:
    """
    Let later objects have other addresses than in other processes: objects of every size lie before them.

    Parameters
    ----------
    number : bytes
        In digits, of the process; 0: they stay.
    """
    global _number
    _number = int(number)
    move(1100)


def move(times: int = 1) -> None:
    """
    Make more of these objects: none in a process of number 0.

    Parameters
    ----------
    times : int
        How many of each size, times the process's number.
    """
    if _number:
        _kept.extend([make() for _ in range(times * _number)] for make in _SIZES)
