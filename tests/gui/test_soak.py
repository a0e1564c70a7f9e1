"""A short version of `python -m tests.long_run`, which uses the window for hours."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
AMOUNTS = {"user": 0.003, "interleavings": 12}
CODE = f"""
import sys
from tests.long_run import main

for kind, amount in {AMOUNTS}.items():
    words = ["--amount", str(amount), "--seed", "2", "--summary", f"{{sys.argv[1]}}/{{kind}}.json"]
    assert main([kind, *words]) == 0, kind
"""


def test_that_a_little_of_every_long_run_of_the_window_fails_nowhere(tmp_path):
    settings = {"PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen", "SLIDE_GUI_DATA": str(tmp_path)}
    command = [sys.executable, "-c", CODE, str(tmp_path)]
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for kind in AMOUNTS:
        assert json.loads((tmp_path / f"{kind}.json").read_text())["counts"]["done"]["steps"] > 0
