"""The command itself: fast start, exit codes, what stands on stdout and stderr, cancelling."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slide_gui import __version__
from slide_gui.cli import console, main
from slide_gui.cli.console import guarded, progress_bar
from slide_gui.data.dataset import HeldOut
from slide_gui.data.reading import ParseOptions
from slide_gui.progress import Cancelled, Stage

ROOT = Path(__file__).parents[2]
HEAVY = ("numpy", "threadpoolctl", "matplotlib", "PySide6", "scipy", "sklearn", "requests", "PIL")

Capture = pytest.CaptureFixture[str]


def started(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("QT_QPA_PLATFORM", None)
    environment.pop("DISPLAY", None)
    environment.pop("WAYLAND_DISPLAY", None)
    command = [sys.executable, "-m", "slide_gui", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=60)


def test_that_the_version_is_said_without_any_heavy_import() -> None:
    script = (
        "import sys; from slide_gui.cli import main; code = main(['--version'])\n"
        f"heavy = [name for name in {HEAVY} if name in sys.modules]\n"
        "assert not heavy, heavy\nsys.exit(code)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"slide-gui {__version__}\n", "")


def test_that_help_names_every_subcommand(capsys: Capture) -> None:
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    for name in ("datasets", "fit", "weights", "demo", "doctor"):
        assert name in said
        assert main([name, "--help"]) == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="X11 and Wayland are found by environment")
def test_that_without_a_display_the_window_is_refused_in_one_sentence() -> None:
    done = started()
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("slide-gui: ")
    assert done.stderr.count("\n") == 1


def _caused_by_interrupt() -> Exception:
    """Return what the import of a compiled module makes of Ctrl+C."""
    error = ImportError("numpy failed to import")
    error.__cause__ = KeyboardInterrupt()
    return error


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (console.UsageError("two"), 2, "two"),
        (ValueError("bad value"), 1, "bad value"),
        (KeyboardInterrupt(), 1, "cancelled"),
        (_caused_by_interrupt(), 1, "cancelled"),
        (Cancelled(), 1, "cancelled"),
        (MemoryError(), 1, "not enough memory"),
        (FileNotFoundError(2, "No such file or directory", "x.csv"), 1, "x.csv: No such file"),
        (KeyError("inside"), 1, "unexpected KeyError"),
        (ValueError("two\nlines"), 1, "two lines"),
    ],
)
def test_that_every_failure_is_one_sentence_and_a_code(
    capsys: Capture, error: BaseException, code: int, sentence: str
) -> None:
    def fail() -> int:
        raise error

    assert guarded(fail) == code
    said = capsys.readouterr().err
    assert said.startswith(f"slide-gui: {sentence}")
    assert said.count("\n") == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_that_progress_is_a_line_every_ten_seconds_where_stderr_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", file := io.StringIO())
    clock = [100.0]
    monkeypatch.setattr("slide_gui.cli.console.time.monotonic", lambda: clock[0])
    with progress_bar("trying") as progress:
        progress.report(0.0, Stage("comparing", 0, 8))
        for step in range(220):
            clock[0] += 0.1
            progress.report(step / 400)
    assert file.getvalue().splitlines() == [
        "trying 25 % comparing, 1 of 8, about 30 s left",
        "trying 50 % comparing, 1 of 8, about 20 s left",
    ]


def test_that_the_bar_is_drawn_on_a_terminal_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar("reading") as progress:
        progress.report(0.0)
        for step in range(100):
            progress.report(step / 200)
        progress.report(1.0)
    drawn = terminal.getvalue().split("\r")
    assert "reading" in drawn[1]
    assert "100 %" in drawn[-3]
    assert drawn[-2].strip() == drawn[-1] == ""
    assert len(drawn) < 20


def test_that_the_bar_shows_the_forecast_of_a_job_or_that_of_the_share_done(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, terminal = [100.0], Terminal()
    monkeypatch.setattr(console, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar("sweep") as progress:
        clock[0] += 10.0
        progress.report(0.25)
        assert terminal.getvalue().endswith("about 30 s left")
        clock[0] += 1.0
        progress.report(0.25, SimpleNamespace(seconds_left=300.0))
        assert terminal.getvalue().endswith("about 5 min left")


INTERRUPTED = """
import os, signal, sys
from contextlib import contextmanager
from slide_gui.cli import main, options
from slide_gui.progress import Progress

