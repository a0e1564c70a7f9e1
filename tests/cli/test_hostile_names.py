"""Hostile names pass through every command that takes data: nothing that they say is carried out."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from slide_gui.cli import main
from slide_gui.data.open import open_data
from tests.hostile import CLASSES, hostile_file, unsafe

Capture = pytest.CaptureFixture[str]

SVM = ["--widths", "median", "--starts", "1", "-C", "1"]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return hostile_file(tmp_path).name


def answer(capsys: Capture, *arguments: str) -> str:
    """Return what a command prints that ends well."""
    code, said = main(arguments), capsys.readouterr()
    assert (code, unsafe(said.out), unsafe(said.err)) == (0, set(), set()), said.err
    return said.out


def check_files(folder: Path) -> None:
    """Fail if a picture is not well-formed, or a cell of a table could be a formula."""
    for picture in folder.rglob("*.svg"):
        ElementTree.parse(picture)
    for table in folder.rglob("*.csv"):
        if table.name.startswith("<img"):  # the data themselves
            continue
        with table.open(newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if re.match(r"[=+@\t\r]|-(?!\d)", cell)]
        assert not unsafe("".join(cells))


def test_that_what_is_printed_of_data_steers_no_terminal(table: str, capsys: Capture) -> None:
    assert "'=HYPERLINK" not in answer(capsys, "datasets", "info", table)
    document = json.loads(answer(capsys, "datasets", "info", table, "--json"))
    assert document["source"] == table  # exact, byte for byte
    assert len(document["train_labels"]) == len(CLASSES)
    for names in (document["feature_names"], document["train_labels"]):
        assert all(len(name) <= 100 for name in names)


def test_that_errors_name_hostile_files_and_columns_safely(table: str, capsys: Capture) -> None:
    assert main(["fit", table, "--label-column", "no\x1b[31m\u202e"]) == 1
    said = capsys.readouterr().err
    assert not unsafe(said)
    assert said.count("\n") == 1
    assert r"\x1b]0;title\x07" in said


def test_that_a_column_is_asked_for_by_its_own_name_and_by_the_one_that_is_shown(table: str, capsys: Capture) -> None:
    shown = next(name for name in open_data([Path(table)]).feature_names if "xyz" in name)
    for name in ("\x9b31m\u202exyz", shown):
        document = json.loads(answer(capsys, "datasets", "info", table, "--leave-out", name, "--json"))
        assert len(document["feature_names"]) == 5


@pytest.mark.parametrize("command", ["weights", "flow", "copies"])
def test_that_figures_of_weights_take_hostile_names(table: str, capsys: Capture, command: str) -> None:
    answer(capsys, command, table, "--depth", "1", "--bundle", "made")
    assert {path.suffix for path in Path("made").iterdir()} >= {".pdf", ".svg", ".png", ".csv", ".py", ".txt"}
    check_files(Path("made"))


def test_that_models_and_runs_take_hostile_names(table: str, capsys: Capture) -> None:
    answer(capsys, "fit", table, "--depth", "1", "-o", "model.npz")
    sweep = ["sweep", table, "--depth", "1", "--noise", "0.1:0.2:0.1", *SVM, "--store", "s.sqlite"]
    answer(capsys, *sweep, "--figure", "curves.svg")
    answer(capsys, "runs", "list", "s.sqlite")
    runs = json.loads(answer(capsys, "runs", "list", "s.sqlite", "--json"))
    answer(capsys, "runs", "show", "s.sqlite", runs[0]["hash"])
    answer(capsys, "runs", "check", "s.sqlite")
    answer(capsys, "runs", "export", "s.sqlite", "-o", "runs.csv")
    answer(capsys, "decide", table, "--store", "s.sqlite", "--run", runs[0]["hash"])
    check_files(Path())


def test_that_figures_of_a_run_take_hostile_names(table: str, capsys: Capture) -> None:
    figures = [f"confusion{suffix}" for suffix in (".pdf", ".svg", ".png", ".csv")]
    answer(capsys, "train", table, "--depth", "1", *SVM, "--figure", *figures)
    check_files(Path())
    with open("confusion.csv", newline="", encoding="utf-8") as file:
        assert sorted(row[0][:12] for row in csv.reader(file)) == [
            "'=HYPERLINK(",
            '<img src="pi',
            *["W" * 12] * 2,
            "class",
        ]


def test_that_try_takes_hostile_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    answer(capsys, "try", hostile_file(tmp_path, CLASSES[:2]).name, "--out", "made")
    check_files(Path("made"))
