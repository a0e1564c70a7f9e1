"""The version of the numbers: whatever decides one changes it, and nothing else does."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from slide_gui.numerics import numerics, source_digest, version_from, version_of
from slide_gui.resources import resource

ROOT = Path(__file__).resolve().parent.parent
COMMAND = ROOT / "packaging" / "numerics.py"

RUN = "from slide_gui.core.filter import weights\nfrom slide_gui.data.rows import read\n"
FILTER = '''\
"""A filter."""

from __future__ import annotations

import numpy as np

__all__ = ["RIDGE", "weights"]

RIDGE = 1e-5
"""Added to the diagonal."""


def weights(scatter: np.ndarray, noise: float, ridge: float = RIDGE) -> np.ndarray:
    """Return the weights."""
    p = 1.0 - noise
    if not 0.0 < p <= 1.0:
        raise ValueError(f"noise is {noise!r}; it must be below 1")
    expected = scatter * (p * p)
    expected[-1] = scatter[-1] * p
    return np.linalg.inv(expected + ridge)
'''


def declare(*arguments: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(COMMAND), *arguments, "--root", str(root)], capture_output=True, text=True
    )


def record_of(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "resources" / "numerics.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small program, declared as it is, which no test changes."""
    folder = tmp_path_factory.mktemp("declared")
    sources = {"experiments/run.py": RUN, "core/filter.py": FILTER, "data/rows.py": "SIZE = 1\n", "core/other.py": ""}
    for name, source in sources.items():
        (folder / "slide_gui" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "slide_gui" / name).write_text(source, "utf-8")
    (folder / "resources").mkdir()
    (folder / "resources" / "numerics.toml").write_text("version = 7\n[modules]\n")
    declare("equal", root=folder)
    return folder


@pytest.fixture
def checkout(declared: Path, tmp_path: Path) -> Path:
    """Return a copy of it that may be changed."""
    return Path(shutil.copytree(declared, tmp_path / "checkout"))


def change(checkout: Path, old: str, new: str, name: str = "core/filter.py") -> None:
    file = checkout / "slide_gui" / name
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def test_that_the_sources_are_as_recorded() -> None:
    done = declare()
    assert done.returncode == 0, f"\n{done.stdout}{done.stderr}"


def test_that_all_that_a_run_is_made_of_is_recorded() -> None:
    modules = record_of(ROOT)["modules"].keys()
    assert {
        "core/slide/denoiser.py", "core/slide/scatter.py", "core/svm/smo.py", "core/svm/criteria.py",
        "core/sda/model.py", "experiments/run.py", "experiments/splits.py",
    } <= modules  # fmt: skip
    assert all((ROOT / "slide_gui" / name).is_file() for name in modules)


def test_that_one_operator_of_the_program_itself_changes_its_version(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "slide_gui" / "core", tmp_path / "slide_gui" / "core")
    record = record_of(ROOT)
    assert version_of(tmp_path / "slide_gui", record) == record["version"]
    change(tmp_path, " * ", " + ", "core/slide/denoiser.py")
    assert str(version_of(tmp_path / "slide_gui", record)).startswith(f"{record['version']}+")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1.0 - noise", "1.0 + noise"),
        ("p <= 1.0", "p < 1.0"),
        ("RIDGE = 1e-5", "RIDGE = 1e-4"),
        ("p * p", "p**p"),
        ("    expected[-1] = scatter[-1] * p\n", ""),
        ("    expected = scatter", "        expected = scatter"),
        ("not 0.0", "0.0"),
        ("raise ValueError", "raise KeyError"),
        ("ridge: float = RIDGE", "ridge: float = 0"),
        ("import numpy as np", "import cupy as np"),
    ],
)
def test_that_a_change_of_what_is_computed_fails_the_check(checkout: Path, old: str, new: str) -> None:
    assert declare(root=checkout).returncode == 0
    change(checkout, old, new)
    done = declare(root=checkout)
    assert done.returncode == 1
    assert "core/filter.py changed" in done.stdout
    assert "python packaging/numerics.py equal" in done.stdout
    assert "python packaging/numerics.py new" in done.stdout


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def weights(", "# Of every feature.\ndef weights("),
        ("Return the weights.", "Return all weights."),
        ("Added to the diagonal.", "Added to it."),
        ("1.0 - noise", "(\n        1.0\n        - noise\n    )"),
        ("p = 1.0 - noise\n    if", "p=1.0-noise;\n\n    if"),
        ("scatter: np.ndarray, noise: float, ridge: float = RIDGE) -> np.ndarray:", "scatter, noise, ridge=RIDGE):"),
        ("it must be below 1", "it has to be below 1"),
        ('__all__ = ["RIDGE", "weights"]', '__all__ = ["weights"]'),
    ],
)
def test_that_comments_words_and_layout_do_not(checkout: Path, old: str, new: str) -> None:
    change(checkout, old, new)
    done = declare(root=checkout)
    assert (done.returncode, done.stderr) == (0, "")


