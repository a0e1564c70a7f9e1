"""What a store of runs holds of the evaluation, and on which data: the full and the quick one differ in their rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from slide_gui.data.entries import entry
from slide_gui.experiments.benchmark_reader import read_benchmark
from slide_gui.experiments.benchmark_state import BenchmarkState, DataInfo
from slide_gui.experiments.paper import data_key
from slide_gui.experiments.protocol import CellPlan
from slide_gui.experiments.store import RunStore
from slide_gui.experiments.stored_run import StoredRun
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["stored_benchmark", "stored_data"]


def stored_benchmark(cells: Sequence[CellPlan], store: RunStore, *, progress: Progress = NO_PROGRESS) -> BenchmarkState:
    """Return what the store holds of the evaluation; its table is read once, no data set is.

    Parameters
    ----------
    cells : sequence of CellPlan
    store : RunStore
        Opened by this thread.
    progress : Progress
    """
    rows = store.runs()
    return read_benchmark(cells, stored_data(cells, rows), store, rows=rows, progress=progress)


def stored_data(cells: Sequence[CellPlan], rows: Sequence[StoredRun]) -> tuple[DataInfo, ...]:
    """Return the data sets of a plan that stored runs were made on, in the plan's order.

    One name stands for several data: real or generated, whole or cut down. Of those that the plan has runs on, real
    come before generated, then those with more of its runs, then the latest. Sizes are the catalogue's, or the plan's.
    """
    by_key: dict[str, dict[str, StoredRun]] = {}
    for row in rows:
        by_key.setdefault(_key(row.data), {})[row.fingerprint] = row
    hashes = {row.hash for row in rows}
    found = []
    for key in dict.fromkeys(cell.data for cell in cells):
        own = [cell for cell in cells if cell.data == key]
        data = list(by_key.get(key, {}).values())
        if data:
            # The one it is, where there is one only: nothing is counted.
            best = data[0] if len(data) == 1 else max(data, key=lambda run: _fit(own, run, hashes))
            found.append(_info(own[0], best))
    return tuple(found)


def _fit(cells: Sequence[CellPlan], run: StoredRun, hashes: set[str]) -> tuple[bool, bool, int, float]:
    """Return how well the data of a run suit a plan: by its runs of the first split."""
    count = 0
    for cell in cells:
        points = cell.candidates(run.fingerprint, "", 0)
        asked = points if len(points) > 1 else (cell.final(points[0]),)
        count += sum(point.spec.hash in hashes for point in asked)
    return count > 0, not run.generated, count, run.created


def _info(cell: CellPlan, run: StoredRun) -> DataInfo:
    known = entry(cell.data)
    n_train = min(cell.train_rows or known.n_train, known.n_train)
    n_test = min(cell.test_rows or known.n_test, known.n_test)
    return DataInfo(cell.data, known.title, run.generated, run.fingerprint, n_train, n_test)


_key = lru_cache(maxsize=256)(data_key)
