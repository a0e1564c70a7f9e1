import math

import numpy as np
import pytest

from slide_gui.core import linear_algebra as blocked
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.progress import NO_PROGRESS, Cancelled, Progress


def test_that_an_inverse_and_a_product_in_pieces_equal_numpys(monkeypatch):
    monkeypatch.setattr(blocked, "WHOLE", 50)
    monkeypatch.setattr(blocked, "_PIECE", 33)
    monkeypatch.setattr(blocked, "_LEAF", 20)
    random = np.random.default_rng(0)
    rows = random.standard_normal((400, 130))
    a, b = rows.T @ rows, random.standard_normal((130, 70))
    np.testing.assert_allclose(blocked.product(a, b), a @ b, rtol=1e-12)
    inverse = blocked.inverse_definite(a.copy())
    np.testing.assert_allclose(inverse, np.linalg.inv(a), atol=1e-12)
    np.testing.assert_array_equal(inverse, inverse.T)


def test_that_the_inverse_of_a_kernel_matrix_with_a_small_ridge_is_as_accurate_as_numpys():
    rows = np.random.default_rng(0).standard_normal((1300, 5))
    distances = np.square(rows[:, None] - rows[None]).sum(-1)
    matrix = np.exp(-distances / 10.0) + 1e-4 * np.eye(1300)
    expected = np.linalg.inv(matrix)
    found = blocked.inverse_definite(matrix.copy())
    assert np.abs(found - expected).max() <= 1e-8 * np.abs(expected).max()
    np.testing.assert_array_equal(found, found.T)


def test_that_a_singular_large_matrix_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        blocked.inverse_definite(np.zeros((700, 700)))
    with pytest.raises(np.linalg.LinAlgError):
        blocked.solve_symmetric(np.zeros((1500, 1500)), np.ones((1500, 2)))


def test_that_every_piece_of_a_fit_on_many_features_is_a_cancel_point(monkeypatch):
    class Counter(Progress):
        def __init__(self):
            self.reports = 0

        def report(self, fraction, payload=None):
            self.reports += 1

    rows = (np.random.default_rng(0).random((300, 200)) > 0.7).astype("float32")
    whole, pieces = Counter(), Counter()
    expected = fit_stack(rows, StackParameters(depth=2), progress=whole)
    monkeypatch.setattr(blocked, "WHOLE", 50)
    monkeypatch.setattr(blocked, "_PIECE", 20)
    monkeypatch.setattr(blocked, "_LEAF", 20)
    stack = fit_stack(rows, StackParameters(depth=2), progress=pieces)
    assert pieces.reports > whole.reports + 2 * 8
    np.testing.assert_allclose(stack.layers[1].weights, expected.layers[1].weights, atol=1e-8)


def test_that_a_large_inverse_can_be_cancelled():
    class Stop(Progress):
        def report(self, fraction, payload=None):
            raise Cancelled

    with pytest.raises(Cancelled):
        blocked.inverse_definite(np.eye(2000), Stop())


def test_that_a_solve_in_pieces_equals_numpys(monkeypatch):
    monkeypatch.setattr(blocked, "WHOLE", 50)
    monkeypatch.setattr(blocked, "_PIECE", 33)
    random = np.random.default_rng(0)
    rows = random.standard_normal((400, 130))
    a, b = rows.T @ rows, random.standard_normal((130, 70))
    expected = np.linalg.solve(a, b)
    np.testing.assert_allclose(blocked.solve_symmetric(a.copy(), b), expected, rtol=1e-9)


def test_that_a_factor_solves_for_one_right_hand_side_after_another(monkeypatch):
    monkeypatch.setattr(blocked, "WHOLE", 50)
    monkeypatch.setattr(blocked, "_PIECE", 33)
    random = np.random.default_rng(0)
    rows = random.standard_normal((400, 130))
    a = rows.T @ rows
    solve = blocked.solver(a.copy())
    for b in (random.standard_normal(130), random.standard_normal((130, 3))):
        np.testing.assert_allclose(solve(b, NO_PROGRESS), np.linalg.solve(a, b), rtol=1e-9)


def test_that_a_weighted_square_equals_the_product_of_three_matrices(monkeypatch):
    monkeypatch.setattr(blocked, "WHOLE", 33)
    random = np.random.default_rng(0)
    a, weights = random.standard_normal((130, 130)), random.random(130)
    a += a.T
    found = blocked.weighted_square(a, weights)
    np.testing.assert_allclose(found, a @ np.diag(weights) @ a, atol=1e-11)


def test_that_a_product_of_leading_digits_is_exact():
    random = np.random.default_rng(0)
    a, b = random.standard_normal((5, 300)), random.standard_normal((300, 4)) * 10.0 ** random.integers(-9, 9, 4)
    a, b = blocked.leading_digits(a, 300), blocked.leading_digits(b.T, 300).T
    exact = [[math.fsum(left * right) for right in b.T] for left in a]  # products of 26-bit numbers are exact
    np.testing.assert_array_equal(a @ b, exact)
    rest = random.standard_normal((5, 300))
    assert np.abs(rest - blocked.leading_digits(rest, 300)).max() <= 2.0**-21 * np.abs(rest).max()
