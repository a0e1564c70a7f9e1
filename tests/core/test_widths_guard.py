import math

import numpy as np
import pytest

from slide_gui.core.sampling import stratified_subset
from slide_gui.core.svm import selection
from slide_gui.core.svm.decomposition import least_memory
from slide_gui.core.svm.estimator import MultiWidthSVC
from slide_gui.core.svm.kernel import median_distances
from slide_gui.core.svm.parameters import GUARD, SvmParameters
from slide_gui.core.svm.selection import choose_widths
from slide_gui.core.svm.widths import LearnedWidths, WidthOptions, WidthsSample, WidthsStep, learn_widths
from tests.core.svm_data import layers, three_classes

SIZES = (4, 3, 5)


@pytest.fixture
def compared(monkeypatch):
    """Return a function that compares scaled median widths, given as learned ones, with median widths.

    The function returns the given widths, the selection and the samples.
    """

    def compare(Z, codes, scale, C, given=None, squared=True, memory=2 << 30, subset_size=2500, weights=None):
        widths = tuple((scale * np.sqrt(3.0 * median_distances(Z, SIZES))).tolist())
        samples = []

        def learn_on(sample, options, *, progress):
            samples.append(sample.rows)
            step = WidthsStep(0, 0, 0.0, widths, (0.2, 0.3, 0.5), C, 0)
            return LearnedWidths("radius-margin", step, (step,), sample.rows)

        monkeypatch.setattr(selection, "learn_on", learn_on)
        options = WidthOptions(subset_size=subset_size)
        parameters = SvmParameters(SIZES, loss="squared_hinge" if squared else "hinge", C=given, memory=memory)
        sample = WidthsSample.of(Z, codes, SIZES, options, weights=weights)
        found = choose_widths(Z, codes, SIZES, sample, options, parameters, weights=weights)
        return np.array(widths), found, samples

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
    C = 7.0 if squared else 1.0
    assert found.C == C


@pytest.mark.parametrize(("n", "folds"), [(100, 2), (995, 2), (1000, 1)])
def test_that_widths_are_judged_on_folds_that_they_were_not_learned_on(n, folds, compared):
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


def test_that_widths_of_a_subset_are_judged_on_the_other_rows(compared, monkeypatch):
    Z, codes = layers(500)
    train, trained = selection.train, []
    monkeypatch.setattr(
        selection, "train", lambda rows, *rest, **more: trained.append(rows) or train(rows, *rest, **more)
    )
    _, found, (rows,) = compared(Z, codes, 1.0, 1.0, subset_size=200)
    assert np.array_equal(rows, stratified_subset(codes, 200, 0))
    assert all(np.array_equal(each, Z[rows]) for each in trained)
    assert found.chosen.n_held_out == 500 - len(rows)
    learned, median = found.chosen.candidates[-2:]
    assert (learned.kind, median.kind) == ("learned", "median")
    assert found.chosen.learned_error == learned.wrong / learned.n_rows


def test_that_equal_counts_in_all_folds_are_equal_whatever_their_order(compared, monkeypatch):
    Z, codes = layers(300)
    counts = {"learned": (2, 3), "median": (0, 5)}
    calls = []

    def wrong(self, factor, C, folds, progress):
        size = int(np.isin(self._folds, folds).sum())
        errors = np.zeros(size, bool)
        if len(folds) == 1:  # one held-out fold: first learned, then median widths
            kind, fold = ("learned", "median")[len(calls) % 2], folds[0]
            calls.append(kind)
            errors[: counts[kind][fold]] = True
        return errors, True

    monkeypatch.setattr(selection.CrossValidation, "wrong", wrong)
    _, found, _ = compared(Z, codes, 1.0, 1.0)
    assert len(calls) == 4
    assert found.chosen.learned_error == found.chosen.median_error == 5 / 120
    assert not found.chosen.guarded


def test_that_points_of_a_grid_with_equal_counts_over_the_folds_are_equal(monkeypatch):
    """Errors are summed, because means of fractions of 0 + 0 + 5 and 0 + 2 + 3 errors would differ by rounding."""
    by_C = {1.0: (0, 2, 3), 10.0: (0, 0, 5), 100.0: (2, 0, 3)}

    def wrong(self, factor, C, folds, progress):
        assert list(folds) == [0, 1, 2]
        return np.concatenate([np.arange(80) < count for count in by_C[C]]), True

    monkeypatch.setattr(selection.CrossValidation, "wrong", wrong)
    found = selection.median_width_search(*layers(240), SIZES, factors=(1.0,), Cs=tuple(by_C), n_folds=3)
    assert {point.error for point in found.points} == {5 / 240}
    assert found.C == 1.0


def test_that_equal_weights_of_errors_are_equal_whatever_their_order():
    weights = np.random.default_rng(0).random(1000)
    order = np.random.default_rng(1).permutation(1000)
    wrong = weights > 0.4
    assert selection._total(wrong, weights) == selection._total(wrong[order], weights[order])
    assert selection._total(wrong, weights) == math.fsum(weights[wrong])
    assert selection._total(wrong, None) == wrong.sum()


def test_that_classes_in_narrow_stripes_get_narrow_median_widths(compared):
    across = np.random.default_rng(0).random(150)
    codes = (across * 16.0).astype(int) % 2
    wide, found, _ = compared(np.outer(across, np.ones(12)), codes, 1.0, 10.0)
    assert found.chosen.guarded
    assert found.chosen.median_error < 0.15 < found.chosen.learned_error
    assert np.all(found.widths < 0.5 * wide)


