"""The tables of the evaluation, with test errors and times of feature generation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from statistics import median
from typing import Any

import numpy as np

from slide_gui.core.svm.parameters import GUARD
from slide_gui.data.dataset import Dataset
from slide_gui.error_rate import LEVEL, ErrorRate, error_matrix, same_rows
from slide_gui.experiments.evaluation import protocol
from slide_gui.experiments.evaluation.data_sets import data_entry, data_key
from slide_gui.experiments.evaluation.protocol import CellPlan, Published, SelectedCandidate
from slide_gui.experiments.runs.result import describe_widths
from slide_gui.experiments.runs.run import RunProgress
from slide_gui.experiments.runs.spec import RunSpec, SweepPoint, describe_choice
from slide_gui.experiments.statistics import McNemar, crossed_mean, holm, mcnemar, splits_rate
from slide_gui.experiments.store.stored_run import StoredRun
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.text import count


def stored_data(cells: Sequence[CellPlan], rows: Sequence[StoredRun]) -> tuple[DataInfo, ...]:
    """Describe the data sets of a plan, in the order of the plan. Data sets without stored runs are left out.

    Stored runs can use different versions of a data set: real or generated, full or reduced. One version is selected by
    the following criteria, the most important one first:

    - The store contains runs that the plan requires on this version.
    - The stored test runs on this version use as many test rows as the plan.
    - The data are real.
    - This version has more stored runs that the plan requires than the other versions have.
    - The newest stored run is on this version.

    The numbers of rows in the descriptions are those of the catalogue, or of the plan if it uses fewer rows.
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
            # If there is only one version of the data, it is selected without counting its stored runs.
            sizes = plan_sizes(of_data[0])
            others = {row.fingerprint for row in rows if row.evaluate == "test" and row.n_test != sizes[1]}
            best = data[0] if len(data) == 1 else max(data, key=lambda run: _fit(of_data, run, hashes, others))
            source = f"generated:{key}" if best.generated else ""
            infos.append(DataInfo(key, best.data, best.generated, best.fingerprint, *sizes, source))
    return tuple(infos)


def _fit(
    cells: Sequence[CellPlan], run: StoredRun, hashes: set[str], others: set[str]
) -> tuple[bool, bool, bool, int, float]:
    """Return a sort key for the version of the data that `run` uses. The version with the largest key is selected.

    The key contains the number of stored runs of the first split that use this version.
    """
    count = 0
    for cell in cells:
        points = cell.candidates(run.fingerprint, "", 0)
        wanted = points if cell.selects else (cell.final(points[0]),)
        count += sum(point.spec.hash in hashes for point in wanted)
    return count > 0, run.fingerprint not in others, not run.generated, count, run.created


def plan_sizes(cell: CellPlan) -> tuple[int, int]:
    """Return the numbers of training rows and of test rows that a plan uses."""
    known = data_entry(cell.data)
    return min(cell.train_rows or known.n_train, known.n_train), min(cell.test_rows or known.n_test, known.n_test)


@lru_cache(maxsize=256)
def _key(name: str) -> str:
    """Return the key of the data set with this name, or an empty string if the name is unknown.

    If the name ends in "(stand-in for …)", return the key of the data set that the stand-in replaces.
    """
    return data_key(name.partition(" (stand-in for ")[2].removesuffix(")") or name)


@dataclass(frozen=True)
class Task:
    """One part of the evaluation: one split of one method (row of the tables) on one data set."""

    plan: CellPlan
    split: int


def stored_evaluation(
    cells: Sequence[CellPlan],
    rows: Sequence[StoredRun],
    known: Sequence[DataInfo] = (),
    *,
    progress: Progress = NO_PROGRESS,
) -> EvaluationState:
    """Return the state of the evaluation according to the stored runs. No run is computed and no data set is read.

    Parameters
    ----------
    rows : sequence of StoredRun
        Stored runs.
    known : sequence of DataInfo, optional
        Descriptions of data sets. They replace the descriptions that are derived from the stored runs.
    """
    infos = {info.key: info for info in (*stored_data(cells, rows), *known)}
    data = tuple(infos[key] for key in dict.fromkeys(cell.data for cell in cells) if key in infos)
    used, stored = {info.key: info for info in data}, readable(rows)
    state, all_tasks = empty_state(cells, data), list(tasks(cells))
    for number, task in enumerate(all_tasks):
        progress.report(number / len(all_tasks))
        if task.plan.data in used:
            state = with_answer(state, task.plan, _stored_answer(task, used[task.plan.data], stored))
    return replace(state, data=tuple(_sized(info, state) for info in state.data))