def test_that_only_what_a_run_reaches_counts(checkout: Path) -> None:
    (checkout / "slide_gui" / "core" / "other.py").write_text("X = 1\n")
    (checkout / "slide_gui" / "data" / "rows.py").write_text("SIZE = 2\n")  # the data are told by their fingerprint
    assert declare(root=checkout).returncode == 0
    change(checkout, "p = 1.0", "from slide_gui.core import other\n    p = 1.0")
    said = declare(root=checkout).stdout
    assert "core/filter.py, core/other.py changed" in said
    declare("equal", root=checkout)
    assert record_of(checkout)["modules"].keys() == {"core/filter.py", "core/other.py", "experiments/run.py"}


def test_that_a_program_that_is_not_as_recorded_has_a_version_of_its_own(checkout: Path) -> None:
    package, record = checkout / "slide_gui", record_of(checkout)
    assert version_of(package, record) == record["version"] == 7
    change(checkout, "RIDGE = 1e-5", "RIDGE = 1e-5  # as the paper")
    assert version_of(package, record) == 7
    change(checkout, "RIDGE = 1e-5", "RIDGE = 1e-4")
    first = version_of(package, record)
    change(checkout, "RIDGE = 1e-4", "RIDGE = 1e-3")
    assert len({7, first, version_of(package, record)}) == 3
    assert str(first).startswith("7+")


def test_that_what_is_declared_equal_keeps_the_version(checkout: Path) -> None:
    change(checkout, "p * p", "p**2")
    assert declare("equal", root=checkout).returncode == 0
    record = record_of(checkout)
    assert record["version"] == 7 == version_of(checkout / "slide_gui", record)
    assert declare(root=checkout).returncode == 0


def test_that_what_is_declared_new_gets_a_version_that_no_other_change_gets(checkout: Path) -> None:
    before = (checkout / "resources" / "numerics.toml").read_text()
    versions = []
    for ridge in ("1e-4", "1e-3"):
        (checkout / "slide_gui" / "core" / "filter.py").write_text(FILTER.replace("1e-5", ridge), "utf-8")
        (checkout / "resources" / "numerics.toml").write_text(before)
        assert declare("new", root=checkout).returncode == 0
        record = record_of(checkout)
        assert record["version"] == version_of(checkout / "slide_gui", record)
        versions.append(record["version"])
    assert [version.partition("-")[0] for version in versions] == ["8", "8"]
    assert versions[0] != versions[1]
    declare("new", root=checkout)
    assert record_of(checkout)["version"].startswith("9-")


def test_that_line_ends_and_missing_sources_do_not_count(checkout: Path) -> None:
    package, record = checkout / "slide_gui", record_of(checkout)
    file = package / "core" / "filter.py"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert version_of(package, record) == 7
    assert version_of(checkout / "bundle", record) == 7


def test_that_this_program_computes_the_recorded_version() -> None:
    with resource("numerics.toml").open("rb") as stream:
        assert numerics() == tomllib.load(stream)["version"]
    assert version_from(str(numerics())) == numerics()


SOURCE = '''
"""Docstring."""
from __future__ import annotations

class Part[T]:
    width: float = 1.0
    "what it is"

def said(x: int, *, n=(1, -2.5, 3j, None, ...)) -> str:
    text = f"a{x!r:>{n[0]}}b" "c" f"{x=}" rf"\\d" f""
    match x:
        case {"k": [1, *_], **rest} if rest: return b"x" + text
    try:
        return {**{}, "a": [i for i in n if i]}[::2]
    except* ValueError as error:
        raise KeyError(f"{error}") from None
'''


def test_that_the_digest_is_the_same_on_every_python() -> None:
    source = SOURCE.replace("class Part[T]", "class Part")  # only from 3.12 on
    assert source_digest(source) == "d0cc2d23e9811b53"
    if sys.version_info >= (3, 12):
        assert source_digest(SOURCE) == source_digest(source)
