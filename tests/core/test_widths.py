import numpy as np
import pytest

from slide_gui.core.sampling import held_out_mask, stratified_subset
from slide_gui.core.svm import criteria as span_module
from slide_gui.core.svm import widths
from slide_gui.core.svm import widths as widths_objective
from slide_gui.core.svm.criteria import CRITERIA, evaluate, press, radius_margin, span
from slide_gui.core.svm.kernel import layer_distances
from slide_gui.core.svm.newton import NotConverged, newton
from slide_gui.core.svm.widths import WidthOptions, WidthsStep, learn_widths
from slide_gui.progress import Cancelled, Listener
from tests.core.svm_data import StopAfter, layers, leave_one_out_outputs, three_classes

SIZES = (4, 3, 5)


def _at(theta, distances, codes, criterion, held_out):
    rates = np.exp(-2.0 * theta[:-1])
    kernel = np.exp(-np.tensordot(rates, distances, 1))
    found = evaluate(criterion, kernel, codes, float(np.exp(-theta[-1])), held_out)
    weighted = found.gradient * kernel
    slope = [2.0 * rate * np.vdot(weighted, layer) for rate, layer in zip(rates, distances, strict=True)]
    return found.value, np.append(slope, -np.exp(-theta[-1]) * np.trace(found.gradient))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("theta", [(1.0, 0.8, 1.2, 1.1), (0.4, 0.9, 0.5, 3.4)])
def test_that_gradients_equal_central_differences_to_1e_6(criterion, classes, theta):
    Z, codes = layers(60) if classes == 2 else three_classes(60)
    distances, theta, held_out = layer_distances(Z, SIZES), np.array(theta), held_out_mask(codes, 0)
    _, slope = _at(theta, distances, codes, criterion, held_out)
    assert np.abs(slope).max() > 1e-3
    for k, step in enumerate(1e-5 * np.eye(4)):
        above = _at(theta + step, distances, codes, criterion, held_out)[0]
        below = _at(theta - step, distances, codes, criterion, held_out)[0]
        assert abs((above - below) / 2e-5 - slope[k]) < 1e-6


@pytest.mark.parametrize("criterion", CRITERIA)
def test_that_what_is_computed_of_one_half_equals_the_sums_over_all_pairs(monkeypatch, criterion):
    monkeypatch.setattr(widths_objective, "_TILE", 13)
    Z, codes = layers(60)
    distances, theta = layer_distances(Z, SIZES), np.array([0.4, 0.9, 0.5, 1.4])
    objective = widths_objective.Objective(distances, codes, WidthOptions(criterion), StopAfter())
    value, slope = objective(theta)
    expected, expected_slope = _at(theta, distances, codes, criterion, held_out_mask(codes, 0))
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(slope, expected_slope, rtol=1e-8, atol=1e-12)


def test_that_rows_held_out_stay_so_in_a_part_of_the_rows():
    Z, codes = layers(60)
    objective = widths_objective.Objective(layer_distances(Z, SIZES), codes, WidthOptions("hold-out"), StopAfter())
    rows = np.arange(0, 60, 2)
    np.testing.assert_array_equal(objective.on(rows).held_out, objective.held_out[rows])
    assert objective.held_out[rows].any()


def _kernel(n):
    Z, codes = layers(n)
    return np.exp(-layer_distances(Z, (12,))[0] / 20.0), 2.0 * codes - 1.0


def test_that_press_is_the_squared_error_of_refits_without_each_point():
    kernel, y = _kernel(30)
    errors = []
    for point in range(30):
        others = np.delete(np.arange(30), point)
        system = kernel[np.ix_(others, others)] + 0.2 * np.eye(29)
        full = np.block([[system, np.ones((29, 1))], [np.ones((1, 29)), np.zeros((1, 1))]])
        solution = np.linalg.solve(full, np.append(y[others], 0.0))
        errors.append(y[point] - kernel[point, others] @ solution[:-1] - solution[-1])
    assert abs(press(kernel, y[:, None], 0.2).value - np.mean(np.square(errors))) < 1e-10


