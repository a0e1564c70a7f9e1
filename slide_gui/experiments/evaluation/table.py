"""What a store holds of the evaluation: one cell a method and data set, filling in split by split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from statistics import median

import numpy as np

from slide_gui.core.svm.parameters import GUARD
from slide_gui.data.dataset import Dataset
from slide_gui.data.entries import entry
from slide_gui.error_rate import LEVEL, ErrorRate
from slide_gui.experiments.choice import PointResult
from slide_gui.experiments.evaluation.protocol import CellPlan, Published, data_key, published
from slide_gui.experiments.methods import METHODS
from slide_gui.experiments.result import RunResult
from slide_gui.experiments.run import RunProgress
from slide_gui.experiments.source import describe_choice, describe_widths
from slide_gui.experiments.spec import SweepPoint
from slide_gui.experiments.statistics import (
    McNemar,
    crossed_mean,
    error_matrix,
    holm,
    mcnemar,
    same_rows,
    splits_rate,
)
from slide_gui.experiments.store import DamagedRun, RunStore
from slide_gui.experiments.stored_run import StoredRun
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.text import count

__all__ = [
    "REFERENCE",
    "Cell",
    "Comparison",
    "DataInfo",
    "EvaluationState",
    "Reader",
    "SplitAnswer",
    "Task",
    "compare",
    "empty_state",
    "info_of",
    "split_answer",
    "stored_data",
    "stored_evaluation",
    "tasks",
    "with_answer",
]


def stored_data(cells: Sequence[CellPlan], rows: Sequence[StoredRun]) -> tuple[DataInfo, ...]:
    """Return the data sets of a plan that stored runs were made on, in the plan's order.

    One name stands for several data: real or generated, whole or cut down. Of those that the plan has runs on, data
    that were judged on other numbers of test rows than the plan's come last (a file's, a part held out), real before
    generated, then those with more of its runs, then the latest. Sizes are the catalogue's, or the plan's.
    """
    by_key: dict[str, dict[str, StoredRun]] = {}
    for row in rows:
        by_key.setdefault(_key(row.data), {})[row.fingerprint] = row
    hashes = {row.hash for row in rows}
    infos = []
    for key in dict.fromkeys(cell.data for cell in cells):
        of_data = [cell for cell in cells if cell.data == key]
        data = list(by_key.get(key, {}).values())
        if data:
            # The one it is, where there is one only: nothing is counted.
            n_test = _n_test(of_data[0])
            others = {row.fingerprint for row in rows if row.evaluate == "test" and row.n_test != n_test}
            best = data[0] if len(data) == 1 else max(data, key=lambda run: _fit(of_data, run, hashes, others))
            infos.append(_info(of_data[0], best))
    return tuple(infos)


def _fit(
    cells: Sequence[CellPlan], run: StoredRun, hashes: set[str], others: set[str]
) -> tuple[bool, bool, bool, int, float]:
    """Return how well the data of a run suit a plan: by its runs of the first split."""
    count = 0
    for cell in cells:
        points = cell.candidates(run.fingerprint, "", 0)
        asked = points if len(points) > 1 else (cell.final(points[0]),)
        count += sum(point.spec.hash in hashes for point in asked)
    return count > 0, run.fingerprint not in others, not run.generated, count, run.created


def _n_test(cell: CellPlan) -> int:
    """Return how many test rows a plan judges on."""
    known = entry(cell.data).n_test
    return min(cell.test_rows or known, known)


def _info(cell: CellPlan, run: StoredRun) -> DataInfo:
    known = entry(cell.data)
    n_train = min(cell.train_rows or known.n_train, known.n_train)
    n_test = _n_test(cell)
    source = f"generated:{cell.data}" if run.generated else ""
    return DataInfo(cell.data, known.title, run.generated, run.fingerprint, n_train, n_test, source)


_key = lru_cache(maxsize=256)(data_key)


@dataclass(frozen=True)
class Task:
    """One split of one cell."""

    plan: CellPlan
    split: int


def stored_evaluation(
    cells: Sequence[CellPlan],
    store: RunStore,
    rows: Sequence[StoredRun] | None = None,
    known: Sequence[DataInfo] = (),
    *,
    progress: Progress = NO_PROGRESS,
) -> EvaluationState:
    """Return what the store holds of the evaluation; nothing is run, and no data set is read.

    Parameters
    ----------
    store : RunStore
        Opened by this thread.
    rows : sequence of StoredRun, optional
        The table of the store, where it was read already.
    known : sequence of DataInfo, optional
        Data sets that are these; the others are those that stored runs were made on.
    """
    rows = store.runs() if rows is None else rows
    infos = {info.key: info for info in (*stored_data(cells, rows), *known)}
    data = tuple(infos[key] for key in dict.fromkeys(cell.data for cell in cells) if key in infos)
    reader = Reader(store, {info.key: info for info in data}, rows)
    state, all_tasks = empty_state(cells, data), list(tasks(cells))
    for number, task in enumerate(all_tasks):
        progress.report(number / len(all_tasks))
        if task.plan.data in reader.infos:
            state = with_answer(state, task, reader.look(task))
    return replace(state, data=tuple(_sized(info, state) for info in state.data))


def _sized(info: DataInfo, state: EvaluationState) -> DataInfo:
    """Return what is said of data with the sizes that their runs had, where one was trained on the whole part."""
    of_data = [cell for cell in state.cells if cell.data == info.key and not METHODS[cell.method].fine_tunes]
    answers = [answer for cell in of_data for answer in cell.answers]
    return replace(info, n_train=answers[-1].n_train, n_test=answers[-1].n_test) if answers else info


def info_of(key: str, dataset: Dataset) -> DataInfo:
    """Return what the evaluation says of a data set."""
    sizes = len(dataset.train), len(dataset.test)
    source = f"generated:{key}" if dataset.generated else key if dataset.key == key else dataset.source
    return DataInfo(key, dataset.name, dataset.generated, dataset.fingerprint, *sizes, source)


def tasks(cells: Sequence[CellPlan]) -> Iterator[Task]:
    """Yield the first split of all cells, then the second, and so on."""
    for split in range(max((cell.n_splits for cell in cells), default=0)):
        for cell in cells:
            if split < cell.n_splits:
                yield Task(cell, split)


def empty_state(cells: Sequence[CellPlan], data: Sequence[DataInfo]) -> EvaluationState:
    """Return the state before anything is known."""
    methods = tuple(dict.fromkeys(cell.method for cell in cells))
    empty = tuple(Cell(cell.data, cell.method, cell.n_splits) for cell in cells)
    return EvaluationState(tuple(data), methods, empty)


def with_answer(state: EvaluationState, task: Task, answer: SplitAnswer | None) -> EvaluationState:
    """Return the state with one more answer."""
    if answer is None:
        return state
    cells = []
    for cell in state.cells:
        if (cell.data, cell.method) == (task.plan.data, task.plan.method):
            others = [old for old in cell.answers if old.split != answer.split]
            cell = replace(cell, answers=tuple(sorted([*others, answer], key=lambda one: one.split)))
        cells.append(cell)
    return replace(state, cells=tuple(cells))


class Reader:
    """Looks up what the store holds of each task."""

    def __init__(self, store: RunStore, infos: Mapping[str, DataInfo], rows: Sequence[StoredRun] | None = None) -> None:
        self.infos = dict(infos)
        self._store = store
        self.rows = {stored.hash: stored for stored in (store.runs() if rows is None else rows)}

    def candidates(self, task: Task) -> tuple[SweepPoint, ...]:
        """Return the runs to choose from."""
        info = self.infos[task.plan.data]
        return task.plan.candidates(info.fingerprint, info.source or info.key, task.split)

    def missing(self, task: Task) -> list[SweepPoint]:
        """Return the candidates that have to be run before the choice; none where there is one only."""
        points = self.candidates(task)
        return [] if len(points) == 1 else [point for point in points if point.spec.hash not in self.rows]

    def choose(self, task: Task) -> PointResult | SweepPoint | None:
        """Return the candidate to judge, or None while candidates are missing."""
        points = self.candidates(task)
        if len(points) == 1:
            return points[0]
        rows = [self.rows.get(point.spec.hash) for point in points]
        answers = [_answer(point, row) for point, row in zip(points, rows, strict=True) if row is not None]
        return task.plan.best(answers) if len(answers) == len(points) else None

    def look(self, task: Task) -> SplitAnswer | None:
        """Return the answer of a task, or None if the store does not hold it whole."""
        chosen = self.choose(task)
        if chosen is None:
            return None
        final = task.plan.final(chosen.point if isinstance(chosen, PointResult) else chosen)
        if final.spec.hash not in self.rows:
            return None
        try:
            result = self._store.load(final.spec.hash)
        except (KeyError, DamagedRun):
            return None
        return split_answer(task.split, chosen, result)


def split_answer(split: int, chosen: PointResult | SweepPoint, result: RunResult) -> SplitAnswer:
    """Return the answer that a run on test rows gives for a split."""
    return SplitAnswer(
        split,
        result.hash,
        _choice(result),
        result.error,
        result.n_train,
        result.n_test,
        result.row_errors,
        chosen.validation_error if isinstance(chosen, PointResult) else None,
        result.timings.features,
        result.timings.total,
        _choice(result),
    )


def _choice(result: RunResult) -> str:
    guard = describe_widths(GUARD) if result.chosen_by == GUARD else ""
    return ", ".join(filter(None, [describe_choice(result.spec), guard]))


def _answer(point: SweepPoint, row: StoredRun) -> PointResult:
    return PointResult(point, row.rate, row.validation_error, row.seconds)


REFERENCE = "slide-svm"
"""The method that the others are compared with."""


@dataclass(frozen=True)
class DataInfo:
    """A data set of the evaluation.

    Attributes
    ----------
    key : str
        Of the catalogue.
    title : str
        Name of the data.
    generated : bool
        Whether it is the generated stand-in.
    source : str
        Where its rows come from, as `DataSource.argument`; empty for the files that the catalogue knows.
    """

    key: str
    title: str
    generated: bool
    fingerprint: str
    n_train: int
    n_test: int
    source: str = ""

    @property
    def reduced(self) -> str:
        """A sentence on how many rows there are, where they are not the benchmark's; else empty."""
        ours, theirs = (self.n_train, self.n_test), (entry(self.key).n_train, entry(self.key).n_test)
        if ours == theirs:
            return ""
        return (
            f"{self.title}: {count(ours[0])} training and {count(ours[1])} test rows, "
            f"the benchmark has {count(theirs[0])} and {count(theirs[1])}."
        )


