import numpy as np
import pytest
from sklearn.svm import SVC

from slide_gui.core.svm import decomposition as svm_decomposition
from slide_gui.core.svm import smo as svm_active_set
from slide_gui.core.svm.decomposition import CachedRows, Room, SolverOptions, SolverStep, least_memory, solve
from slide_gui.core.svm.kernel import Embedding, Gram, Vectors
from slide_gui.core.svm.smo import Box, kkt_gap, minimise
from slide_gui.progress import NO_PROGRESS, Cancelled
from tests.core.svm_data import StopAfter, layers


def _source(Z, dtype=np.float32):
    return Vectors(Embedding.of(Z, (Z.shape[1],), [np.sqrt(2.0 * Z.shape[1])])(Z, dtype=dtype))


def _oracle(source, y, C, squared):
    kernel = source.kernel(np.arange(len(y))).astype(np.float64)
    if squared:
        kernel += np.eye(len(y)) / C
    svc = SVC(kernel="precomputed", C=1e10 if squared else C, tol=1e-6).fit(kernel, y)
    beta = np.zeros(len(y))
    beta[svc.support_] = svc.dual_coef_[0]
    return beta, svc.intercept_[0]


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_that_the_dual_solution_is_that_of_libsvm(squared, C, dtype):
    Z, y = layers(250)
    source, y = _source(Z, dtype), 2.0 * y - 1.0
    found = solve(source, y, SolverOptions(squared, C, tol=1e-4))
    beta, bias = _oracle(source, y, C, squared)
    kernel = source.kernel(np.arange(250)).astype(np.float64)
    assert found.converged
    assert abs(found.beta.sum()) < 1e-9 * C
    np.testing.assert_allclose(kernel @ found.beta + found.bias, kernel @ beta + bias, atol=1e-3)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("memory", [1 << 30, 2_000_000])
@pytest.mark.parametrize("size", [256, 64])  # with 64, a tenth of the support vectors, the gap falls late
def test_that_working_sets_reach_the_solution_of_the_whole_matrix(monkeypatch, squared, memory, size):
    Z, y = layers(600, noise=1.0)
    source, y = _source(Z), 2.0 * y - 1.0
    whole = solve(source, y, SolverOptions(squared, 5.0))
    monkeypatch.setattr(svm_decomposition, "WHOLE", 200)
    monkeypatch.setattr(svm_decomposition, "SMALLEST_SET", size)
    monkeypatch.setattr(svm_decomposition, "LARGEST_SET", size)
    parts = solve(source, y, SolverOptions(squared, 5.0, memory=memory))
    assert whole.converged
    assert parts.converged
    kernel = source.kernel(np.arange(600))
    np.testing.assert_allclose(kernel @ parts.beta + parts.bias, kernel @ whole.beta + whole.bias, atol=1.5e-3)


def test_that_a_start_from_the_solution_needs_no_step_and_an_infeasible_one_is_mended():
    Z, y = layers(200)
    source, y = _source(Z), 2.0 * y - 1.0
    options = SolverOptions(False, 10.0)
    cold = solve(source, y, options)
    assert solve(source, y, options, start=cold.beta).steps == 0
    wild = solve(source, y, options, start=np.random.default_rng(0).standard_normal(200) * 100)
    assert wild.converged
    assert abs(wild.beta.sum()) < 1e-9


def test_that_equal_rows_with_both_labels_are_solved():
    source = Vectors(np.zeros((20, 3), dtype=np.float32))
    y = np.where(np.arange(20) < 8, -1.0, 1.0)
    found = solve(source, y, SolverOptions(False, 10.0))
    assert found.converged
    assert np.count_nonzero(found.beta) == 16


def test_that_two_points_are_parted_in_the_middle():
    source = Vectors(np.array([[0.0], [1.0]]))
    found = solve(source, np.array([-1.0, 1.0]), SolverOptions(False, 1e6))
    k = np.exp(-1.0)
    np.testing.assert_allclose(found.beta, [-1 / (1 - k), 1 / (1 - k)], rtol=1e-6)
    assert abs(found.bias) < 1e-9


