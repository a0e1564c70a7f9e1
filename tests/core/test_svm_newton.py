import numpy as np
import pytest
from sklearn.svm import SVC

from slide_gui.core import linear_algebra as blocked
from slide_gui.core.svm import newton as svm_newton
from slide_gui.core.svm.newton import Bordered, NotConverged, bordered_inverse, newton
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter, layers


def _problem(n, noise=0.3):
    Z, y = layers(n, noise=noise)
    return np.exp(-np.square(Z[:, None] - Z[None]).sum(-1) / 20.0), 2.0 * y - 1.0


@pytest.mark.parametrize("n", [60, 1100])
@pytest.mark.parametrize("C", [0.3, 10.0, 300.0])
def test_that_newton_reaches_the_optimality_conditions_to_1e_9(n, C):
    kernel, y = _problem(n, noise=1.0)
    _assert_optimal(newton(kernel, y, 1.0 / C), kernel, y, C)


def _assert_optimal(svm, kernel, y, C):
    margin = y * (kernel @ svm.beta + svm.bias)
    inside = np.zeros(len(y), dtype=bool)
    inside[svm.active] = True
    assert svm.ridge == pytest.approx(1.0 / C)
    np.testing.assert_allclose((1.0 - margin)[inside], (np.abs(svm.beta) / C)[inside], atol=1e-9)
    assert np.all(margin[~inside] >= 1.0 - 1e-9)
    assert np.all(y[inside] * svm.beta[inside] > -1e-9)
    assert not svm.beta[~inside].any()
    assert abs(svm.beta.sum()) < 1e-8


def test_that_newton_converges_if_full_steps_would_cycle():
    points, y = np.array([5.0, -1.0, -2.0, 2.0, 4.0]), np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    kernel, C = np.exp(-np.square(points[:, None] - points) / 30.0), 1000.0
    _assert_optimal(newton(kernel, y, 1.0 / C), kernel, y, C)
    points = np.random.default_rng(0).standard_normal((120, 2))
    y = np.where(points[:, 0] + 0.3 * points[:, 1] ** 2 > 0.0, 1.0, -1.0)
    kernel = np.exp(-np.square(points[:, None] - points[None]).sum(-1))
    _assert_optimal(newton(kernel, y, 1e-4), kernel, y, 1e4)  # takes about thirty steps


def test_that_newton_converges_with_points_exactly_on_the_margin():
    kernel, y = _problem(80, noise=0.0)
    svm = newton(kernel, y, 0.1)
    beyond = np.flatnonzero(y * (kernel @ svm.beta + svm.bias) > 1.0 + 1e-6)
    assert len(beyond) > 10
    # the factors by which kernel rows are scaled so that f = y at their points
    share = (y[beyond] - svm.bias) / (kernel[beyond] @ svm.beta)
    assert np.all((share > 0.0) & (share < 1.0))
    rows = kernel[beyond] * share[:, None]
    among = kernel[np.ix_(beyond, beyond)] * np.outer(share, share)
    np.fill_diagonal(among, 1.0)
    both, labels = np.block([[kernel, rows.T], [rows, among]]), np.append(y, y[beyond])
    for start in (None, np.append(svm.beta, 1e-9 * y[beyond])):
        more = newton(both, labels, 0.1, start=start)
        _assert_optimal(more, both, labels, 10.0)
        np.testing.assert_allclose(more.beta, np.append(svm.beta, np.zeros(len(beyond))), atol=1e-8)


def test_that_newton_agrees_with_libsvm_on_the_ridged_kernel():
    kernel, y = _problem(80)
    with pytest.raises(Cancelled):
        newton(kernel, y, 0.1, progress=StopAfter(2))
    svm = newton(kernel, y, 0.1)
    svc = SVC(kernel="precomputed", C=1e10, tol=1e-9).fit(kernel + 0.1 * np.eye(80), y)
    beta = np.zeros(80)
    beta[svc.support_] = svc.dual_coef_[0]
    np.testing.assert_allclose(svm.beta, beta, atol=1e-5)  # libsvm stores its kernel rows in float32


def test_that_bordered_systems_match_a_direct_solve():
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((30, 30))
    matrix, right = factor @ factor.T + np.eye(30), rng.standard_normal(30)
    full = np.block([[matrix, np.ones((30, 1))], [np.ones((1, 30)), np.zeros((1, 1))]])
    larger, points = np.full((40, 40), np.nan), np.arange(3, 33)  # NaN shows that no other points are read
    larger[np.ix_(points, points)] = matrix - 0.5 * np.eye(30)
    system = Bordered(larger, points, 0.5, -right)
    np.testing.assert_allclose(np.append(*system.solution), np.linalg.solve(full, np.append(-right, 0.0)), atol=1e-10)
    for total in (0.7, 0.0):
        x, b = system.solve(right, total)
        np.testing.assert_allclose(np.append(x, b), np.linalg.solve(full, np.append(right, total)), atol=1e-10)
    assert system.added == 0.0
    found = bordered_inverse(larger, points, np.full(30, 0.5))
    np.testing.assert_allclose(found, np.linalg.inv(full)[:30, :30], atol=1e-10)
    assert np.array_equal(found, found.T)


def test_that_a_large_system_is_factorised_once_and_solved_for_any_right_hand_side(monkeypatch):
    monkeypatch.setattr(blocked, "WHOLE", 50)
    monkeypatch.setattr(blocked, "_PIECE", 40)
    kernel, y = _problem(130)
    system = Bordered(kernel, np.arange(130), 0.1, y)
    monkeypatch.setattr(np.linalg, "cholesky", lambda a: pytest.fail("factorised again"))
    rights = y[::-1], np.arange(130.0)
    answers = [system.solution, *(system.solve(right) for right in rights)]
    for right, (x, b) in zip((y, *rights), answers, strict=True):
        np.testing.assert_allclose(kernel @ x + 0.1 * x + b, right, atol=1e-9)
        assert abs(x.sum()) < 1e-9


def test_that_a_singular_system_is_softened():
    system = Bordered(np.zeros((4, 4)), np.arange(4), 0.0, np.array([1.0, -1.0, 1.0, -1.0]))
    assert np.isfinite(system.solution[0]).all()
    assert 0.0 < system.added < 1e-3


def test_that_newton_returns_the_ridge_with_which_a_singular_system_was_solved():
    kernel, y = np.ones((4, 4)), np.array([1.0, 1.0, 1.0, -1.0])
    svm = newton(kernel, y, 0.0)
    assert svm.ridge >= 1e-10
    inside = svm.active
    short = y[inside] - kernel[inside] @ svm.beta - svm.bias
    np.testing.assert_allclose(short, svm.ridge * svm.beta[inside], atol=1e-9)


def test_that_a_solution_without_convergence_is_refused(monkeypatch):
    kernel, y = _problem(80)
    newton(kernel, y, 0.01)
    monkeypatch.setattr(svm_newton, "_MOST_STEPS", 1)
    with pytest.raises(NotConverged, match="80 points did not converge"):
        newton(kernel, y, 0.01)
    assert newton(kernel, y, 0.01, optimal=False).beta.any()


def test_that_a_kernel_that_is_not_finite_is_refused():
    with pytest.raises(FloatingPointError, match="check the widths"):
        Bordered(np.full((3, 3), np.nan), np.arange(3), 0.0, np.ones(3))
