"""Arrays that need more memory than is free are refused in one sentence before they are allocated."""

import numpy as np
import pytest

from slide_gui import SLIDE, MultiWidthSVC, memory
from slide_gui.cli import main
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.sda.training import pretrain
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.selection import median_width_search, training_bytes
from slide_gui.core.svm.training import TrainingSet
from slide_gui.core.svm.widths import WidthsSample
from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.figures.export import figure_bytes
from slide_gui.figures.style import Style


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
        (lambda: fit_stack(_rows(100, 700), StackParameters()), r"a fit of 3 layers to 700 features needs about 0\.0"),
        (lambda: SLIDE(depth=8).fit_transform(_rows()), "use fewer layers|use fewer features"),
        (lambda: MultiWidthSVC(2).fit(_rows(), LABELS), "training on 2000 rows of 200 columns needs about"),
        (
            lambda: WidthsSample.of(TrainingSet(_rows(), LABELS, (100, 100)), SvmParameters()),
            r"learning 2 widths on 2000 points needs about 0\.256 GB",
        ),
        (
            lambda: median_width_search(TrainingSet(_rows(), LABELS, (200,)), SvmParameters()),
            r"a grid search on 2000 rows needs about 0\.016 GB",
        ),
        (lambda: pretrain(_rows(), SdaParameters(n_units=(1500, 1500))), "pre-training on 2000 rows of 200 features"),
        (
            lambda: figure_bytes(lambda figure: figure.set_size_inches(7, 7), ".png", Style(dpi=600)),
            "this picture needs about .*; give fewer dots per inch",
        ),
    ],
)  # fmt: skip
def test_that_a_job_larger_than_the_free_memory_is_refused(job, sentence):
    with pytest.raises(MemoryError, match=sentence) as refusal:
        job()
    assert type(refusal.value) is MemoryError
    assert "and 0.01 GB are free; " in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.usefixtures("little_memory")
def test_that_the_refusal_of_a_file_names_it_and_the_command_line_prints_the_sentence(tmp_path, capsys):
    np.save(tmp_path / "rows.npy", _rows(30_000, 100))
    sentence = r"rows\.npy: holding its rows needs about 0\.012 GB of memory, and 0\.01 GB are free"
    with pytest.raises(DataError, match=sentence):
        open_data([tmp_path / "rows.npy"])
    assert main(["weights", "rectangles", "--depth", "4"]) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("slide-gui: a fit of 4 layers to 784 features needs about 0.0")
    assert message.endswith("GB are free; use fewer features")


def test_that_training_counts_the_copy_of_the_rows_on_which_c_is_selected():
    selected, given = (training_bytes([1000] * 10, 3136, SvmParameters(widths="median", C=C)) for C in (None, 1.0))
    rows = 4 * 10_000 * 3136
    assert given < (1 + 2 * 0.8) * rows < selected  # a copy of all rows, and four fifths as support vectors


def test_that_small_jobs_do_not_measure_the_memory(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: pytest.fail("measured"))
    SLIDE(depth=2).fit(_rows(50, 20))


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


def _group(folder, limit, used, names=("memory.max", "memory.current"), stat="inactive_file 1000"):
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in zip((*names, "memory.stat"), (limit, used, stat), strict=True):
        (folder / name).write_text(f"{value}\n")


def test_that_free_memory_is_available_memory_or_less_if_a_control_group_limits_it(system):
    proc, groups = system
    assert memory.free_memory() == 4_096_000
    (proc / "self" / "cgroup").write_text("0::/service/one\n")
    _group(groups / "service" / "one", "max", 5_000)
    assert memory.free_memory() == 4_096_000
    _group(groups / "service", 2_000_000, 500_000)
    assert memory.free_memory() == 1_501_000
    _group(groups / "service" / "one", 100, 5_000)
    assert memory.free_memory() == 0
    (proc / "self" / "cgroup").write_text("5:cpu:/x\n4:memory:/box\nnonsense\n")
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    _group(groups / "memory" / "box", 3_000_000, 1_000_000, names, "total_inactive_file 7")
    assert memory.free_memory() == 2_000_007


def test_that_no_job_is_refused_if_free_memory_is_unknown(system):
    proc, _ = system
    (proc / "meminfo").write_text("nothing\n")
    assert memory.free_memory() is None
    (proc / "meminfo").unlink()
    assert memory.free_memory() is None
    memory.check_free(10**15, "anything", "wait")


def test_that_this_system_reports_its_free_memory():
    free = memory.free_memory()
    assert free is None or 1 << 20 < free < 1 << 50
