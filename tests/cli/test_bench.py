import os
import subprocess
import sys
import time

from slide_gui.cli.bench import MEASUREMENTS
from slide_gui.cli.bench.cancelling import _waits
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