def test_that_radius_margin_is_variance_in_feature_space_times_squared_norm():
    kernel, y = _kernel(50)
    svm, ridge = newton(kernel, y, 0.1), 0.1
    ridged = kernel + ridge * np.eye(50)
    centring = np.eye(50) - 1.0 / 50
    variance = np.trace(centring @ ridged @ centring) / 50
    squared_norm = svm.beta @ ridged @ svm.beta
    assert abs(radius_margin(kernel, y, ridge).value - variance * squared_norm / 50) < 1e-10


def test_that_span_without_smoothing_is_the_exact_leave_one_out_error_through_a_tanh(monkeypatch):
    monkeypatch.setattr(span_module, "_SMOOTHING", 0.0)
    kernel, y = _kernel(50)
    outputs = leave_one_out_outputs(kernel, y, newton(kernel, y, 0.2))
    assert abs(span(kernel, y, 0.2).value - np.sum(0.5 * (1.0 + np.tanh(-5.0 * outputs))) / 50) < 1e-10


@pytest.mark.parametrize("criterion", CRITERIA)
def test_that_learning_lowers_the_criterion_and_finds_the_layer_that_matters(criterion):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((160, 9))
    codes = (Z[:, 0] * Z[:, 1] > 0).astype(int)  # the label depends on two layers
    listener = StopAfter()
    learned = learn_widths(Z, codes, (3, 3, 3), WidthOptions(criterion, starts=1), progress=listener)
    assert learned.best.criterion < learned.history[0].criterion
    assert int(np.argmax(learned.history[-1].shares)) == 0
    assert sum(learned.history[-1].shares) == pytest.approx(1.0)
    assert [step for step in listener.payloads if isinstance(step, WidthsStep)] == list(learned.history)
    assert np.all(np.diff(listener.fractions) >= 0)


def test_that_widths_are_learned_for_three_classes_by_press():
    Z, codes = three_classes(90)
    learned = learn_widths(Z, codes, SIZES, WidthOptions("press", starts=1))
    assert int(np.argmax(learned.history[-1].shares)) == 0


def test_that_a_given_C_is_kept_and_learning_can_start_near_an_answer():
    Z, codes = layers(80)
    learned = learn_widths(Z, codes, SIZES, WidthOptions(C=7.0))
    assert all(abs(step.C - 7.0) < 1e-12 for step in learned.history)
    again = learn_widths(Z, codes, SIZES, WidthOptions(C=7.0, near=((learned.widths, 7.0),)))
    assert again.history[0].widths == pytest.approx(learned.widths)
    assert again.best.criterion <= learned.best.criterion + 1e-9


def test_that_learning_uses_a_stratified_subset_and_repeats_to_the_bit():
    Z, codes = layers(300)
    first, second = (learn_widths(Z, codes, SIZES, WidthOptions(subset_size=100, seed=4)) for _ in range(2))
    assert len(first.subset) <= 100
    assert first.history == second.history
    assert abs(codes[first.subset].mean() - codes.mean()) < 0.02


@pytest.mark.parametrize("criterion", CRITERIA)
def test_that_learning_can_be_cancelled_anywhere(criterion):
    Z, codes = layers(50)
    for reports in (1, 5, 40, 60):
        with pytest.raises(Cancelled):
            learn_widths(Z, codes, SIZES, WidthOptions(criterion), progress=StopAfter(reports))


def test_that_too_little_memory_and_unknown_criteria_are_refused():
    Z, codes = layers(50)
    with pytest.raises(MemoryError, match="needs about"):
        learn_widths(Z, codes, SIZES, WidthOptions(memory=1000))
    with pytest.raises(ValueError, match="radius-margin"):
        learn_widths(Z, codes, SIZES, WidthOptions("guess"))


