"""Widths are learned on a subset, guarded by held-out rows, and selected with the rows of a group together."""

from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slide_gui.core.sampling import deal_folds, held_out_mask, stratified_subset
from slide_gui.core.svm import selection
from slide_gui.core.svm import widths as svm_widths
from slide_gui.core.svm.criteria import CRITERIA
from slide_gui.core.svm.decomposition import least_memory
from slide_gui.core.svm.estimator import MultiWidthSVC
from slide_gui.core.svm.kernel import median_distances
from slide_gui.core.svm.newton import NotConverged
from slide_gui.core.svm.parameters import GUARD, ChosenBy, SelectedWidths, SvmParameters, WidthsStep
from slide_gui.core.svm.selection import C_GRID, choose_widths, fit_svm, median_width_search, tune
from slide_gui.core.svm.training import TrainingSet
from slide_gui.core.svm.widths import Objective, WidthsSample, best_step
from slide_gui.progress import NO_PROGRESS, Stage
from tests.core.svm_data import SIZES, StopAfter, layers, learned, sample, three_classes


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
    on_grid, n_steps = 1.0 / (1.0 + (160 / 450) ** 1.5), len(found.history)
    assert listener.fractions[-1] == pytest.approx(on_grid + (1.0 - on_grid) * n_steps / (n_steps + 6))
    stages = [str(stage) for stage in listener.payloads if isinstance(stage, Stage)]
    points = [f"evaluating starting points for {criterion}, {number} of 12" for number in range(1, 13)]
    assert stages == ["computing distances between 160 rows", *points]


def test_that_a_given_C_is_kept_and_learning_can_start_near_a_solution():
    Z, codes = layers(80)
    found = learned(Z, codes, C=7.0)
    assert all(abs(step.C - 7.0) < 1e-12 for step in found.history)
    again = learned(Z, codes, C=7.0, near=((found.widths, 7.0),))
    assert again.history[0].widths == pytest.approx(found.widths)
    assert best_step(again.history).criterion <= best_step(found.history).criterion + 1e-9


def test_that_subsets_and_held_out_rows_contain_every_class_and_held_out_rows_stay_so_in_a_part_of_the_rows():
    codes = np.r_[np.zeros(500, int), np.ones(2, int), np.full(3, 2)]
    assert np.bincount(codes[stratified_subset(codes, 50, 0)]).tolist() == [49, 2, 2]
    assert np.bincount(codes[held_out_mask(codes, 0)]).tolist() == [100, 1, 1]
    with pytest.raises(ValueError, match="has only one row, or none"):
        held_out_mask(np.arange(3), 0)
    objective = Objective(sample(*layers(60)), SvmParameters(criterion="hold-out"), NO_PROGRESS)
    part = objective.on_part(30)
    rows = np.isin(objective.sample.rows, part.sample.rows)
    np.testing.assert_array_equal(part.held_out, objective.held_out[rows])
    assert 0 < np.count_nonzero(part.held_out) < len(part.sample.rows) <= 30
    objective.held_out[:] = objective.sample.codes == 1
    objective.held_out[7] = False  # the only row of class 1 to train on is not in the part
    assert objective.on_part(30) is objective


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
    assert np.log(learned(*layers(60), starts=1).history[-1].widths[:2]) == pytest.approx([1.0, 1.0], abs=0.1)
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
    fast = learned(*layers(60), starts=1, progress=(listener := StopAfter()))
    assert "learning widths on 29 rows, 1 of 1" in map(str, listener.payloads)
    np.testing.assert_allclose([*fast.widths, fast.C], [*slow.widths, slow.C], rtol=1e-3)
    assert best_step(fast.history).prior == pytest.approx(best_step(slow.history).prior, rel=1e-2)


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


@pytest.mark.parametrize(("C", "remedy"), [(None, "give C or the widths"), (1e9, "reduce C, choose the")])
@pytest.mark.parametrize("near", [(), (((1.0, 1.0, 1.0), 1.0),)])
def test_that_learning_ends_with_a_remedy_if_no_SVM_converges(monkeypatch, near, C, remedy):
    monkeypatch.setattr(svm_widths, "evaluate", Mock(side_effect=NotConverged("no")))
    with pytest.raises(ValueError, match=f"did not converge; {remedy}"):
        learned(*layers(60), "span", near=near, C=C)


