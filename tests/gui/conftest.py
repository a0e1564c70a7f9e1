"""Fixtures that open a window or a workspace on small data."""

import functools
import threading
from typing import Any

import pytest
from PySide6.QtCore import QSettings

from slide_gui.data import generators
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.evaluation.shipped import ShippedResults
from slide_gui.experiments.inspection import rows
from slide_gui.experiments.inspection.rows import Explorer
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.sweeps import executor
from slide_gui.gui.app import tear_down
from slide_gui.gui.shell.main_window import MainWindow
from slide_gui.gui.state import evaluation, library
from slide_gui.gui.state.jobs import JobQueue
from slide_gui.gui.state.workspace import Workspace
from slide_gui.gui.theme import apply_theme
from slide_gui.progress import Cancelled, Progress
from tests.gui.helpers import StubSource, all_fitted, dataset, looked, open_data, train


@pytest.fixture
def data(request):
    """Return the data that `window` opens: the result of the test module's `OPENED`, by default of `dataset`."""
    opened: Dataset = getattr(request.module, "OPENED", dataset)()
    return opened


@pytest.fixture
def with_shipped():
    """Let the window show the shipped results, which other tests hide; request it before the window."""


@pytest.fixture(autouse=True)
def only_own_runs(request, monkeypatch):
    if "with_shipped" not in request.fixturenames:
        for module in (library, evaluation):
            monkeypatch.setattr(module, "shipped_results", ShippedResults)
        # The cost of the whole benchmark takes two seconds to compute.
        monkeypatch.setattr(evaluation, "remaining_cost", lambda *_: {})


@pytest.fixture
def faults():
    """Return the errors raised inside the program; a test that expects one removes it."""
    return []


@pytest.fixture
def small_example(monkeypatch):
    """Generate a small example; request it before the window."""
    monkeypatch.setattr(generators, "rectangles", functools.partial(generators.rectangles, 60, 40))


class _Waiting(Progress):
    """A progress whose reports return only when the window has received the payload and `wait` has looked at it."""

    def __init__(self, progress: Progress, arrived: threading.Event) -> None:
        self._progress, self._arrived = progress, arrived

    def report(self, fraction: float, payload: object = None) -> None:
        self._arrived.clear()
        self._progress.report(fraction, payload)
        while payload is not None and not (self._arrived.wait(0.001) and looked.wait(0.001)):
            self._progress.report(fraction)  # raises if the job is cancelled


@pytest.fixture
def every_payload(monkeypatch):
    """Let a job report every layer, and continue only when `wait` has looked at it, so that none is skipped."""
    monkeypatch.setattr(rows, "MOST_ROWS", 0)
    submit = JobQueue.submit

    def submit_waiting(queue: JobQueue, title: str, function: Any, *, on_payload: Any = None, **options: Any) -> int:
        arrived = threading.Event()

        def deliver(payload: object) -> None:
            on_payload(payload)
            looked.clear()
            arrived.set()

        def work(progress: Progress) -> Any:
            return function(progress if on_payload is None else _Waiting(progress, arrived))

        return submit(queue, title, work, on_payload=on_payload and deliver, **options)

    monkeypatch.setattr(JobQueue, "submit", submit_waiting)


@pytest.fixture
def stored_settings(tmp_path):
    """Return empty settings, which are stored in a temporary file."""
    return QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def closed_window(app, stored_settings, tmp_path, faults):
    """Return a window that is not shown yet; fail if an error is raised inside it."""
    window = MainWindow(stored_settings, tmp_path / "runs.sqlite")
    window.faults.reported.connect(lambda *fault: faults.append(fault))
    yield window
    tear_down(window)
    apply_theme(app, "light")
    assert not faults


@pytest.fixture
def empty_window(closed_window):
    """Return a window that shows no data."""
    closed_window.resize(1280, 720)
    closed_window.show()
    return closed_window


@pytest.fixture
def window(empty_window, data):
    """Return a window that shows `data` with all layers fitted."""
    open_data(empty_window, data)
    return empty_window


@pytest.fixture
def trained(window):
    """Return a window with a classifier that was trained on its data."""
    train(window)
    return window


@pytest.fixture
def fit_may_continue(monkeypatch):
    """Return an event, set at first, that every fit waits for."""
    event, update = threading.Event(), Explorer.update
    event.set()

    def slow(explorer, *arguments, progress, **options):
        while not event.wait(0.005):
            progress.report(0.0)
        return update(explorer, *arguments, progress=progress, **options)

    monkeypatch.setattr(Explorer, "update", slow)
    yield event
    event.set()


@pytest.fixture
def permits(monkeypatch):
    """Return a semaphore without permits; every run of a sweep or benchmark needs one."""
    semaphore = threading.Semaphore(0)

    def run_with_permit(*arguments, progress, **options):
        while not semaphore.acquire(timeout=0.005):
            progress.report(0.0)
        try:
            return run(*arguments, progress=progress, **options)
        except Cancelled:
            semaphore.release()
            raise

    monkeypatch.setattr(executor, "run", run_with_permit)
    return semaphore


@pytest.fixture
def workspace(app):
    """Return a workspace without a window, with all layers of `dataset` fitted."""
    queue = JobQueue()
    workspace = Workspace(queue, queue)
    workspace.open(StubSource(dataset()))
    all_fitted(workspace)
    yield workspace
    tear_down(queue)
