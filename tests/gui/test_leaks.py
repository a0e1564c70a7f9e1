"""The fixtures that watch Qt do catch what they watch for."""

import subprocess
import sys
from pathlib import Path

CASES = """
import threading

KEPT = []

def test_clean(app):
    from PySide6.QtWidgets import QWidget
    QWidget().show()

def test_warning(app):
    from PySide6.QtCore import qWarning
    qWarning("something is wrong")

def test_window(app):
    from PySide6.QtWidgets import QWidget
    KEPT.append(QWidget())

def test_timer(app):
    from PySide6.QtCore import QTimer
    KEPT.append(QTimer())
    KEPT[-1].start(60000)

def test_thread(app):
    stop = threading.Event()
    KEPT.append(stop)
    threading.Thread(target=stop.wait, daemon=True, name="forgotten").start()

def test_broken(app):
    from PySide6.QtWidgets import QWidget
    window = QWidget()
    assert window is None
"""


def test_that_warnings_windows_timers_and_threads_left_fail_a_test(tmp_path):
    (tmp_path / "conftest.py").write_text("from tests.conftest import *", encoding="utf-8")
    (tmp_path / "test_cases.py").write_text(CASES, encoding="utf-8")
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-rA", str(tmp_path)],
        cwd=root,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    outcome = {line for line in done.stdout.splitlines() if line.startswith(("PASSED", "FAILED", "ERROR"))}
    bad = {line.split("::")[1].split(" ")[0] for line in outcome if line.startswith(("ERROR", "FAILED"))}
    assert bad == {"test_warning", "test_window", "test_timer", "test_thread", "test_broken"}, done.stdout
    for said in ("something is wrong", "window still there", "timer still runs", "thread still runs: forgotten"):
        assert said in done.stdout
    errors = [line for line in outcome if line.startswith("ERROR")]
    assert len(errors) == 4, errors
