"""How the widths of a run are chosen: by a grid on some rows, or from where a neighbour ended."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slide_gui.core.svm.kernel import median_distances
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.selection import fit_svm, median_width_search
from slide_gui.core.svm.training import TrainingSet
from slide_gui.experiments.runs import fitting
from slide_gui.experiments.runs.fitting import model_of, train_svm
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.splits import stratified_sample
from slide_gui.progress import NO_PROGRESS
from tests.core.svm_data import layers
from tests.experiments.tiny import rectangles, spec

DATA = rectangles(60, 40)
Z, CODES = layers(90)


def test_that_a_grid_is_searched_on_a_stratified_sample_and_all_rows_are_trained_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fitting, "_GRID_ROWS", 50)
    own = spec(DATA, method="median", seed=3)
    model, found = train_svm(Z, CODES, (4, 3, 5), own, None, NO_PROGRESS)
    rows = np.sort(stratified_sample(CODES, 50, 3))
    grid = median_width_search(TrainingSet(Z[rows], CODES[rows], (4, 3, 5)), SvmParameters(seed=3))
    assert found.grid == grid.points
    assert (found.widths, found.C) == (pytest.approx(grid.widths), grid.C)
    assert found.medians == pytest.approx(median_distances(Z, (4, 3, 5), seed=3))
    assert model.support.max() >= 50
    assert found.history == ()


def test_that_a_given_C_is_the_only_one_of_the_grid_and_the_loss_is_the_runs() -> None:
    _, found = train_svm(Z, CODES, (12,), spec(DATA, method="raw-svm", C=7.0, loss="hinge"), None, NO_PROGRESS)
    assert {point.C for point in found.grid} == {7.0}
    grid = median_width_search(TrainingSet(Z, CODES, (12,)), SvmParameters(C=7.0, loss="hinge"))
    assert found.grid == grid.points
    assert np.abs(found.coefficients).max() <= 7.0 + 1e-9  # the hinge's box


def test_that_a_run_starts_where_its_neighbour_ended_scaled_by_the_medians(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(fitting, "fit_svm", lambda *a, **k: asked.append((a[2], k["start"])) or fit_svm(*a, **k))
    near = run(DATA, spec(DATA, noise=0.3))
    own = near.classifier
    assert own is not None
    asked.clear()
    scaled = (Z[:, :4], 2.0 * Z[:, 4:8])  # D of the second layer is four times as large as it was
    rows = np.hstack(scaled)
    medians = median_distances(rows, (4, 4))
    known = replace(own, medians=(float(medians[0]), float(medians[1]) / 4.0), widths=(3.0, 5.0))
    train_svm(rows, CODES, (4, 4), spec(DATA), replace(near, classifier=known), NO_PROGRESS)
    ((parameters, start),) = asked
    assert parameters.near == (pytest.approx((3.0, 10.0)), own.C)
    np.testing.assert_array_equal(start.coefficients, own.coefficients)
    np.testing.assert_array_equal(start.support, own.support)
    constant = replace(known, medians=(0.0, known.medians[1]))
    train_svm(rows, CODES, (4, 4), spec(DATA), replace(near, classifier=constant), NO_PROGRESS)
    assert asked[1][0].near == (pytest.approx((3.0, 10.0)), own.C)
    train_svm(rows, CODES, (4, 4), spec(DATA), None, NO_PROGRESS)
    assert (asked[2][0].near, asked[2][1]) == (None, None)


def test_that_a_classifier_is_the_model_and_gives_it_back() -> None:
    model, own = train_svm(Z, CODES, (4, 3, 5), spec(DATA, widths=(4.0, 3.0, 5.0), C=2.0), None, NO_PROGRESS)
    assert (own.widths, own.shares, own.C, own.gap) == (model.widths, model.shares, model.C, model.gap)
    assert (own.converged, own.dtype) == (model.converged, model.vectors.dtype.name)
    again = model_of(own, model.embedding, model.vectors, 2)
    np.testing.assert_array_equal(again.predict(Z), model.predict(Z))
    np.testing.assert_array_equal(again.margins(Z), model.margins(Z))
    assert (again.shares, again.C, again.n_classes, again.steps) == (model.shares, 2.0, 2, 0)
