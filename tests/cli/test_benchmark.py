"""`slide-gui benchmark`: the protocol's cells, kept, gone on with, and written as tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from slide_gui.cli import main
from tests.experiments.tiny import rectangles

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLIDE_GUI_DATA", str(tmp_path))


def test_that_cells_are_filled_once_and_written_in_every_form(capsys: Capture) -> None:
    arguments = ["benchmark", "rectangles", "--quick", "--methods", "raw-svm", "randproj-svm", "--generated"]
    arguments += ["--store", "r.sqlite", "--json"]
    names = [f"{kind}.{suffix}" for kind in ("errors", "times") for suffix in ("csv", "md", "tex")] + ["errors.svg"]
    assert main([*arguments, "--tables", *names]) == 0
    first = json.loads(capsys.readouterr().out)
    assert {cell["method"]: len(cell["splits"]) for cell in first["cells"]} == {"raw-svm": 1, "randproj-svm": 1}
    assert first["cells"][0]["splits"][0]["n_test"] == 2000
    assert first["data"][0]["generated"]
    assert first["runs"] == first["runs_done"] == 2
    assert all(Path(name).stat().st_size > 100 for name in names)
    assert main(arguments) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["cells"] == first["cells"]  # its times too
    assert main([*arguments[:-1], "--stored"]) == 0
    assert "Rand Proj-SVM" in capsys.readouterr().out


def test_that_a_file_takes_the_place_of_a_data_set_and_gives_a_quarter_of_its_rows_for_tests(capsys: Capture) -> None:
    data = rectangles(80, 0)
    np.savez("mine.npz", x=data.train, y=data.train_labels)
    arguments = ["benchmark", "rectangles=mine.npz", "--methods", "raw-svm", "--splits", "1", "--store", "r.sqlite"]
    assert main([*arguments, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["data"][0]["source"].endswith("mine.npz")
    assert (first["data"][0]["n_train"], first["cells"][0]["splits"][0]["n_test"]) == (60, 20)
    assert main([*arguments, "--json", "--stored"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"] == first["cells"]


def test_that_showing_a_store_that_is_not_there_makes_none(capsys: Capture) -> None:
    assert main(["benchmark", "--stored", "--store", "r.sqlite"]) == 1
    assert capsys.readouterr().err == "slide-gui: r.sqlite: this run store does not exist; check the name\n"
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        ["benchmark"],
        ["benchmark", "cifar=x.npz", "--store", "r"],
        ["benchmark", "convex=", "--store", "r"],
        ["benchmark", "convex=a.csv", "convex=b.csv", "--store", "r"],
        ["benchmark", "convex", "convex=b.csv", "--store", "r"],
        ["benchmark", "cifar", "--store", "r"],
        ["benchmark", "--methods", "magic", "--store", "r"],
        ["benchmark", "--splits", "0", "--store", "r"],
        ["benchmark", "--store", "r", "--tables", "errors.doc"],
    ],
)
def test_that_what_cannot_be_meant_is_one_sentence(capsys: Capture, arguments: list[str]) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("slide-gui: ")
    assert said.count("\n") == 1
