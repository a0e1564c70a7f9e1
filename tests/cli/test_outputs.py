"""No command writes over an input, a store, or a file that the user did not name."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from slide_gui.cli import main
from slide_gui.cli.parser import build_parser
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.files import RECORD
from slide_gui.experiments.files.model_file import fit_model, is_model_file, save_model
from slide_gui.experiments.files.provenance import FigureProvenance
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.store.store import RunStore
from tests.experiments.tiny import rectangles, spec

Capture = pytest.CaptureFixture[str]

INPUTS = {"store", "image", "provenance"}
OUTPUTS = {
    ("train", "figure"), ("train", "output"), ("sweep", "figure"), ("try", "out"), ("fit", "output"),
    ("weights", "output"), ("weights", "bundle"), ("flow", "output"), ("flow", "bundle"), ("copies", "output"),
    ("copies", "bundle"), ("draw", "output"), ("demo", "out"), ("benchmark", "tables"), ("reproduce", "out"),
    ("runs export", "output"), ("runs check", "output"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Become a folder with data as CSV under the names of outputs, a model, an image, a store and a provenance."""
    monkeypatch.chdir(tmp_path)
    tiny = rectangles(24, 12)
    np.savez("tiny.npz", X_train=tiny.train.reshape(-1, 8, 8), y_train=tiny.train_labels,
             X_test=tiny.test.reshape(-1, 8, 8), y_test=tiny.test_labels)  # fmt: skip
    rows = [
        ",".join([*map(str, row[:4]), f"c{label}"]) for row, label in zip(tiny.train, tiny.train_labels, strict=True)
    ]
    table = "\n".join(["a,b,c,d,class", *rows]) + "\n"
    for name in ("weights", "flow", "copies", "confusion", "curves", "try", "d"):
        Path(f"{name}.csv").write_text(table)
    Path("image.csv").write_text("0.1,0.2,0.3,0.4\n")
    save_model("model.npz", fit_model(tiny, StackParameters(depth=1)))
    source = DataSource(paths=("d.csv",))
    Path("curves.json").write_text(FigureProvenance.of_run("confusion", source, spec(source.load(), depth=1)).text())
    with RunStore("runs.sqlite") as store:
        store.save(run(tiny, spec(tiny, method="raw-svm")))
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def by_name(name: str) -> str:
    return name


def by_detour(name: str) -> str:
    Path("inner").mkdir()
    return f"inner/../{name}"


def by_symbolic_link(name: str) -> str:
    other = f"{Path(name).stem}-linked{Path(name).suffix}"
    Path(other).symlink_to(name)
    return other


def by_hard_link(name: str) -> str:
    other = f"{Path(name).stem}-linked{Path(name).suffix}"
    os.link(name, other)
    return other


SVM = ["--depth", "1", "-C", "1", "--widths", "median"]


@pytest.mark.parametrize(
    ("target", "words", "alias"),
    [
        *(
            ("d.csv", ["draw", "curves.json", "-o", "OUT"], alias)
            for alias in (by_detour, by_symbolic_link, by_hard_link)
        ),
        ("confusion.csv", ["train", "confusion.csv", *SVM, "--figure", "OUT"], by_name),
        ("confusion.csv", ["train", "confusion.csv", *SVM, "--figure", "confusion.pdf", "OUT"], by_name),
        ("d.csv", ["sweep", "d.csv", *SVM, "--store", "new.sqlite", "--figure", "OUT"], by_name),
        ("d.csv", ["sweep", "d.csv", *SVM, "--labels", "8", "--store", "new.sqlite", "--figure", "OUT"], by_name),
        ("weights.csv", ["weights", "weights.csv", "-o", "OUT"], by_name),
        ("weights.csv", ["weights", "d.csv", "weights.csv", "-o", "OUT"], by_name),
        ("flow.csv", ["flow", "flow.csv", "-o", "OUT"], by_name),
        ("image.csv", ["flow", "flow.csv", "--image", "image.csv", "-o", "OUT"], by_name),
        ("copies.csv", ["copies", "copies.csv", "-o", "OUT"], by_name),
        ("d.csv", ["draw", "curves.json", "-o", "OUT"], by_name),
        ("tiny.npz", ["fit", "tiny.npz", "-o", "OUT"], by_name),
        ("d.csv", ["benchmark", "convex=d.csv", "--store", "new.sqlite", "--tables", "OUT"], by_name),
        ("runs.sqlite", ["runs", "export", "runs.sqlite", "-o", "OUT"], by_name),
    ],
)
def test_that_an_output_that_is_an_input_is_refused_before_anything_is_written(
    folder: Path, capsys: Capture, target: str, words: list[str], alias: Callable[[str], str]
) -> None:
    output = alias(target)
    before = contents(folder)
    assert main([output if word == "OUT" else word for word in words]) == 2
    assert f"{output}: is an input; choose another output" in capsys.readouterr().err
    assert contents(folder) == before


