"""BLAS has one thread per physical core, set before any computation, unless an environment variable sets the number."""

import json
import os
import subprocess
import sys

import pytest

from slide_gui import blas
from slide_gui.cli import main
from slide_gui.experiments.runs.run import run
from tests.experiments.tiny import rectangles, spec

SET = "import numpy; from slide_gui import blas; blas.cores = lambda: {}; blas.set_threads(); "
DEFAULT = "import numpy; from slide_gui import blas; "
PRINT = "print(blas.loaded_blas()[0].threads)"


def child(code, **environment):
    """Run code in a new process with only these environment variables for threads; return the printed number."""
    variables = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    variables |= {"QT_QPA_PLATFORM": "offscreen", **environment}
    command = [sys.executable, "-c", code]
    return int(json.loads(subprocess.run(command, capture_output=True, text=True, check=True, env=variables).stdout))


@pytest.mark.parametrize(
    ("siblings", "allowed", "n_cores"),
    [
        ({0: "0,4", 1: "1,5", 4: "0,4", 5: "1,5"}, {0, 1, 4, 5}, 2),  # each core has two logical processors
        ({0: "0,4", 1: "1,5", 4: "0,4", 5: "1,5"}, {0, 4}, 1),  # affinity limits the process to one core
        ({}, {0, 1, 2}, 3),  # unknown topology
    ],
)
def test_that_physical_cores_of_this_process_are_counted(tmp_path, monkeypatch, siblings, allowed, n_cores):
    for processor, listed in siblings.items():
        folder = tmp_path / f"cpu{processor}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{listed}\n")
    monkeypatch.setattr(blas, "_TOPOLOGY", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: allowed, raising=False)
    assert blas.cores() == n_cores


def test_that_there_is_one_thread_per_core_but_no_more_than_the_default():
    assert child(SET.format(1) + PRINT) == 1
    assert child(SET.format(99) + PRINT) == child(DEFAULT + PRINT)


def test_that_the_threads_of_a_worker_are_set_again_only_if_their_limit_changes():
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
def test_that_an_environment_variable_of_the_user_takes_precedence(name):
    for number in ("1", "2"):
        assert child(SET.format(1) + PRINT, **{name: number}) == child(DEFAULT + PRINT, **{name: number})


def test_that_the_threads_are_set_before_the_first_job_of_the_window():
    code = """
from PySide6.QtCore import QCoreApplication
from slide_gui import blas
from slide_gui.gui.state.jobs import JobQueue
blas.cores = lambda: 1
app = QCoreApplication([])
queue = JobQueue()
show = lambda progress: print(blas.loaded_blas()[0].threads)
queue.submit("", show, channel="a", on_result=lambda _: app.quit())
app.exec()
"""
    assert child(code) == 1


COMPUTING = {
    "benchmark": ["--store", "r.sqlite", "--methods", "none"],
    "copies": ["absent.npz"],
    "decide": ["absent.npz", "--store", "absent.sqlite", "--run", "0"],
    "demo": [],
    "draw": ["absent.json"],
    "features": ["absent.npz", "absent.csv", "-o", "out.npz"],
    "fill": ["absent.csv", "-o", "out.csv"],
    "fit": ["absent.npz"],
    "flow": ["absent.npz"],
    "predict": ["absent.npz", "absent.csv"],
    "reproduce": ["--out", "out", "--splits", "0"],
    "sweep": ["absent.npz", "--store", "r.sqlite"],
    "train": ["absent.npz"],
    "try": ["absent.npz"],
    "weights": ["absent.npz"],
}
"""Subcommand that computes → arguments with which it ends quickly."""


def test_that_every_command_that_computes_sets_the_threads_first(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    calls = []
    monkeypatch.setattr("slide_gui.cli.parser.set_threads", lambda: calls.append("set"))
    monkeypatch.setattr("slide_gui.cli.figures.headless", lambda *_, **__: [])
    assert main(["no-such-command"]) == 2
    known = capsys.readouterr().err.rpartition("subcommands ")[2].strip().split(", ")
    assert set(known) - COMPUTING.keys() == {"datasets", "doctor", "licences", "runs"}
    for name, arguments in COMPUTING.items():
        calls.clear()
        main([name, *arguments])
        assert calls == ["set"], name


def test_that_a_run_records_its_blas_and_number_of_threads():
    data = rectangles()
    versions = dict(run(data, spec(data, method="raw-svm")).versions)
    first = blas.loaded_blas()[0]
    assert versions["BLAS"].startswith(str(first))
    assert versions["threads"] == str(first.threads)