@dataclass(frozen=True, eq=False)
class SplitAnswer:
    """What came out of one split.

    Attributes
    ----------
    spec_hash : str
        Of the run on test rows.
    chosen : str
        What was chosen on validation, or the one candidate, for people; empty if the method has no parameters.
    error : float
        On the test rows.
    n_train, n_test : int
        Rows trained on and judged.
    row_errors : bytes
        The errors by test row, as `statistics.row_errors` packs them.
    validation_error : float or None
        Of the candidate that was chosen; None if there was one candidate only.
    features : float or None
        Seconds of feature generation, as in `Timings`.
    seconds : float
        That the run on test rows took.
    recorded : str
        What `chosen` says, as it is written into files: in English.
    """

    split: int
    spec_hash: str
    chosen: str
    error: float
    n_train: int
    n_test: int
    row_errors: bytes
    validation_error: float | None
    features: float | None
    seconds: float
    recorded: str = ""


@dataclass(frozen=True)
class Course:
    """How far a split is that is being worked on.

    Attributes
    ----------
    data, method : str
        Keys of its cell.
    answered, candidates : int
        How many of the candidates are judged on validation rows; 0 of at most 1 while what was chosen is on its way.
    """

    data: str
    method: str
    split: int
    answered: int = 0
    candidates: int = 0


