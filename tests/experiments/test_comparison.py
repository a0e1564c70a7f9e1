"""Two runs side by side."""

from __future__ import annotations

import numpy as np
import pytest

from slide_gui.core.slide.stack import fit_stack
from slide_gui.data.errors import DataError
from slide_gui.experiments.inspection import comparison
from slide_gui.experiments.inspection.comparison import compare_errors, compare_rows
from slide_gui.experiments.runs.run import run
from tests.experiments.tiny import rectangles, spec

DATA = rectangles(60, 100)
A, B = spec(DATA, noise=0.2, depth=2), spec(DATA, noise=0.5, depth=1, widths="median", C=10.0)


def test_that_rows_are_those_of_each_stack_and_their_difference() -> None:
    found = compare_rows(DATA, A, B, (9, 30))
    for own, each in ((found.first, A), (found.second, B)):
        layers = fit_stack(DATA.train, each.stack).layers
        assert own.shape == (2, len(layers), 65)
        for j, layer in enumerate(layers):
            np.testing.assert_allclose(own[:, j], layer.weights[[9, 30]], rtol=0, atol=1e-9)
    assert not found.contributions
    assert found.difference.shape == (2, 1, 65)
    np.testing.assert_array_equal(found.difference[:, 0], found.first[:, 0] - found.second[:, 0])


def test_that_rows_are_contributions_where_a_few_weights_would_drown_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "drowns", lambda layer: layer.weights.shape[0] == 64)
    found = compare_rows(DATA, A, B, (9,))
    assert found.contributions
    for rows, each in ((found.first, A), (found.second, B)):
        for j, layer in enumerate(fit_stack(DATA.train, each.stack).layers):
            expected = layer.weights[9, :-1] * np.sqrt(np.diag(layer.scatter)[:-1] / len(DATA.train))
            np.testing.assert_allclose(rows[0, j, :-1], expected, rtol=0, atol=1e-9)
            assert rows[0, j, -1] == pytest.approx(layer.weights[9, -1], abs=1e-9)


def test_that_other_data_are_refused() -> None:
    with pytest.raises(DataError, match="not the data set of both"):
        compare_rows(DATA, A, spec(rectangles(60, 100, seed=1)), (0,))


def test_that_errors_are_tested_on_the_same_rows_only() -> None:
    first, second = run(DATA, A), run(DATA, B)
    found = compare_errors(first, second)
    assert found is not None
    wrong = [set(result.misclassified.tolist()) for result in (first, second)]
    assert (found.only_first, found.only_second) == (len(wrong[0] - wrong[1]), len(wrong[1] - wrong[0]))
    assert compare_errors(first, run(DATA, spec(DATA, test_rows=20, widths="median", C=10.0))) is None
