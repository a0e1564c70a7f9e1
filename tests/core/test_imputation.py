"""Missing cells are filled by the Gaussian conditional expectation, estimated by EM."""

import numpy as np
import pytest
from sklearn import datasets
from sklearn.pipeline import make_pipeline

from slide_gui import LinearImputer, MultiWidthSVC
from slide_gui.core import imputation
from slide_gui.core.imputation import hidden_cell_errors
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter


def _with_missing(X, share=0.2, seed=0):
    missing = np.random.default_rng(seed).random(X.shape) < share
    return np.where(missing, np.nan, X), missing


def _correlated(n=120, d=7, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, d)) @ random.normal(size=(d, d)) * 3.0 + 10.0


def _conditional(S, x, missing, ridge):
    """Return the conditional mean and covariance, computed literally by the formula."""
    S_OO = S[np.ix_(~missing, ~missing)] + ridge * np.eye(int((~missing).sum()))
    B = S[np.ix_(missing, ~missing)] @ np.linalg.inv(S_OO)
    return B @ x[~missing], S[np.ix_(missing, missing)] - B @ S[np.ix_(~missing, missing)]


def _literal_em(X, passes, ridge):
    """Return the mean and covariance of the scaled columns, and the scaling, computed by loops over rows."""
    offset, scale = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    Z, (n, d) = (X - offset) / scale, X.shape
    mean, S = np.zeros(d), np.eye(d)
    for _ in range(passes):
        filled, conditional = np.array(Z), np.zeros((d, d))
        for row in range(n):
            missing = np.isnan(Z[row])
            if missing.any():
                cells, C = _conditional(S, Z[row] - mean, missing, ridge)
                filled[row, missing] = mean[missing] + cells
                conditional[np.ix_(missing, missing)] += C
        mean = filled.mean(axis=0)
        S = ((filled - mean).T @ (filled - mean) + conditional) / n
    return offset + scale * mean, S, scale


@pytest.mark.parametrize("passes", [1, 2, 8])
def test_that_em_equals_a_loop_over_rows(passes):
    X, _ = _with_missing(_correlated())
    imputer = LinearImputer(max_iter=passes, ridge=0.01).fit(X)
    mean, S, scale = _literal_em(X, passes, 0.01)
    np.testing.assert_allclose(imputer.mean_, mean, rtol=1e-10)
    np.testing.assert_allclose(imputer.scale_, scale, rtol=1e-10)
    np.testing.assert_allclose(imputer.covariance_, S, atol=1e-10)
    assert imputer.n_iter_ == passes


def test_that_complete_rows_give_mean_and_covariance_in_one_pass_and_their_number_the_default_ridge():
    X = _correlated(n=100, d=5)
    imputer = LinearImputer().fit(X)
    assert imputer.n_iter_ == 1
    np.testing.assert_allclose(imputer.mean_, X.mean(axis=0))
    np.testing.assert_allclose(imputer.covariance_, np.corrcoef(X.T), atol=1e-12)
    assert [LinearImputer(ridge=each).fit(X).ridge_ for each in (None, 0.0, 0.5)] == [5 / 500, 1e-9, 0.5]
    assert (imputer.transform(X) == X).all()


def test_that_rows_of_low_rank_are_filled_exactly():
    random = np.random.default_rng(0)
    basis = random.normal(size=(3, 12))
    X = random.normal(size=(200, 3)) @ basis + 5.0
    imputer = LinearImputer(ridge=1e-9).fit(X)
    new = random.normal(size=(50, 3)) @ basis + 5.0
    holes, _ = _with_missing(new, 0.5)
    enough = np.isfinite(holes).sum(axis=1) >= 4
    np.testing.assert_allclose(imputer.transform(holes[enough]), new[enough], atol=1e-4)
    holes, missing = _with_missing(X, 0.1)
    filled = LinearImputer(max_iter=60, ridge=1e-9).fit_transform(holes)
    assert np.abs(filled - X)[missing].max() < 1e-3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_that_known_cells_keep_their_bits_and_rows_their_type(dtype):
    X, missing = _with_missing(_correlated().astype(dtype))
    filled = LinearImputer().fit_transform(X)
    assert filled.dtype == dtype
    assert np.isfinite(filled).all()
    assert filled[~missing].tobytes() == X[~missing].tobytes()


def test_that_constant_and_empty_columns_and_rows_are_filled_with_constants():
    X, _ = _with_missing(_correlated())
    X[:, 1], X[:5, 1] = 0.1, np.nan
    X[:, 2] = np.nan
    X[0] = np.nan
    imputer = LinearImputer().fit(X)
    filled = imputer.transform(X)
    assert (filled[:, 1:3] == [0.1, 0.0]).all()
    np.testing.assert_allclose(filled[0, 3:], imputer.mean_[3:])
    assert imputer.scale_[1] == imputer.scale_[2] == 1.0


def test_that_huge_and_tiny_columns_are_filled_as_well_as_others():
    X, _ = _with_missing(_correlated())
    unit = np.array([1.0, 1e200, 1e-200, 1.0, 1e30, 1e-30, 1.0])
    expected = LinearImputer().fit_transform(X)
    np.testing.assert_allclose(LinearImputer().fit_transform(X * unit), expected * unit, rtol=1e-6)
    np.testing.assert_allclose(*(hidden_cell_errors(LinearImputer(), each) for each in (X, X * unit)), rtol=1e-6)
    steep = LinearImputer(ridge=1e-9).fit(np.outer(np.arange(9), [1, 1000]).astype(np.float32))
    assert steep.transform(np.array([[1e37, np.nan]], np.float32))[0, 1] == np.finfo(np.float32).max


