"""Writes ablate/_host.py from the rows of AB_HOST in core/api/ab_host.h: python3 python/generate.py [--check].

A row becomes a method that functions.txt documents. Functions with callbacks, shapes or several results have no plain
form: they are written by hand in ablate/_context.py, and BY_HAND names them.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
BY_HAND = (
    "at dim info fail map reshape full consts computed_table weight weight_full buffer project scan noise top_k sort call "
    "this_parameter dropout bleu read_lines free_lines f1 log print"
).split()
TYPES = {"ab_t": "Tensor", "double": "float", "int": "int", "int64_t": "int", "const char *": "str"}
FLAGS = {"ta", "tb", "bias", "backwards"}
OPTIONAL = {("delta_scan", "beta"), ("delta_scan", "log_decay"), ("long_conv", "future")}
DEFAULTS = {"bias": "True", "backwards": "False", "ta": "False", "tb": "False", "eps": "1e-6"}
ROW = r"/\*(.*?)\*/|\b[XOS]\(([\w ]+?\*?), (\w+), \(([^)]*)\)(?:,\s*\([^)]*\), (\w+), \d+)?"
# A row's tag (core/api/ab_plugin.h): where a call raises an error.
OUTSIDE = {
    "ANY": "",
    "MODEL": "is called in an operation's or an optimizer's functions",
    "ATTENTION": "is called outside an attention and a position's rotate, bias, scores and values",
    "SENTENCE": "is called outside an attention, and a feed-forward or block that claims `MIXES_TOKENS`",
    "LAYER": "is called outside a block",
    "BLOCK": "is called outside a block's forward",
    "FORWARD": "is called outside an attention's forward",
    "HEAD": "is called outside a head",
    "LOSSES": "is called outside a head's losses",
    "UPDATE": "is called outside an optimizer's functions",
}


class Documentation:
    """An entry of functions.txt."""

    def __init__(self, summary: str) -> None:
        self.summary, self.result, self.error, self.continued = summary, "", "", False
        self.arguments: dict[str, str] = {}


def documented() -> dict[str, Documentation]:
    """The entries of functions.txt; that of * has arguments that several share."""
    entries: dict[str, Documentation] = {}
    for line in (HERE / "functions.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        names, _, words = line.strip().partition(" = ")
        if not line.startswith(" "):
            last = entries[names] = Documentation(words)
        elif names == "+":
            last.continued = True
        elif names.startswith("> "):
            last.result = names[2:] + (f" = {words}" if words else "")
        elif names.startswith("! "):
            last.error = names[2:]
        else:
            last.arguments.update(dict.fromkeys(names.split(), words))
    return entries


def rows() -> list[tuple[str, str, list[tuple[str, str]], str, str]]:
    """(result, name, [(type, name)], comment, tag) of each row, in order."""
    text = (HERE.parent / "core/api/ab_host.h").read_text()
    table = text[text.index("#define AB_HOST(X, O, S)") :]
    table = re.sub(r"\s*\\\n", "\n", table[: table.index("/* clang-format on */")])
    found, comment = [], ""
    for piece in re.finditer(ROW, table, re.S):
        if piece[1] is not None:
            words = " ".join(re.sub(r"\n\s*\*?", " ", piece[1]).split())
            beside = piece.start() > 0 and table[: piece.start()].rsplit("\n", 1)[-1].strip()
            if beside and found:
                found[-1] = (*found[-1][:3], words, found[-1][4])
            else:
                comment = words
            continue
        parameters = []
        for one in piece[4].replace("\n", " ").split(","):
            kind, name = re.match(r"\s*(.*?)(\w+)\s*$", one).groups()  # type: ignore[union-attr]
            parameters.append((" ".join(kind.split()), name))
        found.append((piece[2].strip(), piece[3], parameters[1:], comment, piece[5] or "ANY"))
        comment = ""
    return found


def continuation(comment: str) -> str:
    """A row's comment as sentences of Python's documentation."""
    text = comment.replace("ab_", "").replace("id 0:", "None:").strip()
    text = text if re.match(r"\w\b|\w+\(", text) else text[0].upper() + text[1:]
    return text if text.endswith(".") else text + "."


def method(
    result: str, name: str, parameters: list[tuple[str, str]], comment: str, tag: str,
    entries: dict[str, Documentation],
) -> str:  # fmt: skip
    if name not in entries:
        sys.exit(f"{HERE}/functions.txt: has no entry '{name}', a function of core/api/ab_host.h")
    entry, general = entries[name], entries["*"].arguments
    shown, passed, arguments = [], [], []
    for kind, p in parameters:
        python = p + "_" if p in ("from", "in") else p
        hint = "bool" if p in FLAGS and kind == "int" else TYPES[kind]
        optional = (name, p) in OPTIONAL
        default = " = None" if optional else f" = {DEFAULTS[p]}" if p in DEFAULTS and hint != "Tensor" else ""
        shown.append(f"{python}: {hint}{' | None' if optional else ''}{default}")
        passed.append(f'self._axis("{name}", {p})' if p.startswith("axis") else python)
        words = entry.arguments.get(p) or general.get(p)
        if not words:
            sys.exit(f"{HERE}/functions.txt: '{name}' has no argument '{p}', which core/api/ab_host.h has")
        arguments += [f"{python} : {hint}{', optional' if default else ''}", "    " + words]
    returns = "Tensor" if result == "ab_t" else "None"
    call = f'self._call{"_none" if returns == "None" else ""}({", ".join([repr(name).replace(chr(39), chr(34)), *passed])})'
    head = f"    def {name}(self{''.join(', ' + s for s in shown)}) -> {returns}:"
    if len(head) > 88:
        head = (
            f"    def {name}(\n        self,\n"
            + "".join(f"        {s},\n" for s in shown)
            + f"    ) -> {returns}:"
        )
    lines = [entry.summary]
    if entry.continued:
        lines += ["", *textwrap.wrap(continuation(comment), 100)]
    if arguments:
        lines += ["", "Parameters", "----------", *arguments]
    if returns == "Tensor":
        lines += ["", "Returns", "-------", "Tensor", "    " + entry.result]
    errors = ["shapes do not fit" if "ab_t" in dict(parameters) else "", entry.error, OUTSIDE[tag] and "it " + OUTSIDE[tag]]
    raised = textwrap.wrap(f"If {', or '.join(filter(None, errors))}.", 100)
    lines += ["", "Raises", "------", "Error", *("    " + line for line in raised)]
    body = '"""' + "\n        ".join(["", *lines]) + '\n        """'
    body = "\n".join(line.rstrip() for line in body.split("\n"))
    return f"{head}\n        {body}\n        {'return ' if returns == 'Tensor' else ''}{call}\n"


HEAD = '''"""The host's functions with plain arguments. Made by python/generate.py from core/api/ab_host.h: do not edit."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ablate._tensor import Tensor


