"""What the window may not wait for, libraries that no one has asked for yet; and how it can be interrupted unseen."""

import json
import os
import subprocess
import sys

HEAVY = ("matplotlib", "sklearn", "scipy", "pyqtgraph", "requests", "PIL", "pandas", "joblib")

SCRIPT = """
import json, sys, time
from slide_gui.gui.app import make_application, make_window
from slide_gui.gui.app import tear_down

app = make_application()
window = make_window([])
window.workspace.set_parameters(depth=1)
window.show()
loaded = {}
end = time.monotonic() + 60
while time.monotonic() < end:
    app.processEvents()
    if window.isVisible() and "shown" not in loaded:
        loaded["shown"] = sorted(sys.modules)
    if window.workspace.model() is not None and not window.queue.busy:
        loaded["fitted"] = sorted(sys.modules)
        window.actions_by_name["page_curves"].trigger()
        loaded["plot"] = sorted(sys.modules)
        break
    time.sleep(0.005)
tear_down(window)
print(json.dumps(loaded))
"""


def run(script, folder, **options):
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=90,
        **options,
    )


def test_that_neither_the_window_nor_its_first_fit_imports_anything_heavy_and_a_plot_what_draws_it(tmp_path):
    loaded = json.loads(run(SCRIPT, tmp_path, check=True).stdout)
    assert set(loaded) == {"shown", "fitted", "plot"}
    assert "pyqtgraph" in loaded.pop("plot")
    for moment in loaded.values():
        assert "PySide6.QtWidgets" in moment
        assert [name for name in HEAVY if name in moment] == []


INTERRUPTED = """
import os, signal, sys
from pathlib import Path
from PySide6.QtCore import QTimer
from slide_gui.cli.console import guarded
from slide_gui.gui import app
from slide_gui.gui.shell import main_window

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with it ignored

def open_nothing(window, files, source):
    timer = QTimer(window)
    timer.setSingleShot(True)
    timer.timeout.connect(lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start(0)

main_window.MainWindow.start = open_nothing
sys.exit(guarded(lambda: app.take_screenshot(Path("picture.png"))))
"""


def test_that_ctrl_c_ends_the_wait_for_a_picture_of_the_window_in_one_sentence(tmp_path):
    done = run(INTERRUPTED, tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "slide-gui: cancelled\n")
    assert not (tmp_path / "picture.png").exists()
