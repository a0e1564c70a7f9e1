import math

import numpy as np
import pytest

from slide_gui.core import linear_algebra as blocked
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.progress import NO_PROGRESS
from tests.core.svm_data import StopAfter


@pytest.fixture
def small_pieces(monkeypatch):
    for name, value in {"WHOLE": 50, "_PIECE": 33, "_LEAF": 20}.items():
        monkeypatch.setattr(blocked, name, value)


@pytest.mark.usefixtures("small_pieces")
def test_that_products_inverses_and_solves_in_pieces_equal_numpys():
    random = np.random.default_rng(0)
    rows = random.standard_normal((400, 130))
    a, b, weights = rows.T @ rows, random.standard_normal((130, 70)), random.random(130)
    np.testing.assert_allclose(blocked.product(a, b), a @ b, rtol=1e-12)
    inverse = blocked.inverse_definite(a.copy())
    np.testing.assert_allclose(inverse, np.linalg.inv(a), atol=1e-12)
    np.testing.assert_array_equal(inverse, inverse.T)
    solve = blocked.solver(a.copy())  # factorised once for both right-hand sides
    for right in (b[:, 0], b):
        np.testing.assert_allclose(solve(right, NO_PROGRESS), np.linalg.solve(a, right), rtol=1e-9)
    np.testing.assert_allclose(blocked.weighted_square(a, weights), a @ np.diag(weights) @ a, rtol=1e-9)


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
        blocked.solver(np.zeros((1500, 1500)))


def test_that_every_piece_of_a_fit_on_many_features_is_a_cancel_point(request):
    rows = (np.random.default_rng(0).random((300, 200)) > 0.7).astype("float32")
    entire, pieces = StopAfter(), StopAfter()
    expected = fit_stack(rows, StackParameters(depth=2), progress=entire)
    request.getfixturevalue("small_pieces")
    stack = fit_stack(rows, StackParameters(depth=2), progress=pieces)
    assert len(pieces.fractions) > len(entire.fractions) + 2 * 8
    np.testing.assert_allclose(stack.layers[1].weights, expected.layers[1].weights, atol=1e-8)


def test_that_a_product_of_leading_digits_is_exact():
    random = np.random.default_rng(0)
    a, b = random.standard_normal((5, 300)), random.standard_normal((300, 4)) * 10.0 ** random.integers(-9, 9, 4)
    a, b = blocked.leading_digits(a, 300), blocked.leading_digits(b.T, 300).T
    exact = [[math.fsum(left * right) for right in b.T] for left in a]  # products of 26-bit numbers are exact
    np.testing.assert_array_equal(a @ b, exact)
    rest = random.standard_normal((5, 300))
    assert np.abs(rest - blocked.leading_digits(rest, 300)).max() <= 2.0**-21 * np.abs(rest).max()
