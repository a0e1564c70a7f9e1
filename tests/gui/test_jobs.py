"""Jobs: their order, requested work first, their time left, and SIGINT and SIGTERM in the event loop."""

import os
import signal
import threading
import time
from functools import partial
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from slide_gui.experiments.inspection.rows import Explorer
from slide_gui.experiments.sweeps import trial
from slide_gui.gui import app as app_module
from slide_gui.gui.app import tear_down
from slide_gui.gui.shell.faults import Interruption
from slide_gui.gui.shell.main_window import MainWindow
from slide_gui.gui.state import jobs
from slide_gui.gui.state import runs as runs_module
from slide_gui.gui.state.jobs import JobQueue, Task
from slide_gui.progress import TimeLeft
from tests.gui.helpers import at_rest, button, labelled, open_data, record, settle, show_page, wait


@pytest.fixture
def queue(app):
    queue = JobQueue()
    yield queue
    tear_down(queue)


class Looping:
    """A job that runs until it is released; `begun` is set once it runs, `starts` counts its starts."""

    def __init__(self, result="end", fractions=(0.5,), payload=None):
        self.begun, self.released, self.starts = threading.Event(), threading.Event(), 0
        self.result, self.fractions, self.payload = result, fractions, payload

    def __call__(self, progress):
        self.starts += 1
        self.begun.set()
        while not self.released.is_set():
            progress.report(self.fractions[min(self.starts, len(self.fractions)) - 1], self.payload)
            time.sleep(0.002)
        return self.result


def test_that_a_result_is_delivered_on_the_gui_thread_and_jobs_run_one_at_a_time_in_their_order(queue):
    seen = []

    def see(worker):
        seen.extend((worker, threading.get_ident()))

    queue.submit("x", lambda progress: threading.get_ident(), channel="a", on_result=see)
    wait(lambda: seen)
    worker, receiver = seen
    assert worker != receiver == threading.get_ident()
    running, order = [], []

    def work(number, _progress):
        running.append(number)
        assert len(running) == 1
        time.sleep(0.02)
        running.remove(number)
        return number

    for number in range(4):
        queue.submit("x", partial(work, number), channel=str(number), on_result=order.append)
    wait(lambda: len(order) == 4)
    assert order == [0, 1, 2, 3]


@pytest.mark.parametrize("finished", [False, True])
def test_that_a_newer_request_on_a_channel_supersedes_the_older_which_delivers_nothing(queue, finished):
    delivered, old = [], Looping("old", payload="old payload")
    ask = partial(queue.submit, "x", channel="fit", on_result=delivered.append, on_payload=delivered.append)
    if finished:
        ask(lambda progress: "old")
    queue.submit("x", old, channel="after") if finished else ask(old)
    assert old.begun.wait(60)  # a finished job has a result that still waits in the event queue
    if finished:
        queue.cancel(channel="after")
    ask(lambda progress: "new")
    wait(lambda: delivered)
    settle(0.15)
    assert delivered == ["new"]


@pytest.mark.parametrize("background", [False, True])
def test_that_cancel_stops_the_worker_quickly_and_frees_the_queue(queue, background):
    delivered, looping = [], Looping()
    number = queue.submit("x", looping, channel="a", on_result=delivered.append, background=background)
    assert looping.begun.wait(60)
    queue.cancel(number)
    assert not queue.busy
    queue.submit("y", lambda progress: "next", channel="b", on_result=delivered.append)
    wait(lambda: delivered)
    settle(0.1)
    assert (delivered, looping.starts) == (["next"], 1)


def test_that_the_first_payload_arrives_at_once_then_the_latest_every_40_ms_and_at_the_end(queue, monkeypatch):
    now, payloads, ended = [100.0], [], []
    seen = {number: threading.Event() for number in (0, 99)}
    monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def see(payload):
        payloads.append(payload)
        if payload in seen:
            seen[payload].set()

    def work(progress):
        progress.report(0.0, 0)
        assert seen[0].wait(60)  # continue when the first payload was received
        for number in range(1, 100):
            progress.report(number / 300, number)
        now[0] += 0.041
        assert seen[99].wait(60)
        monkeypatch.setattr(jobs, "_REDRAW_SECONDS", 600.0)
        for number in range(100, 300):
            progress.report(number / 300, number)
        time.sleep(0.05)  # the GUI thread has read these reports
        return "end"

    queue.submit("x", work, channel="a", on_payload=see, on_result=ended.append)
    wait(lambda: ended)
    assert payloads == [0, 99, 299]
    assert ended == ["end"]