class HostFunctions:
    """Methods that a plugin calls while its graph is traced."""

    def _call(self, name: str, *arguments: Any) -> Tensor:
        raise NotImplementedError

    def _call_none(self, name: str, *arguments: Any) -> None:
        raise NotImplementedError

    def _axis(self, name: str, axis: int) -> int:
        raise NotImplementedError
'''


def main() -> None:
    made = HEAD
    entries = documented()
    known = [row for row in rows() if row[1] not in BY_HAND]
    for row in known:
        made += "\n" + method(*row, entries)
        unknown = set(entries[row[1]].arguments) - {name for _, name in row[2]}
        if unknown:
            sys.exit(f"{HERE}/functions.txt: '{row[1]}' has no argument '{min(unknown)}' in core/api/ab_host.h")
    unknown = set(entries) - {"*"} - {row[1] for row in known}
    if unknown:
        sys.exit(f"{HERE}/functions.txt: '{min(unknown)}' is no function of core/api/ab_host.h")
    path = HERE / "ablate/_host.py"
    if "--check" in sys.argv:
        if not path.exists() or path.read_text() != made:
            sys.exit(f"{path}: does not match core/api/ab_host.h; run python3 python/generate.py")
    else:
        path.write_text(made)


if __name__ == "__main__":
    main()
