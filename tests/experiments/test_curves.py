"""Averages of sweeps and of runs with few labels, and what is gathered of a run while it goes on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.runs.spec import RunSpec, SweepPoint
from slide_gui.experiments.statistics import row_errors
from slide_gui.experiments.sweeps.curves import error_curves, label_curves, label_points
from slide_gui.experiments.sweeps.selection import PointResult
from tests.experiments.tiny import rectangles, spec

DATA = rectangles(60, 40)


def answer(noise: float, depth: int, error: float, split: int = 0, **changes: object) -> PointResult:
    own = spec(DATA, noise, depth, split=split, training="split", **changes)
    return PointResult(SweepPoint(noise, depth, split, 0, own), ErrorRate.of_run(error, 40), None, 1.0)


def test_that_a_curve_has_the_mean_over_the_splits_at_each_noise_and_depth() -> None:
    found = error_curves(
        DATA,
        [answer(0.6, 2, 0.3), answer(0.3, 2, 0.1), answer(0.3, 2, 0.2, 1), answer(0.3, 1, 0.4), answer(0.3, 2, 0.2, 1)],
    )
    assert (found.dataset, found.generated, found.method, found.evaluate) == ("tiny", True, "SLIDE-SVM", "test")
    assert found.depths == (1, 2)
    assert [(point.noise, point.depth) for point in found.points] == [(0.3, 1), (0.3, 2), (0.6, 2)]
    assert [point.noise for point in found.line(2)] == [0.3, 0.6]
    assert found.line(2)[0].rate == ErrorRate.of_splits([ErrorRate.of_run(error, 40) for error in (0.1, 0.2)])
    assert found.line(1)[0].rate == ErrorRate.of_run(0.4, 40)


def test_that_a_curve_of_runs_on_the_same_test_rows_has_the_interval_over_rows_and_splits() -> None:
    answers = []
    for split, wrong in enumerate(((1, 2, 3), (2, 3, 4, 5))):
        one = answer(0.3, 1, len(wrong) / 40, split)
        answers.append(replace(one, row_errors=row_errors("test", np.arange(40), np.array(wrong))))
    (found,) = error_curves(DATA, answers).points
    assert (found.rate.error, found.rate.covers) == (7 / 80, "rows and splits")


def test_that_curves_of_two_methods_or_parts_are_refused() -> None:
    one = answer(0.3, 1, 0.1)
    for other in (answer(0.3, 1, 0.1, method="median"), answer(0.3, 1, 0.1, evaluate="validation")):
        with pytest.raises(ValueError, match="got 2 combinations"):
            error_curves(DATA, [one, other])
    with pytest.raises(ValueError, match="got 0 combinations"):
        error_curves(DATA, [])


BASE = RunSpec(DATA.fingerprint, stack=StackParameters(noise=0.4, depth=2))


def test_that_labels_are_used_in_three_ways_by_number_and_seed() -> None:
    points = label_points(BASE, [40, 20, 20], [1, 0])
    assert [(p.spec.labels, p.seed) for p in points] == [(n, s) for n in (20, 40) for s in (0, 1) for _ in range(3)]
    assert [p.spec.method for p in points[:3]] == ["slide-svm", "slide-svm", "raw-svm"]
    assert [p.spec.fit_rows for p in points[:2]] == ["training", "labelled"]
    assert all(p.spec.seed == p.seed and p.depth == p.spec.stack.depth for p in points)
    assert [p.depth for p in points[:3]] == [2, 2, 0]


def test_that_label_curves_average_over_the_seeds() -> None:
    points = label_points(BASE, [20, 40], [0, 1])
    answers = [PointResult(p, ErrorRate.of_run((k % 7) / 10, 40), None, 1.0) for k, p in enumerate(points)]
    found = label_curves(DATA, answers[::-1])
    assert (found.dataset, found.evaluate, found.noise, found.depth) == ("tiny", "test", 0.4, 2)
    by_name = {line.name: line.points for line in found.lines}
    assert set(by_name) == {"SLIDE-SVM, fitted on all rows", "SLIDE-SVM, fitted on labelled rows", "Raw-SVM"}
    for way, name in enumerate(("SLIDE-SVM, fitted on all rows", "SLIDE-SVM, fitted on labelled rows", "Raw-SVM")):
        for number, point in enumerate(by_name[name]):
            errors = [(k % 7) / 10 for k in (6 * number + 3 + way, 6 * number + way)]
            assert point.labels == (20, 40)[number]
            assert point.rate.error == pytest.approx(np.mean(errors))
            assert point.rate.n_splits == 2


def test_that_label_curves_of_nothing_or_without_layers_are_refused() -> None:
    for counts, seeds in (((), (0,)), ((20,), ())):
        with pytest.raises(ValueError, match="labels or seeds are empty"):
            label_points(BASE, counts, seeds)
    for base in (replace(BASE, method="raw-svm"), replace(BASE, stack=StackParameters(depth=0))):
        with pytest.raises(ValueError, match="has no layers to fit without labels"):
            label_points(base, [20], [0])
    with pytest.raises(ValueError, match="no results on SLIDE's features to average"):
        label_curves(DATA, [])