def test_that_a_failure_reaches_its_callback_and_the_queue_continues(queue):
    errors, results = [], []
    queue.submit("x", Mock(side_effect=ValueError("row 3 is NaN")), channel="a", on_failure=errors.append)
    queue.submit("y", lambda progress: 1, channel="b", on_result=results.append)
    wait(lambda: results)
    assert [str(error) for error in errors] == ["row 3 is NaN"]


def test_that_long_jobs_are_announced_with_the_time_left_and_short_ones_are_not(queue, monkeypatch):
    now, statuses, ended, announced = [100.0], [], [], threading.Event()
    monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def see(status):
        statuses.append(status and (status.title, status.fraction, status.seconds_left))
        announced.set()

    def long(progress):
        for step in range(1, 4):
            announced.clear()
            now[0] += 1.0
            progress.report(step / 4)
            assert announced.wait(60)

    queue.status_changed.connect(see)
    queue._title.blockSignals(True)  # on a busy computer, it would announce a job again
    queue.submit("short", lambda progress: progress.report(0.5), channel="a", on_result=ended.append)
    wait(lambda: ended)
    assert statuses == []
    queue.submit("long", long, channel="a", on_result=ended.append)
    wait(lambda: len(ended) == 2)
    assert statuses == [("long", 0.25, 3.0), ("long", 0.5, 2.0), ("long", 0.75, 1.0), None]
    announced.clear()
    queue._title.blockSignals(False)
    queue.submit("silent", lambda progress: announced.wait(60), channel="a")
    wait(lambda: now.insert(0, now[0] + 1.0) or ("silent", 0.0, None) in statuses)


def test_that_background_work_yields_to_other_jobs_and_restarts_and_is_announced_from_its_beginning(queue):
    order, sweep = [], Looping("sweep", (0.9, 0.2))
    (statuses,) = record(queue.status_changed)
    queue.submit("sweep", sweep, channel="sweep", on_result=order.append, background=True)
    wait(lambda: statuses and statuses[-1].fraction == 0.9)
    queue.submit("fit", lambda progress: "fit", channel="fit", on_result=order.append)
    wait(lambda: order)
    assert order == ["fit"]
    wait(lambda: sweep.starts == 2)
    wait(lambda: statuses[-1] is not None and statuses[-1].fraction == 0.2)
    sweep.released.set()
    wait(lambda: len(order) == 2)
    assert order == ["fit", "sweep"]


def test_that_a_requested_job_interrupts_an_automatic_one_which_starts_again_afterwards(queue):
    fit, order = Looping("fit"), []

    def train(progress):
        fit.released.set()
        return "training"

    queue.submit("fit", fit, channel="fit", on_result=order.append, automatic=True)
    assert fit.begun.wait(60)
    queue.submit("read", lambda progress: "read", channel="read", on_result=order.append, automatic=True)
    settle(0.05)
    assert order == []  # one automatic job does not interrupt another
    queue.submit("training", train, channel="train", on_result=order.append)
    assert fit.released.wait(60)
    wait(lambda: len(order) == 3)
    assert order[0] == "training"


@pytest.mark.parametrize("kind", [{"background": True, "restarts": True}, {"restarts": True}])
def test_that_a_requested_task_interrupts_an_automatic_job_and_yields_to_it_later(queue, monkeypatch, kind):
    fit, sweep, order, turn = Looping("fit"), Looping("sweep"), [], []
    monkeypatch.setattr(queue._turn, "start", lambda: turn.append(1))
    queue.submit("fit", fit, channel="fit", on_result=order.append, automatic=True)
    assert fit.begun.wait(60)
    queue.submit("sweep", sweep, channel="sweep", on_result=order.append, **kind)
    assert sweep.begun.wait(60)
    wait(lambda: turn)
    assert order == []
    fit.released.set()
    queue._turn.timeout.emit()
    wait(lambda: order == ["fit"])
    sweep.released.set()
    wait(lambda: order == ["fit", "sweep"])


@pytest.mark.parametrize("automatic", [True, False])
def test_that_reading_the_runs_and_a_requested_trial_interrupt_a_training(queue, automatic):
    training, reading = Looping(), Task(queue, "read", "read", "", str, queue, automatic=automatic)
    queue.submit("training", training, channel="train", restarts=True)
    assert training.begun.wait(60)
    reading.start(lambda progress: "read")
    wait(lambda: reading.latest == "read" and training.starts == 2)
    queue.cancel()


def test_that_the_time_of_finished_parts_counts_for_the_time_left(queue, monkeypatch):
    now, work = [100.0], Looping(fractions=(0.75,), payload=SimpleNamespace(seconds_before=60.0))
    monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=lambda: now[0]))
    (statuses,) = record(queue.status_changed)
    queue.submit("training", work, channel="train")
    assert work.begun.wait(60)
    now[0] += 3.0
    wait(lambda: statuses and statuses[-1].fraction)
    assert statuses[-1].seconds_left == pytest.approx(21.0)  # a third of 60 s plus the run time until now
    queue.cancel()


