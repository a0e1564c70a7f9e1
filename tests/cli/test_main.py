"""The command starts fast, can be cancelled, uses exit codes, stdout and stderr correctly, and lists data sets."""

import errno
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from PySide6.QtCore import QSettings

from slide_gui import __version__
from slide_gui.cli import console, main
from slide_gui.cli.console import guarded, progress_bar
from slide_gui.data.dataset import HeldOut
from slide_gui.data.entries import entries
from slide_gui.data.reading import ParseOptions
from slide_gui.gui import app
from slide_gui.progress import Cancelled, Stage

ROOT = Path(__file__).parents[2]
HEAVY = ("numpy", "threadpoolctl", "matplotlib", "PySide6", "scipy", "sklearn", "requests", "PIL")


def started(folder, *arguments):
    """Run Python without a display and return exit code, stdout and stderr."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        environment.pop(name, None)
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    return done.returncode, done.stdout, done.stderr


def test_that_the_version_is_printed_without_any_heavy_import(tmp_path):
    script = (
        "import sys; from slide_gui.cli import main; code = main(['--version'])\n"
        f"heavy = [name for name in {HEAVY} if name in sys.modules]\n"
        "assert not heavy, heavy\nsys.exit(code)"
    )
    assert started(tmp_path, "-c", script) == (0, f"slide-gui {__version__}\n", "")


def test_that_output_on_windows_is_utf_8_and_discarded_without_a_reader(monkeypatch, tmp_path):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setattr("sys.stdout", stream)
    assert main(["--version"]) == 0
    print("h⁰ → h¹", flush=True)
    assert stream.buffer.getvalue().decode().splitlines() == [f"slide-gui {__version__}", "h⁰ → h¹"]
    with (tmp_path / "out").open("w") as stream, console._without_reader(stream):
        raise OSError(errno.EINVAL, "Invalid argument")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_that_output_to_a_full_disk_is_one_error(tmp_path, monkeypatch):
    script = "import os, sys\nfrom slide_gui.cli import main\nos.dup2(os.open('/dev/full', os.O_WRONLY), 1)\n"
    for unbuffered, arguments in (("", ["datasets", "list"]), ("1", ["try", "--help"])):
        monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
        code, _, err = started(tmp_path, "-c", f"{script}sys.exit(main({arguments}))")
        assert (code, err) == (1, "slide-gui: No space left on device; free some space, or choose another path\n")


@pytest.mark.skipif(os.name == "nt", reason="output on Windows is UTF-8")
def test_that_results_are_printed_and_saved_if_the_encoding_of_the_locale_lacks_characters(tmp_path, monkeypatch):
    rows = "".join(f"{k % 7},{k % 5},{'é' if k % 2 else 'Ω'}\n" for k in range(40))
    (tmp_path / "a.csv").write_text(f"a,b,label\n{rows}", encoding="utf-8")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    train = ["-m", "slide_gui", "train", "a.csv", "--depth", "1", "--method", "median", "--save-model", "m.npz"]
    code, out, _ = started(tmp_path, *train)
    assert (code, out.splitlines()[-1]) == (0, "saved m.npz")
    assert r"noise 1 \u2212 p = 0.30 (p = 0.70)" in out
    code, out, _ = started(tmp_path, *train, "--json")
    assert (code, json.loads(out)["label_names"]) == (0, ["é", "Ω"])


def test_that_help_names_every_subcommand_and_each_has_its_own(cli):
    names = re.findall(r"^    (\w+)\b", cli("--help").out, re.MULTILINE)
    assert {"datasets", "fit", "weights", "train", "reproduce", "doctor"} <= set(names)
    for name in names:
        assert f"usage: slide-gui {name}" in cli(f"{name} --help").out
    assert "--noise is one noise level, which applies to every layer (default: 0.25)." in cli("train --help").out


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="X11 and Wayland are found by environment")
def test_that_without_a_display_the_window_is_refused_in_one_sentence(tmp_path):
    code, out, err = started(tmp_path, "-m", "slide_gui")
    assert (code, out) == (1, "")
    assert re.fullmatch("slide-gui: .*\n", err)


def _caused_by_interrupt():
    """Return the error that the import of a compiled module raises on Ctrl+C."""
    error = ImportError("numpy failed to import")
    error.__cause__ = KeyboardInterrupt()
    return error


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (console.UsageError("two"), 2, "two"),
        (ValueError("bad value"), 1, "bad value"),
        (KeyboardInterrupt(), 130, "cancelled"),
        (_caused_by_interrupt(), 130, "cancelled"),
        (Cancelled(), 1, "cancelled"),
        (MemoryError(), 1, "not enough memory"),
        (FileNotFoundError(2, "No such file or directory", "x.csv"), 1, "x.csv: No such file or directory\n"),
        (PermissionError(13, "the folder y is read-only", "y/x.csv"), 1, "y/x.csv: the folder y is read-only; choose"),
        (KeyError("inside"), 1, "unexpected KeyError"),
        (ValueError("two\nlines"), 1, "two lines"),
    ],
)
def test_that_every_failure_is_one_sentence_and_a_code(capsys, error, code, sentence):
    assert guarded(Mock(side_effect=error)) == code
    said = capsys.readouterr().err
    assert said.startswith(f"slide-gui: {sentence}")
    assert said.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="closes streams as a POSIX shell does")
@pytest.mark.parametrize("end", ["2>&1 | true", ">&- 2>&-"])
def test_that_a_model_is_saved_if_nothing_reads_stdout_and_stderr(tiny, end):
    train = f"train {tiny} --depth 1 --method median --save-model m.npz"
    subprocess.run(f"'{sys.executable}' -u -m slide_gui {train} {end}", shell=True, check=True)
    assert Path("m.npz").exists()


def test_that_progress_is_a_line_every_ten_seconds_if_stderr_is_not_a_terminal(monkeypatch):
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


def test_that_a_terminal_shows_a_bar_with_the_time_left_which_is_erased_at_the_end(monkeypatch):
    clock, terminal = [100.0], io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(console, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar("sweep") as progress:
        clock[0] += 10.0
        progress.report(0.25)
        assert terminal.getvalue().endswith("about 30 s left")
        clock[0] += 1.0
        progress.report(0.25, SimpleNamespace(seconds_left=300.0))
        assert terminal.getvalue().endswith("about 5 min left")
        for step in range(100):  # all within the interval of one redraw
            progress.report(step / 200)
        progress.report(1.0)
    drawn = terminal.getvalue().split("\r")
    assert "100 %" in drawn[-3]
    assert drawn[-2].strip() == drawn[-1] == ""
    assert len(drawn) < 10


INTERRUPTED = """
import os, signal, sys
from contextlib import nullcontext
from slide_gui.cli import main, options
from slide_gui.progress import Progress

