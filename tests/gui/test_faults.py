"""An error anywhere in the window is reported, and the window continues."""

import subprocess
import sys

import pytest

SCRIPT = """
import os, sys
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget
from slide_gui.gui.app import make_application

class Before(QWidget):
    def paintEvent(self, event):
        {error}

app = make_application()

class After(Before):
    def paintEvent(self, event):
        {error}

told = []
sys.excepthook = lambda kind, error, trace: told.append((kind, str(error)))
for make in (Before, After):
    widget = make()
    widget.show()
    QTimer.singleShot(100, app.quit)
    app.exec()
    widget.hide()
print(sorted({{kind.__name__ for kind, _ in told}}), len(told) >= 2)
"""


@pytest.mark.parametrize(
    ("error", "kind"),
    [("1 / 0", "ZeroDivisionError"), ("int('x')", "ValueError")],
)
def test_that_an_error_inside_an_override_of_a_qt_method_is_reported(error, kind):
    script = SCRIPT.format(error=error)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.strip() == f"['{kind}'] True"
