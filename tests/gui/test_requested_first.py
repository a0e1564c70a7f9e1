"""Requested work precedes work that the window starts by itself, and Cancel stops the job that it names."""

import threading
import time

import pytest

from slide_gui.experiments.inspection.rows import Explorer
from slide_gui.gui.state import runs as runs_module
from tests.gui.helpers import button, labelled, open_data, settle, show_page, wait

OPENED = labelled


def working(begun):
    """Return a function that sets an event when it starts and runs until it is cancelled."""

    def work(*_arguments, progress, **_options):
        begun.set()
        while True:
            progress.report(0.1)
            time.sleep(0.005)

    return work


@pytest.fixture
def endless(monkeypatch):
    """Let every estimate run until it is cancelled; return an event for its start and one for its end."""
    begun, ended = threading.Event(), threading.Event()

    def run(_dataset, _spec, *, progress, reuse):
        try:
            working(begun)(progress=progress)
        finally:
            ended.set()

    monkeypatch.setattr(runs_module, "run", run)
    monkeypatch.setattr(runs_module, "SWEEP_NOISES", (0.2, 0.5))
    monkeypatch.setattr(runs_module, "SWEEP_DEPTHS", (0, 1))
    return begun, ended


def start(controller, wanted):
    if wanted == "train":
        controller.train(controller.spec_of(controller.svm))
    else:
        {"try": controller.start_trial, "sweep": controller.start_sweep}[wanted]()


@pytest.mark.parametrize(("cost", "value"), [("typical_seconds", 5.1), ("peak_bytes", 500_000_001)])
def test_that_an_estimate_of_over_5_s_or_500_mb_is_not_started_but_offered_by_a_button(
    window, monkeypatch, cost, value
):
    monkeypatch.setattr(runs_module, cost, lambda spec, shape: value)
    curves, runs = show_page(window, "curves"), window.session.runs
    wait(lambda: runs.offered is not None)
    assert not runs.estimate.running
    assert runs.estimated is None
    curves.estimate_button.click()
    assert not curves.estimate_button.isVisible()
    wait(lambda: not runs.estimate.running, 30)
    assert runs.estimated is not None
    assert any(point.state == "refining" for point in curves.points())


def test_that_an_automatic_estimate_ends_after_its_time_limit_and_is_offered(window, monkeypatch, endless):
    begun, ended = endless
    monkeypatch.setattr(runs_module, "_MOST_SECONDS", 0.3)
    monkeypatch.setattr(runs_module, "_is_light", lambda spec, dataset: True)
    curves = show_page(window, "curves")
    wait(begun.is_set)
    assert ended.wait(5)
    wait(lambda: not window.queue.busy)
    assert window.session.runs.estimated is None
    assert curves.estimate_button.isVisible()
    assert not window.notice.isVisible()
    settle()
    assert not window.session.runs.estimate.running  # it is not started again


@pytest.mark.parametrize("wanted", ["train", "try", "sweep"])
def test_that_train_try_and_sweep_end_an_estimate_at_once(window, endless, wanted):
    begun, ended = endless
    show_page(window, "curves")
    wait(begun.is_set)
    controller = window.session.runs
    start(controller, wanted)
    assert controller.estimated is None
    assert ended.wait(30)
    controller.stop()


@pytest.fixture
def endless_fit(monkeypatch):
    """Let every fit run until it is cancelled, and return an event for its start."""
    begun = threading.Event()
    monkeypatch.setattr(Explorer, "update", working(begun))
    return begun


@pytest.mark.parametrize("wanted", ["train", "try", "sweep"])
@pytest.mark.parametrize("page", ["weights", "curves", "classifier"])
def test_that_train_try_and_sweep_start_at_once_during_a_slow_fit(window, endless_fit, monkeypatch, page, wanted):
    show_page(window, page)
    window.workspace.set_parameters(noise=0.77)
    assert endless_fit.wait(5)
    started, controller = threading.Event(), window.session.runs

    def work(*_arguments, **_options):
        started.set()
        raise ValueError("it has started.")

    for name in ("get_or_run", "try_data", "run_sweep"):
        monkeypatch.setattr(runs_module, name, work)
    start(controller, wanted)
    assert started.wait(10)  # it takes 0.2 s on an idle computer; the fit never ends by itself
    endless_fit.clear()
    wait(endless_fit.is_set)  # the interrupted fit starts again
    window.queue.cancel()


@pytest.mark.parametrize("wanted", ["train", "try"])
def test_that_files_open_at_once_during_a_training_or_trial_which_continues_if_they_are_unreadable(
    window, monkeypatch, tmp_path, wanted
):
    begun, controller, before = threading.Event(), window.session.runs, window.workspace.dataset
    for name in ("get_or_run", "try_data"):
        monkeypatch.setattr(runs_module, name, working(begun))
    page = show_page(window, "classifier")
    task = controller.training if wanted == "train" else controller.trial
    start(controller, wanted)
    assert begun.wait(10)
    begun.clear()
    window.open_files([tmp_path / "gone.csv"])
    wait(window.notice.isVisible)
    assert "gone.csv" in window.notice.accessibleName()
    assert begun.wait(10)
    assert task.running
    open_data(window, labelled(1))
    assert window.workspace.dataset is not before
    assert not task.running
    start(controller, "train")
    controller.training.stop()
    assert page.continue_button.isVisible()
    open_data(window, labelled(2))
    assert controller.cancelled is None
    assert not page.continue_button.isVisible()


def test_that_cancelling_an_estimate_keeps_the_jobs_that_wait(window, endless):
    begun, ended = endless
    show_page(window, "curves")
    wait(begun.is_set)
    done = []
    shown = []
    window.session.status_changed.connect(shown.append)
    wait(lambda: shown and shown[-1] is not None and shown[-1].title == "Estimating")
    window.queue.submit("Training", lambda progress: 1, channel="other", on_result=done.append, background=False)
    button(window.job_bar, "Cancel estimating").click()
    assert ended.wait(5)
    wait(lambda: done == [1])
    assert not window.session.runs.estimate.running


def test_that_each_error_names_the_rows_it_was_measured_on(window, monkeypatch):
    monkeypatch.setattr(runs_module, "_is_light", lambda spec, dataset: True)
    monkeypatch.setattr(runs_module, "_MOST_SECONDS", 60.0)
    curves = show_page(window, "curves")
    window.session.runs.start_trial()
    wait(lambda: not window.session.runs.trial.running, 100)
    window.workspace.set_parameters(noise=0.42, depth=4)
    wait(lambda: window.session.runs.estimated is not None and not window.queue.busy, 60)
    trial = window.session.runs.trial.latest
    assert f" of {trial.result.n_test} held-out rows" in curves.sentence.text()
    n = trial.done[0].rate.n
    assert f"curves: error on {n} validation rows in each of" in curves.status.text()
    assert f"estimate: error on {n} validation rows" in curves.status.text()
    assert n != trial.result.n_test