@dataclass(frozen=True)
class Comparison:
    """How a method compares with SLIDE-SVM on the same splits and test rows.

    Over several splits it is the t-test of the mean difference over rows and splits (`crossed_mean`). For one split, or
    splits that all differ on the same rows, it is McNemar's exact test.

    Attributes
    ----------
    p : float
        Two-sided, of this comparison alone.
    adjusted : float
        Holm's, over all comparisons of the table.
    difference : float
        Mean error of this method less that of SLIDE-SVM, over these splits.
    low, high : float or None
        Ends of its 95 % interval over rows and splits; None where McNemar's test was used.
    rows : McNemar or None
        McNemar's test, where it was used.
    """

    p: float
    adjusted: float
    difference: float
    low: float | None
    high: float | None
    n_splits: int
    rows: McNemar | None

    @property
    def significant(self) -> bool:
        """Whether the adjusted p is below 0.05."""
        return self.adjusted < LEVEL

    @property
    def test(self) -> str:
        """Name of the test."""
        if self.rows is not None:
            return "McNemar"
        return f"t-test over test rows and {self.n_splits} splits"


@dataclass(frozen=True, eq=False)
class Cell:
    """One method on one data set.

    Attributes
    ----------
    data, method : str
        Keys.
    asked : int
        Splits asked for.
    answers : tuple of SplitAnswer
        Those that are there, by split.
    """

    data: str
    method: str
    asked: int
    answers: tuple[SplitAnswer, ...] = ()

    @property
    def name(self) -> str:
        """Name of the method, as in the paper and in files."""
        return METHODS[self.method].name

    @property
    def title(self) -> str:
        """Name of the method for people."""
        return METHODS[self.method].text

    @property
    def rate(self) -> ErrorRate | None:
        """Mean test error over the splits that are there, with its 95 % interval; None if there is none."""
        if not self.answers:
            return None
        rates = [ErrorRate.of_run(answer.error, answer.n_test) for answer in self.answers]
        return splits_rate(rates, [(answer.row_errors,) for answer in self.answers])

    @property
    def complete(self) -> bool:
        """Whether all splits are there."""
        return len(self.answers) >= self.asked

    @property
    def features(self) -> float | None:
        """Median seconds of feature generation, of the runs where all of it was done; None if there are none."""
        known = [answer.features for answer in self.answers if answer.features is not None]
        return float(median(known)) if known else None

    @property
    def chosen(self) -> str:
        """What was chosen most often, and in how many of the splits."""
        return _most([answer.chosen for answer in self.answers if answer.chosen])

    @property
    def recorded(self) -> str:
        """What `chosen` says, as it is written into files: in English."""
        return _most([answer.recorded for answer in self.answers if answer.recorded])

    @property
    def paper(self) -> Published | None:
        """The figure of the paper's Table 1."""
        return next((one for one in published(self.data) if one.method == self.name), None)


