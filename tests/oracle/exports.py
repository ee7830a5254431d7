"""What `ablate export` writes, read by the real packages (pip install pandas pyarrow duckdb tensorboard trackio tbparse wandb).

    ablate export NAME -o exports/parquet;  for f in csv tensorboard wandb: ablate export NAME --format $f -o exports/$f
    python tests/oracle/exports.py exports

Run by hand: no test needs Python. tests/cli/notebook.sh compares Parquet with CSV where pandas is.
"""
import glob, os, struct, sys, tempfile, zlib

folder = sys.argv[1]
import duckdb, pandas as pd
from pyarrow import parquet

runs = pd.read_parquet(f"{folder}/parquet/runs.parquet")
curves = pd.read_parquet(f"{folder}/parquet/curves.parquet")
for name in "runs", "results", "curves":
    n = parquet.ParquetFile(f"{folder}/parquet/{name}.parquet").metadata.num_rows
    assert duckdb.sql(f"SELECT count(*) FROM '{folder}/parquet/{name}.parquet'").fetchall()[0][0] == n
    print(f"{name}.parquet: {n} rows")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

started = runs[runs.started_at.notna()]
for _, run in started.iterrows():
    events = EventAccumulator(f"{folder}/tensorboard/{run.row.replace('/', '_')}@{run.seed}")
    events.Reload()
    for metric, points in curves[curves.run == run.run].groupby("metric"):
        found = {s.step: s.value for s in events.Scalars(metric)}
        for step, value in zip(points.step, points.value):
            assert pd.isna(value) or abs(found[step] - value) <= 1e-6 * abs(value), (run.row, metric, step)
    data = plugin_data_pb2.HParamsPluginData()
    data.ParseFromString(events.PluginTagToContent("hparams")["_hparams_/session_start_info"])
    assert data.session_start_info.hparams["heads"].number_value == run.heads
print(f"tensorboard: {len(started)} runs")

from wandb.proto import wandb_internal_pb2


def records(path):
    """LevelDB's log format, with CRC-32 over type and data."""
    data, at, whole = open(path, "rb").read(), 7, b""
    assert data[:7] == b":W&B\xe1\xbe\x00"
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        crc, n, kind = struct.unpack("<IHB", data[at:at + 7])
        body = data[at + 7:at + 7 + n]
        assert zlib.crc32(bytes([kind]) + body) == crc
        at, whole = at + 7 + n, whole + body
        if kind in (1, 4):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(whole)
            whole = b""
            yield record


points = 0
for path in glob.glob(f"{folder}/wandb/offline-run-*/run-*.wandb"):
    kinds = [(r.WhichOneof("record_type"), r) for r in records(path)]
    assert [k for k, _ in kinds[:2]] == ["header", "run"] and kinds[-1][0] == "exit"
    points += sum(len([i for i in r.history.item if not i.nested_key[0].startswith("_")]) for k, r in kinds if k == "history")
assert points == len(curves), (points, len(curves))
print(f"wandb: {points} points; `wandb sync --dry-run {folder}/wandb` lists the runs")

os.environ["TRACKIO_DIR"] = tempfile.mkdtemp()
import trackio
from trackio.sqlite_storage import SQLiteStorage

trackio.import_tf_events(log_dir=f"{folder}/tensorboard", project="exports", force=True)
assert len(SQLiteStorage.get_runs("exports")) == len(started)
print(f"trackio: {len(started)} runs")