def _sized(info: DataInfo, state: EvaluationState) -> DataInfo:
    """Return the description of a data set, with the numbers of rows that the last run on this data set used.

    If the tables contain no result on the data set, return the description unchanged.
    """
    of_data = [cell for cell in state.cells if cell.data == info.key]
    answers = [answer for cell in of_data for answer in cell.answers]
    return replace(info, n_train=answers[-1].n_train, n_test=answers[-1].n_test) if answers else info


def info_of(key: str, dataset: Dataset) -> DataInfo:
    """Return the description that the evaluation uses for a data set."""
    sizes = len(dataset.train), dataset.n_test
    source = f"generated:{key}" if dataset.generated else key if dataset.key == key else dataset.source
    return DataInfo(key, dataset.name, dataset.generated, dataset.fingerprint, *sizes, source)


def tasks(cells: Sequence[CellPlan]) -> Iterator[Task]:
    """Yield the tasks of the evaluation: the first split of all cells, then the second split, and so on."""
    for split in range(max((cell.n_splits for cell in cells), default=0)):
        for cell in cells:
            if split < cell.n_splits:
                yield Task(cell, split)


def empty_state(cells: Sequence[CellPlan], data: Sequence[DataInfo]) -> EvaluationState:
    """Return the state of an evaluation that has no results yet."""
    return EvaluationState(tuple(data), tuple(Cell(cell.data, cell.method, cell.n_splits) for cell in cells))


def with_answer(state: EvaluationState, target: CellPlan | Cell, answer: SplitAnswer | None) -> EvaluationState:
    """Return the state with `answer` added to the cell of `target`, or `state` itself if `answer` is None."""
    cell = state.cell(target.data, target.method)
    if answer is None or cell is None:
        return state
    answers = {old.split: old for old in cell.answers} | {answer.split: answer}
    changed = replace(cell, answers=tuple(answers[split] for split in sorted(answers)))
    return replace(state, cells=tuple(changed if each is cell else each for each in state.cells))


def readable(rows: Iterable[StoredRun]) -> dict[str, StoredRun]:
    """Map run hashes to runs. Omit runs that early program versions stored without the number of training rows."""
    return {row.hash: row for row in rows if row.n_train is not None}


def candidates(task: Task, info: DataInfo) -> tuple[SweepPoint, ...]:
    """Return the candidate runs of a task."""
    return task.plan.candidates(info.fingerprint, info.source or info.key, task.split)


def _stored_answer(task: Task, info: DataInfo, rows: Mapping[str, StoredRun]) -> SplitAnswer | None:
    """Return the result of a task, or None if some of its runs are not stored."""
    selected = task.plan.select(candidates(task, info), rows)
    if selected is None:
        return None
    final = selected.final.spec
    return split_answer(task.split, selected, final, rows[final.hash]) if final.hash in rows else None


def split_answer(split: int, selected: SelectedCandidate, spec: RunSpec, row: StoredRun) -> SplitAnswer:
    """Return the result of a split, given the run that evaluates the selected candidate on test rows."""
    values: dict[str, Any] = {name: getattr(row, name) for name in _SAME}
    values["features"] = row.features if spec.layers else None  # Without layers, no features are generated.
    guard = describe_widths(GUARD) if row.chosen_by == GUARD else ""
    chosen = ", ".join(filter(None, [describe_choice(spec), guard]))
    return SplitAnswer(split, row.hash, chosen, validation_error=selected.validation_error, **values)


# Fields that `StoredRun` and `SplitAnswer` have in common.
_SAME = ("error", "n_train", "n_test", "row_errors", "seconds")


