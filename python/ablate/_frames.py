"""The program, and what functions of results return: records, tables and charts."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, Sequence

from ablate._error import Error, nearest

if TYPE_CHECKING:
    import pandas

_HERE = os.path.dirname(os.path.abspath(__file__))
Record = Mapping[str, Any]


def program() -> str:
    """
    Return the path of the program ``ablate``.

    Returns
    -------
    str
        $ABLATE_PROGRAM, else that of this checkout or installation, else the first on PATH.
    """
    asked = os.environ.get("ABLATE_PROGRAM")
    places = [asked] if asked else [
        os.path.join(_HERE, "../../build/ablate"),
        os.path.join(_HERE, "../../../../bin/ablate"),
        os.path.join(sys.prefix, "bin/ablate"),
        shutil.which("ablate") or "",
    ]  # fmt: skip
    for place in places:
        if place and os.access(place, os.X_OK) and os.path.isfile(place):
            return os.path.normpath(place)
    raise Error(
        f"found no program ablate in {', '.join(filter(None, places))}; build it (./ablate), or set ABLATE_PROGRAM"
    )


def call(*arguments: str, db: str | None = None, standard_input: str | None = None) -> str:
    """
    Run a command of the program.

    Parameters
    ----------
    *arguments : str
        The command and its words.
    db : str, optional
        The database.
    standard_input : str, optional
        What the command reads.

    Returns
    -------
    str
        What it prints.
    """
    words = [program(), *arguments, *(["--db", db] if db else [])]
    done = subprocess.run(words, capture_output=True, text=True, input=standard_input)
    if done.returncode:
        raise Error(done.stderr.strip() or f"ablate {arguments[0]} ended with exit code {done.returncode}")
    return done.stdout


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as missing:
        raise Error("to_pandas needs pandas: pip install pandas") from missing
    return pandas


class Frame(Sequence[Record]):
    """
    A table of plain values: a sequence of dicts.

    Parameters
    ----------
    records : iterable of dict
        The rows.
    columns : sequence of str, optional
        Names, in order; by default those of the first record.

    Attributes
    ----------
    columns : list of str
        Names, in order.
    """

    def __init__(self, records: Iterable[Record], columns: Sequence[str] | None = None) -> None:
        self._records = list(records)
        self.columns = list(columns if columns is not None else self._records[0] if self._records else [])

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, at: Any) -> Any:
        """Return a record by its number, or a column's values by its name."""
        if isinstance(at, str):
            if at not in self.columns:
                raise Error(
                    f"found no column '{at}', expected one of {', '.join(self.columns)}{nearest(at, self.columns)}"
                )
            return [record.get(at) for record in self._records]
        return self._records[at]

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __repr__(self) -> str:
        shown = [[_shown(r.get(c)) for c in self.columns] for r in self._records[:60]]
        widths = [max([len(c), *(len(row[i]) for row in shown)]) for i, c in enumerate(self.columns)]
        lines = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip()
            for row in [self.columns, *shown]
        ]
        return "\n".join(lines + ([f"... {len(self)} records"] if len(self) > 60 else []))

    def _repr_html_(self) -> str:
        return _html_table(
            self.columns, ([_shown(r.get(c)) for c in self.columns] for r in self._records[:60])
        )

    def to_pandas(self) -> pandas.DataFrame:
        """
        Return the records as a DataFrame; needs pandas.

        Returns
        -------
        pandas.DataFrame
            A row for each record.
        """
        frame: pandas.DataFrame = _pandas().DataFrame(self._records, columns=self.columns)
        return frame

    def to_parquet(self, path: str) -> None:
        """
        Write the records to an Apache Parquet file; needs pyarrow.

        Parameters
        ----------
        path : str
            The file.
        """
        try:
            import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]
            import pyarrow.parquet  # type: ignore[import-untyped,import-not-found,unused-ignore]
        except ImportError as missing:
            raise Error("to_parquet needs pyarrow: pip install pyarrow") from missing
        columns = {c: pyarrow.array(one_type([r.get(c) for r in self._records])) for c in self.columns}
        pyarrow.parquet.write_table(pyarrow.table(columns), path)


def one_type(values: list[Any]) -> list[Any]:
    """
    Return values of one type: whole numbers, else real ones, else texts.

    Parameters
    ----------
    values : list
        Of any types; None stays.

    Returns
    -------
    list
        The values.
    """
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {int} or kinds <= {bool} or kinds <= {str}:
        return values
    if kinds <= {int, float}:
        return [None if v is None else float(v) for v in values]
    return [None if v is None else str(v) for v in values]


def _shown(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + line(head, "th") + "".join(line(row, "td") for row in rows) + "</table>"


class Table:
    """
    An experiment's table with its verdicts and warnings, as ``ablate table`` prints it.

    Parameters
    ----------
    arguments : sequence of str
        Words for ``ablate table``.
    db : str, optional
        The database.
    kept : object, optional
        A temporary folder that lives as long as the table.

    Attributes
    ----------
    name : str
        The experiment.
    rows : Frame
        Every number in full precision (``ablate table --columns`` explains them).
    text : str
        The printed table.
    """

    def __init__(self, arguments: Sequence[str], db: str | None, kept: Any = None) -> None:
        read = json.loads(call("table", *arguments, "--json", db=db))
        self.name: str = read["experiment"]
        self.rows = Frame(read["rows"])
        self.text = call("table", *arguments, db=db)
        self._markdown = call("table", *arguments, "--format", "md", db=db)
        self._kept = kept

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_html_(self) -> str:
        out, cells = [], []
        for line in self._markdown.splitlines():
            if line.startswith("|"):
                if set(line) - set("|-: "):
                    found = re.split(r"(?<!\\)\|", line.strip("|"))
                    cells.append([re.sub(r"\\(.)", r"\1", cell.strip().replace("**", "")) for cell in found])
            elif line.strip():
                out.append("<p>" + html.escape(re.sub(r"\\(.)", r"\1", line)) + "</p>")
        return (_html_table(cells[0], cells[1:]) if cells else "") + "".join(out)

    def to_pandas(self) -> pandas.DataFrame:
        """
        Return the rows as a DataFrame; needs pandas.

        Returns
        -------
        pandas.DataFrame
            A row for each row of the table.
        """
        return self.rows.to_pandas()


class Chart:
    """
    A chart as SVG.

    Parameters
    ----------
    arguments : sequence of str
        Words for ``ablate plot``.
    db : str, optional
        The database.

    Attributes
    ----------
    svg : str
        The drawing.
    """

    def __init__(self, arguments: Sequence[str], db: str | None) -> None:
        self._arguments, self._db = arguments, db
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "chart.svg")
            self.save(path)
            with open(path, encoding="utf-8") as file:
                self.svg = file.read()

    def save(self, path: str) -> None:
        """
        Write the chart to a file.

        Parameters
        ----------
        path : str
            Ends with .svg, .pdf, .png, .gp, .json (Vega-Lite) or .csv.
        """
        call("plot", *self._arguments, "--output", path, db=self._db)

    def _repr_svg_(self) -> str:
        return self.svg
