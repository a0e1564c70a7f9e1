"""Every command that takes data treats hostile names as text and executes nothing in them."""

import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from slide_gui.data.open import open_data
from tests.hostile import CLASSES, hostile_file, unsafe

SVM = "--widths median --starts 1 -C 1"


@pytest.fixture
def table(cli, tmp_path):
    return hostile_file(tmp_path).name


def answer(cli, line, *words):
    """Return what a command prints on stdout. Fail if its output could control a terminal."""
    output = cli(line, *words)
    assert (unsafe(output.out), unsafe(output.err)) == (set(), set())
    return output.out


def check_files(folder):
    """Fail if a picture is not well-formed, or a cell of a table could be a formula."""
    for picture in folder.rglob("*.svg"):
        ElementTree.parse(picture)
    for table in folder.rglob("*.csv"):
        if table.name.startswith("<img"):  # the input file
            continue
        with table.open(newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if re.match(r"[=+@\t\r]|-(?!\d)", cell)]
        assert not unsafe("".join(cells))


def test_that_printed_names_control_no_terminal(table, cli):
    assert "'=HYPERLINK" not in answer(cli, "datasets info", table)
    document = json.loads(answer(cli, "datasets info --json", table))
    assert document["source"] == table  # unchanged
    assert len(document["train_labels"]) == len(CLASSES)
    for names in (document["feature_names"], document["train_labels"]):
        assert all(len(name) <= 100 for name in names)
    error = cli("fit", table, "--label-column", "no\x1b[31m\u202e", code=1).err
    assert not unsafe(error)
    assert error.count("\n") == 1
    assert r"\x1b]0;title\x07" in error


def test_that_a_column_is_found_by_its_own_name_and_by_the_printed_one(table, cli):
    shown = next(name for name in open_data([Path(table)]).feature_names if "xyz" in name)
    for name in ("\x9b31m\u202exyz", shown):
        document = json.loads(answer(cli, "datasets info --json", table, "--leave-out", name))
        assert len(document["feature_names"]) == 5


@pytest.mark.parametrize("command", ["weights", "flow", "copies"])
def test_that_figures_of_weights_take_hostile_names(table, cli, command):
    answer(cli, f"{command} --depth 1 --bundle made", table)
    assert {path.suffix for path in Path("made").iterdir()} >= {".pdf", ".svg", ".png", ".csv", ".py", ".txt"}
    check_files(Path("made"))


def test_that_models_and_runs_take_hostile_names(table, cli):
    answer(cli, "fit --depth 1 -o model.npz", table)
    answer(cli, f"sweep --depth 1 --noise 0.1:0.2:0.1 {SVM} --store s.sqlite --figure curves.svg", table)
    answer(cli, "runs list s.sqlite")
    spec_hash = json.loads(answer(cli, "runs list s.sqlite --json"))[0]["hash"]
    for line in (f"show s.sqlite {spec_hash}", "check s.sqlite", "export s.sqlite -o runs.csv"):
        answer(cli, f"runs {line}")
    answer(cli, f"decide --store s.sqlite --run {spec_hash}", table)
    check_files(Path())


def test_that_figures_of_a_run_take_hostile_names(table, cli):
    figures = [f"confusion{suffix}" for suffix in (".pdf", ".svg", ".png", ".csv")]
    answer(cli, f"train --depth 1 {SVM}", table, "--figure", *figures)
    check_files(Path())
    with open("confusion.csv", newline="", encoding="utf-8") as file:
        names = sorted(row[0][:12] for row in csv.reader(file))
    assert names == ["'=HYPERLINK(", '<img src="pi', *["W" * 12] * 2, "class"]