def _learned(widths, C):
    step = WidthsStep(0, 0, 0.0, tuple(widths), (0.2, 0.3, 0.5), C, 0)
    return SelectedWidths(np.array(widths), C, (step,), ChosenBy("radius-margin"))


@pytest.fixture
def compared(monkeypatch):
    """Return a function that passes scaled median widths as learned ones, and compares them with median widths.

    The function returns the given widths, the selection and the samples.
    """

    def compare(Z, codes, scale, C, given=None, squared=True, memory=2 << 30, subset_size=2500):
        widths, samples = scale * np.sqrt(3.0 * median_distances(Z, SIZES)), []
        given_widths = _learned(widths.tolist(), C)
        monkeypatch.setattr(selection, "learn_widths", lambda each, *_, **__: samples.append(each.rows) or given_widths)
        parameters = SvmParameters(SIZES, loss="squared_hinge" if squared else "hinge", C=given, memory=memory)
        some = sample(Z, codes, subset_size=subset_size)
        return widths, choose_widths(TrainingSet(Z, codes, SIZES), some, parameters), samples

    return compare


@pytest.mark.parametrize("make", [layers, three_classes])
@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("subset_size", [2500, 60])  # evaluated on folds of the sample, then on rows outside it
def test_that_collapsed_widths_are_overruled_and_good_ones_kept(make, squared, subset_size, compared):
    Z, codes = make(110)
    _, found, _ = compared(Z, codes, 0.05, 0.5, squared=squared, subset_size=subset_size)
    assert (found.chosen.guarded, found.chosen.name) == (True, GUARD)
    assert found.chosen.median_error < found.chosen.learned_error
    medians = np.sqrt(3.0 * sample(Z, codes, subset_size=subset_size).medians)
    assert any(found.widths == pytest.approx(scale**0.5 * medians) for scale in (0.1, 0.3, 1.0, 3.0))
    Z[:, 0] += 20.0 * codes  # no kernel makes an error
    good, found, _ = compared(Z, codes, 0.7, 7.0, squared=squared, subset_size=subset_size)
    assert (found.chosen.guarded, found.chosen.name) == (False, "radius-margin")
    assert (found.chosen.learned_error, found.chosen.median_error) == (0.0, 0.0)
    assert found.widths == pytest.approx(good)
    assert min(each.C for each in found.chosen.candidates if each.kind == "learned") == found.C
    assert (7.0 if squared else 1.0) == found.C


