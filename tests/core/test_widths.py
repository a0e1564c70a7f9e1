import numpy as np
import pytest

from slide_gui.core.sampling import held_out_mask, stratified_subset
from slide_gui.core.svm import widths as svm_widths
from slide_gui.core.svm.criteria import CRITERIA
from slide_gui.core.svm.newton import NotConverged
from slide_gui.core.svm.parameters import SvmParameters, WidthsStep
from slide_gui.core.svm.widths import Objective, best_step
from slide_gui.progress import NO_PROGRESS, Cancelled
from tests.core.svm_data import SIZES, StopAfter, layers, learned, sample, three_classes


def test_that_held_out_rows_stay_held_out_in_a_part_of_the_rows():
    objective = Objective(sample(*layers(60)), SvmParameters(criterion="hold-out"), NO_PROGRESS)
    part = objective.on_part(30)
    rows = np.isin(objective.sample.rows, part.sample.rows)
    np.testing.assert_array_equal(part.held_out, objective.held_out[rows])
    assert 0 < np.count_nonzero(part.held_out) < len(part.sample.rows) <= 30


def test_that_exponents_are_the_weighted_sum_of_the_layers_distances_of_a_stratified_subset():
    Z, codes = layers(300)
    some = sample(Z, codes, subset_size=280, seed=3)
    assert np.array_equal(some.rows, stratified_subset(codes, 280, 3))
    scaled = Z[some.rows] / np.repeat([4.0, 3.0, 5.0], SIZES)
    expected = np.square(scaled[:, None] - scaled[None]).sum(-1)
    np.testing.assert_allclose(some.exponents(np.array([4.0, 3.0, 5.0])), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("criterion", "data"), [*((key, layers) for key in CRITERIA), ("press", three_classes)])
def test_that_learning_lowers_the_criterion_and_finds_the_layer_that_matters(criterion, data):
    Z, codes = data(160)
    if data is layers:
        codes = (Z[:, 0] * Z[:, 1] > 0).astype(int)  # the label depends on the first layer only
    listener = StopAfter()
    found = learned(Z, codes, criterion, starts=1, progress=listener)
    assert best_step(found.history).criterion < found.history[0].criterion
    assert int(np.argmax(found.history[-1].shares)) == 0
    assert sum(found.history[-1].shares) == pytest.approx(1.0)
    assert [step for step in listener.payloads if isinstance(step, WidthsStep)] == list(found.history)
    assert np.all(np.diff(listener.fractions) >= 0)


def test_that_a_given_C_is_kept_and_learning_can_start_near_a_solution():
    Z, codes = layers(80)
    found = learned(Z, codes, C=7.0)
    assert all(abs(step.C - 7.0) < 1e-12 for step in found.history)
    again = learned(Z, codes, C=7.0, near=((found.widths, 7.0),))
    assert again.history[0].widths == pytest.approx(found.widths)
    assert best_step(again.history).criterion <= best_step(found.history).criterion + 1e-9


@pytest.mark.parametrize("criterion", CRITERIA)
def test_that_learning_can_be_cancelled_anywhere(criterion):
    for reports in (1, 5, 40, 60):
        with pytest.raises(Cancelled):
            learned(*layers(50), criterion, progress=StopAfter(reports))


def test_that_too_little_memory_and_unknown_criteria_are_refused():
    with pytest.raises(MemoryError, match="needs about"):
        learned(*layers(50), memory=1000)
    with pytest.raises(ValueError, match="radius-margin"):
        learned(*layers(50), "guess")


def test_that_subsets_and_held_out_rows_contain_every_class():
    codes = np.r_[np.zeros(500, int), np.ones(2, int), np.full(3, 2)]
    assert np.bincount(codes[stratified_subset(codes, 50, 0)]).min() == 2
    assert np.bincount(codes[held_out_mask(codes, 0)]).tolist() == [100, 1, 1]
    with pytest.raises(ValueError, match="at least two"):
        held_out_mask(np.arange(3), 0)


class Falling(Objective):
    """Objective J = −0.005 log σ_0, which without the prior falls with ever larger widths."""

    def __call__(self, theta):
        return -0.005 * float(theta[0]), np.r_[-0.005, np.zeros(len(theta) - 1)]


class Plunging(Objective):
    """Objective J = −log σ_0 + log C, too steep for the prior to limit the widths."""

    def __call__(self, theta):
        return float(theta[-1] - theta[0]), np.r_[-1.0, np.zeros(len(theta) - 2), 1.0]


class Curved(Objective):
    """Objective with a long curved valley."""

    height = 1.0

    def __call__(self, theta):
        x, y = theta[:2]
        slope = np.zeros(len(theta))
        slope[:2] = -2.0 * (1.0 - x) - 400.0 * x * (y - x * x), 200.0 * (y - x * x)
        return self.height * ((1.0 - x) ** 2 + 100.0 * (y - x * x) ** 2), self.height * slope