@pytest.mark.parametrize(
    "words",
    [
        ["weights", "weights.csv", "--format", "pdf", "csv"],
        ["weights", "weights.csv", "-o", "weights.pdf", "--format", "csv"],
        ["runs", "export", "runs.sqlite", "-o", "runs.sqlite-wal"],
        ["runs", "export", "runs.sqlite", "-o", "RUNS.sqlite-SHM"],
        ["runs", "export", "runs.sqlite", "-o", "runs.sqlite.arrays/table.csv"],
        ["runs", "export", "runs.sqlite", "-o", "other.sqlite"],
        ["runs", "check", "runs.sqlite", "--save-whole", "runs.sqlite-wal"],
        ["train", "tiny.npz", *SVM, "-o", "confusion-new.csv", "--figure", "confusion-new.csv"],
        ["sweep", "tiny.npz", *SVM, "--store", "new.csv", "--figure", "new.csv"],
        ["fit", "d.csv", "-o", "tiny.npz"],
        ["fit", "d.csv", "-o", "runs.sqlite"],
        ["weights", "tiny.npz", "-o", "linked.pdf"],
        ["weights", "pictures", "--depth", "1", "-o", "pictures/new.pdf"],
        ["weights", "pictures", "--depth", "1", "--bundle", "pictures/new"],
    ],
)
def test_that_other_ways_to_write_over_inputs_and_stores_are_refused(folder: Path, words: list[str]) -> None:
    shutil.copy("runs.sqlite", "other.sqlite")
    Path("linked.pdf").symlink_to("tiny.npz")
    Path("pictures").mkdir()
    shutil.copy("d.csv", "pictures/train.csv")
    before = contents(folder)
    assert main(words) == 2
    assert contents(folder) == before


@pytest.mark.parametrize(
    "words",
    [
        ["try", "try.csv", "--out", "."],
        ["weights", "weights.csv", "--bundle", "."],
        ["flow", "flow.csv", "--bundle", "."],
        ["copies", "copies.csv", "--bundle", "."],
        ["demo", "--out", "."],
        ["reproduce", "--quick", "--out", "."],
        ["weights", "bundle/mine.csv", "--bundle", "bundle"],
    ],
)
def test_that_a_folder_with_files_of_the_user_gets_no_bundle(folder: Path, capsys: Capture, words: list[str]) -> None:
    for name in ("commands.txt", "try.py", "index.html", "window.png"):
        Path(name).write_text("mine")
    Path("bundle").mkdir()
    shutil.copy("d.csv", "bundle/mine.csv")
    Path("bundle", RECORD).write_text("")
    before = contents(folder)
    assert main(words) == 2
    assert "folder" in capsys.readouterr().err
    assert contents(folder) == before


def test_that_a_bundle_replaces_itself_but_nothing_of_the_user(folder: Path, capsys: Capture) -> None:
    words = ["weights", "d.csv", "--depth", "1", "--bundle", "bundle"]
    assert main(words) == 0
    before = contents(folder / "bundle")
    assert main(words) == 0
    assert contents(folder / "bundle") == before
    Path("bundle/notes.txt").write_text("mine")
    assert main(words) == 0, "a file of another name does not matter"
    Path("bundle/weights.py").write_text("mine")
    capsys.readouterr()
    assert main(words) == 1
    assert "bundle/weights.py: exists and was changed since slide-gui wrote it" in capsys.readouterr().err
    assert Path("bundle/weights.py").read_text() == "mine"
    words[0] = "copies"
    Path("bundle/copies.csv").write_text("mine")
    assert main([*words, "--most", "1"]) == 1
    assert "bundle/copies.csv: exists and was not written by slide-gui" in capsys.readouterr().err
    assert Path("bundle/copies.csv").read_text() == "mine"


def test_that_a_file_is_replaced_only_if_it_is_named(folder: Path, capsys: Capture) -> None:
    Path("weights.pdf").write_bytes(b"mine")
    assert main(["weights", "d.csv", "--depth", "1"]) == 2
    assert "weights.pdf exists; name it with -o to replace it" in capsys.readouterr().err
    assert Path("weights.pdf").read_bytes() == b"mine"
    assert main(["weights", "d.csv", "--depth", "1", "-o", "weights.pdf"]) == 0
    assert Path("weights.pdf").read_bytes().startswith(b"%PDF")
    assert main(["runs", "export", "runs.sqlite"]) == 0
    assert main(["runs", "export", "runs.sqlite"]) == 2
    assert main(["runs", "export", "runs.sqlite", "-o", "runs.csv"]) == 0
    assert main(["fit", "d.csv", "--depth", "1", "-o", "model.npz"]) == 0, "a model may replace a model"
    assert is_model_file("model.npz")


def test_that_every_option_that_names_a_file_is_known_to_these_tests() -> None:
    """A new option of this kind needs `check_outputs` or `check_folder`, and a case above."""
    found = set()

    def walk(parser: argparse.ArgumentParser, name: str) -> None:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for key, inner in action.choices.items():
                    command = getattr(inner, "command", None)
                    if command is not None:
                        inner.command = None
                        command.options(inner)
                    walk(inner, f"{name} {key}".strip())
            elif action.type is Path and action.dest not in INPUTS:
                found.add((name, action.dest))

    walk(build_parser(), "")
    assert found == OUTPUTS
