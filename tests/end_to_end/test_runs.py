"""Sweeps in a real window are ended in every way and resume."""

import os
import signal

import pytest

from slide_gui.experiments.store.store import RunStore
from slide_gui.gui.theme import LIGHT
from tests.end_to_end.program import until

pytestmark = pytest.mark.display

ENDS = {
    "quit": (lambda program: program.key("ctrl+q"), 0),
    "SIGINT": (lambda program: program.process.send_signal(signal.SIGINT), 128 + signal.SIGINT),
    "SIGTERM": (lambda program: program.process.send_signal(signal.SIGTERM), 128 + signal.SIGTERM),
    "SIGKILL": (lambda program: program.process.kill(), -signal.SIGKILL),
}
SWEEP = 50  # number of points


def start_sweep(program):
    program.wait_title("outlines")
    program.focus()
    program.key("ctrl+shift+Return")
    program.wait_for("Sweep")
    program.key("Return")
    program.wait_gone("Sweep")


def test_that_a_sweep_ended_in_any_way_resumes_and_a_killed_session_is_offered(start, outlines, tmp_path):
    home = tmp_path / "home"
    arrays = home / ".local/share/slide-gui/runs.sqlite.arrays"
    program = start(outlines, home=home)
    for end, code in ENDS.values():
        start_sweep(program)
        before = program.stored()
        until(lambda now=program, before=before: len(now.stored()) >= len(before) + 2, "two more stored runs")
        end(program)
        assert program.wait_end() == (code, "", "")
        runs = program.stored()
        assert runs[: len(before)] == before
        assert len({key for key, *_ in runs}) == len(runs) < SWEEP
        program = start(home=home)
    until(lambda: program.notice(LIGHT.accent_wash), "the offer to restore the session")
    program.wait_title("Rectangles")
    program.quit()
    with RunStore(home / ".local/share/slide-gui/runs.sqlite") as store:
        assert [store.load(key).spec.hash for key, *_ in runs] == [key for key, *_ in runs]
    assert sorted(os.listdir(arrays)) == sorted(file for *_, file in runs)