@dataclass(frozen=True)
class DataInfo:
    """A data set of the evaluation.

    Attributes
    ----------
    key : str
        Key of the data set, as in `data_entry`.
    title : str
        Name of the data set.
    generated : bool
        True if generated data replace the real data.
    source : str
        Source of the rows, as in `DataSource.argument`. Empty if the rows are read from the files of the catalogue.
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
        """Sentence that compares the numbers of rows with those of the benchmark. Empty if the numbers are equal."""
        ours, theirs = (self.n_train, self.n_test), (data_entry(self.key).n_train, data_entry(self.key).n_test)
        if ours == theirs:
            return ""
        return (
            f"{self.title}: {count(ours[0])} training and {count(ours[1])} test rows; "
            f"the benchmark has {count(theirs[0])} and {count(theirs[1])}."
        )


@dataclass(frozen=True, eq=False)
class SplitAnswer:
    """The result of one method on one split of one data set.

    Attributes
    ----------
    split : int
        Index of the split, starting at 0.
    spec_hash : str
        Hash of the run on test rows.
    chosen : str
        Description of the selected candidate. Empty if the method has no parameters.
    error : float
        Test error, as a fraction.
    n_train, n_test : int
        Numbers of training and test rows.
    row_errors : bytes or None
        One bit per test row, 1 if the row is misclassified, packed by `error_rate.row_errors`. None if the result was
        shipped with the program.
    validation_error : float or None
        Validation error of the selected candidate, as in `SelectedCandidate`.
    features : float or None
        Duration of feature generation in seconds, as in `Timings`. None if the selected candidate has no layers.
    seconds : float
        Duration of the run on test rows, in seconds.
    """

    split: int
    spec_hash: str
    chosen: str
    error: float
    n_train: int
    n_test: int
    row_errors: bytes | None
    validation_error: float | None
    features: float | None
    seconds: float


@dataclass(frozen=True)
class SplitProgress:
    """Progress of a split that is being computed.

    Attributes
    ----------
    data, method : str
        Keys of the data set and the method.
    split : int
        Index of the split, starting at 0.
    answered : int
        Number of finished candidate runs. 0 while the selected candidate is trained and tested on the test set.
    candidates : int
        Total number of candidate runs. 1 while the selected candidate is trained and tested on the test set.
    """

    data: str
    method: str
    split: int
    answered: int = 0
    candidates: int = 0


@dataclass(frozen=True)
class Comparison:
    """Comparison of a method with SLIDE-SVM on the same splits and test rows.

    With several splits, the test is a t-test of the mean difference over rows and splits (`crossed_mean`). With one
    split, or one test row, the test is McNemar's exact test. This test is also used if the two methods differ in the
    same way in all splits, or if the estimated variance of the mean difference is 0.

    Attributes
    ----------
    p : float
        Two-sided p-value of this comparison, not adjusted for the number of comparisons.
    adjusted : float
        P-value adjusted by Holm's method for the number of comparisons in the tables.
    difference : float
        Mean error of this method minus mean error of SLIDE-SVM, both averaged over the compared splits.
    low, high : float or None
        Lower and upper limit of the 95 % confidence interval of the difference. None with McNemar's test.
    n_splits : int
        Number of compared splits, for which both methods have results on the same test rows.
    rows : McNemar or None
        Result of McNemar's test. None if the t-test was used.
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
        """True if the adjusted p-value is below 0.05."""
        return self.adjusted < LEVEL

    @property
    def test(self) -> str:
        """Name of the statistical test."""
        return f"t-test over test rows and {self.n_splits} splits" if self.rows is None else "McNemar"


