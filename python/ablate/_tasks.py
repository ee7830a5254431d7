"""Tasks: examples and scores of a class, read once when a run starts."""

from __future__ import annotations

import ctypes

from ablate import _native as native
from ablate._error import Error, nearest
from ablate._kinds import argument_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Sequence

    from ablate._bridge import Description

SPLITS = ("train", "dev", "test")
VOCABULARIES = {"subword": 1, "words": 2, "chars": 3, "symbols": 4}
_SHARED, _DECODER_ONLY = 1, 2
_RATIO, _PERPLEXITY = 0, 3
_HOOKS = {
    "open": "int f(ab_ctx **self, const void *cfg, const ab_host *host, const ab_env *env, char *err, size_t n)",
    "count": "int64_t f(ab_ctx *self, ab_split split)",
    "get": "void f(ab_ctx *self, ab_split split, int64_t i, ab_example *out)",
    "score": "int f(ab_ctx *self, ab_split split, const ab_x *hyp, int64_t n, ab_metric *out, int max, char *err, size_t n_err)",
    "close": "void f(ab_ctx *self)",
    "vocabs": "void f(ab_ctx *self, ab_vocabs *v)",
    "score_likelihoods": "int f(ab_ctx *self, ab_split split, const ab_likelihood *x, int64_t n, ab_metric *out, int max, "
    "char *err, size_t n_err)",
}
_UNUSED = (
    "vocabulary start advance allowed release accepts encode_input format_output reference_line"
).split()
AbTask = type(
    "AbTask",
    (ctypes.Structure,),
    {
        "_fields_": [("flags", native.U32), ("src_vocab", ctypes.c_int), ("tgt_vocab", ctypes.c_int)]
        + [(n, native.ADDRESS) for n in [*list(_HOOKS)[:6], *_UNUSED, "score_likelihoods", "get_epoch"]]
    },
)


