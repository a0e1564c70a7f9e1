"""How the program ends, and how it refuses to start."""

import os
import signal
import subprocess

import numpy as np
import pytest

from slide_gui.experiments.store.store import RunStore
from tests.end_to_end.program import command, environment, until
from tests.end_to_end.run_pages import begin_sweep, store_of, stored

pytestmark = pytest.mark.display


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large.npz"
    np.savez(path, X=np.random.default_rng(0).random((30_000, 784), np.float32).round(2))
    return path


@pytest.fixture
def fitting(start, large):
    """A program in the middle of a fit of seconds."""
    program = start(large)
    until(lambda: program.title.startswith("large"), "the data", 60)
    for _ in range(4):
        program.key("ctrl+Next")
    until(lambda: program.busy(program.picture()), "a fit that runs", 10)
    return program


def test_that_ctrl_q_ends_it_quietly_in_the_middle_of_a_fit(fitting):
    fitting.key("ctrl+q")
    assert fitting.wait_end() == (0, "", "")


def test_that_the_frames_close_button_ends_it_quietly_in_the_middle_of_a_fit(fitting):
    fitting.press_close()
    assert fitting.wait_end() == (0, "", "")


def test_that_ctrl_c_closes_it_in_the_middle_of_a_fit(fitting):
    assert fitting.end_by(signal.SIGINT) == (128 + signal.SIGINT, "", "")


def test_that_sigterm_closes_it_in_a_sweep_and_the_store_is_whole(start, outlines):
    program = start(outlines)
    begin_sweep(program)
    until(lambda: len(stored(program)) >= 2, "two points")
    assert program.end_by(signal.SIGTERM) == (128 + signal.SIGTERM, "", "")
    runs = stored(program)
    assert len(runs) < 50  # not a whole sweep
    assert sorted(os.listdir(store_of(program).with_name("runs.sqlite.arrays"))) == sorted(row[2] for row in runs)
    with RunStore(store_of(program)) as store:
        for key, *_ in runs:
            assert store.load(key).spec.hash == key


def test_that_ctrl_c_closes_an_idle_window(start, outlines):
    program = start(outlines)
    program.settled(rows=5)
    assert program.end_by(signal.SIGINT) == (128 + signal.SIGINT, "", "")


def test_that_ctrl_c_ignored_from_the_start_is_ignored_and_sigterm_closes_an_idle_window(start, outlines):
    program = start(outlines, ignores_interrupt=True)
    page = program.settled(rows=5)
    program.process.send_signal(signal.SIGINT)
    program.click(page.image.pixel(4, 12))
    program.settled(rows=6)  # it goes on
    assert program.end_by(signal.SIGTERM) == (128 + signal.SIGTERM, "", "")


@pytest.mark.parametrize("display", [None, ":4711"])
def test_that_without_a_display_it_says_so_in_one_sentence(tmp_path, display):
    variables = environment(tmp_path, display)
    variables.pop("QT_QPA_PLATFORM", None)
    done = subprocess.run(command(), env=variables, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("slide-gui: ")
    assert "display" in done.stderr
    assert len(done.stderr.splitlines()) == 1