class Interrupting(Progress):
    def report(self, fraction, payload=None):
        if payload is not None:  # the first layer is fitted
            os.kill(os.getpid(), signal.Signals[sys.argv[1]])

options.progress_bar = lambda label: nullcontext(Interrupting())
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with it ignored
sys.exit(main(["fit", "rows.npy", "--depth", "3", "-o", "m.npz"]))
"""


@pytest.mark.parametrize(("sent", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_that_ctrl_c_or_sigterm_ends_a_fit_in_one_sentence_and_leaves_no_file(tmp_path, sent, code):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).random((5000, 99), dtype=np.float32))
    assert started(tmp_path, "-c", INTERRUPTED, sent) == (code, "", "slide-gui: cancelled\n")
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
WANTED, *sys.argv[1:] = sys.argv[1:]
sys.meta_path.insert(0, Interrupting())
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("fit rectangles -o m.npz", "slide_gui.cli.console"),
        ("fit rectangles -o m.npz", "slide_gui.cli.parser"),
        ("fit rectangles -o m.npz", "numpy.linalg"),
        ("fit rectangles -o m.npz", "slide_gui.experiments.files.model_file"),
        ("fit rectangles -o m.npz", "slide_gui.data.generators.rectangles"),
        ("doctor", "PySide6.support"),
        ("demo", "PySide6.support"),
    ],
)
def test_that_ctrl_c_in_an_import_ends_the_program_in_one_line(tmp_path, line, module):
    assert started(tmp_path, "-c", INTERRUPTED_IMPORT, module, *line.split()) == (130, "", "slide-gui: cancelled\n")
    assert set(os.listdir(tmp_path)) <= {"out"}  # demo creates its folder first


def test_that_doctor_finds_no_fault_here_and_in_settings_and_names_a_remedy_for_each_fault(cli, tmp_path, monkeypatch):
    monkeypatch.setattr(app, "make_settings", lambda: QSettings(str(tmp_path / "ini"), QSettings.Format.IniFormat))
    document = cli("doctor --json").json
    assert document["ok"]
    fine = {finding["name"]: finding["found"] for finding in document["findings"] if finding["state"] == "ok"}
    assert {"python", "numpy", "float32 scatter", "BLAS"} <= fine.keys()
    assert Path(fine["settings folder"]) == tmp_path
    monkeypatch.setattr("slide_gui.core.linear_algebra.float32_scatter_is_exact", lambda: False)
    monkeypatch.setattr(app, "store_path", lambda: Path(__file__, "runs.sqlite"))
    line, folder = [line for line in cli("doctor", code=1).out.splitlines() if line.startswith("failed")]
    assert f"data folder: {__file__} is not writable; chmod" in folder
    assert re.match("failed  float32 scatter: .*pip install", line)


def test_that_the_window_takes_the_reading_options_of_the_other_commands(cli, monkeypatch):
    opened = []
    monkeypatch.setattr("slide_gui.gui.app.run", lambda files, source=None: opened.append((files, source)) or 0)
    file = Path("x.csv")
    file.write_text("name,a\n")
    cli("x.csv --label-column town --leave-out name --no-header --shape 2x3 --folds 5")
    cli("x.csv")
    cli("-- x.csv")
    (files, source), plain, dashed = opened
    assert files == [file]
    assert source.paths == (str(file),)
    assert source.reading == ParseOptions("town", False, (2, 3), left_out=("name",))
    assert source.held_out == HeldOut(0.0, 0, 5)
    assert plain == dashed == ([file], None)


def test_that_list_names_every_benchmark_and_its_files_and_get_downloads_the_named_ones(cli, tmp_path, monkeypatch):
    (file := tmp_path / "data" / "convex.zip").parent.mkdir()
    file.touch()
    rows = {row["key"]: row for row in cli("datasets list --json").json}
    assert list(rows) == [entry.key for entry in entries()]
    assert rows["convex"]["found"] == [str(file)]
    assert rows["rectangles"]["found"] is None
    assert (rows["mnist"]["n_train"], rows["mnist"]["n_test"]) == (60_000, 10_000)
    lines = {line.split()[0]: line for line in cli("datasets list").out.splitlines()}
    assert lines.keys() == rows.keys()
    assert lines["convex"].endswith("convex.zip")
    assert lines["mnist"].endswith("60000 +  10000 rows  no files found; generated data are used instead")
    monkeypatch.setattr("slide_gui.cli.data.download", lambda key, **_: [Path(key) / "file"])
    assert cli("datasets get convex mnist --json").json == {"convex": ["convex/file"], "mnist": ["mnist/file"]}


def test_that_info_describes_files_and_generated_data_with_their_seed(cli):
    first, same, other = (cli(f"datasets info rectangles --seed {seed} --json").json for seed in (0, 0, 1))
    assert first == same
    assert first["fingerprint"] != other["fingerprint"]
    assert first["generated"] is True
    assert (first["n_train"], first["n_test"], first["image_shape"]) == (1200, 50_000, [28, 28])
    assert sum(first["train_labels"].values()) == 1200
    assert set(first["train_labels"]) == {"wider", "taller"}
    np.savez("own.npz", X=np.full((5, 3), 0.5), y=np.array([0, 1, 1, 1, 0]))
    text = cli("datasets info own.npz").out
    assert "0: 2, 1: 2" in text
    assert "25 % held out, seed 0" in text
    assert "0: 2, 1: 3" in cli("datasets info own.npz --held-out 0").out


def test_that_an_uncertain_guess_is_one_line_on_stderr_and_the_description_has_all_guesses(cli):
    Path("x.csv").write_bytes("# made today\na,b,class\n.1,.2,Tür\n.3,.4,Tor\n.5,.6,Tür\n".encode("cp1252"))
    assert cli("fit x.csv --depth 1").err == (
        "slide-gui: x, please check: text read as Windows-1252 "
        "(line 3 is not UTF-8; if letters are wrong, save the file as UTF-8)\n"
    )
    guesses = cli("datasets info x.csv --json").json["guessed"]
    assert [guess.partition(":")[0] for guess in guesses] == ["text read as Windows-1252", "1 comment line skipped"]
