import os
import subprocess
import sys
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from slide_gui.bench import classifying
from slide_gui.bench.cancelling import _waits
from slide_gui.bench.measurements import MEASUREMENTS
from slide_gui.progress import Progress


def test_that_the_help_lists_every_figure():
    command = [sys.executable, "-m", "slide_gui", "bench", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ, COLUMNS="120"))
    for name in MEASUREMENTS:
        assert f"  {name} " in shown.stdout


def test_that_a_late_cancel_point_shows_and_work_that_ended_before_does_not_count():
    def slow(progress: Progress) -> None:
        for _ in range(3):
            time.sleep(0.03)
            progress.report(0.0)

    waits = _waits(slow, 1.0)
    assert max(waits) > 5.0
    assert min(waits) >= 0.0


def _few_digits(figure):
    digits = load_digits()
    rows = np.zeros((600, 28, 28), np.float32)
    rows[:, 2:26, 2:26] = np.kron(digits.images[:600], np.ones((3, 3))) / 16.0
    rows = rows.reshape(600, 784)
    return rows[:400], digits.target[:400], rows[400:], digits.target[400:600]


def test_that_ten_classes_are_timed_beside_the_other_program_on_the_same_problem(monkeypatch):
    monkeypatch.setattr(classifying, "_digits", _few_digits)
    monkeypatch.setattr(classifying, "_intelex", lambda figure: SVC)
    (figure,) = classifying.svm_ten()
    assert figure.name == "svm-ten-400"
    assert figure.reference > 0.0
    ours, theirs = figure.note.split("errors ")[1].removesuffix(" %").split(" and ")
    assert ours == theirs  # the same problem has the same solution
    assert 0.0 < float(ours) < 20.0


def test_that_nothing_is_compared_with_a_program_that_is_not_there_and_that_is_said(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sklearnex", None)
    monkeypatch.setattr(classifying, "_digits", _few_digits)
    monkeypatch.setattr(
        classifying, "in_child", lambda *words: {"mebibytes": 1.0} if words[-1] == "ours" else {}[words]
    )
    assert classifying.svm_ten() == []
    (memory,) = classifying.svm_mnist()
    assert memory.reference is None
    said = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in said] == ["svm-ten", "svm-mnist"]
    assert all("scikit-learn-intelex is not installed" in line for line in said)
