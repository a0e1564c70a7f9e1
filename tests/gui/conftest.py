"""A window on small data, for the tests of what it shows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from slide_gui.data.dataset import Dataset
from slide_gui.gui.main_window import MainWindow
from slide_gui.gui.state.jobs import _Job
from slide_gui.gui.teardown import tear_down
from slide_gui.gui.theme import apply_theme
from tests.gui.given import Given, dataset, wait


@pytest.fixture
def data() -> Dataset:
    """Return what `window` is opened on; a module may put its own in its place."""
    return dataset()


@pytest.fixture
def faults() -> list[tuple[str, str]]:
    """Return what went wrong inside the program; a test that wants something to takes it out again."""
    return []


@pytest.fixture
def every_payload(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a job go on only once the window has taken what it reported, so that nothing it says is passed over."""
    report = _Job.report

    def waiting(job: _Job, fraction: float, payload: object = None) -> None:
        report(job, fraction, payload)
        while payload is not None and job.payload is payload and not job.unwanted.is_set():
            time.sleep(0.001)

    monkeypatch.setattr(_Job, "report", waiting)


@pytest.fixture
def closed_window(app: QApplication, tmp_path: Path, faults: list[tuple[str, str]]) -> Iterator[MainWindow]:
    """Return a window that was not shown yet; at the end there must be no fault."""
    window = MainWindow(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat), tmp_path / "runs.sqlite")
    window.faults.reported.connect(lambda *fault: faults.append(fault))
    yield window
    tear_down(window)
    apply_theme(app, "light")
    assert not faults


@pytest.fixture
def window(closed_window: MainWindow, data: Dataset) -> MainWindow:
    """Return a window that shows `data`, all layers fitted."""
    closed_window.resize(1280, 720)
    closed_window.show()
    closed_window.workspace.open(Given(data))
    wait(lambda: closed_window.workspace.model() is not None and not closed_window.lane.busy)
    return closed_window
