"""The threads of BLAS: one a physical core, set before anything is computed, unless the person says how many."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from slide_gui import blas
from slide_gui.cli import main
from slide_gui.experiments.runs.run import run
from tests.experiments.tiny import rectangles, spec


def child(code: str, **environment: str) -> int:
    """Run code in a new process, with no variable of threads but those given, and return the number it prints."""
    own = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    own |= {"QT_QPA_PLATFORM": "offscreen", **environment}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=own).stdout
    return int(json.loads(said))


def topology(root: Path, monkeypatch: pytest.MonkeyPatch, siblings: dict[int, str], mine: set[int]) -> None:
    for processor, listed in siblings.items():
        folder = root / f"cpu{processor}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{listed}\n")
    monkeypatch.setattr(blas, "_TOPOLOGY", root)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: mine, raising=False)


def test_that_two_processors_of_one_core_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topology(tmp_path, monkeypatch, {0: "0,4", 1: "1,5", 4: "0,4", 5: "1,5"}, {0, 1, 4, 5})
    assert blas.cores() == 2


def test_that_only_cores_this_process_may_run_on_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topology(tmp_path, monkeypatch, {0: "0,4", 1: "1,5", 4: "0,4", 5: "1,5"}, {0, 4})
    assert blas.cores() == 1


def test_that_processors_of_unknown_cores_count_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topology(tmp_path, monkeypatch, {}, {0, 1, 2})
    assert blas.cores() == 3


def test_that_there_is_one_thread_a_core() -> None:
    code = (
        "from slide_gui import blas; blas.cores = lambda: 1; blas.set_threads(); print(blas.loaded_blas()[0].threads)"
    )
    assert child(code) == 1


def test_that_it_never_takes_more_threads_than_by_itself() -> None:
    code = "import numpy; from slide_gui import blas; {}print(blas.loaded_blas()[0].threads)"
    assert child(code.format("blas.cores = lambda: 99; blas.set_threads(); ")) == child(code.format(""))


def test_that_a_worker_is_limited_whatever_was_set_before_and_again_only_if_that_changes() -> None:
    code = """
import numpy, threadpoolctl
from slide_gui import blas
calls, limits = [], threadpoolctl.threadpool_limits
threadpoolctl.threadpool_limits = lambda *a, **k: calls.append(a) or limits(*a, **k)
blas.set_threads()
for count in (1, 1, 2, 1, 1):
    blas.limit_threads(count)
print(10 * blas.loaded_blas()[0].threads + len(calls))
"""
    assert child(code) == 10 + 1 + 3


@pytest.mark.parametrize("name", ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"])
def test_that_a_variable_of_the_person_stands(name: str) -> None:
    code = "import numpy; from slide_gui import blas; {}print(blas.loaded_blas()[0].threads)"
    for number in ("1", "2"):
        alone = child(code.format(""), **{name: number})
        assert child(code.format("blas.cores = lambda: 1; blas.set_threads(); "), **{name: number}) == alone


def test_that_the_threads_are_set_before_the_first_job_of_the_window() -> None:
    code = """
from PySide6.QtCore import QCoreApplication
from slide_gui import blas
from slide_gui.gui.state.jobs import JobQueue
blas.cores = lambda: 1
app = QCoreApplication([])
queue = JobQueue()
queue.submit("", lambda progress: print(blas.loaded_blas()[0].threads), channel="a")
queue.idle.connect(app.quit)
app.exec()
"""
    assert child(code) == 1


COMPUTING = {
    "benchmark": ["--store", "r.sqlite", "--methods", "none"],
    "copies": ["absent.npz"],
    "decide": ["absent.npz", "--store", "absent.sqlite", "--run", "0"],
    "demo": [],
    "draw": ["absent.json"],
    "fit": ["absent.npz"],
    "flow": ["absent.npz"],
    "reproduce": ["--out", "out", "--splits", "0"],
    "sweep": ["absent.npz", "--store", "r.sqlite"],
    "train": ["absent.npz"],
    "try": ["absent.npz"],
    "weights": ["absent.npz"],
}
"""Arguments of each subcommand that computes, with which it ends soon."""


def test_that_every_command_that_computes_sets_the_threads_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    called: list[str] = []
    monkeypatch.setattr("slide_gui.cli.parser.set_threads", lambda: called.append("set"))
    monkeypatch.setattr("slide_gui.cli.figures.headless", lambda *_, **__: [])
    assert main(["no-such-command"]) == 2
    known = capsys.readouterr().err.rpartition("subcommands ")[2].strip().split(", ")
    assert set(known) - COMPUTING.keys() == {"datasets", "doctor", "licences", "runs"}
    for name, arguments in COMPUTING.items():
        called.clear()
        main([name, *arguments])
        assert called == ["set"], name


def test_that_a_run_says_which_blas_and_how_many_threads_made_it() -> None:
    data = rectangles()
    versions = dict(run(data, spec(data, method="raw-svm")).versions)
    first = blas.loaded_blas()[0]
    assert versions["BLAS"].startswith(str(first))
    assert versions["threads"] == str(first.threads)