def test_that_subsets_and_held_out_rows_keep_every_class():
    codes = np.r_[np.zeros(500, int), np.ones(2, int), np.full(3, 2)]
    assert np.bincount(codes[stratified_subset(codes, 50, 0)]).min() == 2
    mask = held_out_mask(codes, 0)
    assert np.bincount(codes[mask]).tolist() == [100, 1, 1]
    with pytest.raises(ValueError, match="at least two"):
        held_out_mask(np.arange(3), 0)


class Falling(widths_objective.Objective):
    """Objective J = −0.005 log σ_0, which without the prior falls with ever larger widths."""

    def __call__(self, theta):
        return -0.005 * float(theta[0]), np.r_[-0.005, np.zeros(len(theta) - 1)]


def test_that_the_optimum_kept_is_that_of_the_criterion_and_its_prior(monkeypatch):
    monkeypatch.setattr(widths, "Objective", Falling)
    Z, codes = layers(60)
    learned = learn_widths(Z, codes, SIZES, WidthOptions())
    assert learned.best.objective == min(step.objective for step in learned.history)
    first = next(step for step in learned.history if step.start == learned.best.start)
    assert learned.widths[0] / first.widths[0] == pytest.approx(np.e, rel=1e-3)  # minimum of 0.01 θ² / 4 − 0.005 θ
    assert learned.widths[1:] == pytest.approx(first.widths[1:])
    for step in learned.history:
        assert step.criterion == pytest.approx(-0.005 * np.log(step.widths[0]))


class Plunging(widths_objective.Objective):
    """Objective J = −log σ_0 + log C, too steep for the prior to limit the widths."""

    def __call__(self, theta):
        return float(theta[-1] - theta[0]), np.r_[-1.0, np.zeros(len(theta) - 2), 1.0]


def test_that_widths_and_C_go_no_further_than_a_factor_of_e_to_the_4(monkeypatch):
    monkeypatch.setattr(widths, "Objective", Plunging)
    Z, codes = layers(60)
    learned = learn_widths(Z, codes, SIZES, WidthOptions(starts=1))
    first, last = learned.history[0], learned.history[-1]
    assert np.log(last.widths[0] / first.widths[0]) == pytest.approx(4.0)
    assert np.log(last.C / first.C) == pytest.approx(-4.0)
    assert last.widths[1:] == pytest.approx(first.widths[1:])


class Curved(widths_objective.Objective):
    """Objective with a long curved valley above a constant."""

    floor = 0.0

    def __call__(self, theta):
        x, y = theta[:2]
        slope = np.zeros(len(theta))
        slope[:2] = -2.0 * (1.0 - x) - 400.0 * x * (y - x * x), 200.0 * (y - x * x)
        return self.floor + (1.0 - x) ** 2 + 100.0 * (y - x * x) ** 2, slope


def test_that_a_descent_ends_after_three_iterations_in_a_row_that_change_next_to_nothing(monkeypatch):
    monkeypatch.setattr(widths, "Objective", Curved)
    Z, codes = layers(60)
    learned = learn_widths(Z, codes, SIZES, WidthOptions(starts=1))
    assert len(learned.history) > 10
    monkeypatch.setattr(Curved, "floor", 1e6)
    learned = learn_widths(Z, codes, SIZES, WidthOptions(starts=1))
    assert len(learned.history) == 5  # the start, the first iteration and three quiet ones


def test_that_every_iteration_is_told_as_its_share_of_the_most_of_its_start(monkeypatch):
    monkeypatch.setattr(widths, "Objective", Curved)
    told = []
    Z, codes = layers(60)
    listener = Listener(lambda fraction, payload: told.append((fraction, payload)))
    learn_widths(Z, codes, SIZES, WidthOptions(max_iter=9), progress=listener)
    for start in (0, 1):
        shares = [share for share, step in told if isinstance(step, WidthsStep) and step.start == start]
        assert len(shares) > 5
        done = [
            number / (number + 6) for number in range(1, len(shares) + 1)
        ]  # half the progress after six iterations, the usual number
        assert shares == pytest.approx([0.15 + 0.85 * (start + part) / 2 for part in done])