def test_that_half_of_the_memory_is_for_kernel_values(compared, monkeypatch):
    Z, codes = layers(100)
    enough = 2 * least_memory(80)  # each training has four fifths of the rows
    sample = WidthsSample.of(Z, codes, SIZES, WidthOptions())
    monkeypatch.setattr(WidthsSample, "of", lambda *_, **__: sample)  # its distances need more memory
    compared(Z, codes, 1.0, 1.0, memory=enough)
    with pytest.raises(MemoryError, match="training on 80 points needs at least"):
        compared(Z, codes, 1.0, 1.0, memory=enough - 2)


@pytest.mark.parametrize("scale", [0.05, 1.0])
def test_that_a_given_C_is_kept_whoever_wins(scale, compared):
    assert compared(*layers(120), scale, 2.5, given=2.5)[1].C == 2.5


@pytest.mark.parametrize("subset_size", [2500, 60])
def test_that_candidates_that_are_cut_off_are_marked(subset_size, compared, monkeypatch):
    Z, codes = layers(150)
    *_, found, _ = compared(Z, codes, 1.0, 1.0, subset_size=subset_size)
    assert len(found.chosen.candidates) > 15
    assert all(each.converged for each in found.chosen.candidates)
    monkeypatch.setattr(selection, "_STEPS_A_ROW", 0)
    *_, found, _ = compared(Z, codes, 1.0, 1.0, subset_size=subset_size)
    assert not any(each.converged for each in found.chosen.candidates)


def test_that_a_class_of_too_few_rows_leaves_the_learned_widths_uncompared(compared):
    Z, _ = layers(30)
    for few in (1, 2):
        good, found, samples = compared(Z, (np.arange(30) < few).astype(int), 0.05, 3.0)
        assert found.widths == pytest.approx(good)
        assert (found.C, found.chosen.name, found.chosen.learned_error) == (3.0, "radius-margin", None)
        assert [len(rows) for rows in samples] == [30]


def test_that_a_part_on_which_nothing_can_be_learned_is_left_out(monkeypatch):
    Z, codes = layers(100)
    options, learn_on = WidthOptions(starts=1), selection.learn_on

    def on_all_rows_only(sample, *given, **more):
        if len(sample.rows) < 100:
            raise ValueError("no finite value")
        return learn_on(sample, *given, **more)

    monkeypatch.setattr(selection, "learn_on", on_all_rows_only)
    sample = WidthsSample.of(Z, codes, SIZES, options)
    found = choose_widths(Z, codes, SIZES, sample, options, SvmParameters(SIZES))
    assert (found.chosen.name, found.chosen.learned_error) == ("span", None)
    assert tuple(found.widths) == learn_on(sample, options).widths


def _hard(n):
    """Return two classes with a quarter of wrong labels, for which radius over margin falls towards narrow widths."""
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((n, 12))
    return Z, (Z[:, 0] + Z[:, 1] + Z[:, 6] > 0).astype(int) ^ (rng.random(n) < 0.25)


def test_that_a_criterion_that_collapses_is_overruled_and_the_default_learns():
    Z, y = _hard(1500)
    rows, rest = slice(300), slice(300, None)
    learned = learn_widths(Z[rows], y[rows], (6, 6), WidthOptions("radius-margin", starts=1))
    collapsed = MultiWidthSVC(2, learned.widths, C=learned.C).fit(Z[rows], y[rows])
    svm = MultiWidthSVC(2, criterion="radius-margin", starts=1, random_state=0).fit(Z[rows], y[rows])
    assert svm.chosen_by_ == GUARD
    assert svm.score(Z[rest], y[rest]) > collapsed.score(Z[rest], y[rest]) + 0.04
    default = MultiWidthSVC(2, starts=1, random_state=0).fit(Z[rows], y[rows])
    assert default.chosen_by_ == "span"
    assert default.score(Z[rest], y[rest]) > collapsed.score(Z[rest], y[rest]) + 0.04


def test_that_what_is_said_to_have_chosen_is_the_criterion_the_medians_or_the_person():
    Z, y = layers(60)
    assert MultiWidthSVC(SIZES, "median").fit(Z, y).chosen_by_ == "median widths"
    assert MultiWidthSVC(SIZES, (4.0, 3.0, 5.0)).fit(Z, y).chosen_by_ == "given"
    Z[:, 0] += 20.0 * y  # no kernel makes an error, so the learned widths win the tie
    assert MultiWidthSVC(SIZES, criterion="hold-out", starts=1, random_state=1).fit(Z, y).chosen_by_ == "hold-out"
    Z, y = three_classes(60)
    Z[:, 0] += 20.0 * y
    assert MultiWidthSVC(SIZES, starts=1, random_state=0).fit(Z, y).chosen_by_ == "press"


def test_that_exponents_are_the_weighted_sum_of_the_layers_distances():
    Z, codes = layers(300)
    sample = WidthsSample.of(Z, codes, SIZES, WidthOptions(subset_size=280, seed=3))
    assert np.array_equal(sample.rows, stratified_subset(codes, 280, 3))
    scaled = Z[sample.rows] / np.repeat([4.0, 3.0, 5.0], SIZES)
    wanted = np.square(scaled[:, None] - scaled[None]).sum(-1)
    np.testing.assert_allclose(sample.exponents(np.array([4.0, 3.0, 5.0])), wanted, rtol=1e-5, atol=1e-5)
