"""`slide-gui reproduce`: what cannot be meant, and one short run through the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slide_gui.cli import main
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.files.source import DataSource
from slide_gui.reproduction import plan as extent
from tests.experiments.tiny import rectangles
from tests.figures.test_reproduction import EXTENT

Capture = pytest.CaptureFixture[str]


def test_that_the_command_writes_the_page_and_says_what_it_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def load(self: DataSource, **options: object) -> Dataset:
        return rectangles(60, 80)

    monkeypatch.setattr(DataSource, "load", load)
    monkeypatch.setattr(extent, "reproduction_scale", lambda quick, splits: EXTENT)
    assert main(["reproduce", "--out", str(tmp_path / "out"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert Path(said["page"]).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [one["name"] for one in said["made"]] == ["samples", "weights", "flow", "closeness", "curves", "errors"]
    assert said["left_out"] == ["Nearly everything."]
    assert (tmp_path / "out" / "runs.sqlite").exists()


@pytest.mark.parametrize("arguments", [["reproduce"], ["reproduce", "--out", "o", "--splits", "0"]])
def test_that_what_cannot_be_meant_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not Path("o").exists()