OPENED = labelled


def working(begun):
    """Return a function that sets an event when it starts and runs until it is cancelled."""

    def work(*arguments, progress=None, **_options):
        begun.set()
        while True:
            (progress or arguments[-1]).report(0.1)
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
    monkeypatch.setattr(runs_module, "_MOST_SECONDS", 600.0)
    monkeypatch.setattr(runs_module, "SWEEP_NOISES", (0.2, 0.5))
    monkeypatch.setattr(runs_module, "SWEEP_DEPTHS", (0, 1))
    return begun, ended


def start(controller, wanted):
    if wanted == "train":
        controller.train(controller.spec_of(controller.svm))
    else:
        {"try": controller.start_trial, "sweep": controller.start_sweep}[wanted]()


@pytest.mark.parametrize(("cost", "value"), [("typical_seconds", 5.1), ("peak_bytes", 500_000_001)])
def test_that_an_estimate_over_5_s_or_500_mb_is_offered_by_a_button(window, monkeypatch, cost, value):
    monkeypatch.setattr(runs_module, cost, lambda spec, shape: value)
    curves, runs = show_page(window, "curves"), window.session.runs
    wait(lambda: runs.offered is not None)
    assert not runs.estimate.running
    assert runs.estimated is None
    monkeypatch.setattr(curves, "_paper_error", lambda part: 1.49)  # its mark alone is in the plot
    curves.refresh()
    assert curves.status.text() == "There are no points yet. Press Sweep, or press “Estimate this point”."
    curves.estimate_button.click()
    assert not curves.estimate_button.isVisible()
    wait(lambda: not runs.estimate.running)
    assert runs.estimated is not None
    assert any(point.state == "refining" for point in curves.points())
    monkeypatch.setattr(runs_module, "run_sweep", working(threading.Event()))
    runs.start_sweep()
    assert curves._why_empty() == "The sweep has no result to plot yet."
    runs.stop()


def test_that_an_automatic_estimate_ends_after_its_time_limit_and_is_offered(window, monkeypatch, endless):
    begun, ended = endless
    monkeypatch.setattr(runs_module, "_MOST_SECONDS", 0.3)
    monkeypatch.setattr(runs_module, "_is_light", lambda spec, dataset: True)
    curves = show_page(window, "curves")
    wait(begun.is_set)
    assert ended.wait(60)
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
    assert ended.wait(60)
    controller.stop()


@pytest.mark.parametrize("wanted", ["train", "try", "sweep"])
def test_that_train_try_and_sweep_start_at_once_during_a_slow_fit(window, fit_may_continue, monkeypatch, wanted):
    fit_may_continue.clear()
    window.workspace.set_parameters(noise=0.77)
    wait(lambda: window.queue.status is not None)  # the fit is running
    started, controller = threading.Event(), window.session.runs

    def work(*_arguments, **_options):
        started.set()
        raise ValueError("it has started.")

    for name in ("get_or_run", "try_data", "run_sweep"):
        monkeypatch.setattr(runs_module, name, work)
    start(controller, wanted)
    assert started.wait(60)  # it takes 0.2 s on an idle computer; the fit never ends by itself
    fit_may_continue.set()
    at_rest(window)  # the interrupted fit starts again


def test_that_layers_are_not_fitted_again_if_a_job_interrupts_the_preparations_after_the_fit(window, monkeypatch):
    begun, fits, update = threading.Event(), [], Explorer.update
    monkeypatch.setattr(Explorer, "update", lambda *given, **options: fits.append(given) or update(*given, **options))
    monkeypatch.setattr(Explorer, "prepare", lambda _self, _parameters, progress: working(begun)(progress=progress))
    window.workspace.set_parameters(noise=0.77)
    assert begun.wait(60)
    begun.clear()
    window.queue.submit("A requested job", lambda _progress: None, channel="other", failure="It failed")
    wait(begun.is_set)  # the interrupted job starts again
    assert len(fits) == 1
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
    assert begun.wait(60)
    begun.clear()
    window.workspace.set_parameters(noise=0.77)
    wait(lambda: window.workspace.fitting.n_fresh)  # the layers follow the noise level
    assert begun.wait(60)
    begun.clear()
    window.open_files([tmp_path / "gone.csv"])
    wait(window.notice.isVisible)
    assert "gone.csv" in window.notice.accessibleName()
    assert begun.wait(60)
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