class _Opened:
    """The examples of one run."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.lines: list[list[tuple[bytes | None, bytes]]] = [[], [], []]
        self.kept: list[Any] = []  # statistics, until the next score
        self.symbols: Any = None


def _line(side: Any, where: str) -> bytes:
    """Return a side of an example as a line of UTF-8."""
    if isinstance(side, str):
        text = side
    elif isinstance(side, (list, tuple)):
        text = " ".join(map(str, side))
    else:
        raise Error(f"{where}: found {side!r}, expected a text or a list of tokens")
    if "\n" in text or "\0" in text:
        raise Error(f"{where}: found a line end or a NUL in {text!r}, expected one line")
    return text.encode()


_RESERVED = ("PPL", "token_accuracy", "PPL_test", "token_accuracy_test")  # the program's own for every run


class Task:
    """The C interface of a class with ``examples`` and, unless its models are decoder-only, ``score``."""

    def __init__(self, description: Description) -> None:
        self.read, self.path = description.parameters, description.path
        plugin = description.plugin
        s = dict(plugin.settings)
        self.hooks, self.name = plugin.hooks, plugin.name
        for name in self.hooks:
            if name not in ("examples", "score"):
                raise Error(
                    f"{self.name}: found the function '{name}', expected examples and score{nearest(name, ('examples', 'score'))}"
                )
        if "examples" not in self.hooks:
            raise Error(
                f"{self.name}: found no function examples(split, seed), which yields pairs of source and target"
            )
        vocabulary, self.symbols = s.get("vocab", "words"), s.get("symbols")
        if self.symbols is not None and not isinstance(self.symbols, (list, tuple)):
            raise Error(f"symbols={self.symbols!r}: expected a list of texts")
        if vocabulary == "symbols" and not self.symbols:
            raise Error("vocab='symbols': found no symbols=[...], the list of texts")
        if vocabulary not in VOCABULARIES:
            raise Error(
                f"vocab={vocabulary!r}: expected one of {', '.join(VOCABULARIES)}{nearest(str(vocabulary), VOCABULARIES)}"
            )
        self.alone = bool(s.get("decoder_only", False))
        # A decoder-only model has one vocabulary: all words of both sides, collected when the task is opened.
        self.collects = self.alone and vocabulary == "words" and not self.symbols
        number = VOCABULARIES["symbols" if self.symbols or self.collects else vocabulary]
        flags = (_SHARED if s.get("shared", True) and not self.alone else 0) | (_DECODER_ONLY if self.alone else 0)
        self.opened: dict[int, _Opened] = {}
        self.interface = AbTask(flags=flags, src_vocab=number, tgt_vocab=number)
        for name, text in _HOOKS.items():
            if name == "vocabs" and not (self.symbols or self.collects):
                continue
            callback = native.prototype(text)[0](getattr(self, "_" + name))
            description_kept.append(callback)
            setattr(self.interface, name, ctypes.cast(callback, native.ADDRESS))

    def _guarded(self, hook: str, to: int, n: int, call: Callable[[], int]) -> int:
        """Call; an exception becomes the message in err, at the hook's line if it is not in the plugin's code."""
        from ablate._bridge import _bytes, _log, _place, _words

        try:
            return call()
        except BaseException as error:
            _log(error)
            file, line = _place(error, self.path)
            if not line and hook in self.hooks:
                line = self.hooks[hook].__code__.co_firstlineno
            text = _bytes(f"{file}:{line}: {_words(error)}")[: n - 1] + b"\0"
            ctypes.memmove(to, text, len(text))
            return -1

    # ---- what the program calls ----

    def _open(self, to: int, cfg: int, host: int, env: int, err: int, n: int) -> int:
        def call() -> int:
            about = native.AbEnv.from_address(env)
            made = _Opened(self.read(cfg))
            f, given = self.hooks["examples"], dict(made.settings)
            if "data_dir" in argument_names(f):
                given["data_dir"] = about.data_dir.decode()
            for at, split in enumerate(SPLITS if not about.no_data else ()):
                for i, example in enumerate(f(split, about.seed, **given)):
                    where = f"{self.name}: example {i + 1} of {split}"
                    if self.alone and isinstance(example, str):
                        made.lines[at].append((None, _line(example, where)))
                        continue
                    if not isinstance(example, (tuple, list)) or len(example) != 2:
                        raise Error(f"{where}: found {example!r}, expected a pair (source, target)")
                    source, target = (_line(side, where) for side in example)
                    if self.alone and len(source.split()) != len(target.split()):
                        raise Error(
                            f"{where}: found {len(source.split())} words and {len(target.split())} answers, expected "
                            "equally many; '_' is no answer"
                        )
                    made.lines[at].append((source, target))
                if not made.lines[at] and split != "test":
                    raise Error(
                        f"{self.name}: examples yields nothing for {split}, expected at least one example"
                    )
            number = len(self.opened) + 1
            self.opened[number] = made
            native.ADDRESS.from_address(to).value = number
            return 0

        return self._guarded("examples", err, n, call)

    def _count(self, number: int, split: int) -> int:
        return len(self.opened[number].lines[split])

    def _get(self, number: int, split: int, i: int, to: int) -> None:
        example = native.AbExample.from_address(to)
        example.src, example.tgt = self.opened[number].lines[split][i]

    def _close(self, number: int) -> None:
        self.opened.pop(number, None)

    def _vocabs(self, number: int, to: int) -> None:
        v, made = native.AbVocabs.from_address(to), self.opened[number]
        words = [str(w).encode() for w in self.symbols or ()]
        if self.collects:
            every = {w for lines in made.lines for pair in lines for side in pair if side for w in side.split()}
            words = sorted(every - {b"_"})
        made.symbols = (native.TEXT * max(1, len(words)))(*words)
        v.symbols, v.n_symbols = ctypes.addressof(made.symbols), len(words)

    def _score(
        self, number: int, split: int, outputs: int, n: int, to: int, most: int, err: int, n_err: int
    ) -> int:
        def call() -> int:
            made = self.opened[number]
            texts: Any = (native.TEXT * n).from_address(outputs)
            lines = [text.decode() for text in texts]
            references = [target.decode() for _, target in made.lines[split][:n]]
            f = self.hooks.get("score")
            scores = (
                f(lines, references, **made.settings)
                if f
                else {"acc": [a == b for a, b in zip(lines, references)]}
            )
            if not isinstance(scores, dict) or not scores:
                raise Error(
                    f"{self.name}: score returned {scores!r}, expected {{name: a number for each example}}"
                )
            for name in scores:
                if not isinstance(name, str) or name in _RESERVED or not 0 < len(name.encode()) < 24:
                    raise Error(
                        f"{self.name}: score names {name!r}, expected at most 23 bytes, and not {', '.join(_RESERVED)}"
                    )
            if len(scores) > most:
                raise Error(f"{self.name}: score returned {len(scores)} names, expected at most {most}")
            made.kept.clear()
            rows = [self._ratio(made, name, values, n) for name, values in scores.items()]
            return _write(rows, to, most)

        return self._guarded("score", err, n_err, call)

    def _score_likelihoods(
        self, number: int, split: int, x: int, n: int, to: int, most: int, err: int, n_err: int
    ) -> int:
        def call() -> int:
            made = self.opened[number]
            made.kept.clear()
            found = (native.AbLikelihood * n).from_address(x)
            pairs = [(one.right, one.tokens) for one in found]
            accuracy = self._ratio(made, "acc", pairs, n)
            if made.lines[split][0][0] is None:  # a language model
                return _write([_perplexity(made, found), accuracy], to, most)
            exact = self._ratio(made, "exact", [one.right == one.tokens for one in found], n)
            return _write([accuracy, exact], to, most)

        return self._guarded("score", err, n_err, call)

    def _ratio(self, made: _Opened, name: str, values: Sequence[Any], n: int) -> Any:
        if len(values) != n:
            raise Error(
                f"{self.name}: {name} has {len(values)} numbers, expected one for each of {n} examples"
            )
        pairs = [(v if isinstance(v, tuple) else (v, 1)) for v in values]
        flat = (native.F64 * (2 * n))(*(float(one) for pair in pairs for one in pair))
        made.kept.append(flat)
        whole = sum(flat[1::2])
        return native.AbMetric(
            name=name.encode()[:23], unit=b"%", better=0, value=100 * sum(flat[::2]) / whole if whole else 0,
            sum=_RATIO, n_stats=2, stats=ctypes.addressof(flat))  # fmt: skip


def _perplexity(made: _Opened, found: Any) -> Any:
    import math

    flat = (native.F64 * (2 * len(found)))(*(v for one in found for v in (-one.log_likelihood, one.tokens)))
    made.kept.append(flat)
    tokens = sum(flat[1::2])
    return native.AbMetric(
        name=b"PPL", better=1, value=math.exp(sum(flat[::2]) / tokens) if tokens else 0, sum=_PERPLEXITY, n_stats=2,
        stats=ctypes.addressof(flat))  # fmt: skip


def _write(rows: list[Any], to: int, most: int) -> int:
    out = (native.AbMetric * most).from_address(to)
    for i, row in enumerate(rows[:most]):
        out[i] = row
    return min(len(rows), most)


description_kept: list[Any] = []  # callbacks live to the end
