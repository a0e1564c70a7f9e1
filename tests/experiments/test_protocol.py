"""The plan of the evaluation, the published errors, and its run: selected on validation rows, tested once, resumed."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import Dataset
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.evaluation import protocol as protocol_module
from slide_gui.experiments.evaluation.protocol import CellPlan, data_key, plan, published, sensitivity, split_seed
from slide_gui.experiments.evaluation.run import run_evaluation
from slide_gui.experiments.evaluation.table import Cell, EvaluationState, SplitAnswer, stored_evaluation
from slide_gui.experiments.runs.cost import CostModel, RunKind
from slide_gui.experiments.runs.spec import RunSpec, SweepSpec
from slide_gui.experiments.runs.splits import split_rows
from slide_gui.experiments.statistics import mcnemar, row_errors, splits_rate
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps import executor
from slide_gui.experiments.sweeps.selection import PointResult, choose, final_points
from slide_gui.experiments.sweeps.sweep import run_sweep
from slide_gui.progress import NO_PROGRESS, Cancelled, Progress
from tests.core.svm_data import StopAfter
from tests.experiments.tiny import rectangles

DATA = replace(rectangles(80, 150), name="Rectangles")
SDA = (("n_units", ((12,), (12, 8))), ("noise", (0.1,)), ("pretraining_epochs", (2,)), ("fine_tuning_epochs", (3,)))
CELLS = (
    CellPlan("rectangles", "slide-svm", 2, (("noise", (0.3, 0.5)), ("depth", (1,))), widths="median"),
    CellPlan("rectangles", "raw-svm", 2),
    CellPlan("rectangles", "pca-svm", 2, (("kept", (0.6, 0.9)),)),
    CellPlan("rectangles", "sda", 1, SDA),
)


def load(key: str, progress: Progress) -> Dataset:
    assert key == "rectangles"
    return DATA


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[EvaluationState, Path, StopAfter]:
    path, listener = tmp_path_factory.mktemp("store") / "runs.sqlite", StopAfter()
    with RunStore(path) as store:
        return run_evaluation(CELLS, load, store, progress=listener), path, listener


def same(first: EvaluationState, second: EvaluationState) -> bool:
    def plain(state: EvaluationState) -> list[object]:
        return [
            (
                cell.data,
                cell.method,
                state.comparison(cell),
                [(a.split, a.spec_hash, a.error, a.chosen) for a in cell.answers],
            )
            for cell in state.cells
        ]

    return plain(first) == plain(second) and first.comparisons == second.comparisons


def test_that_the_protocol_file_gives_every_method_on_every_data_set() -> None:
    for extent in ("full", "quick"):
        cells = plan(extent)
        methods = ["slide-svm", "median", "raw-svm", "pca-svm", "white-svm", "randproj-svm", "sda-svm", "sda"]
        assert [(cell.data, cell.method) for cell in cells] == [
            (data, method)
            for data in ("rectangles", "convex", "rectangles-images", "mnist")
            for method in methods
            if (data, method) != ("mnist", "median")
        ]
        for cell in cells:
            points = cell.candidates("ab" * 32, "", 0)
            n_runs = cell.n_candidates * (cell.draws if cell.n_candidates > 1 else 1)
            assert len({point.spec.hash for point in points}) == n_runs
            assert all(point.spec.evaluate == "validation" for point in points)
            assert cell.final(points[0]).spec.evaluate == "test"
            assert cell.final(points[0]).spec.neighbour is None
    assert {cell.data: cell.n_splits for cell in plan()} == {
        "rectangles": 10, "convex": 3, "rectangles-images": 3, "mnist": 3,
    }  # fmt: skip
    assert [cell.n_splits for cell in plan("full", ["convex"], ["raw-svm", "sda"], splits=5)] == [5, 5]
    with pytest.raises(ValueError, match="has no 'cifar'"):
        plan("full", ["cifar"])


@pytest.mark.parametrize("extent", ["full", "quick"])
def test_that_slide_svm_learns_its_widths_wherever_there_are_two_classes(extent: str) -> None:
    for cell in plan(extent, methods=["slide-svm", "median", "sda-svm"]):
        for point in (cell.candidates("ab" * 32, "", 0)[0], cell.final(cell.candidates("ab" * 32, "", 0)[0])):
            learned = cell.method != "median" and cell.data != "mnist"
            assert point.spec.svm.widths == ("learn" if learned else "median")
            assert (point.spec.method == "slide-svm") == (cell.method == "slide-svm" and learned)
            assert point.spec.svm.criterion == ("span" if learned else SvmParameters().criterion)


@pytest.mark.parametrize("extent", ["full", "quick"])
def test_that_what_one_method_may_choose_every_method_may_choose_alike(extent: str) -> None:
    own = {"data", "method", "axes"}
    for data in ("rectangles", "convex", "rectangles-images", "mnist"):
        alike = [
            {item.name: getattr(cell, item.name) for item in fields(cell) if item.name not in own}
            for cell in plan(extent, [data])
        ]
        assert all(one == alike[0] for one in alike)
    for data in ("rectangles", "convex", "rectangles-images"):
        slide, median = plan(extent, [data], ["slide-svm", "median"])
        assert slide.axes == median.axes
    for cell in plan("full", methods=["pca-svm", "sda-svm", "slide-svm"]):
        assert {point.spec.fit_rows for point in cell.candidates("ab" * 32, "", 0)} == {"split"}


def test_that_a_split_is_a_seed_too() -> None:
    seeds = [split_seed(split) for split in range(100)]
    assert len(set(seeds)) == 100
    assert seeds[:3] == [split_seed(0), split_seed(1), split_seed(2)]
    for method in ("slide-svm", "randproj-svm", "sda-svm", "sda", "raw-svm"):
        (cell,) = plan("full", ["rectangles"], [method])
        for split in (0, 3):
            points = cell.candidates("ab" * 32, "", split)
            specs = [spec for point in points for spec in (point.spec, cell.final(point).spec)]
            assert {spec.seed for spec in specs} == {split_seed(split)}
            assert all(spec.sda is None or spec.sda.seed == split_seed(split) for spec in specs)
            assert all(spec.svm.seed in (split_seed(split), 0) for spec in specs)


def test_that_a_choice_by_several_divisions_takes_the_least_mean_of_their_errors() -> None:
    cell = CellPlan("rectangles", "slide-svm", 2, (("noise", (0.2, 0.5, 0.8)), ("depth", (1,))), draws=2)
    points = cell.candidates("ab" * 32, "", 1)
    assert [point.split for point in points] == [2, 2, 2, 3, 3, 3]
    errors = (0.1, 0.2, 0.4, 0.5, 0.2, 0.4)  # the first division alone would take 0.2, the mean takes 0.5
    answers = [
        PointResult(point, ErrorRate.of_run(error, 240), error, 1.0)
        for point, error in zip(points, errors, strict=True)
    ]
    best = cell.select(points, answers)
    assert best is not None
    assert cell.select(points, answers[:-1]) is None
    assert best.point.noise == 0.5
    assert best.validation_error == pytest.approx(0.2)
    assert cell.final(best.point).spec == cell.final(points[4]).spec


def test_that_ridges_are_an_axis_and_slide_may_be_fitted_without_the_validation_rows() -> None:
    axes = (("noise", (0.3, 0.5)), ("depth", (1,)), ("ridge", (1e-5, 10.0)))
    cell = CellPlan("mnist", "slide-svm", 1, axes, widths="median", fit_rows="split", labels=50)
    specs = [point.spec for point in cell.candidates("ab" * 32, "", 0)]
    assert {(spec.stack.noise, spec.stack.ridge) for spec in specs} == {(n, r) for n in (0.3, 0.5) for r in (1e-5, 10)}
    assert {spec.fit_rows for spec in specs} == {"split"}
    final = cell.final(cell.candidates("ab" * 32, "", 0)[3]).spec
    assert (final.fit_rows, final.labels, final.stack.ridge) == ("training", None, 10.0)


def test_that_a_cell_is_what_choosing_on_validation_and_testing_once_gives(
    whole: tuple[EvaluationState, Path, StopAfter], tmp_path: Path
) -> None:
    state, path, _ = whole
    plan_of = CELLS[0]
    chosen = []
    with RunStore(tmp_path / "other.sqlite") as store:
        for split in (0, 1):
            svm = plan_of.candidates(DATA.fingerprint, "rectangles", split)[0].spec.svm
            base = RunSpec(DATA.fingerprint, method="median", svm=svm, training="split", evaluate="validation")
            sweep = SweepSpec(base, (0.3, 0.5), (1,), (split,), (split_seed(split),))
            chosen += choose(run_sweep(DATA, sweep, store).done)
    finals = final_points(chosen)
    cell = state.cell("rectangles", "slide-svm")
    assert cell is not None
    assert [answer.spec_hash for answer in cell.answers] == [point.spec.hash for point in finals]
    assert [answer.validation_error for answer in cell.answers] == [answer.validation_error for answer in chosen]
    with RunStore(path) as store:
        results = [store.load(point.spec.hash) for point in finals]
    assert cell.rate == splits_rate([result.rate for result in results], [(each.row_errors,) for each in results])
    assert cell.rate is not None
    assert cell.rate.covers != "splits"
    assert all(result.n_train == 80 for result in results)
    assert cell.features is not None


def test_that_the_network_is_judged_as_it_stopped_on_its_split(whole: tuple[EvaluationState, Path, StopAfter]) -> None:
    state, path, _ = whole
    cell = state.cell("rectangles", "sda")
    assert cell is not None
    with RunStore(path) as store:
        result = store.load(cell.answers[0].spec_hash)
    inside, _ = split_rows(DATA.train_labels, 0, split_seed(0))
    assert result.n_train == len(inside)
    assert result.spec.evaluate == "test"
    assert cell.answers[0].features is not None


def answer(split: int, wrong: int, n: int = 100) -> SplitAnswer:
    return SplitAnswer(
        split, "h", "", wrong / n, 50, n, row_errors("", np.arange(n), np.arange(wrong)), None, None, 1.0
    )


def table(*rows: tuple[int, ...]) -> EvaluationState:
    """Return a state of SLIDE-SVM and then other methods, by the rows that each split gets wrong."""
    methods = ("slide-svm", "raw-svm", "pca-svm", "white-svm")[: len(rows)]
    cells = tuple(
        Cell("rectangles", method, 3, tuple(answer(split, wrong) for split, wrong in enumerate(row)))
        for method, row in zip(methods, rows, strict=True)
    )
    return EvaluationState((), methods, cells)


def test_that_splits_that_repeat_one_another_count_as_one() -> None:
    found = table((10, 10, 10), (30, 30, 30), (10, 10, 10)).comparisons
    raw, pca = found["rectangles", "raw-svm"], found["rectangles", "pca-svm"]
    assert raw.rows == mcnemar(np.arange(100) < 30, np.arange(100) < 10)
    assert (raw.p, raw.low, raw.high) == (raw.rows.exact, None, None)
    assert raw.test == "McNemar"
    assert (pca.p, pca.significant, pca.difference) == (1.0, False, 0.0)


def test_that_significance_is_judged_by_holm_over_the_whole_table() -> None:
    alone = table((10,), (17,)).comparisons["rectangles", "raw-svm"]
    assert alone.p == pytest.approx(2 / 2**7)
    assert alone.significant
    among = table((10,), (17,), (18,), (10,)).comparisons
    assert among["rectangles", "raw-svm"].p == alone.p
    assert among["rectangles", "pca-svm"].adjusted == pytest.approx(3 * 2 / 2**8)
    assert among["rectangles", "raw-svm"].adjusted == pytest.approx(2 * 2 / 2**7)
    assert among["rectangles", "white-svm"].adjusted == 1.0
    crowd = replace(table((10,), (17,)), cells=tuple(
        Cell(data, method, 1, (answer(0, wrong),))
        for data in ("rectangles", "convex", "rectangles-images", "mnist")
        for method, wrong in (("slide-svm", 10), ("raw-svm", 17))
    ))  # fmt: skip
    assert not any(one.significant for one in crowd.comparisons.values())


def test_that_progress_rises_and_says_what_is_left(whole: tuple[EvaluationState, Path, StopAfter]) -> None:
    state, _, listener = whole
    assert listener.fractions == sorted(listener.fractions)
    assert listener.fractions[-1] == 1.0
    assert state.complete
    assert (state.done, state.total) == (3 + 3 + 1 + 1 + 3 + 3 + 3, 17)
    assert state.seconds_left == 0.0
    assert all(len(s.active) <= 1 for s in listener.payloads)
    splits = dict.fromkeys((c.data, c.method, c.split) for s in listener.payloads for c in s.active)
    assert list(splits) == [
        ("rectangles", cell.method, split) for split in (0, 1) for cell in CELLS if split < cell.n_splits
    ]
    assert any(s.seconds_left for s in listener.payloads)
    assert {round(state.total * fraction) for fraction in listener.fractions} == set(range(state.total + 1))


def test_that_a_whole_evaluation_says_what_all_its_runs_took(whole: tuple[EvaluationState, Path, StopAfter]) -> None:
    state, path, _ = whole
    with RunStore(path) as store:
        assert state.run_seconds == pytest.approx(sum(line.seconds for line in store.runs()))


class SecondEach(CostModel):
    """A model in which every run takes a second."""

    def seconds(self, kind: RunKind) -> float:
        return 1.0

    def measured(self, kind: RunKind) -> bool:
        return True


def test_that_the_seconds_left_count_every_run_that_is_left_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "CostModel", SecondEach)
    cell = CellPlan("rectangles", "slide-svm", 2, (("noise", (0.3, 0.5)), ("depth", (1,))), widths="median", C=10.0)
    listener = StopAfter()
    with RunStore(tmp_path / "runs.sqlite") as store:
        state = run_evaluation([cell], load, store, progress=listener)
    live = [each.seconds_left for each in listener.payloads if each.live is not None]
    counts = [math.ceil(seconds) for seconds in live if seconds is not None and seconds % 1.0]
    assert list(dict.fromkeys(counts)) == [6, 5, 4, 3, 2, 1]
    assert state.total == 6


def test_that_a_benchmark_broken_off_goes_on_to_the_same_answers(
    whole: tuple[EvaluationState, Path, StopAfter], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "broken.sqlite"
    for reports in (300, 1100, 1500):
        with RunStore(path) as store, pytest.raises(Cancelled):
            run_evaluation(CELLS, load, store, progress=StopAfter(reports))
    with RunStore(path) as store:
        assert same(run_evaluation(CELLS, load, store), whole[0])

        def no_run(*arguments: object, **options: object) -> None:
            raise AssertionError("a run was made again")

        monkeypatch.setattr(executor, "run", no_run)
        again = run_evaluation(CELLS, load, store)
        assert same(again, whole[0])
        assert again.done == again.total


def test_that_the_store_is_read_without_running_anything(
    whole: tuple[EvaluationState, Path, StopAfter], tmp_path: Path
) -> None:
    state, path, _ = whole
    with RunStore(path) as store:
        assert same(stored_evaluation(CELLS, store), state)
    with RunStore(tmp_path / "empty.sqlite") as store:
        empty = stored_evaluation(CELLS, store)
    assert all(cell.rate is None for cell in empty.cells)


def test_that_a_choice_between_one_candidate_takes_no_run(tmp_path: Path) -> None:
    cell = CellPlan("rectangles", "randproj-svm", 1, (("kept", (20,)),), labels=30, train_rows=40, test_rows=100)
    with RunStore(tmp_path / "runs.sqlite") as store:
        state = run_evaluation([cell], load, store, progress=NO_PROGRESS)
        assert len(store.runs()) == state.total == 1
        result = store.load(state.cells[0].answers[0].spec_hash)
    assert (result.n_train, result.n_test) == (40, 100)


def test_that_a_protocol_is_checked_where_it_is_read() -> None:
    with pytest.raises(ValueError, match="extent is 'huge'"):
        plan("huge")
    with pytest.raises(ValueError, match="splits is 0"):
        plan("full", splits=0)
    with pytest.raises(ValueError, match="choose from its methods: slide-svm"):
        plan("full", (), ["svm"])
    with pytest.raises(ValueError, match="convex, pca-svm: depth is not a parameter of this method"):
        protocol_module._cell("convex", "pca-svm", {"splits": 1, "pca-svm": {"depth": [1]}}, None)


def test_that_a_cell_takes_what_the_protocol_gives_it() -> None:
    table = {"splits": 3, "labels": 50, "C": 2.0, "draws": 2, "sda": {"n_units": [[5], [5, 4]]}}
    cell = protocol_module._cell("convex", "sda", table, None)
    axes = (("n_units", ((5,), (5, 4))),)
    assert cell == CellPlan("convex", "sda", 3, axes, draws=2, criterion="span", labels=50, C=2.0, fit_rows="split")
    assert (cell.train, replace(cell, method="sda-svm").train) == ("split", "whole")
    assert protocol_module._cell("convex", "sda", table, 7).n_splits == 7
    assert [point.spec.sda.n_units for point in cell.candidates("ab" * 32, "", 0)] == [(5,), (5, 4)] * 2  # type: ignore[union-attr]


def test_that_table_1_is_read_as_shares() -> None:
    found = {mark.method: mark.error for mark in published("convex")}
    assert found["SLIDE-SVM"] == pytest.approx(0.1218)
    assert found["hyperopt-sklearn"] == pytest.approx(0.113)
    assert len(found) == 7 + 3
    assert published("elsewhere") == ()


def test_that_the_depths_of_the_figure_are_the_papers() -> None:
    assert sensitivity().depths == (0, 1, 2, 3, 4)


def test_that_data_sets_are_found_by_their_names() -> None:
    assert data_key("Rectangles") == "rectangles"
    assert data_key("my own") == ""
