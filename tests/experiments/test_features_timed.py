"""Seconds of feature generation: of a run that did all of it, else measured for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.evaluation import run as benchmark_module
from slide_gui.experiments.evaluation.protocol import CellPlan
from slide_gui.experiments.evaluation.run import run_evaluation
from slide_gui.experiments.runs import fitting
from slide_gui.experiments.runs.fitting import Reuse, feature_seconds
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps.executor import Pause
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter
from tests.experiments.tiny import rectangles, spec

DATA = rectangles(80, 50)
CELL = CellPlan("rectangles", "slide-svm", 1, (("noise", (0.4,)), ("depth", (1,))), widths="median", C=10.0)


def test_that_seconds_are_those_of_the_fit_and_of_the_features_of_the_training_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, transformed = iter([100.0, 107.0]), []

    class Fitted:
        def transform(self, rows: object, progress: object) -> None:
            transformed.append(rows)

    asked = []
    monkeypatch.setattr(fitting.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(fitting, "fit_stack", lambda *a, **k: asked.append(a) or Fitted())
    own = spec(DATA, 0.4, 2)
    assert feature_seconds(DATA, own) == 7.0
    assert asked == [(DATA.train, own.stack)]
    assert transformed == [DATA.train]


def test_that_timing_can_be_cancelled() -> None:
    with pytest.raises(Cancelled):
        feature_seconds(DATA, spec(DATA, 0.4, 2), progress=StopAfter(2))


def test_that_a_shared_fit_is_not_timed_and_the_evaluation_times_it_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(_key: str, _progress: object) -> Dataset:
        return DATA

    final = CELL.final(CELL.candidates(DATA.fingerprint, "rectangles", 0)[0]).spec
    alone, shared = run(DATA, final), run(DATA, final, reuse=Reuse(deepest=3))
    assert alone.timings.features is not None
    assert shared.timings.features is None
    monkeypatch.setattr(benchmark_module, "feature_seconds", lambda *_a, **_k: 42.0)
    for result, expected in ((shared, 42.0), (alone, alone.timings.features)):
        with RunStore(tmp_path / f"{expected}.sqlite") as store:
            store.save(result)
            (cell,) = run_evaluation([CELL], load, store).cells
        assert cell.features == pytest.approx(expected)
        assert [each.spec_hash for each in cell.answers] == [final.hash]


def test_that_what_is_held_is_known() -> None:
    reuse, parameters = Reuse(deepest=2), StackParameters(noise=0.4, depth=2)
    assert not reuse.holds(DATA, parameters)
    assert reuse.holds(DATA, StackParameters(noise=0.4, depth=1))  # more layers than asked for are fitted
    reuse.stack(DATA, parameters)
    assert reuse.holds(DATA, parameters)
    assert reuse.holds(DATA, StackParameters(noise=0.6, depth=2))  # the first pass serves any noise
    assert not reuse.holds(rectangles(80, 50, seed=1), parameters)


def test_that_a_pause_holds_until_it_is_resumed() -> None:
    pause = Pause()
    assert not pause.paused
    assert pause.wait(0.0)
    pause.pause()
    assert pause.paused
    assert not pause.wait(0.0)
    pause.resume()
    assert not pause.paused
