import threading
import time
from functools import partial
from types import SimpleNamespace

import pytest

from slide_gui.gui.app import tear_down
from slide_gui.gui.state import jobs
from slide_gui.gui.state.jobs import JobQueue
from tests.gui.helpers import settle, wait


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


def test_that_a_result_is_delivered_on_the_gui_thread(queue):
    seen = []

    def see(worker):
        seen.extend((worker, threading.get_ident()))

    queue.submit("x", lambda progress: threading.get_ident(), channel="a", on_result=see)
    wait(lambda: seen)
    worker, receiver = seen
    assert worker != receiver == threading.get_ident()


def test_that_jobs_run_one_at_a_time_in_their_order(queue):
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


def test_that_a_newer_request_on_a_channel_supersedes_the_older_which_delivers_nothing(queue):
    delivered, old = [], Looping("old", payload="old payload")
    queue.submit("x", old, channel="fit", on_result=delivered.append, on_payload=delivered.append)
    assert old.begun.wait(5)
    queue.submit("x", lambda progress: "new", channel="fit", on_result=delivered.append)
    wait(lambda: delivered)
    settle(0.15)
    assert delivered == ["new"]


def test_that_a_superseded_job_that_had_already_finished_delivers_nothing(queue):
    delivered, looping = [], Looping()
    queue.submit("x", lambda progress: "old", channel="fit", on_result=delivered.append)
    queue.submit("x", looping, channel="after")
    assert looping.begun.wait(5)  # the job has finished, but its result still waits in the event queue
    queue.cancel(channel="after")
    queue.submit("x", lambda progress: "new", channel="fit", on_result=delivered.append)
    wait(lambda: delivered)
    settle(0.15)
    assert delivered == ["new"]


def test_that_cancel_stops_the_worker_quickly_and_frees_the_queue(queue):
    delivered, looping = [], Looping()
    number = queue.submit("x", looping, channel="a", on_result=delivered.append)
    assert looping.begun.wait(5)
    queue.cancel(number)
    assert not queue.busy
    queue.submit("y", lambda progress: "next", channel="b", on_result=delivered.append)
    wait(lambda: delivered)
    assert delivered == ["next"]


def test_that_the_first_payload_arrives_at_once_and_then_the_latest_every_40_ms(queue, monkeypatch):
    now, payloads, ended = [100.0], [], []
    seen = {number: threading.Event() for number in (0, 99)}
    monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def see(payload):
        payloads.append(payload)
        if payload in seen:
            seen[payload].set()

    def work(progress):
        progress.report(0.0, 0)
        assert seen[0].wait(10)  # continue when the first payload was received
        for number in range(1, 100):
            progress.report(number / 300, number)
        now[0] += 0.041
        assert seen[99].wait(10)
        for number in range(100, 300):
            progress.report(number / 300, number)
        return "end"

    queue.submit("x", work, channel="a", on_payload=see, on_result=ended.append)
    wait(lambda: ended)
    assert payloads == [0, 99, 299]
    assert ended == ["end"]


def test_that_a_failure_reaches_its_callback_and_the_queue_continues(queue):
    errors, results = [], []

    def fail(progress):
        raise ValueError("row 3 is NaN")

    queue.submit("x", fail, channel="a", on_failure=errors.append)
    queue.submit("y", lambda progress: 1, channel="b", on_result=results.append)
    wait(lambda: results)
    assert [str(error) for error in errors] == ["row 3 is NaN"]


def test_that_long_jobs_are_announced_with_the_time_left_and_short_ones_are_not(queue):
    statuses, ended = [], []
    queue.status_changed.connect(statuses.append)
    queue.submit("short", lambda progress: progress.report(0.5), channel="a", on_result=ended.append)
    wait(lambda: ended)
    assert statuses == []

    def long(progress):
        for step in range(100):
            progress.report(step / 100)
            time.sleep(0.01)

    queue.submit("long", long, channel="a", on_result=ended.append)
    wait(lambda: len(ended) == 2)
    assert statuses[0].title == "long"
    assert statuses[-1] is None
    fractions = [status.fraction for status in statuses[:-1]]
    assert fractions == sorted(fractions)
    late = [status for status in statuses[:-1] if status.seconds_left is not None]
    assert late
    assert 0 < late[0].seconds_left < 10


def test_that_background_work_yields_to_other_jobs_and_restarts_and_is_announced_from_its_beginning(queue):
    order, statuses, sweep = [], [], Looping("sweep", (0.9, 0.2))
    queue.status_changed.connect(statuses.append)
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
    assert fit.begun.wait(5)
    queue.submit("read", lambda progress: "read", channel="read", on_result=order.append, automatic=True)
    settle(0.05)
    assert order == []  # one automatic job does not interrupt another
    queue.submit("training", train, channel="train", on_result=order.append)
    assert fit.released.wait(10)
    wait(lambda: len(order) == 3)
    assert order[0] == "training"


def test_that_a_sweep_starts_during_an_automatic_job_which_interrupts_it_a_little_later(queue, monkeypatch):
    fit, sweep, order, turn = Looping("fit"), Looping("sweep"), [], []
    monkeypatch.setattr(queue._turn, "start", lambda: turn.append(1))
    queue.submit("fit", fit, channel="fit", on_result=order.append, automatic=True)
    assert fit.begun.wait(5)
    queue.submit("sweep", sweep, channel="sweep", on_result=order.append, background=True)
    assert sweep.begun.wait(10)
    wait(lambda: turn)
    assert order == []
    fit.released.set()
    queue._turn.timeout.emit()
    wait(lambda: order == ["fit"])
    sweep.released.set()
    wait(lambda: order == ["fit", "sweep"])


def test_that_the_time_of_finished_parts_counts_for_the_time_left(queue):
    statuses, work = [], Looping(fractions=(0.75,), payload=SimpleNamespace(seconds_before=60.0))
    queue.status_changed.connect(statuses.append)
    queue.submit("training", work, channel="train")
    wait(lambda: statuses and statuses[-1].seconds_left is not None)
    assert 20.0 < statuses[-1].seconds_left < 22.0  # a third of 60 s plus the run time until now
    queue.cancel()


def test_that_cancelled_background_work_does_not_restart(queue):
    sweep = Looping()
    queue.submit("sweep", sweep, channel="sweep", background=True)
    wait(lambda: sweep.starts)
    queue.cancel(channel="sweep")
    settle(0.1)
    assert sweep.starts == 1
    assert not queue.busy