class Interrupting(Progress):
    def report(self, fraction, payload=None):
        if payload is not None:  # the first layer is fitted
            os.kill(os.getpid(), signal.Signals[sys.argv[1]])

@contextmanager
def bar(label):
    yield Interrupting()

options.progress_bar = bar
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with it ignored
sys.exit(main(["fit", "rows.npy", "--depth", "3", "-o", "m.npz"]))
"""


@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
def test_that_ctrl_c_or_sigterm_ends_a_fit_in_one_sentence_and_leaves_no_file(tmp_path: Path, sent: str) -> None:
    import numpy as np

    np.save(tmp_path / "rows.npy", np.random.default_rng(0).random((5000, 99), dtype=np.float32))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", INTERRUPTED, sent]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "slide-gui: cancelled\n")
    assert os.listdir(tmp_path) == ["rows.npy"]


INTERRUPTED_IMPORT = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == WANTED:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with it ignored
from slide_gui.cli import main
WANTED, sys.argv[1:] = sys.argv[1], ["fit", "rectangles", "-o", "m.npz"]
sys.meta_path.insert(0, Interrupting())
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("slide_gui.cli.console", 130),
        ("dataclasses", 130),
        ("slide_gui.cli.parser", 130),
        ("argparse", 130),
        ("numpy", 130),
        ("numpy.linalg", 130),
        ("slide_gui.experiments.files.model_file", 1),
    ],
)
def test_that_ctrl_c_in_an_import_ends_the_program_in_one_line(tmp_path: Path, module: str, code: int) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", INTERRUPTED_IMPORT, module]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "slide-gui: cancelled\n")
    assert os.listdir(tmp_path) == []


def test_that_doctor_finds_this_installation_whole(capsys: Capture) -> None:
    assert main(["doctor", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    states = {finding["name"]: finding["state"] for finding in said["findings"]}
    assert said["ok"]
    assert {"python", "numpy", "float32 scatter", "BLAS", "settings folder"} <= {
        n for n, s in states.items() if s == "ok"
    }


def test_that_doctor_fails_with_a_remedy_where_the_blas_is_wrong(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slide_gui.core.linear_algebra.float32_scatter_is_exact", lambda: False)
    assert main(["doctor"]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("broken")]
    assert "float32 scatter" in line
    assert "pip install" in line


def test_that_the_window_takes_the_reading_options_of_the_other_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []
    monkeypatch.setattr("slide_gui.gui.app.run", lambda files, source=None: opened.append((files, source)) or 0)
    file = tmp_path / "x.csv"
    file.write_text("name,a\n")
    words = ["--label-column", "town", "--leave-out", "name", "--no-header", "--shape", "2x3", "--folds", "5"]
    assert main([str(file), *words]) == 0
    assert main([str(file)]) == 0
    assert main(["--", str(file)]) == 0
    (files, source), plain, dashed = opened
    assert files == [file]
    assert source.paths == (str(file),)
    assert source.reading == ParseOptions("town", False, (2, 3), left_out=("name",))
    assert source.held_out == HeldOut(0.0, 0, 5)
    assert plain == dashed == ([file], None)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["x.slide-session", "--header"], "is a session, which stores how its data are read"),
        (["x.csv", "--shape", "big"], "expected rows and columns"),
        (["x.csv", "--depth", "2"], "unrecognized arguments: --depth"),
        (["nowhere.csv", "--header"], "is neither a file nor one of the subcommands"),
    ],
)
def test_that_options_that_the_window_does_not_take_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.csv").touch()
    Path("x.slide-session").touch()
    assert main(arguments) == 2
    assert sentence in capsys.readouterr().err
