"""The expected duration of runs."""

from dataclasses import replace

import pytest

from slide_gui.experiments.runs.cost import (
    CostModel,
    RunKind,
    RunShape,
    peak_bytes,
    run_parts,
    typical_seconds,
)
from slide_gui.experiments.runs.spec import RunSpec
from tests.experiments.tiny import rectangles, spec

DATA = rectangles(100, 60)
SHAPE = RunShape(100, 40, 784, 2)


def test_that_data_method_layers_rows_start_widths_and_evaluation_define_the_kind_of_a_run():
    first = spec(DATA, 0.3, 2)
    assert RunKind.of(first, SHAPE) == RunKind(DATA.fingerprint, "slide-svm", 2, 100)
    assert RunKind.of(first, SHAPE).typical == typical_seconds(first, SHAPE)
    assert RunKind.of(replace(first, labels=30).checked(), SHAPE).rows == 30
    assert RunKind.of(replace(first, labels=300).checked(), SHAPE).rows == 100
    warm = replace(spec(DATA, 0.4, 2), neighbour=first).checked()
    assert RunKind.of(warm, SHAPE).warm
    assert not RunKind.of(replace(first, svm=replace(first.svm, widths="median")), SHAPE).learns
    split = replace(first, training="split", evaluate="validation").checked()
    assert RunKind.of(split, SHAPE).evaluate == "validation"


def test_that_the_nearest_kind_measured_is_of_the_same_method_widths_data_rows_and_layers():
    def seconds(*measured):
        model = CostModel()
        for number, kind in enumerate(measured):
            model.add(kind, 10.0 ** (number + 1))
        return model.seconds(RunKind("a", "slide-svm", 1, 100, typical=3.0))

    same = RunKind("a", "slide-svm", 1, 100, typical=1.0)
    assert seconds(replace(same, method="raw-svm"), replace(same, data="b")) == pytest.approx(3 * 100.0)
    assert seconds(replace(same, learns=False), replace(same, data="b")) == pytest.approx(3 * 100.0)
    assert seconds(replace(same, data="b"), replace(same, rows=200)) == pytest.approx(3 * 100.0)
    assert seconds(replace(same, rows=300), replace(same, rows=40)) == pytest.approx(3 * 100.0)
    assert seconds(replace(same, rows=150), replace(same, layers=5)) == pytest.approx(3 * 100.0)
    assert seconds(replace(same, layers=2), replace(same, warm=True)) == pytest.approx(3 * 100.0)
    assert seconds(replace(same, warm=True), replace(same, typical=6.0)) == pytest.approx(50.0)
    assert seconds() == 3.0


def test_that_the_median_of_all_measurements_counts_including_later_ones():
    model, kind = CostModel(), RunKind("a", "slide-svm", 1, 100)
    for seconds in (1.0, 2.0, 60.0):
        model.add(kind, seconds)
    assert model.seconds(kind) == 2.0
    kinds = {kind: 2, replace(kind, layers=3, typical=2.0): 1}
    assert model.left(kinds, kind, 0.25, 0.0, None) == pytest.approx(2 + 2 + 4 - 0.5)
    model.add(kind, 1.0)
    assert model.seconds(kind) == 1.5


def test_that_the_first_run_corrects_the_estimate_more_as_it_progresses():
    model, kind = CostModel(), RunKind("a", "slide-svm", 1, 100, typical=10.0)
    assert model.total([kind] * 4) == 40.0
    # The run is four times as slow: half of it corrects its rest by half, and the three runs after it by 4 ** 0.5.
    assert model.left({kind: 4}, kind, 0.5, 20.0, 20.0) == pytest.approx(5.0 + 0.5 * (20.0 - 5.0) + 2.0 * 30.0)
    assert model.left({kind: 4}, kind, 1.0, 40.0, 0.0) == pytest.approx(4.0 * 30.0)
    model.add(kind, 40.0)
    assert model.left({kind: 3}, kind, 0.5, 100.0, 20.0) == pytest.approx(40.0 * 2.5)
    other = replace(kind, method="median")
    assert model.left({other: 1, kind: 3}, other, 0.5, 10.0, 0.0) == pytest.approx(10.0 + 3 * 40.0)


def test_that_another_method_is_estimated_by_the_median_ratio_of_those_that_learn_widths_as_it_does():
    model, kind = CostModel(), RunKind("a", "slide-svm", 1, 100, typical=10.0)
    for number, seconds in enumerate((5.0, 80.0, 6.0)):
        model.add(replace(kind, method=f"method {number}"), seconds)
    model.add(replace(kind, method="raw-svm", learns=False), 1.0)
    assert model.seconds(kind) == pytest.approx(6.0)
    assert model.seconds(replace(kind, learns=False)) == pytest.approx(1.0)


def test_that_the_parts_of_a_run_follow_its_work():
    learned = spec(DATA, 0.3, 2)
    fitting, learning, evaluating = run_parts(learned, SHAPE)
    assert min(fitting, learning, evaluating) > 0.0
    assert run_parts(learned, replace(SHAPE, test_rows=10_000_000))[2] > 9.0 * (fitting + learning)
    assert run_parts(learned, replace(SHAPE, columns=8000))[0] > learning


@pytest.mark.parametrize("method", ["slide-svm", "median", "raw-svm"])
def test_that_more_rows_take_longer(method):
    def seconds(rows):
        return typical_seconds(RunSpec("ab" * 32, method=method).checked(), RunShape(rows, 1_000, 784, 2))

    assert 0.0 < seconds(1_000) < seconds(3_000) < seconds(9_000)


def test_that_the_peak_memory_of_a_run_on_mnist_exceeds_its_features_and_falls_with_its_rows():
    mnist, wanted = RunShape(60_000, 10_000, 784, 10), spec(DATA, 0.3, 1)
    features = 4 * 60_000 * 784 * 2
    assert 2 * features < peak_bytes(wanted, mnist) < 4e9
    assert peak_bytes(replace(wanted, labels=500).checked(), mnist) < 200e6
    assert peak_bytes(wanted, SHAPE) < 50e6
