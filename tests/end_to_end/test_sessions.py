"""A window that is closed and opened again, one that was killed, and a picture given to the program."""

import os
import signal

import pytest

from slide_gui.experiments.session import read_session
from slide_gui.gui.theme import LIGHT
from tests.end_to_end.program import until

pytestmark = pytest.mark.display


def test_that_a_closed_window_comes_back_and_a_killed_one_is_offered(start, tmp_path):
    home = tmp_path / "home"
    program = start(home=home)
    program.settled(rows=5)
    usual = program.sliders()[0]
    program.key("ctrl+Up")
    moved = until(lambda: (now := program.sliders()[0]) != usual and now, "more noise")
    program.settled(rows=5)
    program.quit(10)

    again = start(home=home)
    again.settled(rows=5)
    assert again.sliders()[0] == moved
    assert again.notice(LIGHT.accent_wash) is None
    kept = home / ".local/share/slide-gui/session/last.slide-session"
    assert read_session(kept).parameters.noise == 0.35
    os.kill(again.process.pid, signal.SIGKILL)
    again.process.wait(10)

    offered = start(home=home)
    until(lambda: offered.notice(LIGHT.accent_wash), "the offer to bring the session back")
    offered.still()
    assert offered.sliders()[0] == usual
    offered.quit(10)


def test_that_a_session_given_to_the_program_is_brought_back(start, tmp_path):
    program = start(home=tmp_path / "home")
    program.settled(rows=5)
    usual = program.sliders()[0]
    program.key("ctrl+Up", "ctrl+Up")
    moved = until(lambda: (now := program.sliders()[0]).width > usual.width + 10 and now, "much more noise")
    program.settled(rows=5)
    picture = tmp_path / "exported" / "weights.pdf"
    program.export("Export the weight figure", picture)
    assert read_session(picture).parameters.noise == 0.4
    program.quit(10)
    elsewhere = start(picture, home=tmp_path / "other home")
    elsewhere.settled(rows=5)
    assert elsewhere.sliders()[0] == moved
    elsewhere.quit(10)
