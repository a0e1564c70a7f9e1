"""A benchmark prints its figures as ratios, and finds work that is slow to cancel."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slide_gui.progress import Progress
from tests.bench import measurement
from tests.bench.runs import _waits


def test_that_a_benchmark_prints_its_figure_as_a_ratio() -> None:
    command = [sys.executable, "-m", "tests.bench", "--small", "noise-path"]
    environment = {**os.environ, "SLIDE_GUI_DATA": ""}
    done = subprocess.run(command, cwd=Path(__file__).parents[2], env=environment, capture_output=True, text=True)
    line, total = done.stdout.splitlines()
    assert " noise-path: " in line
    assert " × " in line
    assert total.split(" of ")[1].startswith("1 bounds kept")


def test_that_a_late_cancel_shows_and_work_that_ended_before_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement, "SMALL", True)

    def slow(progress: Progress) -> None:
        for _ in range(3):
            time.sleep(0.03)
            progress.report(0.0)

    waits = _waits(slow, 1.0)
    assert len(waits) == 2
    assert max(waits) > 5.0
    assert min(waits) >= 0.0