@pytest.mark.parametrize(("n", "folds"), [(100, 2), (995, 2), (1000, 1)])
def test_that_widths_are_evaluated_on_folds_that_they_were_not_learned_on(n, folds, compared):
    Z, codes = layers(n)
    _, found, samples = compared(Z, codes, 1.0, 2.5, given=2.5)
    assert found.C == 2.5
    held_out = [np.setdiff1d(np.arange(n), rows) for rows in samples[:folds]]
    assert [len(rows) for rows in held_out] == [n // 5] * folds
    assert len(np.unique(np.concatenate(held_out))) == found.chosen.n_held_out == folds * n // 5
    assert [len(rows) for rows in samples[folds:]] == ([] if found.chosen.guarded else [n])
    # A single candidate with learned widths is not evaluated on more folds once it is evaluated on 250 rows.
    assert all(each.n_rows < 400 for each in found.chosen.candidates if each.kind == "learned")
    assert all(each.converged and each.total == each.n_rows for each in found.chosen.candidates)
    of_held_out = [each for each in found.chosen.candidates if each.n_rows == n // 5][-2 * folds :]
    for kind, error in (("learned", found.chosen.learned_error), ("median", found.chosen.median_error)):
        counts = [each.wrong for each in of_held_out if each.kind == kind]
        assert (len(counts), error) == (folds, sum(counts) / (folds * n // 5))


def test_that_widths_of_a_subset_are_evaluated_on_the_other_rows(compared, monkeypatch):
    Z, codes = layers(500)
    train, trained = selection.train, []
    monkeypatch.setattr(selection, "train", lambda data, *a, **k: trained.append(data.Z) or train(data, *a, **k))
    _, found, (rows,) = compared(Z, codes, 1.0, 1.0, subset_size=200)
    assert np.array_equal(rows, stratified_subset(codes, 200, 0))
    assert trained
    assert all(np.array_equal(each, Z[rows]) for each in trained)
    assert found.chosen.n_held_out == 500 - len(rows)
    best, median = found.chosen.candidates[-2:]
    assert (best.kind, median.kind) == ("learned", "median")
    assert found.chosen.learned_error == best.wrong / best.n_rows


def test_that_points_of_a_grid_with_equal_counts_over_the_folds_are_equal(monkeypatch):
    """Errors are summed, because means of fractions of 0 + 0 + 5 and 0 + 2 + 3 errors would differ by rounding."""
    by_C = {1.0: (0, 2, 3, 0, 0), 10.0: (0, 0, 5, 0, 0), 100.0: (2, 0, 3, 0, 0), 1000.0: (5, 0, 0, 0, 0)}

    def wrong(self, factor, C, folds, progress):
        assert list(folds) == [0, 1, 2, 3, 4]
        return np.concatenate([np.arange(48) < count for count in by_C[C]]), True

    monkeypatch.setattr(selection.CrossValidation, "wrong", wrong)
    found = selection.median_width_search(TrainingSet(*layers(240), SIZES), SvmParameters())
    assert {point.error for point in found.grid} == {5 / 240}
    assert found.C == 1.0
    assert {p.C for p in median_width_search(TrainingSet(*layers(240), SIZES), SvmParameters(C=10.0)).grid} == {10.0}


def test_that_half_of_the_memory_is_for_kernel_values_and_too_little_memory_and_unknown_criteria_are_refused(compared):
    (Z, codes), enough = layers(100), 2 * least_memory(80)  # each training has four fifths of the rows
    for choose in (
        lambda memory: compared(Z, codes, 1.0, 1.0, memory=memory),
        lambda memory: median_width_search(TrainingSet(Z, codes, SIZES), SvmParameters(C=1.0, memory=memory)),
    ):
        choose(enough)
        with pytest.raises(MemoryError, match="training on 80 points needs at least"):
            choose(enough - 2)
    WidthsSample.of(TrainingSet(Z, codes, SIZES), SvmParameters(memory=720_000))
    for sizes, size in ((SIZES, r"0\.00072"), ((1,) * 12, r"0\.0018816")):
        with pytest.raises(MemoryError, match=rf"learning {len(sizes)} widths on 100 rows needs about {size} GB, more"):
            WidthsSample.of(TrainingSet(Z, codes, sizes), SvmParameters(memory=719_999))
    with pytest.raises(ValueError, match="radius-margin"):
        learned(*layers(50), "guess")


@pytest.mark.parametrize("subset_size", [2500, 60])
def test_that_candidates_that_reach_the_limit_of_steps_are_marked(subset_size, compared, monkeypatch):
    for converged in (True, False):
        candidates = compared(*layers(150), 1.0, 1.0, subset_size=subset_size)[1].chosen.candidates
        assert len(candidates) > 15
        assert {each.converged for each in candidates} == {converged}
        monkeypatch.setattr(selection, "_STEPS_PER_ROW", 0)


@pytest.mark.parametrize(("few", "size"), [(1, 30), (2, 30), (1, 20)])
def test_that_a_class_of_too_few_rows_leaves_the_learned_widths_uncompared(few, size, compared):
    good, found, samples = compared(layers(30)[0], (np.arange(30) < few).astype(int), 0.05, 3.0, subset_size=size)
    assert found.widths == pytest.approx(good)
    assert (found.C, found.chosen.name, found.chosen.learned_error) == (3.0, "radius-margin", None)
    assert [len(rows) for rows in samples] == [size]


def test_that_a_part_on_which_nothing_can_be_learned_is_left_out(monkeypatch):
    Z, codes = layers(100)
    parameters, some, learn_widths = SvmParameters(SIZES, starts=1), sample(Z, codes), selection.learn_widths

    def on_all_rows_only(sample, *given, **more):
        if len(sample.rows) < 100:
            raise ValueError("no finite value")
        return learn_widths(sample, *given, **more)

    monkeypatch.setattr(selection, "learn_widths", on_all_rows_only)
    found = choose_widths(TrainingSet(Z, codes, SIZES), some, parameters)
    assert (found.chosen.name, found.chosen.learned_error) == ("span", None)
    np.testing.assert_array_equal(found.widths, learn_widths(some, parameters).widths)


def model(is_wrong):
    """Return a model of two classes, named by the second column, that misclassifies some rows."""

    def predict(rows, **_):
        return np.where(is_wrong(rows), 1 - rows[:, 1], rows[:, 1]).astype(int)

    return SimpleNamespace(predict=predict, trained=SimpleNamespace(converged=True))


@pytest.mark.parametrize(("heavy_weight", "guarded"), [(100.0, True), (0.01, False)])
def test_that_learned_and_median_widths_are_compared_by_weights_of_wrong_rows(heavy_weight, guarded, monkeypatch):
    n, codes = 400, np.arange(400) % 2
    heavy = np.arange(n) % 20 < 2
    Z = np.column_stack([heavy, codes, np.random.default_rng(0).random((n, 10))])
    weights = np.where(heavy, heavy_weight, 1.0)

    def trained(_data, selected, *_, **__):
        """Return a model that misclassifies heavy rows with learned widths, else half of the others."""
        if selected.widths[0] == 1.0:
            return model(lambda rows: rows[:, 0] == 1)
        return model(lambda rows: (rows[:, 0] == 0) & (rows[:, 2] > 0.5))

    monkeypatch.setattr(selection, "learn_widths", lambda *_, **__: _learned((1.0, 1.0, 1.0), 1.0))
    monkeypatch.setattr(selection, "train", trained)
    some = WidthsSample.of(TrainingSet(Z, codes, SIZES, weights), SvmParameters(subset_size=100))
    chosen = choose_widths(TrainingSet(Z, codes, SIZES, weights), some, SvmParameters(SIZES)).chosen
    outside = np.setdiff1d(np.arange(n), some.rows)
    assert chosen.guarded == guarded
    assert chosen.learned_error == pytest.approx(np.average(heavy[outside], weights=weights[outside]))


def test_that_errors_count_by_weight_if_a_scale_and_C_are_selected(monkeypatch):
    codes = np.arange(100) % 2
    Z = np.column_stack([np.arange(100) % 20, codes]).astype(float)

    def trained(_data, selected, *_, **__):
        """Return a model that misclassifies rows on one side of a border, which depends on C."""
        return model(lambda rows: rows[:, 0] < 8.0 if selected.C == 1.0 else rows[:, 0] >= 15.0)

    monkeypatch.setattr(selection, "train", trained)
    for weights, C in ((None, 10.0), (np.where(Z[:, 0] >= 15.0, 50.0, 1.0), 1.0)):
        data, listener = TrainingSet(Z, codes, (2,), weights), StopAfter()
        assert selection.tune(data, np.ones(1), (1.0,), (1.0, 10.0), SvmParameters(), listener) == (1.0, C)
        assert [str(stage) for stage in listener.payloads] == [f"trying scales and C, {k} of 2" for k in (1, 2)]
        assert listener.fractions[-1] == pytest.approx((2 * 0.5 + 0.5**2) / 3)
    for weights, other, fewest in ((None, 9, 5), (None, 8, 7), (np.where(np.arange(9) < 8, 2.0, 1.0), 8, 6)):
        worse = [selection._clearly_worse(np.arange(9) < k, np.arange(9) == other, weights) for k in range(9)]
        assert worse == [k >= fewest for k in range(9)]


def test_that_chosen_by_names_the_criterion_median_widths_or_given_widths():
    Z, y = layers(60)
    median = MultiWidthSVC(SIZES, "median").fit(Z, y)
    assert (median.chosen_by_, median.history_, median.candidates_) == ("median widths", [], [])
    assert MultiWidthSVC(SIZES, (4.0, 3.0, 5.0)).fit(Z, y).chosen_by_ == "given"
    for make, criterion, name in ((layers, "hold-out", "hold-out"), (three_classes, "auto", "press")):
        Z, y = make(60)
        Z[:, 0] += 20.0 * y  # no kernel makes an error, so the learned widths win the tie
        svm = MultiWidthSVC(SIZES, criterion=criterion, starts=1, random_state=0).fit(Z, y)
        model = svm.model_.trained
        assert (svm.chosen_by_, svm.history_, svm.candidates_) == (name, [*model.history], [*model.chosen.candidates])


GROUP_SIZES = (3, 2)
# Groups of nearly equal rows with a random class, so that only rows of the same group predict it.
RANDOM, GROUPS = np.random.default_rng(5), np.repeat(np.arange(24), 5)
Z = (RANDOM.normal(size=(24, 5))[GROUPS] + 1e-3 * RANDOM.normal(size=(120, 5))).astype(np.float32)
CODES = RANDOM.permutation(np.arange(24) % 2)[GROUPS]
PARAMETERS = SvmParameters(groups=GROUP_SIZES)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), min_size=2, max_size=60), st.integers(0, 3))
def test_that_folds_hold_whole_groups_and_every_fold_trains_on_every_class(rows, seed):
    codes, groups = (np.array(each) for each in zip(*rows, strict=True))
    folds = deal_folds(codes, groups, seed)
    assert all(len(np.unique(folds[groups == group])) == 1 for group in groups)
    for fold in np.unique(folds[folds >= 0]):
        assert set(codes[folds != fold]) == set(codes)
    mask = held_out_mask(codes, seed, None, groups)
    assert not set(groups[mask]) & set(groups[~mask])
    assert set(codes[~mask]) == set(codes)


def test_that_a_row_is_not_held_out_if_another_of_its_group_must_not_be_or_its_class_has_one_group():
    allowed = np.ones(len(GROUPS), bool)
    allowed[::7] = False
    assert not set(GROUPS[held_out_mask(CODES, 0, allowed, GROUPS)]) & set(GROUPS[~allowed])
    model = fit_svm(Z, np.where(GROUPS == 0, 2, CODES), SvmParameters(groups=GROUP_SIZES, starts=1), row_groups=GROUPS)
    assert np.array_equal(np.unique(model.predict(Z)), [0, 1, 2])


def test_that_a_group_is_not_held_out_if_only_one_row_of_a_class_would_remain():
    codes, groups = np.append(CODES[:40], [2, 2, 2]), np.append(GROUPS[:40], [24, 24, 25])
    chosen = fit_svm(Z[:43], codes, SvmParameters(groups=GROUP_SIZES, starts=1), row_groups=groups).trained.chosen
    assert 0 < chosen.n_held_out < 43


@pytest.mark.parametrize("criterion", ["span", "hold-out", "press", "radius-margin"])
def test_that_learned_and_median_widths_are_compared_on_other_groups(criterion):
    parameters = SvmParameters(groups=GROUP_SIZES, criterion=criterion, starts=1)
    assert fit_svm(Z, CODES, parameters).trained.chosen.learned_error < 0.05
    apart = fit_svm(Z, CODES, parameters, row_groups=GROUPS).trained.chosen
    assert min(apart.learned_error, apart.median_error) > 0.3


def test_that_a_grid_search_is_cross_validated_and_C_tuned_on_other_groups(monkeypatch):
    sets = (TrainingSet(Z, CODES, GROUP_SIZES, None, groups) for groups in (None, GROUPS))
    alone, apart = (min(point.error for point in median_width_search(each, PARAMETERS).grid) for each in sets)
    assert alone < 0.05 < 0.3 < apart
    evaluated = []
    monkeypatch.setattr(
        "slide_gui.core.svm.training.take_rows", lambda Z, some, _: evaluated.append(set(GROUPS[some])) or Z[some]
    )
    given = TrainingSet(Z, CODES, GROUP_SIZES, None, GROUPS), np.ones(2), (1.0,), C_GRID, PARAMETERS
    tune(*given)
    trained_on, evaluated_on, *_ = evaluated
    assert evaluated_on
    assert not trained_on & evaluated_on
    seen = np.arange(0, len(Z), 5)  # a row of every group, so that no group remains to evaluate on
    assert tune(*given, learned_on=seen) == (1.0, C_GRID[0])
