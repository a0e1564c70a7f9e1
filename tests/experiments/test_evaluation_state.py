"""What a cell of the evaluation and the whole of it say of themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slide_gui.data.entries import entry
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.evaluation.protocol import CellPlan
from slide_gui.experiments.evaluation.table import (
    Cell,
    DataInfo,
    EvaluationState,
    SplitAnswer,
    Task,
    compare,
    empty_state,
    info_of,
    stored_data,
    tasks,
    with_answer,
)
from slide_gui.experiments.statistics import crossed_mean, mcnemar, row_errors, splits_rate
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
    assert cell(method="pca-svm").name == "PCA-SVM"


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


def test_that_cells_are_found_by_data_and_method() -> None:
    cells = tuple(cell(data=data, method=method) for data in ("convex", "mnist") for method in ("slide-svm", "sda"))
    state = EvaluationState((), (), cells)
    assert state.of("mnist") == cells[2:]
    assert state.of_method("sda") == (cells[1], cells[3])
    assert state.cell("convex", "sda") is cells[1]
    assert state.cell("convex", "raw-svm") is None
    assert not state.complete
    filled = tuple(replace(each, asked=1, answers=(answer(0),)) for each in cells)
    assert replace(state, cells=filled).complete
    assert not replace(state, cells=(*filled[:3], cells[3])).complete


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


def test_that_tasks_are_the_first_splits_of_all_cells_before_the_second() -> None:
    plans = [CellPlan("convex", "raw-svm", 2), CellPlan("convex", "slide-svm", 1), CellPlan("mnist", "raw-svm", 3)]
    assert [(task.plan.data, task.plan.method, task.split) for task in tasks(plans)] == [
        ("convex", "raw-svm", 0), ("convex", "slide-svm", 0), ("mnist", "raw-svm", 0),
        ("convex", "raw-svm", 1), ("mnist", "raw-svm", 1), ("mnist", "raw-svm", 2),
    ]  # fmt: skip
    assert list(tasks([])) == []


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
