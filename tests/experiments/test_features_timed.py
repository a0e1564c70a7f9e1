"""Seconds of feature generation: of a run that did all of it, else measured for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.evaluation import run as benchmark_module
from slide_gui.experiments.evaluation.protocol import CellPlan
from slide_gui.experiments.evaluation.run import run_evaluation
from slide_gui.experiments.runs.fitting import Reuse
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.store.store import RunStore
from tests.experiments.tiny import rectangles

DATA = rectangles(80, 50)
CELL = CellPlan("rectangles", "slide-svm", 1, (("noise", (0.4,)), ("depth", (1,))), widths="median", C=10.0)


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
