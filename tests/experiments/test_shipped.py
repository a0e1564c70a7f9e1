"""Shipped tables: their numbers are those that the errors by test row gave."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from slide_gui.error_rate import row_errors
from slide_gui.experiments.evaluation import shipped
from slide_gui.experiments.evaluation.shipped import shipped_results
from slide_gui.experiments.evaluation.table import Cell, DataInfo, EvaluationState, SplitAnswer


def table_of(error_rates, n_splits=2):
    """Return a state of SLIDE-SVM and then other methods with random errors by row at these rates."""
    rng, rows = np.random.default_rng(0), np.arange(2000)
    cells = []
    for method, rate in zip(("slide-svm", "raw-svm", "pca-svm"), error_rates, strict=False):
        wrong = [rows[rng.random(2000) < rate] for _ in range(n_splits)]
        answers = [
            SplitAnswer(split, "ab", "", len(w) / 2000, 600, 2000, row_errors("", rows, w), None, 1.5, 2.0)
            for split, w in enumerate(wrong)
        ]
        cells.append(Cell("convex", method, n_splits, tuple(answers)))
    return EvaluationState((DataInfo("convex", "Convex", True, "ab", 600, 2000),), tuple(cells))


@contextmanager
def shipping(full, folder):
    """Ship this full table, too, within the context."""
    replace(shipped_results(), tables=shipped_results().tables | {"full": full}).save(folder)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(shipped, "resource", lambda _name: folder)
            shipped_results.cache_clear()
            yield
    finally:
        shipped_results.cache_clear()


@pytest.mark.parametrize("n_splits", [1, 3])
def test_that_shipped_tables_have_the_rates_and_comparisons_without_errors_by_row(n_splits, tmp_path):
    full = table_of((0.2, 0.25, 0.21), n_splits)
    with shipping(full, tmp_path):
        read = shipped_results().tables["full"]
        assert (shipped.shipped_extent(), shipped_results().runs[0].is_shipped) == ("full", True)
    assert read.data == full.data
    assert [cell.rate for cell in read.cells] == [cell.rate for cell in full.cells]
    assert read.comparisons == full.comparisons
    assert len(full.comparisons) == 2
    assert all(answer.row_errors is None for cell in read.cells for answer in cell.answers)
    assert [cell.features for cell in read.cells] == [1.5] * 3


def test_that_a_shipped_row_is_not_compared_with_a_reference_of_the_user():
    own = table_of((0.2, 0.25))
    cells = (own.cells[0], replace(shipped_results().tables["quick"].cell("convex", "raw-svm"), data="convex"))
    assert cells[1].shipped_comparison is not None
    assert replace(own, cells=cells).comparisons == {}
