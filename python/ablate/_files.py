"""Runs a plugin's file, and the modules beside it that it imports."""

from __future__ import annotations

import os
import sys

from ablate import _guard as guard
from ablate._error import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

_kept: list[ModuleType] = []  # modules live to the end


def _hashed(path: str) -> list[str]:
    """Return the files beside a plugin's that belong to its hash, as core/network/settings/plugin_files.c finds them."""
    folder, names = os.path.dirname(path), [os.path.basename(path)]
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file]
        several = [part for line in lines if line.startswith("import ") for part in line[7:].split(",")]
        for part in several + [line[5:] for line in lines if line.startswith("from ")]:
            word = part.strip(", ").replace(".", " ").replace(";", " ").replace("#", " ").split(" ")[0] + ".py"
            if word not in names and os.path.isfile(os.path.join(folder, word)):
                names.append(word)
    return names


def _take_beside(folder: str, before: set[str]) -> dict[str, str]:
    """Make the new modules from a folder and from packages in it the plugin's own; return their names and files."""
    taken = {}
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        at = os.path.dirname(file)
        if at == folder or file.startswith(os.path.join(folder, name.split(".")[0], "")):
            guard.watch(vars(sys.modules[name]))
            _kept.append(sys.modules.pop(name))  # another folder may have another of this name
            taken[name] = file
    return taken


def run(path: str) -> ModuleType:
    """
    Run a plugin's file; modules beside it can be imported while it runs, and are its own.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    module
        It, run.
    """
    folder = os.path.dirname(path)
    name = f"ablate_plugin_{len(_kept)}_{os.path.basename(path)[:-3]}"
    module = sys.modules[name] = type(sys)(name)
    module.__file__ = path
    _kept.append(module)
    before, beside = set(sys.modules), {}
    sys.path.insert(0, folder)
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        exec(compile(open(path, "rb").read(), path, "exec"), module.__dict__)
    finally:
        sys.path.remove(folder)
        sys.dont_write_bytecode = written
        beside = _take_beside(folder, before)
    guard.watch(vars(module))
    known = {os.path.join(folder, file) for file in _hashed(path)} if beside else set()
    unseen = [other for other, file in beside.items() if file not in known]
    if unseen:
        raise Error(
            f"'{min(unseen)}' is imported where the hash of runs does not look: expected files beside this one, "
            f"not packages, and lines such as 'import {min(unseen).split('.')[0]}'"
        )
    return module