@pytest.mark.parametrize(
    ("load", "best"), [("breast_cancer", 0.45), ("wine", 0.8), ("diabetes", 0.75), ("digits", 0.7)]
)
def test_that_real_tables_are_filled_better_than_by_means_and_by_the_denoiser(load, best):
    X = getattr(datasets, f"load_{load}")().data
    X = X[:, X.std(axis=0) > 0]
    holes, missing = _with_missing(X, 0.2)
    imputer, means = LinearImputer().fit(holes), np.nanmean(holes, axis=0)

    def error(filled):
        return np.sqrt(np.mean((((filled - X) / X.std(axis=0))[missing]) ** 2))

    S, Z = imputer.covariance_, np.nan_to_num((holes - imputer.mean_) / imputer.scale_)
    Z = Z @ np.linalg.solve(0.8 * S + np.diag(0.2 * np.diag(S) + imputer.ridge_), S)
    errors = [error(each) for each in (imputer.transform(holes), imputer.mean_ + imputer.scale_ * Z, means + 0 * X)]
    assert errors == sorted(errors)
    assert errors[0] < best
    assert errors[1] > 1.1 * errors[0]


def test_that_hidden_cells_measure_the_error_of_missing_cells():
    X = _correlated(n=2000, d=6)
    X[:, 5] = 3.0
    holes, missing = _with_missing(X, 0.1)
    listener = StopAfter()
    counts, errors, mean_errors = hidden_cell_errors(LinearImputer(), holes, share=0.02, progress=listener)
    filled = LinearImputer().fit_transform(holes)
    scale = np.nanstd(holes, axis=0)
    true = [np.sqrt(np.mean(((filled - X)[missing[:, k], k] / scale[k]) ** 2)) for k in range(5)]
    np.testing.assert_allclose(errors, [*true, np.nan], rtol=0.3)
    np.testing.assert_allclose(mean_errors, [1.0] * 5 + [np.nan], rtol=0.3)
    assert counts.tolist() == [*np.rint(0.02 * (~missing[:, :5]).sum(axis=0)), 0]
    assert listener.fractions == sorted(listener.fractions)
    assert 0.9 < listener.fractions[-1] < 1.0


def test_that_hidden_cells_take_no_part_in_the_fit_and_only_columns_with_three_known_cells_have_errors():
    X = _correlated(n=60, d=3)
    X[:, 2] = np.random.default_rng(5).normal(size=60)
    X[7, 2] = 1e6  # the other cells cannot predict this value
    errors = [hidden_cell_errors(LinearImputer(), X, 0.3, seed)[1][2] for seed in range(12)]
    assert max(errors) > 1.5
    X = _correlated(n=6, d=2)
    X[3:, 0], X[2:, 1] = np.nan, np.nan
    assert hidden_cell_errors(LinearImputer(), X)[0].tolist() == [1, 0]
    for X in (np.array([[1.0, np.nan]]), np.full((4, 2), np.nan)):
        counts, errors, _ = hidden_cell_errors(LinearImputer(), X)
        assert not counts.any()
        assert np.isnan(errors).all()
        assert np.isfinite(LinearImputer().fit_transform(X)).all()


def test_that_too_many_patterns_are_refused_at_once(monkeypatch):
    X, missing = _with_missing(_correlated())
    imputer = LinearImputer(max_iter=5).fit(X)
    patterns, rows = np.unique(missing[missing.any(axis=1)], axis=0, return_counts=True)
    k = patterns.sum(axis=1)
    work = np.sum(k**3 + rows * k * (7 + k) + 300_000)
    message = rf"the missing cells form {len(k)} different patterns in 7 columns.* give fewer rows, or leave out"
    for fill, most in ((imputer.transform, work), (imputer.fit, 5 * work)):
        monkeypatch.setattr(imputation, "MOST_WORK", most)
        fill(X)
        monkeypatch.setattr(imputation, "MOST_WORK", most - 1)
        with pytest.raises(ValueError, match=message):
            fill(X)


@pytest.mark.parametrize(
    ("X", "wrong", "message"),
    [
        ([[1.0, np.inf], [2.0, 2.0]], {}, "infinity"),
        ([[1e308], [1.1e308]], {}, "overflow"),
        *(([[1.0]], {"max_iter": wrong}, "max_iter") for wrong in (0, 1.5)),
        *(([[1.0]], {"ridge": wrong}, "ridge") for wrong in (-1.0, "small")),
    ],
)
def test_that_infinity_and_parameters_out_of_range_are_refused(X, wrong, message):
    with pytest.raises(ValueError, match=message):
        LinearImputer(**wrong).fit(X)


def test_that_a_fit_reports_increasing_progress_and_can_be_cancelled():
    X, missing = _with_missing(_correlated(n=300, d=20))
    listener, n = StopAfter(), 8 * len(np.unique(missing[missing.any(axis=1)], axis=0))  # patterns in all passes
    imputer = LinearImputer().fit(X, progress=listener)
    assert listener.complete
    assert np.unique(np.round(listener.fractions, 9)) == pytest.approx(np.arange(n + 1) / n)
    with pytest.raises(Cancelled):
        imputer.fit(X, progress=StopAfter(fraction=0.3))


def test_that_the_imputer_keeps_column_names_and_works_in_a_pipeline():
    X, y = datasets.load_iris(return_X_y=True, as_frame=True)
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    assert list(LinearImputer().set_output(transform="pandas").fit_transform(holes).columns) == list(X.columns)
    assert make_pipeline(LinearImputer(), MultiWidthSVC(widths="median", C=1.0)).fit(holes, y).score(X, y) > 0.9
