"""A store as after years of use: the full evaluation and thousands of other runs."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from slide_gui.core.svm.model import TrainedSvm
from slide_gui.experiments.evaluation.data_sets import data_entry
from slide_gui.experiments.evaluation.protocol import CellPlan, plan, published, row_title
from slide_gui.experiments.runs.result import RunResult, Timings
from slide_gui.experiments.runs.spec import RunSpec
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.store.stored_run import COLUMNS, StoredRun
from slide_gui.experiments.sweeps.selection import PointResult


def fill(path: Path) -> int:
    """Write a store with every run of the full protocol, and return their number.

    The runs on test rows, from which the table of results is made, are complete and have the paper's errors. Of the
    candidates only the rows in the database are written, because no benchmark reads more of them.
    """
    random = np.random.default_rng(0)
    finals, candidates = [], dict[str, RunResult]()  # rows of the table share candidates
    for cell in plan():
        for split in range(cell.n_splits):
            final, others = _runs(cell, split, random)
            finals.append(final)
            candidates |= {result.hash: result for result in others}
    with RunStore(path) as store:
        for result in finals:
            store.save(result)
    _write_lines(path, list(candidates.values()))
    return len(finals) + len(candidates)


def _runs(cell: CellPlan, split: int, random: np.random.Generator) -> tuple[RunResult, list[RunResult]]:
    known = data_entry(cell.data)
    paper = {one.method: one.error for one in published(cell.data)}
    error = paper.get(
        row_title(cell.method), max(paper.values(), default=0.1)
    )  # for methods without an error in the paper
    points = cell.candidates(_fingerprint(cell), "", split)
    best = cell.n_candidates // 2  # the same candidate in every draw
    n = known.n_train // 5
    errors = [error if k % cell.n_candidates == best else min(2 * error, 1.0) for k in range(len(points))]
    others = [_result(p.spec, known.title, n, wrong, random) for p, wrong in zip(points, errors, strict=True)]
    answers = [PointResult(p, each.rate, each.error, 1.0) for p, each in zip(points, others, strict=True)]
    selected = cell.select(points, {answer.point.spec.hash: answer for answer in answers})
    assert selected is not None
    final = _result(selected.final.spec, known.title, known.n_test, error, random)
    return final, others if cell.selects else []


def _fingerprint(cell: CellPlan) -> str:
    return cell.data.encode().hex().ljust(64, "0")[:64]


def _result(spec: RunSpec, title: str, n: int, error: float, random: np.random.Generator) -> RunResult:
    wrong = np.sort(random.choice(n, max(round(error * n), 1), replace=False)).astype(np.int64)
    n_support = 1000
    classifier = TrainedSvm(
        (1.0,), (1.0,), (1.0,), 10.0, (), (), 1e-4, True, "float32",
        np.arange(n_support), random.normal(size=(1, n_support)), np.zeros(1),
    )  # fmt: skip
    confusion = np.array([[n - len(wrong), len(wrong)], [0, 0]])
    return RunResult(
        spec=spec,
        dataset=title,
        generated=False,
        labels=(0, 1),
        classifier=classifier,
        n_train=1000,
        confusion=confusion,
        judged=np.arange(n),
        misclassified=wrong,
        predicted=np.ones(len(wrong), np.int64),
        decisions=random.normal(size=(len(wrong), 1)),
        train_error=0.0,
        validation_error=len(wrong) / n if spec.training == "split" else None,
        timings=Timings(1.0, 2.0, 3.0, 4.0, features=1.0),
        versions=(("numpy", np.__version__),),
    )


def _write_lines(path: Path, results: list[RunResult]) -> None:
    """Write the database rows of some runs."""
    lines = (StoredRun.of(result, float(number)) for number, result in enumerate(results))
    rows = [(*line.row().values(), "{}", line.hash, "") for line in lines]
    with closing(sqlite3.connect(path)) as connection, connection:
        names = [*(column.name for column in COLUMNS), "document", "file", "sha256"]
        connection.executemany(f"INSERT INTO runs ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", rows)
