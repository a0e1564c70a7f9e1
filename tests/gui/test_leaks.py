"""The fixtures that check Qt fail a test that leaves objects or warnings behind."""

import subprocess
import sys
from pathlib import Path

CASES = """
import threading
from PySide6.QtCore import QTimer, qWarning
from PySide6.QtWidgets import QWidget
kept = []
def test_clean(app):
    QWidget().show()
def test_warning(app):
    qWarning("something is wrong")
def test_window(app):
    kept.append(QWidget())
def test_timer(app):
    kept.append(QTimer(interval=60000))
    kept[-1].start()
def test_thread(app):
    kept.append(threading.Event())
    threading.Thread(target=kept[-1].wait, daemon=True, name="forgotten").start()
"""


def test_that_warnings_windows_timers_and_threads_left_fail_a_test(tmp_path):
    (tmp_path / "conftest.py").write_text("from tests.conftest import *", encoding="utf-8")
    (tmp_path / "test_cases.py").write_text(CASES, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", tmp_path, "-q", "-rE", tmp_path]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2]), "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    errors = {line.split("::")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("ERROR")}
    assert errors == {"test_warning", "test_window", "test_timer", "test_thread"}, done.stdout
    for message in ("something is wrong", "window still there", "timer still runs", "thread still runs: forgotten"):
        assert message in done.stdout