def test_that_a_cancelled_trial_is_reported_until_it_starts_again_or_other_data_are_opened(window, monkeypatch):
    monkeypatch.setattr("slide_gui.experiments.sweeps.executor.run", working(threading.Event()))
    curves, controller = show_page(window, "curves"), window.session.runs
    for has_reported in (False, True):
        controller.start_trial()
        assert curves.sentence.text().startswith("Trying these data: ")
        wait(lambda wanted=has_reported: controller.trial.latest is not None or not wanted)
        window.actions_by_name["cancel"].trigger()
        assert curves.sentence.isVisible()
        assert curves.sentence.text().startswith("The trial was cancelled after 0 results. ")
    open_data(window, labelled(1))
    assert not curves.sentence.isVisible()
    controller.start_trial()
    open_data(window, labelled(2))
    assert not curves.sentence.isVisible()


def test_that_cancelling_an_estimate_keeps_the_jobs_that_wait(window, endless):
    begun, ended = endless
    show_page(window, "curves")
    wait(begun.is_set)
    done = []
    (shown,) = record(window.session.status_changed)
    wait(lambda: shown and shown[-1] is not None and shown[-1].title == "Estimating")
    window.queue.submit("Training", lambda progress: 1, channel="other", on_result=done.append, background=False)
    button(window.job_bar, "Cancel estimating").click()
    assert ended.wait(60)
    wait(lambda: done == [1])
    assert not window.session.runs.estimate.running


def test_that_each_error_names_the_rows_it_was_measured_on(window, monkeypatch):
    monkeypatch.setattr(runs_module, "_is_light", lambda spec, dataset: True)
    monkeypatch.setattr(runs_module, "_MOST_SECONDS", 60.0)
    monkeypatch.setattr(trial, "_GRID", ((0.2, 0.5), (0, 1), 2))
    curves = show_page(window, "curves")
    window.session.runs.start_trial()
    wait(lambda: not window.session.runs.trial.running)
    window.workspace.set_parameters(noise=0.42, depth=4)
    wait(lambda: window.session.runs.estimated is not None and not window.queue.busy)
    latest = window.session.runs.trial.latest
    assert f" of {latest.result.n_test} held-out rows" in curves.sentence.text()
    n = latest.done[0].rate.n
    assert f"curves: error on at least {n} validation rows in each of" in curves.status.text()
    assert f"estimate: error on {n} validation rows" in curves.status.text()
    assert n != latest.result.n_test


def test_that_no_time_is_estimated_just_after_the_start_and_a_jobs_own_estimate_falls_a_little_until_the_next():
    assert TimeLeft().seconds(0.1, 0.5, None) is None
    assert TimeLeft().seconds(10.0, 0.25, None) == pytest.approx(30.0)
    estimator, known = TimeLeft(), [(1.0, 100.0), (1.25, 100.0), (3.0, 100.0), (3.25, 0.25), (3.75, 0.25)]
    assert [estimator.seconds(spent, 0.5, left) for spent, left in known] == [100.0, 99.75, 99.5, 0.25, 0.0]


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM])
def number(request):
    """Return a signal that is handled, although shells ignore SIGINT in background jobs; restore its handler."""
    before = signal.signal(request.param, signal.default_int_handler)
    yield request.param
    signal.signal(request.param, before)


def test_that_the_first_signal_is_reported_a_second_would_end_the_process_and_stop_restores_the_handler(queue, number):
    heard = []
    signal.signal(number, lambda *_: heard.append("before"))
    handler = signal.getsignal(number)
    interruption, came = Interruption(queue), []
    interruption.interrupted.connect(lambda: came.append(interruption.number))
    os.kill(os.getpid(), number)
    wait(lambda: came)
    assert came == [number]
    assert heard == []
    assert signal.getsignal(number) is signal.SIG_DFL
    assert interruption.stop() == number
    assert signal.getsignal(number) is handler
    os.kill(os.getpid(), number)
    assert heard == ["before"]


def test_that_a_signal_ignored_before_stays_ignored(queue, number):
    signal.signal(number, signal.SIG_IGN)
    interruption, came = Interruption(queue), []
    interruption.interrupted.connect(lambda: came.append(1))
    os.kill(os.getpid(), number)
    settle(0.05)
    assert interruption.stop() is None
    assert came == []
    assert signal.getsignal(number) is signal.SIG_IGN


def test_that_a_signal_ends_the_wait_for_a_screenshot(app, number, stored_settings, tmp_path, monkeypatch):
    monkeypatch.setattr(app_module, "make_settings", lambda: stored_settings)
    monkeypatch.setattr(app_module, "store_path", lambda: tmp_path / "runs.sqlite")
    monkeypatch.setattr(MainWindow, "start", lambda *_: None)
    monkeypatch.setattr(MainWindow, "show", lambda _: os.kill(os.getpid(), number))
    with pytest.raises(KeyboardInterrupt):
        app_module.take_screenshot(tmp_path / "picture.png")
    assert not (tmp_path / "picture.png").exists()