@dataclass(frozen=True, eq=False)
class Cell:
    """Results of one method on one data set, which are shown in one cell of the tables.

    Attributes
    ----------
    data, method : str
        Keys of the data set and the method.
    n_splits : int
        Number of requested splits.
    answers : tuple of SplitAnswer
        Available results, sorted by split.
    shipped_rate : ErrorRate or None
        Mean error if the results were shipped with the program, otherwise None.
    shipped_comparison : Comparison or None
        Comparison with SLIDE-SVM if the results of both methods were shipped with the program, otherwise None.
    """

    data: str
    method: str
    n_splits: int
    answers: tuple[SplitAnswer, ...] = ()
    shipped_rate: ErrorRate | None = None
    shipped_comparison: Comparison | None = None

    @property
    def title(self) -> str:
        """Name of the method."""
        return protocol.row_title(self.method)

    @cached_property
    def rate(self) -> ErrorRate | None:
        """Mean test error over the available splits with its 95 % confidence interval. None if no result exists."""
        if self.shipped_rate is not None or not self.answers:
            return self.shipped_rate
        rates = [ErrorRate.of_run(answer.error, answer.n_test) for answer in self.answers]
        return splits_rate(rates, [(answer.row_errors,) for answer in self.answers])

    @property
    def complete(self) -> bool:
        """True if the results of all requested splits are available."""
        return len(self.answers) >= self.n_splits

    @property
    def features(self) -> float | None:
        """Median duration of feature generation in seconds, over the runs that timed it. None if no run timed it."""
        known = [answer.features for answer in self.answers if answer.features is not None]
        return float(median(known)) if known else None

    @property
    def chosen(self) -> str:
        """Description of the candidate that was selected most often, with the number of splits that selected it."""
        choices = [answer.chosen for answer in self.answers if answer.chosen]
        most = max(choices, key=choices.count, default="")
        return most if len(choices) < 2 else f"{most} ({choices.count(most)} of {len(choices)} splits)"

    @property
    def paper(self) -> Published | None:
        """Published error of the method in the paper's Table 1. None if this table does not contain the error."""
        return next((result for result in protocol.published(self.data) if result.method == self.title), None)


@dataclass(frozen=True, eq=False)
class EvaluationState:
    """The state of the evaluation: the results so far, and the progress of the computation.

    Attributes
    ----------
    data : tuple of DataInfo
        Data sets in the order of the protocol.
    cells : tuple of Cell
        Cells of the tables, sorted by data set, then by method.
    active : tuple of SplitProgress
        Progress of the splits that are being computed: one split, or several on a cluster.
    live : RunProgress or None
        Progress of the active run. None if no run is active, or if a cluster computes the runs.
    done, total : int
        Number of completed runs, and total number of runs of the evaluation.
    seconds_left : float or None
        Estimated remaining seconds. None until the first runs of the evaluation have been looked up in the store.
    """

    data: tuple[DataInfo, ...]
    cells: tuple[Cell, ...]
    active: tuple[SplitProgress, ...] = ()
    live: RunProgress | None = None
    done: int = 0
    total: int = 0
    seconds_left: float | None = None

    def cell(self, data: str, method: str) -> Cell | None:
        """Return the cell of a data set and a method, given by their keys, or None if there is no such cell."""
        return next((cell for cell in self.cells if (cell.data, cell.method) == (data, method)), None)

    def of(self, data: str) -> tuple[Cell, ...]:
        """Return the cells of a data set in the order of the methods."""
        return tuple(cell for cell in self.cells if cell.data == data)

    @cached_property
    def comparisons(self) -> dict[tuple[str, str], Comparison]:
        """Comparisons with SLIDE-SVM. Each pair (key of data set, key of method) is mapped to the method's comparison.

        A pair is included if, for at least one split, both the method and SLIDE-SVM have results on the data set.
        """
        tests = {}
        for cell in self.cells:
            reference = self.cell(cell.data, protocol.REFERENCE)
            if reference is not None and cell.method != protocol.REFERENCE:
                shipped = None if reference.shipped_rate is None else cell.shipped_comparison
                comparison = shipped or compare(cell.answers, reference.answers)
                if comparison is not None:
                    tests[cell.data, cell.method] = comparison
        adjusted = holm([test.p for test in tests.values()])
        return {key: replace(test, adjusted=p) for (key, test), p in zip(tests.items(), adjusted, strict=True)}

    def comparison(self, cell: Cell) -> Comparison | None:
        """Return the comparison of a cell with the cell of SLIDE-SVM on the same data set.

        Return None for the cell of SLIDE-SVM itself, or if there is no split with results of both methods.
        """
        return self.comparisons.get((cell.data, cell.method))


