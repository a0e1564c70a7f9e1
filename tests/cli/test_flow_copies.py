from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from slide_gui.cli import main
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.experiments.files.model_file import fit_model
from slide_gui.experiments.files.session import read_session
from slide_gui.experiments.files.source import DataSource, image_text
from slide_gui.experiments.inspection.closed_form import CopiesStudy
from slide_gui.experiments.inspection.flow import flow_result
from tests.experiments.tiny import rectangles


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny = rectangles(60, 40)
    np.savez("tiny.npz", X_train=tiny.train.reshape(-1, 8, 8), X_test=tiny.test.reshape(-1, 8, 8))


def document(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_that_a_flow_says_the_errors_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(
        capsys, "flow", "tiny.npz", "--row", "3", "--part", "test", "--depth", "2", "--corruption", "5", "-o", "f.csv"
    )
    dataset = DataSource(paths=("tiny.npz",)).load()
    expected = flow_result(fit_model(dataset, StackParameters(depth=2)), dataset.test[3], "test image 4", 5)
    assert found["image"] == "test image 4"
    assert found["blanked"] == int((~expected.flow.survivors).sum())
    for layer, own in zip(found["layers"], expected.flow.layers, strict=True):
        assert layer == {"error_from_target": own.target_error, "error_from_x": own.input_error}
    stages = [line.split(",")[3] for line in Path("f.csv").read_text(encoding="utf-8").splitlines()]
    assert stages == ["stage", "x", "entered", "T(h0)", "h1", "T(h1)", "h2"]


def test_that_a_drawn_image_can_be_sent_through(capsys: pytest.CaptureFixture[str]) -> None:
    Path("drawn.csv").write_text(image_text(np.eye(8, dtype=np.float32)), encoding="utf-8")
    found = document(
        capsys, "flow", "tiny.npz", "--image", "drawn.csv", "--name", "a line", "--clean", "--depth", "1", "-o", "f.png"
    )
    assert (found["image"], found["corruption"], found["blanked"]) == ("a line", None, 0)
    assert Path("f.png").read_bytes().startswith(b"\x89PNG")
    session = read_session(Path("f.png"))
    assert session is not None
    assert (session.parameters.depth, session.choices) == (1, (("weights", "view", "2"),))


def test_that_copies_say_the_errors_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(
        capsys, "copies", "tiny.npz", "--depth", "1", "--most", "8", "--seeds", "2", "--pixel", "2,3", "-o", "c.svg"
    )
    dataset = DataSource(paths=("tiny.npz",)).load()
    model = fit_model(dataset, StackParameters(depth=1))
    expected = CopiesStudy(model.stack, dataset.train, most=8, seeds=2).run()
    assert found["feature"] == 19
    assert [point["copies"] for point in found["points"]] == [1, 2, 4, 8]
    assert [point["errors"] for point in found["points"]] == [point.errors.tolist() for point in expected.points]
    assert found["slope"] == expected.slope()
    assert "<svg" in Path("c.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["flow", "tiny.npz", "--row", "60"], "--row is 60; the training set of tiny has 60 rows"),
        (["flow", "tiny.npz", "--depth", "0"], "depth is 0"),
        (["flow", "tiny.npz", "-o", "x.txt"], "must end in"),
        (["flow", "tiny.npz", "--corruption", "-1"], "expected a seed of 0 or more"),
        (["copies", "tiny.npz", "--layer", "4"], "layer is 4; at depth 3 it must be 1 to 3"),
        (["copies", "tiny.npz", "--shown", "3"], "shown is 3; it must be one of 1, 2, 4"),
        (["copies", "tiny.npz", "--seeds", "0"], "at least one copy"),
        (["copies", "tiny.npz", "--pixel", "9,9"], "expected ROW,COLUMN"),
    ],
)
def test_that_what_makes_no_sense_ends_with_code_2(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert sentence in capsys.readouterr().err


def test_that_an_image_of_another_size_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("drawn.csv").write_text("1,2,3", encoding="utf-8")
    assert main(["flow", "tiny.npz", "--image", "drawn.csv"]) == 2
    assert "holds 3 numbers; tiny has 64 features" in capsys.readouterr().err
