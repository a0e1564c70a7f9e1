import numpy as np
import pytest

from slide_gui.core.sampling import stratified_subset
from slide_gui.core.svm import selection
from slide_gui.core.svm.decomposition import least_memory
from slide_gui.core.svm.estimator import MultiWidthSVC
from slide_gui.core.svm.parameters import GUARD
from slide_gui.core.svm.selection import guarded
from slide_gui.core.svm.widths import LearnedWidths, WidthOptions, WidthsSample, WidthsStep, learn_widths
from tests.core.svm_data import layers, three_classes

SIZES = (4, 3, 5)


def _guarded(Z, codes, scale, C, given=None, squared=True):
    """What the guard makes of learned widths that are the median ones times a scale; those, too."""
    sample = WidthsSample.of(Z, codes, SIZES, WidthOptions())
    widths = tuple((scale * np.sqrt(3.0 * sample.medians)).tolist())
    step = WidthsStep(0, 0, 0.0, widths, (0.2, 0.3, 0.5), C, 0)
    learned = LearnedWidths("radius-margin", step, (step,), sample.rows)
    return np.array(widths), *guarded(sample, learned, squared=squared, C=given)


@pytest.mark.parametrize("make", [layers, three_classes])
@pytest.mark.parametrize("squared", [True, False])
def test_that_collapsed_widths_are_overruled_and_good_ones_kept(make, squared):
    Z, codes = make(80)
    collapsed, widths, _, chosen = _guarded(Z, codes, 0.05, 0.5, squared=squared)
    assert (chosen.guarded, chosen.name) == (True, GUARD)
    assert chosen.median_error < chosen.learned_error
    assert np.ptp(widths / collapsed) < 1e-9
    assert widths[0] > 2.0 * collapsed[0]
    good, widths, _, chosen = _guarded(Z, codes, 1.0, 1.0, squared=squared)
    assert (chosen.guarded, chosen.name) == (False, "radius-margin")
    assert widths == pytest.approx(good)


def test_that_classes_in_narrow_stripes_get_narrow_median_widths():
    across = np.random.default_rng(0).random(150)
    codes = (across * 16.0).astype(int) % 2
    wide, widths, _, chosen = _guarded(np.outer(across, np.ones(12)), codes, 1.0, 10.0)
    assert chosen.guarded
    assert chosen.median_error < 0.1 < chosen.learned_error
    assert np.all(widths < 0.5 * wide)


def test_that_half_of_the_memory_is_for_kernel_values():
    sample = WidthsSample.of(*layers(100), SIZES, WidthOptions())
    step = WidthsStep(0, 0, 0.0, (4.0, 3.0, 5.0), (0.2, 0.3, 0.5), 1.0, 0)
    learned = LearnedWidths("span", step, (step,), sample.rows)
    enough = 2 * least_memory(80)  # trainings have four fifths of the rows
    guarded(sample, learned, squared=True, memory=enough)
    with pytest.raises(MemoryError, match="training on 80 points needs at least"):
        guarded(sample, learned, squared=True, memory=enough - 2)


def test_that_equals_go_to_the_learned_widths_at_the_learned_C():
    Z, codes = layers(100)
    Z[:, 0] += 20.0 * codes  # so far apart that no kernel errs
    good, widths, C, chosen = _guarded(Z, codes, 0.7, 7.0)
    assert (chosen.learned_error, chosen.median_error, chosen.guarded) == (0.0, 0.0, False)
    assert widths == pytest.approx(good)
    assert C == 7.0


@pytest.mark.parametrize("scale", [0.05, 1.0])
def test_that_a_given_C_is_kept_whoever_wins(scale):
    assert _guarded(*layers(120), scale, 2.5, given=2.5)[2] == 2.5


@pytest.mark.parametrize("squared", [True, False])
def test_that_the_rows_that_one_of_both_gets_wrong_decide(squared, monkeypatch):
    n, judged = 600, []
    Z, codes = layers(n)

    class Judge(selection.CrossValidation):
        """Gets the first tenth of all rows wrong, with the one widths as with the other."""

        def wrong(self, factor, C, folds, progress):
            judged.append(len(list(folds)))
            return np.flatnonzero(np.isin(self._folds, folds)) < n // 10

    monkeypatch.setattr(selection, "CrossValidation", Judge)
    monkeypatch.setattr(selection, "_MARGIN", -1e-9)
    *_, chosen = _guarded(Z, codes, 0.3, 1.0, squared=squared)
    assert min(judged) < 5  # some were judged on the first folds only
    assert chosen.learned_error == chosen.median_error == 0.1
    assert not chosen.guarded


def test_that_a_class_of_one_row_leaves_the_learned_widths_alone():
    Z, codes = layers(30)
    codes = (np.arange(30) == 7).astype(int)
    good, widths, C, chosen = _guarded(Z, codes, 0.05, 3.0)
    assert widths == pytest.approx(good)
    assert (C, chosen.name, chosen.learned_error) == (3.0, "radius-margin", None)


def _hard(n):
    """Two classes of which a quarter have the wrong label: radius over margin falls towards narrow widths."""
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
    assert MultiWidthSVC(SIZES, criterion="hold-out", starts=1, random_state=0).fit(Z, y).chosen_by_ == "hold-out"
    Z, y = three_classes(60)
    assert MultiWidthSVC(SIZES, starts=1, random_state=0).fit(Z, y).chosen_by_ == "press"


def test_that_exponents_are_the_weighted_sum_of_the_layers_distances():
    Z, codes = layers(300)
    sample = WidthsSample.of(Z, codes, SIZES, WidthOptions(subset_size=280, seed=3))
    assert np.array_equal(sample.rows, stratified_subset(codes, 280, 3))
    scaled = Z[sample.rows] / np.repeat([4.0, 3.0, 5.0], SIZES)
    wanted = np.square(scaled[:, None] - scaled[None]).sum(-1)
    np.testing.assert_allclose(sample.exponents(np.array([4.0, 3.0, 5.0])), wanted, rtol=1e-5, atol=1e-5)