def test_that_the_selected_optimum_is_that_of_the_criterion_and_its_prior(monkeypatch):
    monkeypatch.setattr(svm_widths, "Objective", Falling)
    found = learned(*layers(60))
    assert best_step(found.history).objective == min(step.objective for step in found.history)
    first = next(step for step in found.history if step.start == best_step(found.history).start)
    assert found.widths[0] / first.widths[0] == pytest.approx(np.e, rel=1e-3)  # minimum of 0.01 θ² / 4 − 0.005 θ
    assert found.widths[1:] == pytest.approx(first.widths[1:])
    for step in found.history:
        assert step.criterion == pytest.approx(-0.005 * np.log(step.widths[0]))


def test_that_widths_and_C_change_at_most_by_a_factor_of_e_to_the_4(monkeypatch):
    monkeypatch.setattr(svm_widths, "Objective", Plunging)
    history = learned(*layers(60), starts=1).history
    first, last = history[0], history[-1]
    assert np.log(last.widths[0] / first.widths[0]) == pytest.approx(4.0)
    assert np.log(last.C / first.C) == pytest.approx(-4.0)
    assert last.widths[1:] == pytest.approx(first.widths[1:])


def test_that_a_descent_follows_a_curved_valley_and_ends_when_the_next_step_would_gain_hardly_anything(monkeypatch):
    monkeypatch.setattr(svm_widths, "Objective", Curved)
    history = learned(*layers(60), starts=1).history
    assert len(history) > 10
    assert np.log(history[-1].widths[:2]) == pytest.approx([1.0, 1.0], abs=0.1)
    assert np.all(np.diff([step.objective for step in history]) < 0.0)
    monkeypatch.setattr(Curved, "height", 1e-6)
    assert len(learned(*layers(60), starts=1).history) < 5


@pytest.mark.parametrize("criterion", ["span", "press"])  # one restarts from its previous solution, one does not
def test_that_a_descent_started_on_a_part_of_the_rows_ends_at_the_same_optimum(monkeypatch, criterion):
    slow = learned(*layers(500), criterion)
    monkeypatch.setattr(svm_widths, "_PART_ROWS", 250)
    fast = learned(*layers(500), criterion)
    assert {step.start for step in slow.history} == {0, 1}
    assert {step.start for step in fast.history} == {best_step(fast.history).start}
    assert len(fast.history) < len(slow.history)
    assert best_step(fast.history).objective <= 1.005 * best_step(slow.history).objective


@pytest.mark.parametrize("shape", [Falling, Plunging])
def test_that_prior_and_bounds_refer_to_the_start_wherever_a_part_of_the_rows_has_led(monkeypatch, shape):
    monkeypatch.setattr(svm_widths, "Objective", shape)
    slow = learned(*layers(60), starts=1)
    monkeypatch.setattr(svm_widths, "_PART_ROWS", 30)
    fast = learned(*layers(60), starts=1)
    np.testing.assert_allclose([*fast.widths, fast.C], [*slow.widths, slow.C], rtol=1e-3)
    assert best_step(fast.history).prior == pytest.approx(best_step(slow.history).prior, rel=1e-2)
    assert best_step(fast.history).prior > 0.0


def test_that_the_objective_never_rises_within_a_descent_and_steps_contain_its_values():
    Z, codes = layers(120)
    history = learned(Z, codes, "span", subset_size=100).history
    objective = Objective(sample(Z, codes, subset_size=100), SvmParameters(criterion="span"), NO_PROGRESS)
    for start in {step.start for step in history}:
        descent = [step for step in history if step.start == start]
        assert descent[0].prior == 0.0
        assert np.all(np.diff([step.objective for step in descent]) <= 0.0)
        for step in (descent[0], descent[-1]):
            value, _ = objective(np.log([*step.widths, step.C]))
            assert step.criterion == pytest.approx(value, abs=1e-9)


def test_that_a_step_to_a_point_without_a_solution_is_not_taken(monkeypatch):
    free = learned(*layers(80), "span", starts=1)
    evaluate = svm_widths.evaluate
    fence = 0.5 * (np.log(free.history[0].C) + np.log(free.C))
    refused = []

    def fenced(criterion, kernel, codes, ridge, *rest, **weights):
        if (-np.log(ridge) - fence) * (np.log(free.C) - fence) > 0.0:
            refused.append(ridge)
            raise NotConverged("no")
        return evaluate(criterion, kernel, codes, ridge, *rest, **weights)

    monkeypatch.setattr(svm_widths, "evaluate", fenced)
    found = learned(*layers(80), "span", starts=1)
    assert refused
    assert all(np.isfinite(step.objective) for step in found.history)
    assert all((np.log(step.C) - fence) * (np.log(free.C) - fence) <= 0.0 for step in found.history)
    assert best_step(found.history).objective < found.history[0].objective


@pytest.mark.parametrize("near", [(), (((1.0, 1.0, 1.0), 1.0),)])
def test_that_learning_ends_with_a_remedy_if_no_SVM_converges(monkeypatch, near):
    def never(*_arguments, **_weights):
        raise NotConverged("no")

    monkeypatch.setattr(svm_widths, "evaluate", never)
    with pytest.raises(ValueError, match="did not converge; give C or the widths"):
        learned(*layers(60), "span", near=near)
