"""How the program ends, and how it refuses to start."""

import signal
import subprocess
import time

import numpy as np
import pytest

from tests.end_to_end.program import command, environment, until

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
    begun = time.monotonic()
    fitting.key("ctrl+q")
    assert fitting.wait_end() == (0, "", "")
    assert time.monotonic() - begun < 3.0


def test_that_the_frames_close_button_ends_it_quietly_in_the_middle_of_a_fit(fitting):
    fitting.press_close()
    assert fitting.wait_end() == (0, "", "")


def test_that_sigterm_ends_it_at_once_without_a_traceback(fitting):
    fitting.process.send_signal(signal.SIGTERM)
    code, out, err = fitting.wait_end()
    assert code in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
    assert (out, err) == ("", "")


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
