"""Two-class solvers: pair steps, active sets and Newton steps on one matrix, working sets, and cached kernel rows."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.svm import SVC

from slide_gui.core.svm import decomposition, smo
from slide_gui.core.svm import newton as svm_newton
from slide_gui.core.svm.decomposition import CachedRows, ScratchBuffer, SolverOptions, SolverStep, solve
from slide_gui.core.svm.kernel import ClassVectors, DistanceRows, Embedding, VectorRows, vector_distances
from slide_gui.core.svm.newton import Bordered, NotConverged, bordered_inverse, newton
from slide_gui.core.svm.smo import Box, kkt_gap, minimise
from slide_gui.progress import NO_PROGRESS, Cancelled
from tests.core.svm_data import StopAfter, layers


def _problem(n, width=4.9, dtype=np.float32, noise=0.3):
    """Return a source of kernel values, and labels −1 and 1."""
    Z, y = layers(n, noise=noise)
    return VectorRows.of(Embedding.of(Z, (12,), [width])(Z, dtype=dtype)), 2.0 * y - 1.0


def _small_sets(monkeypatch, size=64):
    """Solve more than 200 points in working sets of this size."""
    for name, value in {"WHOLE": 200, "SMALLEST_SET": size, "LARGEST_SET": size}.items():
        monkeypatch.setattr(decomposition, name, value)


def _outputs(source, found):
    return source.kernel(np.arange(len(source))).astype(np.float64) @ found.beta + found.bias


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_that_the_dual_solution_is_that_of_libsvm(squared, C, dtype):
    source, y = _problem(250, dtype=dtype)
    found = solve(source, y, SolverOptions(squared, C, tol=1e-4))
    kernel = source.kernel(np.arange(250)).astype(np.float64)
    ridged = kernel + np.eye(250) / C if squared else kernel
    svc = SVC(kernel="precomputed", C=1e10 if squared else C, tol=1e-6).fit(ridged, y)
    assert found.converged
    assert abs(found.beta.sum()) < 1e-9 * C
    expected = kernel[:, svc.support_] @ svc.dual_coef_[0] + svc.intercept_[0]
    np.testing.assert_allclose(kernel @ found.beta + found.bias, expected, atol=1e-3)


@pytest.mark.parametrize(("squared", "C"), [(False, 5.0), (True, 5.0), (False, 1e-5), (True, 1e-5)])
@pytest.mark.parametrize("memory", [1 << 30, 2_000_000])
@pytest.mark.parametrize("size", [256, 64])  # with 64, a tenth of the support vectors, the gap falls late
def test_that_working_sets_reach_the_solution_of_the_entire_matrix(monkeypatch, squared, C, memory, size):
    source, y = _problem(600, noise=1.0)
    entire = solve(source, y, SolverOptions(squared, C))
    _small_sets(monkeypatch, size)
    parts = solve(source, y, SolverOptions(squared, C, memory=memory))
    assert entire.converged
    assert parts.converged
    np.testing.assert_allclose(_outputs(source, parts), _outputs(source, entire), atol=1.5e-3)


def test_that_a_start_from_the_solution_needs_no_step_and_an_infeasible_one_is_repaired():
    source, y = _problem(200)
    options, random = SolverOptions(False, 10.0), np.random.default_rng(0)
    assert solve(source, y, options, start=solve(source, y, options).beta).steps == 0
    wild = solve(source, y, options, start=random.standard_normal(200) * 100)
    assert wild.converged
    assert abs(wild.beta.sum()) < 1e-9
    box = Box.of(np.array([1.0, 1.0, -1.0, -1.0]), 4.0)
    found = [decomposition._feasible(np.array(each), box) for each in ([6, 1, -1, -2], [1, 1, -9, -4], [4, 1, 0, 0])]
    np.testing.assert_allclose(found, [[2.4, 0.6, -1, -2], [1, 1, -1, -1], [0] * 4])


def test_that_equal_rows_with_both_labels_and_two_points_are_solved():
    for counts in ([8, 12], [1497, 3]):  # all points at once, then working sets
        points = VectorRows.of(np.zeros((sum(counts), 3), np.float32))
        equal = solve(points, np.repeat([-1.0, 1.0], counts), SolverOptions(False, 10.0))
        assert equal.converged
        assert np.count_nonzero(equal.beta) == 2 * min(counts)
    two = solve(VectorRows.of(np.array([[0.0], [1.0]])), np.array([-1.0, 1.0]), SolverOptions(False, 1e6))
    expected = 1.0 / (1.0 - np.exp(-1.0))
    np.testing.assert_allclose([*two.beta, two.bias], [-expected, expected, 0.0], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("small_sets", [False, True])
def test_that_max_iter_limits_the_steps_of_all_working_sets_together(monkeypatch, small_sets):
    if small_sets:
        _small_sets(monkeypatch)
    source, y = _problem(600, noise=1.0)
    needed = solve(source, y, SolverOptions(False, 5.0)).steps
    found = solve(source, y, SolverOptions(False, 5.0, max_iter=needed // 2))
    assert found.steps == needed // 2
    assert not found.converged


@pytest.mark.parametrize(("n", "values"), [(300, 270_000), (700, 978_944)])  # the entire matrix, then working sets
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_that_the_least_memory_is_enough_and_a_byte_less_is_refused(n, values, dtype):
    (source, y), size, scratch = _problem(n, dtype=dtype), np.dtype(dtype).itemsize, ScratchBuffer()
    least = size * values
    assert solve(source, y, SolverOptions(False, 1.0, memory=least), scratch=scratch).converged
    assert len(scratch._bytes) == decomposition.largest_store(n, 4 * values) * size // 4
    with pytest.raises(MemoryError, match=f"training on {n} points needs at least {least / 1e9:.6g} GB"):
        solve(source, y, SolverOptions(False, 1.0, memory=least - 1))
    stores = {(1000, 8_000_000): 1000**2, (1000, 7_999_999): 707**2 + 988 * 1000, (1001, 10**9): 2 * 1001**2}
    stores |= {(9000, 10**9): 4096**2 + 9000**2, (700, 100): 512**2, (700, decomposition.least_memory(700)): 620_544}
    assert {key: decomposition.largest_store(*key) for key in stores} == {key: 4 * n for key, n in stores.items()}


def test_that_reports_contain_gap_and_support_vectors_never_fall_and_can_cancel(monkeypatch):
    monkeypatch.setattr(decomposition, "WHOLE", 200)
    source, y = _problem(900)
    listener = StopAfter()
    found = solve(source, y, SolverOptions(False, 10.0), progress=listener)
    last = [step for step in listener.payloads if isinstance(step, SolverStep)][-1]
    assert last.gap == found.gap < 1e-3
    assert last.n_support == np.count_nonzero(found.beta)
    assert listener.complete
    assert any(0.0 < fraction < 1.0 for fraction in listener.fractions)
    for reports in range(1, len(listener.fractions), 7):
        with pytest.raises(Cancelled):
            solve(source, y, SolverOptions(False, 10.0), progress=StopAfter(reports))


@pytest.mark.parametrize("squared", [False, True])
def test_that_the_matrix_is_computed_at_once_if_most_points_are_support_vectors(monkeypatch, squared):
    monkeypatch.setattr(decomposition, "WHOLE", 200)
    source, y = _problem(900, noise=3.0)
    monkeypatch.setattr(source, "kernel", kernel := Mock(wraps=source.kernel))
    at_once = solve(source, y, SolverOptions(squared, 5.0, tol=1e-4))
    assert [len(call.args[0]) for call in kernel.call_args_list] == [900]
    monkeypatch.setattr(decomposition, "_MANY", 2.0)
    row_by_row = solve(source, y, SolverOptions(squared, 5.0, tol=1e-4))
    assert kernel.call_count > 3
    np.testing.assert_allclose(at_once.beta, row_by_row.beta, atol=2e-2)
    assert abs(at_once.bias - row_by_row.bias) < 2e-3


@pytest.mark.parametrize(
    ("n", "noise", "width", "C", "tol", "norm"), [(400, 0.3, 36.0, 1e4, 1e-3, 2e4), (120, 1.0, 20.0, 1e5, 1e-2, 5e4)]
)
def test_that_the_gap_holds_in_float64_if_coefficients_are_too_large_for_float32(n, noise, width, C, tol, norm):
    source, y = _problem(n, width, noise=noise)
    found = solve(source, y, SolverOptions(False, C, tol=tol))
    assert found.converged
    assert np.linalg.norm(found.beta) > norm  # so large that float32 outputs have an error of about tol
    exact, _ = _problem(n, width, np.float64, noise)
    assert kkt_gap(y - exact.kernel(np.arange(n)) @ found.beta, found.beta, Box.of(y, C))[0] < 2 * tol


def test_that_only_support_vectors_and_points_near_the_margin_are_computed_again_in_float64(monkeypatch):
    monkeypatch.setattr(decomposition, "exact_product", products := Mock(wraps=decomposition.exact_product))
    source, y = _problem(900)
    found = solve(source, y, SolverOptions(False, 10.0))
    assert np.count_nonzero(found.beta) <= len(products.call_args.args[2]) < 600


def test_that_a_second_training_and_used_scratch_memory_change_no_bit():
    source, y = _problem(1500)
    other, labels = _problem(1200)
    scratch = ScratchBuffer()
    first = solve(source, y, SolverOptions(False, 10.0, seed=3))
    solve(other, labels, SolverOptions(True, 1000.0), scratch=scratch)
    assert np.array_equal(first.beta, solve(source, y, SolverOptions(False, 10.0, seed=3), scratch=scratch).beta)


def test_that_a_tolerance_out_of_reach_of_float32_ends_without_convergence_and_residuals_are_in_float64():
    source, y = _problem(40, noise=1.0)
    distances = -np.log(source.kernel(np.arange(40)))
    found = solve(DistanceRows(distances, np.arange(40), 1.0), y, SolverOptions(False, 100.0, tol=1e-12))
    assert not found.converged
    assert 1e-12 < found.gap < 1e-3
    found = replace(found, beta=np.array([3.0, -2.0]), gap=4e-4, converged=True)
    for rounding, gap, converged in ((9e-5, 4e-4, True), (1.1e-4, 9.5e-4, True), (1.3e-4, 1.05e-3, False)):
        certain = decomposition._certain(found, rounding, 1e-3)
        assert (certain.gap, certain.converged) == (pytest.approx(gap), converged)
    source, y = _problem(200, 20.0, noise=1.0)
    kernel, tol = source.kernel(np.arange(200)), 1e-2
    kernel = (kernel + kernel.T) / np.float32(2.0)
    beta, residual, _ = minimise(kernel, y.copy(), np.zeros(200), Box.of(y, 1e5), tol, 20_000)
    assert np.linalg.norm(beta) > 3e4  # a float32 product would have an error of 9e-3 or more
    np.testing.assert_allclose(residual, y - kernel.astype(np.float64) @ beta, atol=0.1 * tol, rtol=0)


# Minimising on one matrix.


def _matrix(n, C, squared, dtype=np.float64):
    kernel, y = _kernel_and_labels(n, noise=0.5)
    ridge = 1.0 / C if squared else 0.0
    return (np.sqrt(kernel) + ridge * np.eye(n)).astype(dtype), y, Box.of(y, np.inf if squared else C, ridge)


@pytest.fixture
def only(monkeypatch):
    """Return a function that selects active sets as soon as the gap allows them, or pair steps only."""
    return lambda kind: monkeypatch.setattr(smo, "_STEPS_PER_SYSTEM", 0.0 if kind == "active sets" else 1e9)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_that_active_sets_and_pair_steps_reach_the_same_solution(only, squared, C, dtype):
    kernel, y, box = _matrix(250, C, squared, dtype)
    outputs = []
    for kind in ("active sets", "pair steps"):
        only(kind)
        beta, residual, _ = minimise(kernel, y, np.zeros(250), box, 1e-4, 10**7)
        gap, bias = kkt_gap(residual, beta, box)
        assert gap < 1e-4
        assert abs(beta.sum()) < 1e-9 * C
        assert np.all((beta >= box.lower) & (beta <= box.upper))
        np.testing.assert_allclose(residual, y - kernel.astype(np.float64) @ beta, atol=2e-4)
        outputs.append(kernel @ beta + bias - box.ridge * beta)
    np.testing.assert_allclose(*outputs, atol=3e-4)


def test_that_active_sets_save_most_steps_on_an_ill_conditioned_kernel_and_are_tried_after_enough_pair_steps(only):
    kernel, y, box = _matrix(400, 1e4, False)
    both, steps = minimise(kernel, y, np.zeros(400), box, 1e-6, 10**7)[2], {}
    for kind in ("active sets", "pair steps"):
        only(kind)
        near, residual, first = minimise(kernel, y, np.zeros(400), box, 0.5, 10**7)
        beta, residual, steps[kind] = minimise(kernel, residual, near, box, 1e-6, 10**7, before=10**9)
        assert kkt_gap(residual, beta, box)[0] < 1e-6
    assert steps["active sets"] * 100 < steps["pair steps"]
    assert both * 5 < first + steps["pair steps"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_that_active_sets_converge_on_repeated_rows_whose_kernel_is_singular(only, dtype):
    kernel, y, _ = _matrix(200, 1e3, False, dtype)
    twice = np.repeat(np.arange(200), 2)
    kernel, y = kernel[np.ix_(twice, twice)], y[twice]
    box = Box.of(y, 1e3)
    only("active sets")
    near, residual, _ = minimise(kernel, y, np.zeros(400), box, 0.5, 10**7)
    beta, residual, steps = minimise(kernel, residual, near, box, 1e-4, 10**7, before=10**9)
    assert kkt_gap(residual, beta, box)[0] < 1e-4
    assert steps <= 30


def test_that_forgotten_curvatures_change_no_bit_of_the_pair_steps(only, monkeypatch):
    kernel, y, box = _matrix(250, 10.0, True)
    only("pair steps")
    cached = minimise(kernel, y, np.zeros(250), box, 1e-4, 10**7)
    monkeypatch.setattr(smo, "_MOST_RATES", 2)
    again = minimise(kernel, y, np.zeros(250), box, 1e-4, 10**7)
    assert cached[2] == again[2] > 250
    assert np.array_equal(cached[0], again[0])


def test_that_systems_count_any_report_can_cancel_and_pair_steps_continue_if_systems_do_not_converge(only, monkeypatch):
    kernel, y, box = _matrix(250, 10.0, False)
    only("pair steps")
    near, residual, _ = minimise(kernel, y, np.zeros(250), box, 0.1, 10**7)
    only("active sets")
    assert minimise(kernel, residual, near, box, 1e-6, 2)[2] <= 2
    listener = StopAfter()
    minimise(kernel, residual, near, box, 1e-6, 10**7, listener)
    assert len(listener.fractions) > 3
    for reports in range(1, len(listener.fractions)):
        with pytest.raises(Cancelled):
            minimise(kernel, residual, near, box, 1e-6, 10**7, StopAfter(reports))
    monkeypatch.setattr(smo, "_MOST_SYSTEMS", 1)
    beta, residual, _ = minimise(kernel, y, np.zeros(250), box, 1e-4, 10**7)
    assert kkt_gap(residual, beta, box)[0] < 1e-4


def test_that_gap_and_bias_belong_to_the_points_that_can_move():
    residual, box = np.array([1.0, 3.0, -2.0]), Box(np.zeros(3), np.full(3, 2.0))
    assert kkt_gap(residual, np.zeros(3), box) == (-np.inf, 3.0)  # every β can only increase
    assert kkt_gap(residual, np.full(3, 2.0), box) == (-np.inf, -2.0)  # every β can only decrease
    assert kkt_gap(residual, np.array([2.0, 0.0, 2.0]), box) == (3.0 + 2.0, 0.5 * (3.0 - 2.0))
    assert kkt_gap(residual, np.array([1.0, 0.0, 1.5]), box) == (3.0 + 2.0, 0.5 * (1.0 - 2.0))  # two points are free
    upwards = Box(np.zeros(3), np.array([0.0, 1.0, 1.0]))  # the first point has weight 0
    assert kkt_gap(np.array([5.0, 0.3, 0.8]), np.zeros(3), upwards) == (-np.inf, 0.8)
    by_labels = Box.of(np.array([-1.0, 1.0]), 5.0)
    assert (by_labels.lower.tolist(), by_labels.upper.tolist()) == ([-5.0, 0.0], [0.0, 5.0])


# Cached kernel rows.


@pytest.mark.parametrize("capacity", [0, 30, 90, 200])
def test_that_sums_and_squares_are_right_whatever_rows_are_cached(capacity):
    random = np.random.default_rng(0)
    source = VectorRows([ClassVectors(random.standard_normal((200, 5)) / 3.0)])
    kernel = source.kernel(np.arange(200), np.arange(200))
    rows = CachedRows(source, np.empty((capacity, 200)), 1e-3, NO_PROGRESS)
    before = np.empty(0, dtype=int)
    for _ in range(12):
        points = np.sort(random.choice(200, 25, replace=False))
        factors = random.standard_normal(25)
        np.testing.assert_allclose(rows.times(points, factors, before), factors @ kernel[points], atol=1e-12)
        wanted = rows.cached_first(np.sort(random.choice(200, 40, replace=False)))
        out = np.empty((40, 40))
        rows.square(wanted, out)
        np.testing.assert_allclose(out, kernel[np.ix_(wanted, wanted)], atol=1e-12)
        before = points


def test_that_cached_rows_are_not_computed_again_and_those_to_keep_stay(monkeypatch):
    source = VectorRows([ClassVectors(np.random.default_rng(0).standard_normal((200, 5)))])
    kernel = Mock(wraps=source.kernel)
    monkeypatch.setattr(source, "kernel", kernel)
    rows = CachedRows(source, np.empty((50, 200)), 1e-3, NO_PROGRESS)
    first, second = np.arange(30), np.arange(30, 60)
    # Twenty of the second thirty fit into the cache, because the first thirty stay.
    for points, computed in ((first, 30), (first, 30), (second, 60), (first, 60), (second, 70)):
        rows.times(points, np.ones(30), first)
        assert sum(len(call.args[0]) for call in kernel.mock_calls) == computed


def test_that_cached_rows_sum_large_coefficients_in_double_precision():
    Z, _ = layers(300)
    points = np.arange(0, 300, 2)
    # Values from distances do not depend on the block in which they are computed.
    source = DistanceRows(vector_distances(Embedding.of(Z, (12,), [5.0])(Z), np.float32), np.arange(300), 1.0)
    factors = 1e6 * np.random.default_rng(0).standard_normal(150)
    exact = factors @ source.kernel(points).astype(np.float64)
    for capacity in (300, 60, 0):  # capacity for all rows, for some and for none
        rows = CachedRows(source, np.empty((capacity, 300), np.float32), 1e-3, NO_PROGRESS)
        for _ in range(2):
            np.testing.assert_allclose(rows.times(points, factors, points), exact, atol=1e-4)


def test_that_products_in_float64_are_exact_for_long_vectors(monkeypatch):
    monkeypatch.setattr(decomposition, "_EXACT_ROWS", 25)
    random = np.random.default_rng(0)
    data, beta = random.standard_normal((60, 5)), random.standard_normal(60)
    data[::5] *= 1e8  # their squared norms are known only to several units
    kernel = np.exp(-np.square(data[:, None] - data[None]).sum(-1))
    found = decomposition.exact_product(VectorRows([ClassVectors(data)]), beta, np.arange(60))
    np.testing.assert_allclose(found, kernel @ beta, atol=1e-12)


def _kernel_and_labels(n, noise=0.3):
    Z, y = layers(n, noise=noise)
    return np.exp(-np.square(Z[:, None] - Z[None]).sum(-1) / 20.0), 2.0 * y - 1.0


@pytest.mark.parametrize("n", [60, 1100])
@pytest.mark.parametrize("C", [0.3, 10.0, 300.0])
def test_that_newton_reaches_the_optimality_conditions_to_1e_9(n, C):
    kernel, y = _kernel_and_labels(n, noise=1.0)
    _assert_optimal(newton(kernel, y, 1.0 / C), kernel, y, C)
    with pytest.raises(Cancelled):
        newton(kernel, y, 1.0 / C, progress=StopAfter(2))


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


def test_that_newton_converges_if_full_steps_would_cycle_and_with_points_exactly_on_the_margin():
    points, y = np.array([5.0, -1.0, -2.0, 2.0, 4.0]), np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    kernel, C = np.exp(-np.square(points[:, None] - points) / 30.0), 1000.0
    _assert_optimal(newton(kernel, y, 1.0 / C), kernel, y, C)
    points = np.random.default_rng(0).standard_normal((120, 2))
    y = np.where(points[:, 0] + 0.3 * points[:, 1] ** 2 > 0.0, 1.0, -1.0)
    kernel = np.exp(-np.square(points[:, None] - points[None]).sum(-1))
    _assert_optimal(newton(kernel, y, 1e-4), kernel, y, 1e4)  # takes about thirty steps
    kernel, y = _kernel_and_labels(80, noise=0.0)
    svm = newton(kernel, y, 0.1)
    beyond = np.flatnonzero(y * (kernel @ svm.beta + svm.bias) > 1.0 + 1e-6)
    # the factors by which kernel rows are scaled so that f = y at their points
    share = (y[beyond] - svm.bias) / (kernel[beyond] @ svm.beta)
    rows = kernel[beyond] * share[:, None]
    among = kernel[np.ix_(beyond, beyond)] * np.outer(share, share)
    np.fill_diagonal(among, 1.0)
    both, labels = np.block([[kernel, rows.T], [rows, among]]), np.append(y, y[beyond])
    for start in (None, np.append(svm.beta, 1e-9 * y[beyond])):
        more = newton(both, labels, 0.1, start=start)
        _assert_optimal(more, both, labels, 10.0)
        np.testing.assert_allclose(more.beta, np.append(svm.beta, np.zeros(len(beyond))), atol=1e-8)


def test_that_bordered_inverses_match_the_direct_inverse():
    factor = np.random.default_rng(0).standard_normal((30, 30))
    matrix = factor @ factor.T + np.eye(30)
    full = np.block([[matrix, np.ones((30, 1))], [np.ones((1, 30)), np.zeros((1, 1))]])
    larger, points = np.full((40, 40), np.nan), np.arange(3, 33)  # NaN shows that no other points are read
    larger[np.ix_(points, points)] = matrix - 0.5 * np.eye(30)
    found = bordered_inverse(larger, points, np.full(30, 0.5))
    np.testing.assert_allclose(found, np.linalg.inv(full)[:30, :30], atol=1e-10)
    assert np.array_equal(found, found.T)


def test_that_a_system_is_solved_by_the_factorisation_for_similar_points(monkeypatch):
    kernel, _ = _kernel_and_labels(130)
    kernel[:4] = kernel[:, :4] = np.nan  # shows that no other points are read
    ridge = np.linspace(0.05, 0.2, 130)
    sizes, factorise = [], svm_newton.factorised
    monkeypatch.setattr(svm_newton, "factorised", lambda a, *args: [sizes.append(len(a)), factorise(a, *args)][1])
    near = Bordered(kernel, np.arange(10, 130), ridge)
    for points in (np.arange(10, 130), np.arange(4, 124), np.delete(np.arange(6, 130), [0, 7, 50, 123])):
        system, right = Bordered(kernel, points, ridge, near), np.cos(points)
        for total in (0.0, 0.7):
            x, b = system.solve(right, total)
            np.testing.assert_allclose(kernel[np.ix_(points, points)] @ x + ridge[points] * x + b, right, atol=1e-11)
            assert abs(x.sum() - total) < 1e-11
    Bordered(kernel, np.arange(10, 70), ridge, near)
    assert sizes == [120, 60]  # many points differ from those of the last system, so it was factorised


def test_that_newton_returns_the_ridge_of_a_singular_system_and_factorises_again_if_inaccurate(monkeypatch):
    kernel, y = np.ones((4, 4)), np.array([1.0, 1.0, 1.0, -1.0])
    svm = newton(kernel, y, 0.0)
    assert 1e-10 <= svm.ridge < 1e-3
    inside = svm.active
    short = y[inside] - kernel[inside] @ svm.beta - svm.bias
    np.testing.assert_allclose(short, svm.ridge * svm.beta[inside], atol=1e-5)  # β is about 1e10
    kernel, y = _kernel_and_labels(120, noise=1.0)
    expected, solve = newton(kernel, y, 0.01), Bordered.solve

    def inaccurate(system, right):
        x, bias = solve(system, right)
        return x + 1e-3 * system._new, bias

    monkeypatch.setattr(Bordered, "solve", inaccurate)
    np.testing.assert_allclose(newton(kernel, y, 0.01).beta, expected.beta, atol=1e-9)


def test_that_a_solution_without_convergence_and_a_kernel_that_is_not_finite_are_refused(monkeypatch):
    kernel, y = _kernel_and_labels(80)
    newton(kernel, y, 0.01)
    monkeypatch.setattr(svm_newton, "_MOST_STEPS", 1)
    with pytest.raises(NotConverged, match="80 points did not converge"):
        newton(kernel, y, 0.01)
    assert newton(kernel, y, 0.01, optimal=False).beta.any()
    with pytest.raises(FloatingPointError, match="check the widths"):
        Bordered(np.full((3, 3), np.nan), np.arange(3), 0.0)
