"""Writes ablate/_host.py from the rows of AB_HOST in core/api/ab_host.h: python3 python/generate.py [--check].

A row becomes a method with the comment beside it as its documentation. Functions with callbacks, shapes or several
results have no plain form: they are written by hand in ablate/_context.py, and BY_HAND names them.
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
# Rows that share a comment with their neighbours, and comments that only a reader of C understands.
DOCS = {
    "add": "Add a and b, with broadcasting over axes of length 1.",
    "sub": "Subtract b from a, with broadcasting over axes of length 1.",
    "mul": "Multiply a and b, with broadcasting over axes of length 1.",
    "div": "Divide a by b, with broadcasting over axes of length 1.",
    "mul_scalar": "Multiply a by a number.",
    "add_scalar": "Add a number to a.",
    "matmul": "Multiply matrices, the last two axes; the others broadcast. ta, tb: transpose a, b first.",
    "reshape": "Change the shape.",
    "transpose": "Swap two axes.",
    "slice": "Keep n indices of an axis, starting at `from_`.",
    "concat": "Join a and b along an axis.",
    "softmax_sink": "Softmax with one more logit in its sum, whose key has no value. sink: the shape of s with 1 as its last axis, or 1 along others too.",
    "entmax": "Sparse weights over the last axis. alpha: 1.5, or 2 for sparsemax; -inf has weight 0.",
    "share": "Share x under this name with later layers of this stack.",
    "shared": "Return the last value that the same plugin in the same place (self, cross, ffn) of an earlier layer shared under this name.",
    "linear": "Map [..,n] to [..,width] by a learned matrix `name`, initially Glorot uniform.",
    "linear_relu": "max(0, linear) in one operation.",
    "feed_forward": "Call the row's feed-forward, if info.feed_forward, with learned values below `name`.",
    "normalize": "Call the row's norm, with learned values below `name`.",
    "self_attention": 'Call the row\'s self-attention, with learned values below "self".',
    "cross_attention": 'Attend to the encoder\'s output, if info.cross, with learned values below "cross".',
    "layer_norm": "(x - mean) / sqrt(variance + eps) gain + bias over the last axis; gain and bias [d].",
    "add_layer_norm": "Layer norm of x + dropout(s).",
    "assign": "Set p or a slot to this value after the update.",
}


def rows() -> list[tuple[str, str, list[tuple[str, str]], str]]:
    """(result, name, [(type, name)], comment) of each row, in order."""
    text = (HERE.parent / "core/api/ab_host.h").read_text()
    table = text[text.index("#define AB_HOST(X, O, S)") :]
    table = re.sub(r"\s*\\\n", "\n", table[: table.index("/* clang-format on */")])
    found, comment = [], ""
    for piece in re.finditer(r"/\*(.*?)\*/|\b[XOS]\(([\w ]+?\*?), (\w+), \(([^)]*)\)", table, re.S):
        if piece[1] is not None:
            words = " ".join(re.sub(r"\n\s*\*?", " ", piece[1]).split())
            beside = piece.start() > 0 and table[: piece.start()].rsplit("\n", 1)[-1].strip()
            if beside and found:
                found[-1] = (*found[-1][:3], words)
            else:
                comment = words
            continue
        parameters = []
        for one in piece[4].replace("\n", " ").split(","):
            kind, name = re.match(r"\s*(.*?)(\w+)\s*$", one).groups()  # type: ignore[union-attr]
            parameters.append((" ".join(kind.split()), name))
        found.append((piece[2].strip(), piece[3], parameters[1:], comment))
        comment = ""
    return found


def sentence(name: str, comment: str) -> str:
    text = DOCS.get(name) or re.sub(r"^[A-Z]+:? ?$", "", comment) or name.replace("_", " ") + "."
    text = text.replace("ab_", "").strip()
    text = text if re.match(r"\w\b|\w+\(", text) else text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def method(result: str, name: str, parameters: list[tuple[str, str]], comment: str) -> str:
    shown, passed, documented = [], [], []
    for kind, p in parameters:
        python = p + "_" if p in ("from", "in") else p
        hint = "bool" if p in FLAGS else TYPES[kind]
        optional = (name, p) in OPTIONAL
        default = " = None" if optional else f" = {DEFAULTS[p]}" if p in DEFAULTS else ""
        shown.append(f"{python}: {hint}{' | None' if optional else ''}{default}")
        passed.append(f'self._axis("{name}", {p})' if p.startswith("axis") else python)
        documented.append((python, hint + (", optional" if default else "")))
    returns = "Tensor" if result == "ab_t" else "None"
    call = f'self._call{"_none" if returns == "None" else ""}({", ".join([repr(name).replace(chr(39), chr(34)), *passed])})'
    head = f"    def {name}(self{''.join(', ' + s for s in shown)}) -> {returns}:"
    if len(head) > 88:
        head = (
            f"    def {name}(\n        self,\n"
            + "".join(f"        {s},\n" for s in shown)
            + f"    ) -> {returns}:"
        )
    first, _, more = sentence(name, comment).partition(". ")
    lines = textwrap.wrap(first if first.endswith(".") else first + ".", 80)
    if more:
        lines += ["", *textwrap.wrap(more, 80)]
    if documented:
        lines += ["", "Parameters", "----------"]
        for p, hint in documented:
            lines += [f"{p} : {hint}", "    " + meaning(name, p, hint)]
    if returns == "Tensor":
        lines += [
            "",
            "Returns",
            "-------",
            "Tensor",
            "    The result; `ablate.Error` if the program refuses it.",
        ]
    body = '"""' + "\n        ".join(lines) + '\n        """'
    body = "\n".join(line.rstrip() for line in body.split("\n"))
    return f"{head}\n        {body}\n        {'return ' if returns == 'Tensor' else ''}{call}\n"


MEANINGS = {
    "axis": "Axis, -1 is the last.",
    "axis1": "Axis, -1 is the last.",
    "axis2": "Axis, -1 is the last.",
    "name": "Name of the learned or recorded value, below the layer.",
    "eps": "Added before the square root.",
    "width": "Columns of the result.",
    "p": "Probability, or weights.",
    "ids": "Ids, as a tensor.",
    "bias": "Whether to add a learned bias.",
    "n": "Number of rows, columns or ids.",
    "scale": "Factor of the scores.",
    "backwards": "Whether to run from the end.",
    "x": "Rows or a tensor, as above.",
    "by": "A number, or places.",
    "d": "Width of the state.",
    "heads": "Number of heads.",
    "q": "Queries [B,H,Tq,d].",
    "k": "Keys [B,H,Tk,d].",
    "v": "Values [B,H,Tk,d].",
    "s": "Scores [B,H,Tq,Tk], or what is added.",
    "weight": "Factor in the loss.",
    "u": "Name of the recurrent matrix.",
    "in_": "Name of the linear of the inputs.",
    "target": "Ids [rows]; -1: none.",
    "before": "Positions before.",
    "behind": "Positions behind.",
    "mem": "Rows of the key side.",
    "i": "Index.",
    "logits": "Logits [rows,vocabulary].",
    "gain": "Gain [d].",
    "from_": "First index, or first position.",
    "to": "End of the window, or what is set.",
    "rows": "Rows [rows,n].",
    "value": "Value.",
    "alpha": "1.5 or 2.",
    "ta": "Whether to transpose a.",
    "tb": "Whether to transpose b.",
}


def meaning(name: str, p: str, hint: str) -> str:
    if p == "bias" and hint == "Tensor":
        return "Bias [d]."
    if p == "p" and hint == "float":
        return "Probability to drop an element."
    return MEANINGS.get(p, "A tensor, as above." if hint.startswith("Tensor") else "A number, as above.")


HEAD = '''"""The host's functions with plain arguments. Made by python/generate.py from core/api/ab_host.h: do not edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    for result, name, parameters, comment in rows():
        if name not in BY_HAND:
            made += "\n" + method(result, name, parameters, comment)
    path = HERE / "ablate/_host.py"
    if "--check" in sys.argv:
        if not path.exists() or path.read_text() != made:
            sys.exit(f"{path}: does not match core/api/ab_host.h; run python3 python/generate.py")
    else:
        path.write_text(made)


if __name__ == "__main__":
    main()
