"""Benchmarks print their figures as ratios."""

import os
import subprocess
import sys
from pathlib import Path


def test_that_a_benchmark_prints_its_figure_as_a_ratio():
    command = [sys.executable, "-m", "tests.bench", "--small", "noise-path"]
    environment = {**os.environ, "SLIDE_GUI_DATA": ""}
    done = subprocess.run(command, cwd=Path(__file__).parents[2], env=environment, capture_output=True, text=True)
    line, total = done.stdout.splitlines()
    assert " noise-path: " in line
    assert " × " in line
    assert total.split(" of ")[1].startswith("1 bounds kept")
