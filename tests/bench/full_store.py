"""A store with the rows of the full evaluation, as after years of use."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from slide_gui.error_rate import row_errors
from slide_gui.experiments.evaluation.data_sets import data_entry
from slide_gui.experiments.evaluation.protocol import CellPlan, plan, published, row_title
from slide_gui.experiments.runs.spec import RunSpec
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.store.stored_run import COLUMNS, Setting, StoredRun
from slide_gui.experiments.sweeps.selection import PointResult
from slide_gui.results_version import RESULTS_VERSION


def fill(path: Path) -> None:
    """Write a store with a row for every run of the full protocol.

    The runs on test rows have the paper's errors. Documents and arrays of the runs are missing, because no benchmark
    reads them.
    """
    random = np.random.default_rng(0)
    rows = dict[str, StoredRun]()  # rows of the table share candidates
    for cell in plan():
        for split in range(cell.n_splits):
            rows |= {row.hash: row for row in _rows(cell, split, random)}
    RunStore(path).close()
    values = [(*row.row().values(), "{}", row.hash, "") for row in rows.values()]
    with closing(sqlite3.connect(path)) as connection, connection:
        names = [*(column.name for column in COLUMNS), "document", "file", "sha256"]
        marks = ", ".join("?" * len(names))
        connection.executemany(f"INSERT INTO runs ({', '.join(names)}) VALUES ({marks})", values)


def _rows(cell: CellPlan, split: int, random: np.random.Generator) -> list[StoredRun]:
    """Return the rows of the candidates of a split, and of the run on test rows."""
    known = data_entry(cell.data)
    paper = {one.method: one.error for one in published(cell.data)}
    error = paper.get(row_title(cell.method), max(paper.values(), default=0.1))  # some methods are not in the paper
    points = cell.candidates(cell.data.encode().hex().ljust(64, "0")[:64], "", split)
    best = cell.n_candidates // 2  # the same candidate in every draw
    errors = [error if k % cell.n_candidates == best else min(2 * error, 1.0) for k in range(len(points))]
    others = [
        _row(point.spec, known.title, known.n_train // 5, wrong, random)
        for point, wrong in zip(points, errors, strict=True)
    ]
    answers = map(PointResult.of, points, others)
    selected = cell.select(points, {answer.point.spec.hash: answer for answer in answers})
    assert selected is not None
    final = _row(selected.final.spec, known.title, known.n_test, error, random)
    return [*(others if cell.selects else ()), final]


def _row(spec: RunSpec, title: str, n: int, error: float, random: np.random.Generator) -> StoredRun:
    wrong = np.sort(random.choice(n, max(round(error * n), 1), replace=False)).astype(np.int64)
    of_spec = ("hash", "fingerprint", "method", "split", "seed", "training", "evaluate")
    return StoredRun(
        **{name: getattr(spec, name) for name in of_spec}, data=title, generated=False, noise=spec.stack.noise,
        depth=spec.stack.depth, error=len(wrong) / n, n_test=n,
        validation_error=len(wrong) / n if spec.training == "split" else None, seconds=10.0, created=0.0, tags=(),
        deleted=False, C=10.0, n_support=1000, numerics=str(RESULTS_VERSION), chosen_by="",
        setting=Setting.of(spec).text, row_errors=row_errors(spec.fingerprint, np.arange(n), wrong), n_train=1000,
        features=1.0,
    )  # fmt: skip
