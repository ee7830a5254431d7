"""What `ablate export` writes, read by the real packages (pip install pandas tensorboard trackio tbparse).

    for f in csv tensorboard: ablate export NAME --format $f -o exports/$f
    python tests/oracle/exports.py exports

Run by hand.
"""
import os, sys, tempfile

folder = sys.argv[1]
import pandas as pd

runs, curves = (pd.read_csv(f"{folder}/csv/{name}.csv") for name in ("runs", "curves"))

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

os.environ["TRACKIO_DIR"] = tempfile.mkdtemp()
import trackio
from trackio.sqlite_storage import SQLiteStorage

trackio.import_tf_events(log_dir=f"{folder}/tensorboard", project="exports", force=True)
assert len(SQLiteStorage.get_runs("exports")) == len(started)
print(f"trackio: {len(started)} runs")
