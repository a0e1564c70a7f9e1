"""`slide-gui try`: the sentence, its JSON, its bundle, and refusals."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slide_gui.cli import main
from slide_gui.data.dataset import HeldOut
from slide_gui.data.files import RECORD
from slide_gui.experiments.files.session import located, read_session
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps.trial import try_data
from tests.scripts import run_script

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    lines = ["length,width,height,weight,kind"]
    for number in range(60):
        kind = number % 2
        row = random.normal(size=4) + np.array([2.0 * kind, 0.0, 0.0, 0.0])
        lines.append(",".join([*(f"{value:.3f}" for value in row), ("low", "high")[kind]]))
    Path("plants.csv").write_text("\n".join(lines) + "\n")
    return Path("plants.csv")


def test_that_the_command_says_the_sentence_of_python_and_its_bundle_makes_itself_again(
    table: Path, capsys: Capture
) -> None:
    arguments = ["try", "plants.csv", "--held-out", "0.4", "--split-seed", "3"]
    assert main([*arguments, "--json", "--store", "runs.sqlite"]) == 0
    document = json.loads(capsys.readouterr().out)
    source = replace(DataSource.of(["plants.csv"]), held_out=HeldOut(0.4, 3))
    with RunStore(Path("runs.sqlite")) as store:
        n_runs = len(store.runs())
        trial = try_data(source.load(), source, store=store)
        assert len(store.runs()) == n_runs > 0
    assert document["sentence"] == trial.sentence
    assert document["error"] == trial.result.error
    assert len(document["compared_with"]) == len(trial.baselines)

    assert main([*arguments, "--out", "tried", "--store", "runs.sqlite"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == [f"plants: {trial.sentence}", trial.details]
    folder = Path("tried")
    assert {path.name for path in folder.iterdir()} == {
        "try.pdf", "try.svg", "try.png", "try.csv", "try.py", "try.json", "try.txt", "commands.txt",
        "try.slide-session", RECORD,
    }  # fmt: skip
    assert (folder / "try.txt").read_text() == "\n".join(said[:2]) + "\n"
    commands = (folder / "commands.txt").read_text()
    assert "slide-gui try plants.csv --held-out 0.4 --split-seed 3 --out try" in commands
    assert "best on validation" in (folder / "try.csv").read_text().splitlines()[0]
    session = located(read_session(folder), folder, [Path()])
    assert (session.page, session.fingerprint) == ("curves", session.source.load().fingerprint)
    before = {name: (folder / name).read_bytes() for name in ("try.csv", "try.svg")}
    os.remove(folder / "try.csv")
    run_script(folder / "try.py", Path())
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert not Path("try.csv").exists(), "the script writes next to itself"


def test_that_what_cannot_be_tried_is_one_sentence(table: Path, capsys: Capture) -> None:
    for arguments, code in (
        (["try", "absent.csv"], 1),
        (["try", "plants.csv", "--label-column", "none"], 1),
        (["try", "plants.csv", "--held-out", "0"], 1),
        (["try", "plants.csv", "--held-out", "2"], 2),
        (["try"], 2),
    ):
        assert main(arguments) == code
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("slide-gui: ")
        guesses = said.err.count("please check: ")
        assert guesses == ("none" in arguments)  # then the column of text is left out
        assert said.err.count("\n") == 1 + guesses


def quantities(n: int) -> str:
    random = np.random.default_rng(2)
    rows = (f"{a:.4f},{b:.4f},{round(200 * a + 90 * b)}" for a, b in random.random((n, 2)))
    return "\n".join(["age,bmi,progression", *rows]) + "\n"


@pytest.mark.parametrize("command", [["try"], ["train"], ["sweep", "--store", "s.sqlite"]])
def test_that_a_quantity_as_label_is_refused_with_its_remedies_before_anything_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text(quantities(400))
    monkeypatch.setattr("slide_gui.experiments.runs.run.represent", lambda *_: pytest.fail("trained"))
    assert main([command[0], "d.csv", *command[1:]]) == 1
    said = capsys.readouterr().err
    assert "The column 'progression' has " in said
    assert "different numbers. It looks like a quantity, and slide-gui classifies. Choose another label column" in said
    assert "--bins 3" in said


def test_that_three_ranges_of_a_quantity_are_classes_named_by_their_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text(quantities(60))
    assert main(["try", "d.csv", "--bins", "3", "--out", "o", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["error"] < 0.5
    assert "--bins 3" in Path("o/commands.txt").read_text()
    assert read_session(Path("o/try.slide-session")).source.reading.bins == 3
    assert main(["train", "d.csv", "--bins", "1"]) == 2
    assert "bins is 1; give 2 to 30 ranges" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["try", "train"])
def test_that_the_time_that_many_classes_take_is_shown_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    labels = np.repeat(np.arange(50), 20)
    np.savez("many.npz", X=np.random.default_rng(0).random((1000, 5)), y=labels)

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("slide_gui.experiments.sweeps.executor.run", stop)
    assert main([command, "many.npz"]) == 1
    announced, cancelled = capsys.readouterr().err.splitlines()
    assert announced.startswith("estimated time: about ")
    assert announced.endswith(" min")
    assert cancelled == "slide-gui: cancelled"
