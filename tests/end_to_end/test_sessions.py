"""A window that is closed and opened again, one that was killed, and a picture given to the program."""

import os
import signal

import pytest

from slide_gui.experiments.files.session import read_session
from slide_gui.gui.theme import LIGHT
from tests.end_to_end.program import until

pytestmark = pytest.mark.display


@pytest.fixture(scope="module")
def closed(start, tmp_path_factory):
    """Return a home and a picture that a closed window left there, its slider as usual, and the one of more noise."""
    home = tmp_path_factory.mktemp("sessions") / "home"
    program = start(home=home)
    program.settled(rows=5)
    usual = program.sliders()[0]
    program.key("ctrl+Up", "ctrl+Up")
    moved = until(lambda: (now := program.sliders()[0]).width > usual.width + 15 and now, "two steps more noise")
    program.settled(rows=5)
    picture = home / "exported" / "weights.pdf"
    program.export("Export the weight figure", picture)
    program.quit(10)
    return home, picture, usual, moved


def test_that_a_closed_window_comes_back_and_a_killed_one_is_offered(start, closed):
    home, _, usual, moved = closed
    again = start(home=home)
    again.settled(rows=5)
    assert again.sliders()[0] == moved
    assert again.notice(LIGHT.accent_wash) is None
    kept = home / ".local/share/slide-gui/session/last.slide-session"
    assert read_session(kept).parameters.noise == 0.4
    os.kill(again.process.pid, signal.SIGKILL)
    again.process.wait(10)

    offered = start(home=home)
    until(lambda: offered.notice(LIGHT.accent_wash), "the offer to bring the session back")
    offered.still()
    assert offered.sliders()[0] == usual
    offered.quit(10)


def test_that_a_session_given_to_the_program_is_brought_back(start, closed, tmp_path):
    _, picture, _, moved = closed
    assert read_session(picture).parameters.noise == 0.4
    elsewhere = start(picture, home=tmp_path / "other home")
    elsewhere.settled(rows=5)
    assert elsewhere.sliders()[0] == moved
    elsewhere.quit(10)