@pytest.mark.parametrize("criterion", ["span", "press"])  # one restarts from its previous solution, one does not
def test_that_a_descent_begun_on_a_part_of_the_rows_ends_where_those_on_all_of_them_do(monkeypatch, criterion):
    Z, codes = layers(500)
    slow = learn_widths(Z, codes, SIZES, WidthOptions(criterion))
    monkeypatch.setattr(widths, "_PART_ROWS", 250)
    fast = learn_widths(Z, codes, SIZES, WidthOptions(criterion))
    assert {step.start for step in slow.history} == {0, 1}
    assert {step.start for step in fast.history} == {fast.best.start}
    assert len(fast.history) < len(slow.history)
    assert fast.best.objective <= 1.005 * slow.best.objective


@pytest.mark.parametrize("shape", [Falling, Plunging])
def test_that_the_prior_and_the_bounds_are_those_of_the_start_wherever_a_part_of_the_rows_led(monkeypatch, shape):
    monkeypatch.setattr(widths, "Objective", shape)
    Z, codes = layers(60)
    slow = learn_widths(Z, codes, SIZES, WidthOptions(starts=1))
    monkeypatch.setattr(widths, "_PART_ROWS", 30)
    fast = learn_widths(Z, codes, SIZES, WidthOptions(starts=1))
    np.testing.assert_allclose(fast.widths, slow.widths, rtol=1e-3)
    np.testing.assert_allclose(fast.C, slow.C, rtol=1e-3)
    assert fast.best.prior == pytest.approx(slow.best.prior, rel=1e-2)
    assert fast.best.prior > 0.0


def test_that_the_course_of_every_start_never_rises_and_is_told_as_it_was():
    Z, codes = layers(120)
    learned = learn_widths(Z, codes, SIZES, WidthOptions("span", subset_size=100))
    objective = widths_objective.Objective(
        layer_distances(Z[learned.subset], SIZES), codes[learned.subset], WidthOptions("span"), StopAfter()
    )
    for start in {step.start for step in learned.history}:
        course = [step for step in learned.history if step.start == start]
        assert course[0].prior == 0.0
        assert np.all(np.diff([step.objective for step in course]) <= 0.0)
        for step in (course[0], course[-1]):
            value, _ = objective(np.log([*step.widths, step.C]))
            assert step.criterion == pytest.approx(value, abs=1e-9)


def test_that_a_step_to_where_the_SVM_is_not_solved_is_taken_back(monkeypatch):
    Z, codes = layers(80)
    free = learn_widths(Z, codes, SIZES, WidthOptions("span", starts=1))
    evaluate = widths_objective.evaluate
    fence = 0.5 * (np.log(free.history[0].C) + np.log(free.C))
    refused = []

    def fenced(criterion, kernel, codes, ridge, *rest, **weights):
        if (-np.log(ridge) - fence) * (np.log(free.C) - fence) > 0.0:
            refused.append(ridge)
            raise NotConverged("no")
        return evaluate(criterion, kernel, codes, ridge, *rest, **weights)

    monkeypatch.setattr(widths_objective, "evaluate", fenced)
    learned = learn_widths(Z, codes, SIZES, WidthOptions("span", starts=1))
    assert refused
    assert all(np.isfinite(step.objective) for step in learned.history)
    assert all((np.log(step.C) - fence) * (np.log(free.C) - fence) <= 0.0 for step in learned.history)
    assert learned.best.objective < learned.history[0].objective


def test_that_learning_ends_in_a_sentence_where_no_SVM_is_solved(monkeypatch):
    def never(*_arguments, **_weights):
        raise NotConverged("no")

    Z, codes = layers(60)
    monkeypatch.setattr(widths_objective, "evaluate", never)
    for near in ((), (((1.0, 1.0, 1.0), 1.0),)):
        with pytest.raises(ValueError, match="did not converge; give C or the widths"):
            learn_widths(Z, codes, SIZES, WidthOptions("span", near=near))
