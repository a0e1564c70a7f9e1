"""What a person finds by its name, and a bundle that is dragged onto the window and let go of."""

import subprocess
import sys

import pytest

from slide_gui.experiments.files.session import read_session
from tests.end_to_end.program import environment, until

pytestmark = pytest.mark.display

SOURCE = """
import sys
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QDrag
from PySide6.QtWidgets import QApplication, QLabel

class Folder(QLabel):
    def mouseMoveEvent(self, _event):
        drag, content = QDrag(self), QMimeData()
        content.setUrls([QUrl.fromLocalFile(sys.argv[1])])
        drag.setMimeData(content)
        drag.exec(Qt.DropAction.CopyAction)

app = QApplication(sys.argv[:1])
folder = Folder("folder")
folder.setWindowTitle("a folder to be dragged")
folder.setGeometry(1150, 680, 100, 100)
folder.show()
app.exec()
"""
"""A program with a folder in it, as a file manager has."""


def drag(program, path, to):
    """Drag a file or folder from another program's window to a place of the program's."""
    source = subprocess.Popen([sys.executable, "-c", SOURCE, str(path)], env=environment(program.home, program.display))
    try:
        window = until(lambda: program.find("a folder to be dragged"), "the folder")
        program.xdotool("windowmove", window, 1150, 680)
        program.xdotool("mousemove", 1200, 730, "sleep", 0.2, "mousedown", 1, "sleep", 0.2)
        for step in range(1, 11):
            at = [round(start + (end - start) * step / 10) for start, end in zip((1200, 730), to, strict=True)]
            program.xdotool("mousemove", *at, "sleep", 0.05)
        program.xdotool("sleep", 0.3, "mouseup", 1, "sleep", 0.3)
    finally:
        source.kill()
        source.wait()


@pytest.fixture(scope="module")
def program(start):
    running = start()
    yield running
    running.quit(10)


def test_that_a_bundle_dropped_on_the_window_restores_what_it_was_made_from(program):
    program.settled(rows=5)
    usual = program.sliders()[0]
    program.key("ctrl+Up", "ctrl+Up")
    moved = until(lambda: (now := program.sliders()[0]).width > usual.width + 15 and now, "two steps more noise")
    program.settled(rows=5)
    program.key("ctrl+e")
    program.wait_for("Export the weight figure")
    program.key("Tab", "End", "Return")  # the format that is a folder
    program.wait_for("Where to create the folder")
    program.key("ctrl+a")
    program.type(program.home)
    program.key("Return")
    program.wait_gone("Where to create the folder")
    bundle = program.home / "weights"
    until(lambda: (bundle / "weights.slide-session").is_file(), "the bundle")
    assert read_session(bundle).parameters.noise == 0.4
    program.focus()
    program.key("ctrl+Down", "ctrl+Down")
    until(lambda: program.sliders()[0] == usual, "the usual noise")
    program.settled(rows=5)
    drag(program, bundle, (800, 400))
    until(lambda: program.sliders()[0] == moved, "the noise of the bundle")
    program.settled(rows=5)


def test_that_the_palette_does_what_is_typed_and_question_mark_lists_the_shortcuts(program):
    program.focus()
    page = program.settled(rows=5)
    program.key("question")
    program.wait_for("Keyboard shortcuts")
    program.key("Escape")
    program.wait_gone("Keyboard shortcuts")
    program.key("ctrl+shift+p")
    program.wait_for("Commands")
    program.type("remove a layer")
    program.key("Return")
    program.wait_gone("Commands")
    fewer = [len(row) - 1 for row in page.rows]
    until(lambda: [len(row) for row in program.settled().rows] == fewer, "one layer fewer")
    program.key("ctrl+shift+p")
    program.wait_for("Commands")
    program.type("no such thing")
    program.key("Return")
    program.still()
    assert program.find("Commands")
    program.key("ctrl+a")
    program.type("data set convex")
    program.key("Return")
    program.wait_gone("Commands")
    until(lambda: program.title.startswith("Convex"), "Convex")
    program.settled(seconds=120)
