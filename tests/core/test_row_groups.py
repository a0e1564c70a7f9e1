"""Rows of one group stay together wherever widths and C are selected."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slide_gui.core.sampling import deal_folds, held_out_mask
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.selection import C_GRID, fit_svm, median_width_search, tune
from slide_gui.core.svm.training import TrainingSet

SIZES = (3, 2)


def repeated_rows(n_groups=24, copies=5):
    """Return groups of nearly equal rows with a random class, so that only rows of the same group predict it."""
    random = np.random.default_rng(5)
    centres = random.normal(size=(n_groups, sum(SIZES)))
    groups = np.repeat(np.arange(n_groups), copies)
    Z = centres[groups] + 1e-3 * random.normal(size=(len(groups), sum(SIZES)))
    return Z.astype(np.float32), random.permutation(np.arange(n_groups) % 2)[groups], groups


Z, CODES, GROUPS = repeated_rows()
PARAMETERS = SvmParameters(groups=SIZES)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), min_size=2, max_size=60),
    st.integers(0, 3),
)
def test_that_folds_hold_whole_groups_and_every_fold_trains_on_every_class(rows, seed):
    codes, groups = (np.array(each) for each in zip(*rows, strict=True))
    folds = deal_folds(codes, groups, seed)
    assert all(len(np.unique(folds[groups == group])) == 1 for group in groups)
    for fold in np.unique(folds[folds >= 0]):
        assert set(codes[folds != fold]) == set(codes)
    mask = held_out_mask(codes, seed, None, groups)
    assert not set(groups[mask]) & set(groups[~mask])
    assert set(codes[~mask]) == set(codes)


def test_that_no_row_is_held_out_if_another_row_of_its_group_must_not_be():
    allowed = np.ones(len(GROUPS), bool)
    allowed[::7] = False
    mask = held_out_mask(CODES, 0, allowed, GROUPS)
    assert not set(GROUPS[mask]) & set(GROUPS[~allowed])


@pytest.mark.parametrize("criterion", ["span", "hold-out", "press", "radius-margin"])
def test_that_learned_and_median_widths_are_compared_on_other_groups(criterion):
    parameters = SvmParameters(groups=SIZES, criterion=criterion, starts=1)
    alone = fit_svm(Z, CODES, parameters).trained.chosen
    assert alone.learned_error < 0.05
    apart = fit_svm(Z, CODES, parameters, row_groups=GROUPS).trained.chosen
    assert min(apart.learned_error, apart.median_error) > 0.3


def test_that_a_grid_search_is_cross_validated_on_other_groups():
    alone, apart = (
        min(point.error for point in median_width_search(TrainingSet(Z, CODES, SIZES, None, groups), PARAMETERS).grid)
        for groups in (None, GROUPS)
    )
    assert alone < 0.05 < 0.3 < apart


def test_that_C_is_tuned_on_other_groups(monkeypatch):
    evaluated = []

    def take_rows(rows, chosen, progress):
        evaluated.append(set(GROUPS[chosen]))
        return rows[chosen]

    monkeypatch.setattr("slide_gui.core.svm.training.take_rows", take_rows)
    given = TrainingSet(Z, CODES, SIZES, None, GROUPS), np.ones(2), (1.0,), C_GRID, PARAMETERS
    tune(*given)
    trained_on, evaluated_on, *_ = evaluated
    assert evaluated_on
    assert not trained_on & evaluated_on
    seen = np.arange(0, len(Z), 5)  # a row of every group, so that no group remains to evaluate on
    assert tune(*given, learned_on=seen) == (1.0, C_GRID[0])


def test_that_a_class_of_one_group_is_trained_on_and_never_held_out():
    codes = np.where(GROUPS == 0, 2, CODES)
    model = fit_svm(Z, codes, SvmParameters(groups=SIZES, starts=1), row_groups=GROUPS)
    assert np.array_equal(np.unique(model.predict(Z)), [0, 1, 2])
