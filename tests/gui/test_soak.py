"""A little of what `python -m tests.long_run` does to the window for hours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("kind", "amount"), [("user", 0.005), ("cycles", 5), ("openings", 1), ("interleavings", 2)])
def test_that_a_little_of_every_long_run_fails_nowhere(kind: str, amount: float, tmp_path: Path) -> None:
    root, summary = Path(__file__).parents[2], tmp_path / "summary.json"
    words = ["-m", "tests.long_run", kind, "--amount", str(amount), "--seed", "2", "--summary", str(summary)]
    settings = {"PYTHONPATH": str(root), "QT_QPA_PLATFORM": "offscreen", "SLIDE_GUI_DATA": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, *words], cwd=root, env={**os.environ, **settings}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(summary.read_text())["counts"]["done"]["steps"] > 0
