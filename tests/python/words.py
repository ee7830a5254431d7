"""Checks that messages of the program's C sources name functions and constants of Python's module, once reworded.

python3 words.py CHECKOUT
"""

import re
import sys
from pathlib import Path

import ablate as ab
from ablate._words import in_python

SOURCES = "core/network/check core/network/plugin core/network/model core/tensor/graph"
TEXT = r'"((?:[^"\\\n]|\\.)*)"'
# Messages that no plugin in Python can cause: the module makes the C structures.
NEVER = "AB_PLUGIN(...) ab_plugin ab_host_ AB_BIDIRECTIONAL AB_TARGET_MINOR".split()


def messages(folder):
    for path in sorted(folder.glob("*.c")):
        source = re.sub(r"(?s:/\*.*?\*/)|^#.*(?:\\\n.*)*", "", path.read_text(), flags=re.M)
        for found in re.finditer(rf"{TEXT}(?:\s*{TEXT})*", source):
            yield path.name, "".join(re.findall(TEXT, found[0])).replace('\\"', '"')


seen = 0
for folder in SOURCES.split():
    for name, text in messages(Path(sys.argv[1]) / folder):
        if not re.search(r"\bab_|\bAB_|->\w|(?<!\w)\.[a-z]+ ", text) or any(word in text for word in NEVER):
            continue
        text = text.replace("ab_%s", "ab_mask")
        said, seen = in_python(text), seen + 1
        left = re.search(r"\bab_\w+|\bAB_\w+|->\w+|(?<![\w.])\.[a-z]+ |const char|in C\b", said)
        assert not left, f"{name}: {text!r} becomes {said!r}: {left[0]!r} is C"
        for whose, word in re.findall(r"\b(c|ab|c\.info)\.([A-Za-z]\w*)", said):
            has = {"c": ab.Context, "ab": ab}.get(whose)
            assert has is None or hasattr(has, word), f"{name}: {said!r}: found no {whose}.{word}"
        for word in re.findall(r"c\.info\.(\w+)", said):
            assert word in ab.Info.__annotations__, f"{name}: {said!r}: found no info.{word}"
        assert in_python(said) == said, f"{name}: {said!r} becomes {in_python(said)!r}"
for path in "/home/me/ab_mask/x.py:7: found", "ab_mask.py:7: found", "my_ab_mask: found", "/AB_SELF/x.py":
    assert in_python(path) == path, f"{path!r} becomes {in_python(path)!r}"
print(f"{seen} messages")
