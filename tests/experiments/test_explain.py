from __future__ import annotations

import numpy as np
import pytest

from slide_gui.core.slide.denoiser import RIDGE, denoiser_weights
from slide_gui.experiments.inspection.rows import explain, strongest
from tests.core.listings import lide

X = (np.random.default_rng(2).random((80, 6)) > 0.6).astype(float)
CLEAN = np.column_stack([X, np.ones(80)])
SCATTER = CLEAN.T @ CLEAN


@pytest.mark.parametrize(("a", "b"), [(1, 4), (4, 1), (3, 3)])
def test_that_every_number_is_that_of_the_formula(a: int, b: int) -> None:
    p, weights = 0.7, denoiser_weights(SCATTER, 0.3)
    e = explain(SCATTER, weights[a], 0.3, RIDGE, a, b)
    assert e.n == 80
    assert e.s_ab == (X[:, a] * X[:, b]).sum()
    assert e.s_aa == X[:, a].sum()
    assert e.p_ab == pytest.approx(e.s_ab * p)
    assert e.q_ab == pytest.approx(e.s_ab * (p if a == b else p * p))
    assert e.q_aa == pytest.approx(e.s_aa * p)
    assert e.w_ab == weights[a, b]
    assert e.bias == weights[a, -1]
    assert e.product == pytest.approx(e.p_ab, rel=1e-9)
    np.testing.assert_allclose(e.p_row, SCATTER[a, :-1] * p)
    assert e.s_row.shape == e.p_row.shape == e.q_row.shape == e.w_row.shape == (6,)
    np.testing.assert_allclose(e.q_row[np.arange(6) != a], (SCATTER[a, :-1] * p * p)[np.arange(6) != a])


def test_that_the_check_fails_where_the_weights_are_not_the_solution() -> None:
    weights = denoiser_weights(SCATTER, 0.5)
    e = explain(SCATTER, weights[1], 0.3, RIDGE, 1, 4)
    assert abs(e.product - e.p_ab) > 0.1


def test_that_the_weights_are_those_of_the_listing() -> None:
    weights, _ = lide(X.T, 0.7)
    e = explain(SCATTER, np.asarray(weights)[2], 0.3, RIDGE, 2, 5)
    assert e.product == pytest.approx(e.p_ab, rel=1e-6)


def test_that_the_strongest_is_another_pixel() -> None:
    assert strongest(np.array([0.9, -0.5, 0.4, 7.0]), 0) == 1
    assert strongest(np.array([0.9, 7.0]), 0) == 0