def compare(answers: Sequence[SplitAnswer], reference: Sequence[SplitAnswer]) -> Comparison | None:
    """Compare a method with a reference method on the splits for which both have results on the same test rows.

    Splits whose test rows differ from those of the first compared split are left out.

    Returns
    -------
    Comparison or None
        The comparison, whose p-value is not yet adjusted for the number of comparisons. None if there is no split for
        which the errors of individual test rows are known for both methods.
    """
    theirs = {answer.split: answer.row_errors for answer in reference}
    both = [(answer.row_errors, theirs.get(answer.split)) for answer in answers]
    pairs = [(ours, other) for ours, other in both if ours is not None and other is not None]
    pairs = [pair for pair in pairs if same_rows((*pair, pairs[0][0]))]
    return _compare(*zip(*pairs, strict=True)) if pairs else None


@lru_cache(maxsize=256)
def _compare(ours: tuple[bytes, ...], theirs: tuple[bytes, ...]) -> Comparison:
    """Compare the errors of two methods on the same rows.

    The comparison is cached, because the window needs it at every progress report.
    """
    errors = error_matrix((*ours, *theirs))
    assert errors is not None
    first, second = errors[: len(ours)], errors[len(ours) :]
    differences = first.astype(np.int8) - second
    mean = int(differences.sum()) / differences.size
    identical = bool((differences == differences[0]).all())
    crossed = None if identical or differences.shape[1] < 2 else crossed_mean(differences)
    # If there are few rows, the differences can have the same sum for every row and for every split. In this case, the
    # estimated variance is 0.
    if crossed is None or crossed.variance == 0.0:
        test = mcnemar(first[0], second[0])
        return Comparison(test.exact, test.exact, mean, None, None, len(ours), test)
    return Comparison(crossed.p, crossed.p, mean, mean - crossed.half, mean + crossed.half, len(ours), None)


# Explanation of the steps that the reported times of feature generation include.
INCLUDED = (
    "Feature generation has two steps. First, the representation is fitted on the whole training set (SLIDE: scatter, "
    "closed form, all layers; autoencoders: pre-training of all layers). Then the features of the training rows are "
    "computed. Fine-tuning, the classifier, the selection of parameters and reading the data are excluded. The "
    "reported time is the median elapsed time of the runs on test rows, which is longer if several workers share the "
    "computer. No time is given if the selected candidate has no layers."
)


@dataclass(frozen=True)
class TimeRow:
    """Running times of feature generation on one data set.

    Attributes
    ----------
    slide, sda : float or None
        Seconds that SLIDE and the autoencoders need with their selected parameters, measured by this program.
    sda_chosen : str
        Description of the selected parameters of the autoencoders.
    paper_slide, paper_sda, paper_speedup : float or None
        Values of the paper's Table 2 for this data set: seconds that SLIDE and the autoencoders need, and speed-up of
        SLIDE over the autoencoders.
    """

    data: DataInfo
    slide: float | None
    sda: float | None
    sda_chosen: str
    paper_slide: float | None
    paper_sda: float | None
    paper_speedup: float | None

    @property
    def speedup(self) -> float | None:
        """Time of the autoencoders divided by the time of SLIDE, both measured by this program."""
        return self.sda / self.slide if self.sda and self.slide else None


def time_rows(state: EvaluationState) -> tuple[TimeRow, ...]:
    """Return the running times of feature generation on each data set of an evaluation."""
    rows = []
    for info in state.data:
        slide, *networks = (state.cell(info.key, name) for name in ("slide-svm", "sda-svm", "sda"))
        sda = next((cell for cell in networks if cell is not None and cell.features is not None), None)
        seconds = None if slide is None else slide.features
        of_sda = (None, "") if sda is None else (sda.features, sda.chosen)
        rows.append(TimeRow(info, seconds, *of_sda, *protocol.published_seconds(info.key)))
    return tuple(rows)
