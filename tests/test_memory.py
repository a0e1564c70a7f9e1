"""Arrays beyond the free memory are refused before they are allocated; BLAS has one thread per physical core."""

import functools
import json
import os
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from slide_gui import SLIDE, LinearImputer, MultiWidthSVC, blas, memory
from slide_gui.cli import main, parser
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.sda.training import pretrain
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.selection import median_width_search
from slide_gui.core.svm.training import TrainingSet
from slide_gui.core.svm.widths import WidthsSample
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.experiments.inspection import rows as inspected_rows
from slide_gui.experiments.inspection.rows import Explorer
from slide_gui.experiments.runs import fitting
from slide_gui.experiments.runs.run import run
from slide_gui.figures.export import figure_bytes
from slide_gui.figures.style import Style
from tests.experiments.tiny import rectangles, spec


@pytest.fixture
def little_memory(monkeypatch):
    """Let the machine appear to have 10 MB of free memory."""
    monkeypatch.setattr(memory, "free_memory", lambda: 10_000_000)
    monkeypatch.setattr(memory, "_SMALL", 0)


def _rows(n=2000, d=200):
    return np.random.default_rng(0).random((n, d), np.float32)


LABELS = np.arange(2000) % 2


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        (lambda: fit_stack(_rows(100, 700), StackParameters()),
         "a fit of 3 layers to 700 features needs about 0.0396 GB; use fewer features"),
        (lambda: SLIDE().fit_transform(_rows(5000)), "transforming 5000 rows of 200 features at depth 3 needs about "
         "0.016 GB; transform fewer rows at a time, or use fewer layers"),
        (lambda: SLIDE().fit(csr_array(_rows())),
         "the scatter matrix of 400000 stored values needs about 0.0128 GB; pass the rows as a Blocks object"),
        (lambda: MultiWidthSVC().fit(csr_array(_rows(30_000, 100)), np.arange(30_000) % 2),
         "converting 30000 sparse rows of 100 columns to an array needs about 0.012 GB; give fewer rows at a time"),
        (lambda: LinearImputer().fit(_rows(4000)),
         "filling 4\u202f000 rows of 200 columns needs about 0.0192 GB; give fewer rows"),
        (lambda: MultiWidthSVC(2).fit(_rows(), LABELS),
         "training on 2000 rows of 200 columns needs about 0.0352 GB; use fewer rows or lower the memory limit"),
        (lambda: WidthsSample.of(TrainingSet(_rows(), LABELS, (100, 100)), SvmParameters()),
         "learning 2 widths on 2\u202f000 rows needs about 0.256 GB; learn on a smaller subset"),
        (lambda: median_width_search(TrainingSet(_rows(), LABELS, (200,)), SvmParameters()),
         "a grid search on 2000 rows needs about 0.016 GB; use fewer rows"),
        (lambda: pretrain(_rows(), SdaParameters(n_units=(1500, 1500))),
         "pre-training on 2000 rows of 200 features needs about 0.0324 GB; use fewer rows or units"),
        (lambda: figure_bytes(lambda figure: figure.set_size_inches(7, 7), ".png", Style(dpi=600)),
         "this picture needs about 0.0847 GB; give fewer dots per inch"),
    ],
)  # fmt: skip
def test_that_a_job_larger_than_the_free_memory_is_refused(job, sentence):
    with pytest.raises(MemoryError) as refusal:
        job()
    assert str(refusal.value) == sentence.replace("GB; ", "GB of memory, but only 0.01 GB are free; ")


@pytest.mark.usefixtures("little_memory")
def test_that_a_fit_larger_than_the_free_memory_is_refused_before_the_rows_are_summed(monkeypatch):
    data = Dataset("wide", _rows(100, 700), _rows(0, 700))
    for module in (inspected_rows, fitting):
        monkeypatch.setattr(module, "input_scatter", None)
    for fit in (Explorer(data.train).update, functools.partial(fitting.Reuse().stack, data)):
        with pytest.raises(MemoryError, match="a fit of 3 layers to 700 features needs about"):
            fit(StackParameters())


