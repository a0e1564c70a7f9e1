"""Seconds of feature generation: what is measured and what is scaled up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slide_gui.core.sda.model import TUTORIAL, SdaParameters
from slide_gui.experiments.evaluation import table
from slide_gui.experiments.evaluation.table import (
    Cell,
    DataInfo,
    EvaluationState,
    Extrapolated,
    SplitAnswer,
    extrapolated_seconds,
    time_rows,
)
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter
from tests.experiments.tiny import rectangles

PARAMETERS = SdaParameters((6,), pretraining_epochs=30)


def test_that_one_epoch_of_400_rows_is_scaled_to_all_epochs_and_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    data = rectangles(1000, 10)
    data = replace(data, train=np.ascontiguousarray(data.train * 2))
    clock, seen = iter([100.0, 103.0]), []
    monkeypatch.setattr(table.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(table, "pretrain", lambda rows, parameters, progress: seen.append((rows, parameters)))
    found = extrapolated_seconds(data, PARAMETERS)
    ((rows, parameters),) = seen
    assert parameters == replace(PARAMETERS, pretraining_epochs=1)
    assert rows.shape == (400, 64)
    assert (rows.min(), rows.max()) == (0.0, 1.0)
    assert found == Extrapolated(3.0 * 30 * 1000 / 400, 3.0, 400, PARAMETERS)


def test_that_fewer_rows_are_all_measured_at_the_tutorials_setting_and_can_be_cancelled() -> None:
    with pytest.raises(Cancelled):
        extrapolated_seconds(rectangles(20, 10), progress=StopAfter(1))
    found = extrapolated_seconds(rectangles(20, 10), replace(TUTORIAL, n_units=(3,), noise=0.1))
    assert found.rows == 20
    assert found.seconds == pytest.approx(found.measured * 15)


def _cell(method: str, features: float | None, chosen: str = "") -> Cell:
    answer = SplitAnswer(0, "h", chosen, 0.1, 100, 50, b"", None, features, 1.0)
    return Cell("rectangles", method, 1, (answer,))


def test_that_autoencoders_of_either_method_give_the_time_and_what_was_chosen() -> None:
    info = DataInfo("rectangles", "Rectangles", False, "ab" * 32, 1200, 50_000)

    def row(*cells: Cell) -> table.TimeRow:
        (found,) = time_rows(EvaluationState((info,), (), cells))
        return found

    both = row(_cell("slide-svm", 2.0), _cell("sda", 80.0, "that of SdA"), _cell("sda-svm", 60.0, "that of SdA-SVM"))
    assert (both.slide, both.sda, both.sda_chosen, both.speedup) == (2.0, 60.0, "that of SdA-SVM", 30.0)
    one = row(_cell("slide-svm", 2.0), _cell("sda", 80.0, "that of SdA"), _cell("sda-svm", None))
    assert (one.sda, one.sda_chosen) == (80.0, "that of SdA")
    assert (one.paper_slide, one.paper_sda, one.paper_speedup) == (5.0, 5400.0, 1080.0)
    none = row()
    assert (none.slide, none.sda, none.sda_chosen, none.speedup, none.tutorial_speedup) == (None, None, "", None, None)
    assert row(_cell("sda", 80.0)).speedup is None
