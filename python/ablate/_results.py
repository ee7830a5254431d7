"""Runs, tables and verdicts: a thin layer over the program's commands and their JSON."""

from __future__ import annotations

import csv
import html
import io
import json
import os
import subprocess
import sys
import tempfile
from typing import Any, Mapping, Sequence

from ablate._error import Error, nearest
from ablate._frames import Chart, Frame, Record, Table, call, one_type, program


def _options(names: Mapping[str, Any]) -> list[str]:
    """Return options of the command line: ``only=["a", "b"]`` is ``--only a --only b``, True a flag."""
    words: list[str] = []
    for name, value in names.items():
        option = "--" + name.replace("_", "-").rstrip("-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None and one is not False:
                words += [option] if one is True else [option, str(one)]
    return words


def run(
    spec: str, *, settings: Mapping[str, Any] | None = None, db: str | None = None, **options: Any
) -> Table:
    """
    Train what an experiment lacks, and return its table.

    Parameters
    ----------
    spec : str
        The INI.
    settings : mapping, optional
        Keys of ``[base]`` and their values, as ``-s KEY=VALUE``.
    db : str, optional
        The database; by default $ABLATE_DB or results.db.
    **options : str, number, bool or list
        Options of ``ablate run``, with _ for -: ``only=["base"]``, ``workers=2``, ``fail_fast=True``.

    Returns
    -------
    Table
        The experiment's table.
    """
    words = [program(), "run", spec, *_options(options), *(["--db", db] if db else [])]
    for key, value in (settings or {}).items():
        words += ["-s", f"{key}={value}"]
    notebook = "ipykernel" in sys.modules and "progress" not in options
    started = subprocess.Popen(
        words + (["--progress", "json"] if notebook else []), stdout=subprocess.PIPE, text=True,
        stderr=subprocess.PIPE if notebook else None)  # fmt: skip
    messages: list[str] = []
    try:
        if notebook and started.stderr:
            _show_progress(started.stderr, messages)
        started.communicate()
    except KeyboardInterrupt:
        started.terminate()
        started.wait()
        raise
    if started.returncode:
        raise Error(
            "\n".join(messages[-20:])
            or f"ablate run ended with exit code {started.returncode}; its messages are above"
        )
    return table(_name_of(spec), db=db)


def _name_of(spec: str) -> str | None:
    name, section = None, ""
    with open(spec, encoding="utf-8") as file:
        for line in file:
            line = line.strip()
            if line.startswith("["):
                section = line
            elif section == "[experiment]" and line.split("=")[0].strip() == "name":
                name = line.split("=", 1)[1].split("#")[0].strip()
    return name


def _show_progress(stream: Any, messages: list[str]) -> None:
    """Draw events of ``--progress json`` as a bar in a notebook; other lines are messages."""
    import IPython.display  # type: ignore[import-not-found,unused-ignore]

    screen: Any = IPython.display

    shown, done, failed = screen.display(screen.HTML(""), display_id=True), 0, 0
    for line in stream:
        if not line.startswith("{"):
            messages.append(line.rstrip())
            continue
        event = json.loads(line)
        done += event["event"] == "done"
        failed += event["event"] in ("failed", "killed", "lost")
        counted = f"{done} done{f', {failed} failed' if failed else ''}"
        if event["event"] == "end":
            at, most, words = done, event["total"], counted
        else:
            at, most = event.get("step", 0), event.get("total", 0)
            words = f"{html.escape(str(event.get('row')))} seed {event.get('seed')}, {counted}"
        shown.update(screen.HTML(f"<progress value={at} max={most or 1}></progress> {words}"))


def table(
    name: str | None = None,
    *,
    metric: str | Sequence[str] | None = None,
    db: str | None = None,
    **options: Any,
) -> Table:
    """
    Return an experiment's table.

    Parameters
    ----------
    name : str, optional
        The experiment; by default the last one that was run.
    metric : str or sequence of str, optional
        Only these columns.
    db : str, optional
        The database.
    **options : str
        Options of ``ablate table``: ``vs="paper"``, ``stats="full"``.

    Returns
    -------
    Table
        Printed as in the terminal, and as HTML in a notebook.
    """
    words = ([name] if name else []) + _options({"metric": metric, **options})
    return Table(words, db)


def _exported(name: str | None, which: str, db: str | None) -> Frame:
    with tempfile.TemporaryDirectory() as folder:
        call("export", *([name] if name else []), "--format", "csv", "-o", folder, db=db)
        with open(os.path.join(folder, which + ".csv"), encoding="utf-8", newline="") as file:
            return _read_csv(file.read())


def _read_csv(text: str) -> Frame:
    reader = csv.reader(io.StringIO(text))
    columns = next(reader, [])
    rows = [[_value(cell) for cell in row] for row in reader]
    values = [one_type([row[i] for row in rows]) for i in range(len(columns))]
    return Frame((dict(zip(columns, row)) for row in zip(*values)), columns)


def _value(cell: str) -> int | float | str | None:
    if cell == "":
        return None
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            pass
    return cell


def runs(name: str | None = None, *, db: str | None = None) -> Frame:
    """
    Return a record for each run: its row, seed, status, machine and cost, every setting and every result.

    Parameters
    ----------
    name : str, optional
        The experiment; by default the last one that was run.
    db : str, optional
        The database.

    Returns
    -------
    Frame
        A setting with the name of another column has the prefix ``setting_``.
    """
    return _exported(name, "runs", db)


def curves(name: str | None = None, *, metric: str | None = None, db: str | None = None) -> Frame:
    """
    Return a record for each run, metric and step.

    Parameters
    ----------
    name : str, optional
        The experiment; by default the last one that was run.
    metric : str, optional
        Only this metric, such as ``"dev_PPL"``.
    db : str, optional
        The database.

    Returns
    -------
    Frame
        The column ``t`` is the recording time in seconds since 1970.
    """
    found = _exported(name, "curves", db)
    if metric is None:
        return found
    metrics = sorted(set(found["metric"])) if len(found) else []
    if metric not in metrics:
        raise Error(
            f"found no metric '{metric}', expected one of {', '.join(metrics)}{nearest(metric, metrics)}"
        )
    return Frame((r for r in found if r["metric"] == metric), found.columns)


def query(sql: str, *, db: str | None = None) -> Frame:
    """
    Run read-only SQL on the database.

    Parameters
    ----------
    sql : str
        A statement; ``ablate query --list`` names the views.
    db : str, optional
        The database.

    Returns
    -------
    Frame
        A record for each row.
    """
    return Frame(json.loads(call("query", "-", "--json", db=db, standard_input=sql)))


def plot(name: str | None = None, *, db: str | None = None, **options: Any) -> Chart:
    """
    Draw one chart.

    Parameters
    ----------
    name : str, optional
        The experiment; by default the last one that was run.
    db : str, optional
        The database.
    **options : str or bool
        Options of ``ablate plot``: ``metric="BLEU"``, ``over="heads"``, ``by="position"``, ``forest=True``.

    Returns
    -------
    Chart
        Drawn in a notebook; ``save`` writes it.
    """
    return Chart(([name] if name else []) + _options(options), db)


def judge(
    data: Any, *, row: str, metric: str, seed: str | None = None, example: str | None = None, base: str | None = None,
    step: str | None = None, lower_is_better: bool = False, name: str = "judged",
) -> Table:  # fmt: skip
    """
    Judge runs of any trainer: intervals over seeds and examples, tests, verdicts and warnings.

    Parameters
    ----------
    data : DataFrame or iterable of dict
        A record for each run, or for each run and example.
    row : str
        The column that names what is compared.
    metric : str
        The column of the score.
    seed : str, optional
        The column of seeds; without it runs are numbered.
    example : str, optional
        The column of examples, if scores are per example.
    base : str, optional
        The row that others are compared with.
    step : str, optional
        The column of steps, if there are several evaluations of a run.
    lower_is_better : bool
        Whether smaller scores are better.
    name : str
        Name of the table.

    Returns
    -------
    Table
        As ``ablate import`` and ``ablate table`` give it.
    """
    records = data.to_dict("records") if hasattr(data, "to_dict") else [dict(record) for record in data]
    if not records:
        raise Error("judge: found no record, expected one for each run")
    asked = {"row": row, "metric": metric, "seed": seed, "example": example, "step": step}
    for what, column in asked.items():
        if column is not None and column not in records[0]:
            raise Error(
                f"judge: {what}={column!r}: found no such column among {', '.join(map(str, records[0]))}"
                f"{nearest(column, map(str, records[0]))}"
            )
    folder = tempfile.TemporaryDirectory()
    path, db = os.path.join(folder.name, name + ".jsonl"), os.path.join(folder.name, "judged.db")
    columns = [column for column in asked.values() if column is not None]
    with open(path, "w", encoding="utf-8") as file:
        for record in records:
            kept = {c: record[c].item() if hasattr(record[c], "item") else record[c] for c in columns}
            file.write(json.dumps(kept) + "\n")
    words = ["--row", row, "--metric", metric]
    for option, value in (("--seed", seed), ("--example", example), ("--step", step), ("--base", base)):
        words += [option, value] if value is not None else []
    words += ["--lower-is-better" if lower_is_better else "--higher-is-better", metric]
    call("import", path, "--as", name, *words, db=db)
    return Table([name], db, folder)


def to_parquet(folder: str, name: str | None = None, *, db: str | None = None) -> None:
    """
    Write ``runs.parquet``, ``results.parquet`` and ``curves.parquet``; needs pyarrow.

    Parameters
    ----------
    folder : str
        Where to; it is made if it is missing.
    name : str, optional
        The experiment; by default the last one that was run.
    db : str, optional
        The database.
    """
    os.makedirs(folder, exist_ok=True)
    for which in ("runs", "results", "curves"):
        _exported(name, which, db).to_parquet(os.path.join(folder, which + ".parquet"))


def to_wandb(project: str, name: str | None = None, *, db: str | None = None, **options: Any) -> int:
    """
    Send each run to Weights & Biases: settings, curves and results; needs wandb.

    Parameters
    ----------
    project : str
        Of W&B.
    name : str, optional
        The experiment; by default the last one that was run.
    db : str, optional
        The database.
    **options : str
        Passed to ``wandb.init``: ``entity``, ``mode="offline"``, ``dir``.

    Returns
    -------
    int
        How many runs. Their ids depend on experiment, row and seed, so that a second call updates them.
    """
    try:
        import wandb  # type: ignore[import-not-found,unused-ignore]
    except ImportError as missing:
        raise Error("to_wandb needs wandb: pip install wandb") from missing
    import hashlib

    of: dict[int, list[Record]] = {}
    for point in curves(name, db=db):
        of.setdefault(point["run"], []).append(point)
    found = runs(name, db=db)
    for one in found:
        key = f"{one['experiment']} {one['row']} {one['seed']}"
        made: Any = wandb.init(
            project=project, id=hashlib.sha256(key.encode()).hexdigest()[:16], name=f"{one['row']}@{one['seed']}",
            group=one["row"], resume="allow", config={k: v for k, v in one.items() if v is not None}, **options,
        )  # fmt: skip
        steps: dict[int, dict[str, Any]] = {}
        for point in of.get(one["run"], []):
            steps.setdefault(point["step"], {})[point["metric"]] = point["value"]
        for step in sorted(steps):
            made.log(steps[step], step=step)
        made.finish()
    return len(found)
