"""What workers of this computer gain over one process, and what each run on them costs beside itself."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from slide_gui.bench.answers import rectangles
from slide_gui.bench.measurement import Measurement, absolute, relative
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.cluster import Cluster, ClusterChoice
from slide_gui.experiments.spec import SweepSpec
from slide_gui.experiments.store import RunStore
from slide_gui.experiments.sweep import SweepState, run_sweep

__all__ = ["overhead", "sweep_by_workers"]

_JUDGED = 5000  # test rows: the training of a run takes longer than its judging, as with all of them
_TINY = 60  # runs


def sweep_by_workers() -> list[Measurement]:
    """Measure a sweep of 10 noises × 5 depths by two workers, by one, and in this process with all its threads."""
    dataset, note = rectangles()
    asked = SweepSpec(
        dataset.fingerprint, noises=tuple(i / 10 for i in range(10)), depths=(0, 1, 2, 3, 4), test_rows=_JUDGED
    )
    two, one, here = (_seconds(dataset, asked, workers)[0] for workers in (2, 1, 0))
    note = f"{note}, widths learned at every point, {_JUDGED} test rows"
    return [
        relative("sweep-workers", two, "s", one, 1 / 1.8, f"two workers against one; {note}"),
        relative("sweep-workers-process", two, "s", here, 1 / 1.4, f"against this process, all threads; {note}"),
    ]


def overhead() -> list[Measurement]:
    """Measure what a run on a worker takes beside what it takes itself."""
    rng = np.random.default_rng(0)
    rows = (rng.random((400, 64)) > 0.5).astype(np.float32)
    labels = (rows[:, 0] + rows[:, 9] > 1).astype(np.int64)
    dataset = Dataset("tiny", rows[:100], rows[100:], labels[:100], labels[100:], (8, 8), generated=True)
    asked = SweepSpec(
        dataset.fingerprint, noises=tuple(i / _TINY for i in range(_TINY)), depths=(1,), warm=False,
        svm=SvmParameters(widths="median", C=10.0),
    )  # fmt: skip
    seconds, state = _seconds(dataset, asked, 1)
    beside = seconds - sum(answer.seconds for answer in state.done)
    note = f"{_TINY} runs of {state.done[0].seconds * 1000:.0f} ms by one worker, kept in a store"
    return [absolute("run-overhead", 1000 * beside / _TINY, "ms", 50.0, note)]


def _seconds(dataset: Dataset, asked: SweepSpec, workers: int) -> tuple[float, SweepState]:
    """Return how long a sweep takes once its workers are there, and what came out."""
    with tempfile.TemporaryDirectory() as folder, RunStore(Path(folder) / "runs.sqlite") as store:
        if workers == 0:
            start = time.perf_counter()
            state = run_sweep(dataset, asked, store)
            return time.perf_counter() - start, state
        with Cluster(ClusterChoice(workers)) as cluster:
            start = time.perf_counter()
            state = run_sweep(dataset, asked, store, cluster=cluster)
            return time.perf_counter() - start, state