def test_that_max_iter_stops_and_says_so():
    Z, y = layers(300)
    found = solve(_source(Z), 2.0 * y - 1.0, SolverOptions(False, 100.0, max_iter=5))
    assert found.steps == 5
    assert not found.converged


def test_that_max_iter_is_of_the_steps_in_all_working_sets_together(monkeypatch):
    monkeypatch.setattr(svm_decomposition, "WHOLE", 200)
    monkeypatch.setattr(svm_decomposition, "SMALLEST_SET", 64)
    monkeypatch.setattr(svm_decomposition, "LARGEST_SET", 64)
    Z, y = layers(600, noise=1.0)
    source, y = _source(Z), 2.0 * y - 1.0
    needed = solve(source, y, SolverOptions(False, 5.0)).steps
    found = solve(source, y, SolverOptions(False, 5.0, max_iter=needed // 2))
    assert found.steps == needed // 2
    assert not found.converged


def test_that_too_little_memory_is_refused_with_the_estimate():
    Z, y = layers(300)
    with pytest.raises(MemoryError, match=f"{least_memory(300) / 1e6:.0f} MB"):
        solve(_source(Z), 2.0 * y - 1.0, SolverOptions(False, 1.0, memory=1000))


@pytest.mark.parametrize("n", [300, 700])  # the entire matrix, then working sets of 512 points
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_that_the_least_memory_is_enough_and_a_byte_less_is_not(n, dtype):
    Z, y = layers(n)
    source, y, least = _source(Z, dtype), 2.0 * y - 1.0, least_memory(n, np.dtype(dtype).itemsize)
    assert solve(source, y, SolverOptions(False, 1.0, memory=least)).converged
    with pytest.raises(MemoryError, match=f"training on {n} points needs at least"):
        solve(source, y, SolverOptions(False, 1.0, memory=least - 1))


def test_that_reports_tell_gap_and_support_vectors_never_fall_and_can_cancel(monkeypatch):
    monkeypatch.setattr(svm_decomposition, "WHOLE", 200)
    Z, y = layers(900)
    source, y = _source(Z), 2.0 * y - 1.0
    listener = StopAfter()
    found = solve(source, y, SolverOptions(False, 10.0), progress=listener)
    steps = [step for step in listener.payloads if isinstance(step, SolverStep)]
    assert steps[-1].gap == found.gap < 1e-3
    assert steps[-1].n_support == np.count_nonzero(found.beta)
    assert np.all(np.diff(listener.fractions) >= 0)
    assert (listener.fractions[0], listener.fractions[-1]) == (0.0, 1.0)
    assert any(0.0 < fraction < 1.0 for fraction in listener.fractions)
    for reports in range(1, len(listener.fractions), 7):
        with pytest.raises(Cancelled):
            solve(source, y, SolverOptions(False, 10.0), progress=StopAfter(reports))


@pytest.mark.parametrize("squared", [False, True])
def test_that_half_of_the_matrix_is_made_at_once_where_most_points_support_and_the_answer_is_the_same(
    monkeypatch, squared
):
    monkeypatch.setattr(svm_decomposition, "WHOLE", 200)
    Z, y = layers(900, noise=3.0)
    source, y = _source(Z), 2.0 * y - 1.0
    made = []
    kernel = source.kernel
    monkeypatch.setattr(
        source, "kernel", lambda rows, *rest, **named: made.append(len(rows)) or kernel(rows, *rest, **named)
    )
    at_once = solve(source, y, SolverOptions(squared, 5.0, tol=1e-4))
    assert made == [900]
    monkeypatch.setattr(svm_decomposition, "_MANY", 2.0)
    row_by_row = solve(source, y, SolverOptions(squared, 5.0, tol=1e-4))
    assert len(made) > 3
    np.testing.assert_allclose(at_once.beta, row_by_row.beta, atol=2e-2)
    assert abs(at_once.bias - row_by_row.bias) < 2e-3


def test_that_coefficients_too_large_for_single_precision_values_are_found_with_double():
    Z, y = layers(400)
    embedding = Embedding.of(Z, (Z.shape[1],), [3.0 * Z.shape[1]])
    y = 2.0 * y - 1.0
    found = solve(Vectors(embedding(Z)), y, SolverOptions(False, 1e4))
    exact = Vectors(embedding(Z, dtype=np.float64)).kernel(np.arange(400))
    residual = y - exact @ found.beta
    up, down = np.where(y > 0, found.beta < 1e4, found.beta < 0), np.where(y > 0, found.beta > 0, found.beta > -1e4)
    assert found.converged
    assert np.linalg.norm(found.beta) > 2e4
    assert residual[up].max() - residual[down].min() < 2e-3


def test_that_memory_used_before_changes_no_bit():
    Z, y = layers(1500)
    source, y, room = _source(Z), 2.0 * y - 1.0, Room()
    first = solve(source, y, SolverOptions(False, 10.0))
    solve(_source(Z[:1200] * 2.0), y[:1200], SolverOptions(True, 1000.0), room=room)
    again = solve(source, y, SolverOptions(False, 10.0), room=room)
    assert np.array_equal(first.beta, again.beta)


def test_that_a_second_training_is_equal_to_the_bit(monkeypatch):
    monkeypatch.setattr(svm_decomposition, "WHOLE", 200)
    Z, y = layers(900)
    first, second = (solve(_source(Z), 2.0 * y - 1.0, SolverOptions(False, 10.0, seed=3)) for _ in range(2))
    assert np.array_equal(first.beta, second.beta)


def test_that_the_gap_told_is_true_where_coefficients_are_too_large_for_single_precision():
    Z, y = layers(120, noise=1.0)
    y = 2.0 * y - 1.0
    source = Vectors(Embedding.of(Z, (12,), [20.0])(Z))
    found = solve(source, y, SolverOptions(False, 1e5, tol=1e-2))
    assert found.converged
    assert np.linalg.norm(found.beta) > 5e4  # so large that float32 outputs are off by about 1e-2
    residual = y - Vectors(source.exact_rows(np.arange(120))).kernel(np.arange(120)) @ found.beta
    gap, _ = kkt_gap(residual, found.beta, Box.of(y, 1e5))
    assert gap < 1e-2


def test_that_kept_rows_sum_large_coefficients_in_double_precision():
    Z, _ = layers(300)
    points = np.arange(0, 300, 2)
    source = Gram(
        _source(Z).distances(), np.arange(300), 1.0
    )  # values do not depend on the block in which they are computed
    factors = 1e6 * np.random.default_rng(0).standard_normal(150)
    exact = factors @ source.kernel(points).astype(np.float64)
    for capacity in (300, 60, 0):  # capacity for all rows, for some and for none
        rows = CachedRows(source, np.empty((capacity, 300), np.float32), 1e-3, NO_PROGRESS)
        for _ in range(2):
            np.testing.assert_allclose(rows.times(points, factors, points), exact, atol=1e-4)


def test_that_minimising_ends_with_residuals_in_double_precision():
    Z, y = layers(200, noise=1.0)
    y = 2.0 * y - 1.0
    kernel = Vectors(Embedding.of(Z, (12,), [20.0])(Z)).kernel(np.arange(200))
    kernel = (kernel + kernel.T) / np.float32(2.0)
    np.fill_diagonal(kernel, 1.0)
    tol = 1e-2
    beta, residual, _ = minimise(kernel, y.copy(), np.zeros(200), Box.of(y, 1e5), 0.0, tol, 20_000)
    assert np.linalg.norm(beta) > 3e4
    exact = y - kernel.astype(np.float64) @ beta
    # a float32 product is off by 9e-3 or more
    np.testing.assert_allclose(residual, exact, atol=0.1 * tol, rtol=0)


def test_that_the_gap_and_the_bias_are_those_of_the_points_that_may_move():
    residual, box = np.array([1.0, 3.0, -2.0]), Box(np.zeros(3), np.full(3, 2.0))
    assert kkt_gap(residual, np.zeros(3), box) == (-np.inf, 3.0)  # every β can only increase
    assert kkt_gap(residual, np.full(3, 2.0), box) == (-np.inf, -2.0)  # every β can only decrease
    assert kkt_gap(residual, np.array([2.0, 0.0, 2.0]), box) == (3.0 + 2.0, 0.5 * (3.0 - 2.0))
    assert kkt_gap(residual, np.array([1.0, 0.0, 1.5]), box) == (3.0 + 2.0, 0.5 * (1.0 - 2.0))  # two points are free


def test_that_bounds_follow_the_labels():
    box = Box.of(np.array([-1.0, 1.0]), 5.0)
    assert (box.lower.tolist(), box.upper.tolist()) == ([-5.0, 0.0], [0.0, 5.0])


def test_that_a_start_with_one_side_only_is_none():
    Z, y = layers(100)
    source, y = _source(Z), 2.0 * y - 1.0
    options = SolverOptions(False, 10.0)
    cold = solve(source, y, options)
    one_sided = solve(source, y, options, start=np.where(y > 0, 1.0, 0.0))
    assert np.array_equal(one_sided.beta, cold.beta)
    assert one_sided.steps == cold.steps


def test_that_a_tolerance_out_of_reach_of_single_precision_ends_and_says_so():
    Z, y = layers(40, noise=1.0)
    source = Gram(_source(Z).distances(), np.arange(40), 1.0)  # a Gram source cannot be refined to float64
    found = solve(source, 2.0 * y - 1.0, SolverOptions(False, 100.0, tol=1e-12))
    assert not found.converged
    assert 1e-12 < found.gap < 1e-3


@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_that_pair_steps_in_a_row_are_those_with_residuals_made_anew_each_time(monkeypatch, C):
    monkeypatch.setattr(svm_active_set, "_NEAR", -np.inf)
    Z, y = layers(60)
    y, kernel = 2.0 * y - 1.0, _source(Z, np.float64).kernel(np.arange(60))
    np.fill_diagonal(kernel, 1.0)
    box = Box.of(y, C)
    together, _, steps = minimise(kernel, y.copy(), np.zeros(60), box, 0.0, 1e-12, 60)
    assert steps == 60
    beta = np.zeros(60)
    for _ in range(60):
        beta, _, _ = minimise(kernel, y - kernel @ beta, beta, box, 0.0, 1e-12, 1)
    np.testing.assert_allclose(together, beta, atol=1e-9)
    assert (np.abs(beta) == C).any() == bool(C == 1.0)  # some coefficients are at their bound


class _Counted(Vectors):
    """Vectors that count the requested rows."""

    def __init__(self, data):
        super().__init__(data)
        self.asked = 0

    def kernel(self, rows, columns=None, out=None, progress=NO_PROGRESS):
        if columns is None:
            self.asked += len(rows)
        return super().kernel(rows, columns, out, progress)


@pytest.mark.parametrize("capacity", [0, 30, 90, 200])
def test_that_sums_and_squares_are_right_whatever_rows_were_kept_before(capacity):
    random = np.random.default_rng(0)
    source = _Counted(random.standard_normal((200, 5)) / 3.0)
    kernel = source.kernel(np.arange(200), np.arange(200))
    rows = CachedRows(source, np.empty((capacity, 200)), 1e-3, NO_PROGRESS)
    before = np.empty(0, dtype=int)
    for _ in range(12):
        points = np.sort(random.choice(200, 25, replace=False))
        factors = random.standard_normal(25)
        np.testing.assert_allclose(rows.times(points, factors, before), factors @ kernel[points], atol=1e-12)
        wanted = np.sort(random.choice(200, 40, replace=False))
        out = np.empty((40, 40))
        assert rows.square(wanted, out) is out
        np.testing.assert_allclose(out, kernel[np.ix_(wanted, wanted)], atol=1e-12)
        before = points


def test_that_kept_rows_are_not_computed_again_and_those_to_keep_stay():
    source = _Counted(np.random.default_rng(0).standard_normal((200, 5)))
    rows = CachedRows(source, np.empty((50, 200)), 1e-3, NO_PROGRESS)
    first, second = np.arange(30), np.arange(30, 60)
    rows.times(first, np.ones(30), first)
    rows.times(first, np.ones(30), first)
    assert source.asked == 30
    rows.times(second, np.ones(30), first)  # capacity for twenty more, since the first thirty stay
    assert source.asked == 60
    rows.times(first, np.ones(30), first)
    assert source.asked == 60
    rows.times(second, np.ones(30), first)
    assert source.asked == 70