@pytest.mark.usefixtures("little_memory")
def test_that_the_refusal_of_a_file_names_it_and_the_command_line_prints_the_sentence(tmp_path, capsys):
    np.save(tmp_path / "rows.npy", _rows(30_000, 100))
    sentence = r"rows\.npy: loading its rows needs about 0\.012 GB of memory, but only 0\.01 GB are free"
    with pytest.raises(DataError, match=sentence):
        open_data([tmp_path / "rows.npy"])
    assert main(["weights", "rectangles", "--depth", "4"]) == 1
    needed = "a fit of 4 layers to 784 features needs about 0.063 GB of memory"
    assert capsys.readouterr().err == f"slide-gui: {needed}, but only 0.01 GB are free; use fewer features\n"


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Replace /proc and /sys/fs/cgroup by temporary folders."""
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    groups.mkdir()
    (proc / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    4000 kB\n")
    monkeypatch.setattr(memory, "_PROC", proc)
    monkeypatch.setattr(memory, "_CGROUPS", groups)
    return proc, groups


def _group(folder, limit, used):
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in (("max", limit), ("current", used), ("stat", "inactive_file 1000")):
        (folder / f"memory.{name}").write_text(f"{value}\n")


def test_that_free_memory_is_available_or_less_in_a_control_group_and_no_job_is_refused_if_it_is_unknown(system):
    proc, groups = system
    assert memory.free_memory() == 4_096_000
    (proc / "self" / "cgroup").write_text("0::/service/one\n")
    _group(groups / "service" / "one", "max", 5_000)
    assert memory.free_memory() == 4_096_000
    _group(groups / "service", 2_000_000, 500_000)
    assert memory.free_memory() == 1_501_000
    _group(groups / "service" / "one", 100, 5_000)
    assert memory.free_memory() == 0
    (proc / "self" / "cgroup").write_text("5:cpu:/x\nnonsense\n")
    assert memory.free_memory() == 4_096_000
    (proc / "meminfo").write_text("nothing\n")
    assert memory.free_memory() is None
    (proc / "meminfo").unlink()
    assert memory.free_memory() is None
    memory.check_free(10**15, "anything", "wait")


def test_that_this_system_reports_its_free_memory():
    free = memory.free_memory()
    assert free is None or 1 << 20 < free < 1 << 50


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


@pytest.mark.parametrize("name", ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"])
def test_that_an_environment_variable_of_the_user_takes_precedence(name):
    for number in ("1", "2"):
        assert child(SET.format(1) + PRINT, **{name: number}) == child(DEFAULT + PRINT, **{name: number})


@pytest.mark.parametrize(("running", "threads"), [((3, 4, 3, 5, 9), 1), ((3, 1, 9, 9, 9), 2)])
def test_that_blas_uses_one_thread_while_other_processes_always_need_the_cores(monkeypatch, running, threads):
    numbers, limited = iter(running), []
    monkeypatch.setattr(blas, "_n_running", lambda: next(numbers))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(blas, "loaded_blas", lambda: (blas.Blas("a", threads=2),))
    monkeypatch.setattr(blas, "one_thread", lambda: nullcontext(limited.append(1)))
    for name in blas._VARIABLES:
        monkeypatch.delenv(name, raising=False)
    blas._is_busy.cache_clear()
    with blas.one_thread_if_busy():
        assert limited == [1] * (2 - threads)
    blas._is_busy.cache_clear()


def test_that_the_number_of_running_threads_is_read_or_unknown(tmp_path, monkeypatch):
    monkeypatch.setattr(blas, "_STATISTICS", tmp_path / "stat")
    assert blas._n_running() == 0
    (tmp_path / "stat").write_text("cpu 1 2\nprocs_running 7\nprocs_blocked 0\n")
    assert blas._n_running() == 7


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


def test_that_commands_set_the_threads_first_except_those_that_compute_nothing(monkeypatch, capsys):
    calls = []
    monkeypatch.setattr("slide_gui.cli.parser.set_threads", lambda: calls.append("set"))
    assert parser._WITHOUT_PRODUCTS == ("datasets", "runs", "doctor", "licences")
    for line, expected in (("fit absent.npz", ["set"]), ("runs list absent.sqlite", [])):
        calls.clear()
        assert main(line.split()) != 0
        assert calls == expected


def test_that_a_run_records_its_blas_and_number_of_threads():
    data = rectangles()
    with threadpool_limits(1):  # a run uses one thread anyway if other processes keep the cores busy
        versions, first = dict(run(data, spec(data, method="raw-svm")).versions), blas.loaded_blas()[0]
    assert versions["BLAS"].startswith(str(first))
    assert versions["threads"] == str(first.threads)
