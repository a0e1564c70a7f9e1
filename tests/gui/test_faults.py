"""An error anywhere in the window is reported, and the window continues."""

import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from slide_gui import __version__
from slide_gui.gui.shell.report import without_folders

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


def test_that_copy_report_copies_versions_settings_and_the_log_without_folders_and_data(window, monkeypatch, tmp_path):
    monkeypatch.setattr("slide_gui.gui.shell.faults.log_folder", lambda: tmp_path)
    (tmp_path / "slide-gui.log").write_text(f"first line\n{'x' * 9000}\nValueError: {tmp_path}/patients.csv, line 3\n")
    window.workspace.set_parameters(noise=0.45)
    window.actions_by_name["copy_report"].trigger()
    text = QApplication.clipboard().text()
    for part in (f"slide-gui {__version__}", "numpy ", " thread", "noise 0.45", "theme ", "250 training rows"):
        assert part in text
    assert text.endswith("\nValueError: patients.csv, line 3")
    assert "first line" not in text
    assert not any(part in text for part in (str(tmp_path), str(Path.home()), "given"))
    assert window.notice.accessibleName().startswith("The report was copied")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('  File "/home/ann/slide_gui/slide_gui/gui/app.py", line 3', '  File "slide_gui/gui/app.py", line 3'),
        ('  File "C:\\Users\\ann\\Lib\\site-packages\\numpy\\a.py"', '  File "site-packages/numpy/a.py"'),
        ("'/media/ann b/my study/rows.csv' is not a CSV file", "'rows.csv' is not a CSV file"),
        (f"{Path.home()} is read-only", "~ is read-only"),
        ("1/2 and 3/4 of layer 1/4/9", "1/2 and 3/4 of layer 1/4/9"),
    ],
)
def test_that_a_report_names_no_folder_outside_the_program(line, expected):
    assert without_folders(line) == expected
