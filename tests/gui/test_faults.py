"""An error anywhere in the window is reported, and the window continues."""

import subprocess
import sys

import pytest

SCRIPT = """
import os, sys
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from PySide6.QtCore import QTimer
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget
from slide_gui.gui.app import make_application

def paint(self, event):
    painter = QPainter(self)
    try:
        {error}
    except ValueError:
        raise KeyError(0)

Before = type("Before", (QWidget,), dict(paintEvent=paint))
app = make_application()
After = type("After", (Before,), dict(paintEvent=paint))
told = []
sys.excepthook = lambda kind, error, trace: told.append((kind, str(error)))
for make in (Before, After):
    widget = make()
    widget.show()
    QTimer.singleShot(100, app.quit)
    app.exec()
    try:
        widget.grab()
    except Exception as error:
        told.append((type(error), str(error)))
print(sorted({{kind.__name__ for kind, _ in told}}), len(told) >= 4)
"""


@pytest.mark.parametrize(
    ("error", "kind"),
    [("1 / 0", "ZeroDivisionError"), ("[][0]", "IndexError"), ("int('x')", "KeyError")],
)
def test_that_an_error_inside_an_override_of_a_qt_method_is_reported_and_ends_its_painter(error, kind):
    script = SCRIPT.format(error=error)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.strip() == f"['{kind}'] True"
