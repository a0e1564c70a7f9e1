from types import SimpleNamespace

import numpy as np
import pytest

from slide_gui.core.sampling import stratified_subset
from slide_gui.core.svm import selection
from slide_gui.core.svm.decomposition import least_memory
from slide_gui.core.svm.estimator import MultiWidthSVC
from slide_gui.core.svm.kernel import median_distances
from slide_gui.core.svm.parameters import GUARD, ChosenBy, SelectedWidths, SvmParameters, WidthsStep
from slide_gui.core.svm.selection import choose_widths
from slide_gui.core.svm.training import TrainingSet
from slide_gui.core.svm.widths import WidthsSample
from tests.core.svm_data import SIZES, layers, sample, three_classes


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

        def learn_widths(sample, *_parameters, **_options):
            samples.append(sample.rows)
            return _learned(widths.tolist(), C)

        monkeypatch.setattr(selection, "learn_widths", learn_widths)
        parameters = SvmParameters(SIZES, loss="squared_hinge" if squared else "hinge", C=given, memory=memory)
        some = sample(Z, codes, subset_size=subset_size)
        return widths, choose_widths(TrainingSet(Z, codes, SIZES), some, parameters), samples

    return compare


@pytest.mark.parametrize("make", [layers, three_classes])
@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("subset_size", [2500, 60])  # evaluated on folds of the sample, then on rows outside it
def test_that_collapsed_widths_are_overruled_and_good_ones_kept(make, squared, subset_size, compared):
    Z, codes = make(110)
    collapsed, found, _ = compared(Z, codes, 0.05, 0.5, squared=squared, subset_size=subset_size)
    assert (found.chosen.guarded, found.chosen.name) == (True, GUARD)
    assert found.chosen.median_error < found.chosen.learned_error
    assert np.ptp(found.widths / collapsed) < 0.2 * found.widths[0] / collapsed[0]
    assert found.widths[0] > 2.0 * collapsed[0]
    Z[:, 0] += 20.0 * codes  # no kernel makes an error
    good, found, _ = compared(Z, codes, 0.7, 7.0, squared=squared, subset_size=subset_size)
    assert (found.chosen.guarded, found.chosen.name) == (False, "radius-margin")
    assert (found.chosen.learned_error, found.chosen.median_error) == (0.0, 0.0)
    assert found.widths == pytest.approx(good)
    assert (7.0 if squared else 1.0) == found.C


@pytest.mark.parametrize(("n", "folds"), [(100, 2), (995, 2), (1000, 1)])
def test_that_widths_are_evaluated_on_folds_that_they_were_not_learned_on(n, folds, compared):
    Z, codes = layers(n)
    _, found, samples = compared(Z, codes, 1.0, 1.0)
    held_out = [np.setdiff1d(np.arange(n), rows) for rows in samples[:folds]]
    assert [len(rows) for rows in held_out] == [n // 5] * folds
    assert len(np.unique(np.concatenate(held_out))) == found.chosen.n_held_out == folds * n // 5
    assert [len(rows) for rows in samples[folds:]] == ([] if found.chosen.guarded else [n])
    of_held_out = [each for each in found.chosen.candidates if each.n_rows == n // 5][-2 * folds :]
    for kind, error in (("learned", found.chosen.learned_error), ("median", found.chosen.median_error)):
        counts = [each.wrong for each in of_held_out if each.kind == kind]
        assert (len(counts), error) == (folds, sum(counts) / (folds * n // 5))


def test_that_widths_of_a_subset_are_evaluated_on_the_other_rows(compared, monkeypatch):
    Z, codes = layers(500)
    train, trained = selection.train, []
    monkeypatch.setattr(
        selection, "train", lambda data, *rest, **more: trained.append(data.Z) or train(data, *rest, **more)
    )
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


def test_that_half_of_the_memory_is_for_kernel_values(compared):
    enough = 2 * least_memory(80)  # each training has four fifths of the rows
    compared(*layers(100), 1.0, 1.0, memory=enough)
    with pytest.raises(MemoryError, match="training on 80 points needs at least"):
        compared(*layers(100), 1.0, 1.0, memory=enough - 2)


@pytest.mark.parametrize("scale", [0.05, 1.0])
def test_that_a_given_C_is_kept_whichever_widths_win(scale, compared):
    assert compared(*layers(120), scale, 2.5, given=2.5)[1].C == 2.5


@pytest.mark.parametrize("subset_size", [2500, 60])
def test_that_candidates_that_reach_the_limit_of_steps_are_marked(subset_size, compared, monkeypatch):
    for converged in (True, False):
        candidates = compared(*layers(150), 1.0, 1.0, subset_size=subset_size)[1].chosen.candidates
        assert len(candidates) > 15
        assert {each.converged for each in candidates} == {converged}
        monkeypatch.setattr(selection, "_STEPS_PER_ROW", 0)


@pytest.mark.parametrize("few", [1, 2])
def test_that_a_class_of_too_few_rows_leaves_the_learned_widths_uncompared(few, compared):
    good, found, samples = compared(layers(30)[0], (np.arange(30) < few).astype(int), 0.05, 3.0)
    assert found.widths == pytest.approx(good)
    assert (found.C, found.chosen.name, found.chosen.learned_error) == (3.0, "radius-margin", None)
    assert [len(rows) for rows in samples] == [30]


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
def test_that_learned_and_median_widths_are_compared_by_the_weights_of_misclassified_rows(
    heavy_weight, guarded, monkeypatch
):
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
        data = TrainingSet(Z, codes, (2,), weights)
        assert selection.tune(data, np.ones(1), (1.0,), (1.0, 10.0), SvmParameters()) == (1.0, C)


def test_that_chosen_by_names_the_criterion_median_widths_or_given_widths():
    Z, y = layers(60)
    assert MultiWidthSVC(SIZES, "median").fit(Z, y).chosen_by_ == "median widths"
    assert MultiWidthSVC(SIZES, (4.0, 3.0, 5.0)).fit(Z, y).chosen_by_ == "given"
    for make, criterion, name in ((layers, "hold-out", "hold-out"), (three_classes, "auto", "press")):
        Z, y = make(60)
        Z[:, 0] += 20.0 * y  # no kernel makes an error, so the learned widths win the tie
        assert MultiWidthSVC(SIZES, criterion=criterion, starts=1, random_state=0).fit(Z, y).chosen_by_ == name