@dataclass(frozen=True, eq=False)
class EvaluationState:
    """Everything known of the evaluation so far.

    Attributes
    ----------
    data : tuple of DataInfo
        In the order of the protocol.
    methods : tuple of str
        Keys, in the order of the protocol.
    cells : tuple of Cell
        By data, then method.
    courses : tuple of Course
        What is being worked on: one split of one cell, or on a cluster several.
    live : RunProgress or None
        What can be seen of the run, if it is one.
    done, total : int
        Runs.
    seconds_left : float or None
        None until something was measured.
    faults : tuple of str
        Stored runs that could not be trusted and were made again.
    run_seconds : float or None
        What all runs took when they were made; None until everything is there.
    """

    data: tuple[DataInfo, ...]
    methods: tuple[str, ...]
    cells: tuple[Cell, ...]
    courses: tuple[Course, ...] = ()
    live: RunProgress | None = None
    done: int = 0
    total: int = 0
    seconds_left: float | None = None
    faults: tuple[str, ...] = field(default=())
    run_seconds: float | None = None

    def cell(self, data: str, method: str) -> Cell | None:
        """Return a cell by its keys, or None."""
        return next((cell for cell in self.cells if (cell.data, cell.method) == (data, method)), None)

    def of(self, data: str) -> tuple[Cell, ...]:
        """Return the cells of a data set, in the order of the methods."""
        return tuple(cell for cell in self.cells if cell.data == data)

    def of_method(self, method: str) -> tuple[Cell, ...]:
        """Return the cells of a method, in the order of the data sets."""
        return tuple(cell for cell in self.cells if cell.method == method)

    @cached_property
    def comparisons(self) -> dict[tuple[str, str], Comparison]:
        """Every method that has splits in common with SLIDE-SVM on some data: keys of data and method → comparison."""
        tests = {}
        for cell in self.cells:
            reference = self.cell(cell.data, REFERENCE)
            if reference is not None and cell.method != REFERENCE:
                one = compare(cell.answers, reference.answers)
                if one is not None:
                    tests[cell.data, cell.method] = one
        adjusted = holm([one.p for one in tests.values()])
        return {key: replace(one, adjusted=p) for (key, one), p in zip(tests.items(), adjusted, strict=True)}

    def comparison(self, cell: Cell) -> Comparison | None:
        """Return how a cell compares with SLIDE-SVM; None for SLIDE-SVM itself, and where there is nothing yet."""
        return self.comparisons.get((cell.data, cell.method))

    @property
    def complete(self) -> bool:
        """Whether all splits of all cells are there."""
        return all(cell.complete for cell in self.cells)


def _most(words: Sequence[str]) -> str:
    """Return what is said most often, and how often."""
    if not words:
        return ""
    most = max(words, key=words.count)
    if len(words) == 1:
        return most
    return f"{most} ({words.count(most)} of {len(words)} splits)"


def compare(answers: Sequence[SplitAnswer], reference: Sequence[SplitAnswer]) -> Comparison | None:
    """Compare a method with another on the splits that both have, all on the same test rows.

    Returns
    -------
    Comparison or None
        Alone, not adjusted; None if they have no such split in common.
    """
    theirs = {answer.split: answer.row_errors for answer in reference}
    pairs = [(answer.row_errors, theirs[answer.split]) for answer in answers if answer.split in theirs]
    pairs = [pair for pair in pairs if same_rows((*pair, pairs[0][0]))]
    return _compare(*zip(*pairs, strict=True)) if pairs else None


@lru_cache(maxsize=256)
def _compare(ours: tuple[bytes, ...], theirs: tuple[bytes, ...]) -> Comparison:
    """Compare errors on the same rows; the window asks again with every report of progress."""
    errors = error_matrix((*ours, *theirs))
    assert errors is not None
    first, second = errors[: len(ours)], errors[len(ours) :]
    differences = first.astype(np.int8) - second
    mean = int(differences.sum()) / differences.size
    if bool((differences == differences[0]).all()) or differences.shape[1] < 2:
        test = mcnemar(first[0], second[0])
        return Comparison(test.exact, test.exact, mean, None, None, len(ours), test)
    crossed = crossed_mean(differences)
    return Comparison(crossed.p, crossed.p, mean, mean - crossed.half, mean + crossed.half, len(ours), None)
