"""Cells and data of the evaluation, its stored state, and seconds of feature generation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slide_gui.core.sda.model import TUTORIAL, SdaParameters
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.dataset import Dataset
from slide_gui.data.entries import entry
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.evaluation import run as benchmark_module
from slide_gui.experiments.evaluation import table
from slide_gui.experiments.evaluation.protocol import CellPlan
from slide_gui.experiments.evaluation.run import run_evaluation
from slide_gui.experiments.evaluation.table import (
    Cell,
    DataInfo,
    EvaluationState,
    Extrapolated,
    SplitAnswer,
    Task,
    compare,
    empty_state,
    extrapolated_seconds,
    info_of,
    stored_data,
    stored_evaluation,
    time_rows,
    with_answer,
)
from slide_gui.experiments.runs.fitting import Reuse
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.statistics import crossed_mean, mcnemar, row_errors, splits_rate
from slide_gui.experiments.store.store import RunStore
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter
from tests.experiments.tiny import rectangles


def answer(split: int, error: float = 0.1, chosen: str = "", features: float | None = None) -> SplitAnswer:
    errors = row_errors("convex", np.arange(100), np.arange(round(100 * error)))
    return SplitAnswer(split, f"hash {split}", chosen, error, 60, 100, errors, None, features, 1.0)


def cell(*answers: SplitAnswer, data: str = "convex", method: str = "raw-svm", asked: int = 3) -> Cell:
    return Cell(data, method, asked, answers)


def test_that_a_cell_tells_its_mean_and_whether_it_is_whole() -> None:
    assert cell().rate is None
    two = answer(0, 0.1), answer(1, 0.3)
    rates = [ErrorRate.of_run(0.1, 100), ErrorRate.of_run(0.3, 100)]
    assert cell(*two).rate == splits_rate(rates, [(each.row_errors,) for each in two])
    elsewhere = replace(two[1], row_errors=row_errors("mnist", np.arange(100), np.arange(30)))
    assert cell(two[0], elsewhere).rate == ErrorRate.of_splits(rates)
    assert not cell(answer(0), answer(1)).complete
    assert cell(answer(0), answer(1), answer(2)).complete
    assert cell(method="pca-svm").title == "PCA-SVM"


def test_that_seconds_of_features_are_the_median_of_those_known() -> None:
    assert cell(answer(0)).features is None
    known = [answer(k, features=seconds) for k, seconds in enumerate((4.0, None, 1.0, 2.0))]
    assert cell(*known).features == 2.0


def test_that_what_was_chosen_most_often_is_told_with_its_count() -> None:
    assert cell(answer(0)).chosen == ""
    assert cell(answer(0, chosen="noise 0.3"), answer(1)).chosen == "noise 0.3"
    several = [answer(k, chosen=words) for k, words in enumerate(("a", "b", "b", "", "c"))]
    assert cell(*several).chosen == "b (2 of 4 splits)"


def test_that_the_papers_figure_is_that_of_the_same_method() -> None:
    found = cell(method="raw-svm").paper
    assert found is not None
    assert found.error == pytest.approx(0.1872)
    assert cell(method="median").paper is None
    assert cell(data="own").paper is None


def test_that_data_say_where_they_are_not_the_whole_benchmark() -> None:
    known = entry("convex")
    whole = DataInfo("convex", "Convex", False, "f", known.n_train, known.n_test)
    assert whole.reduced == ""
    said = replace(whole, n_test=1000).reduced
    assert said == "Convex: 8\u202f000 training and 1\u202f000 test rows; the benchmark has 8\u202f000 and 50\u202f000."
    assert replace(whole, n_train=10).reduced != ""


def test_that_a_comparison_is_over_the_splits_in_common_on_the_same_rows() -> None:
    ours = [answer(0, 0.2), answer(1, 0.3), answer(2, 0.1), answer(4, 0.9)]
    elsewhere = replace(answer(2, 0.1), row_errors=row_errors("convex", np.arange(90), np.arange(10)))
    theirs = [answer(0, 0.1), answer(1, 0.1), elsewhere, answer(3, 0.0)]
    found = compare(ours, theirs)
    assert found is not None
    assert (found.n_splits, found.rows) == (2, None)
    assert found.difference == pytest.approx(0.15)
    rows = np.arange(100)
    expected = crossed_mean([(rows >= 10) & (rows < 20), (rows >= 10) & (rows < 30)])
    assert found.p == found.adjusted == expected.p
    assert found.test == "t-test over test rows and 2 splits"
    one = compare(ours[:1], theirs)
    assert one is not None
    assert one.rows == mcnemar(rows < 20, rows < 10)
    assert (one.p, one.test) == (one.rows.exact, "McNemar")
    assert one.significant == (one.p < 0.05)
    assert compare(ours[2:], theirs) is None


def test_that_an_answer_takes_its_place_by_split_and_replaces_an_older_one() -> None:
    plans = [CellPlan("convex", "raw-svm", 3), CellPlan("convex", "slide-svm", 3)]
    state = empty_state(plans, ())
    assert state.methods == ("raw-svm", "slide-svm")
    assert [each.asked for each in state.cells] == [3, 3]
    for split, error in ((2, 0.2), (0, 0.1), (2, 0.4)):
        state = with_answer(state, Task(plans[0], split), answer(split, error))
    first, second = state.cells
    assert [(each.split, each.error) for each in first.answers] == [(0, 0.1), (2, 0.4)]
    assert second.answers == ()
    assert with_answer(state, Task(plans[1], 0), None).cells[1].answers == ()


def test_that_data_are_told_by_title_and_sizes() -> None:
    data = replace(rectangles(20, 30), name="Convex")
    assert info_of("convex", data) == DataInfo("convex", "Convex", True, data.fingerprint, 20, 30, "generated:convex")
    mine = replace(data, generated=False, source="mine.csv")
    assert info_of("convex", mine).source == "mine.csv"
    assert info_of("convex", replace(mine, key="convex")).source == "convex"
    assert stored_data([CellPlan("convex", "raw-svm", 1)], []) == ()


WHOLE = replace(rectangles(80, 150), name="Rectangles")
CUT = CellPlan("rectangles", "raw-svm", 1, C=1.0, train_rows=40, test_rows=100)
FULL = CellPlan("rectangles", "raw-svm", 1, C=10.0)


def test_that_each_plan_finds_its_own_runs_among_those_on_other_rows(tmp_path):
    with RunStore(tmp_path / "runs.sqlite") as store:
        made = {plan: run_evaluation([plan], lambda key, progress: WHOLE, store) for plan in (FULL, CUT)}
        for plan, state in made.items():
            found = stored_evaluation([plan], store)
            assert [a.spec_hash for a in found.cells[0].answers] == [a.spec_hash for a in state.cells[0].answers]
            assert found.data[0].fingerprint == state.data[0].fingerprint
            assert found.data[0].generated


def test_that_real_data_come_before_generated_ones(tmp_path):
    real = replace(WHOLE, generated=False, train=WHOLE.train + 1)
    with RunStore(tmp_path / "runs.sqlite") as store:
        for dataset in (real, WHOLE):
            run_evaluation([FULL], lambda key, progress, own=dataset: own, store)
        (info,) = stored_data([FULL], store.runs())
    assert not info.generated
    assert info.fingerprint == info_of("rectangles", real).fingerprint


def test_that_data_judged_on_another_number_of_rows_come_last_and_their_sizes_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "entry", lambda key: replace(entry(key), n_train=80, n_test=150))
    part = replace(WHOLE, generated=False, train=WHOLE.train[:60], train_labels=WHOLE.train_labels[:60],
                   test=WHOLE.test[:90], test_labels=WHOLE.test_labels[:90])  # fmt: skip
    with RunStore(tmp_path / "runs.sqlite") as store:
        run_evaluation([FULL], lambda key, progress: part, store)
        (alone,) = stored_evaluation([FULL], store).data
        run_evaluation([FULL], lambda key, progress: WHOLE, store)
        (info,) = stored_evaluation([FULL], store).data
    assert (alone.generated, alone.n_train, alone.n_test) == (False, 60, 90)
    assert (info.generated, info.n_train, info.n_test) == (True, 80, 150)


PARAMETERS = SdaParameters((6,), pretraining_epochs=30)


def test_that_one_epoch_of_400_rows_is_scaled_to_all_epochs_and_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    data = rectangles(1000, 10)
    data = replace(data, train=np.ascontiguousarray(data.train * 2))
    clock, seen = iter([100.0, 103.0]), []
    monkeypatch.setattr(table.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(table, "pretrain", lambda rows, parameters, progress: seen.append((rows, parameters)))
    found = extrapolated_seconds(data, PARAMETERS)
    ((rows, parameters),) = seen
    assert parameters == replace(PARAMETERS, pretraining_epochs=1)
    assert rows.shape == (400, 64)
    assert (rows.min(), rows.max()) == (0.0, 1.0)
    assert found == Extrapolated(3.0 * 30 * 1000 / 400, 3.0, 400, PARAMETERS)


def test_that_fewer_rows_are_all_measured_at_the_tutorials_setting_and_can_be_cancelled() -> None:
    with pytest.raises(Cancelled):
        extrapolated_seconds(rectangles(20, 10), progress=StopAfter(1))
    found = extrapolated_seconds(rectangles(20, 10), replace(TUTORIAL, n_units=(3,), noise=0.1))
    assert found.rows == 20
    assert found.seconds == pytest.approx(found.measured * 15)


def _cell(method: str, features: float | None, chosen: str = "") -> Cell:
    answer = SplitAnswer(0, "h", chosen, 0.1, 100, 50, b"", None, features, 1.0)
    return Cell("rectangles", method, 1, (answer,))


def test_that_autoencoders_of_either_method_give_the_time_and_what_was_chosen() -> None:
    info = DataInfo("rectangles", "Rectangles", False, "ab" * 32, 1200, 50_000)

    def row(*cells: Cell) -> table.TimeRow:
        (found,) = time_rows(EvaluationState((info,), (), cells))
        return found

    both = row(_cell("slide-svm", 2.0), _cell("sda", 80.0, "that of SdA"), _cell("sda-svm", 60.0, "that of SdA-SVM"))
    assert (both.slide, both.sda, both.sda_chosen, both.speedup) == (2.0, 60.0, "that of SdA-SVM", 30.0)
    one = row(_cell("slide-svm", 2.0), _cell("sda", 80.0, "that of SdA"), _cell("sda-svm", None))
    assert (one.sda, one.sda_chosen) == (80.0, "that of SdA")
    assert (one.paper_slide, one.paper_sda, one.paper_speedup) == (5.0, 5400.0, 1080.0)
    none = row()
    assert (none.slide, none.sda, none.sda_chosen, none.speedup, none.tutorial_speedup) == (None, None, "", None, None)
    assert row(_cell("sda", 80.0)).speedup is None


DATA = rectangles(80, 50)
CELL = CellPlan("rectangles", "slide-svm", 1, (("noise", (0.4,)), ("depth", (1,))), widths="median", C=10.0)


def test_that_a_shared_fit_is_not_timed_and_the_evaluation_times_it_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(_key: str, _progress: object) -> Dataset:
        return DATA

    final = CELL.final(CELL.candidates(DATA.fingerprint, "rectangles", 0)[0]).spec
    alone, shared = run(DATA, final), run(DATA, final, reuse=Reuse(deepest=3))
    assert alone.timings.features is not None
    assert shared.timings.features is None
    monkeypatch.setattr(benchmark_module, "feature_seconds", lambda *_a, **_k: 42.0)
    for result, expected in ((shared, 42.0), (alone, alone.timings.features)):
        with RunStore(tmp_path / f"{expected}.sqlite") as store:
            store.save(result)
            (cell,) = run_evaluation([CELL], load, store).cells
        assert cell.features == pytest.approx(expected)
        assert [each.spec_hash for each in cell.answers] == [final.hash]


def test_that_what_is_held_is_known() -> None:
    reuse, parameters = Reuse(deepest=2), StackParameters(noise=0.4, depth=2)
    assert not reuse.holds(DATA, parameters)
    assert reuse.holds(DATA, StackParameters(noise=0.4, depth=1))  # more layers than asked for are fitted
    reuse.stack(DATA, parameters)
    assert reuse.holds(DATA, parameters)
    assert reuse.holds(DATA, StackParameters(noise=0.6, depth=2))  # the first pass serves any noise
    assert not reuse.holds(rectangles(80, 50, seed=1), parameters)
