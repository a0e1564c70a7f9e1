"""`slide-gui fit` and `slide-gui weights`: the numbers of the Python interface, and clear refusals."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from slide_gui.cli import main
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.files import RECORD
from slide_gui.data.open import open_data
from slide_gui.experiments.files.model_file import fit_model, load_model
from slide_gui.experiments.files.session import located, read_session
from slide_gui.experiments.inspection.rows import weight_rows
from tests.scripts import run_script

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a small file of 6 × 6 images in the current folder."""
    monkeypatch.chdir(tmp_path)
    images = np.random.default_rng(0).random((40, 6, 6)).astype(np.float32)
    np.savez(tmp_path / "small.npz", X=images)
    return tmp_path / "small.npz"


def test_that_fit_saves_the_weights_that_python_computes_to_the_bit(data: Path, capsys: Capture) -> None:
    arguments = ["--noise", "0.2", "--depth", "2", "--threshold", "0.4", "--dtype", "float64", "--json"]
    assert main(["fit", str(data), *arguments, "-o", "m.npz"]) == 0
    said = json.loads(capsys.readouterr().out)
    expected = fit_model(open_data([data]), StackParameters(noise=0.2, depth=2, threshold=0.4, dtype="float64"))
    model = load_model("m.npz")
    assert model.fingerprint == said["fingerprint"] == expected.fingerprint
    assert said["errors"] == [layer.error for layer in expected.stack.layers]
    assert said["parameters"]["threshold"] == 0.4
    for one, other in zip(model.stack.layers, expected.stack.layers, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)


def test_that_weights_writes_the_rows_that_python_computes_to_the_bit(data: Path) -> None:
    assert main(["weights", "small.npz", "--pixels", "1,2", "5,5", "--noise", "0.4", "-o", "w.csv"]) == 0
    model = fit_model(open_data([data]), StackParameters(noise=0.4))
    expected = weight_rows(model, [8, 35])
    with open("w.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))[1:]
    assert [line[1:4] for line in lines] == [[*place, k] for place in (["1", "2"], ["5", "5"]) for k in "123"]
    found = np.array([[float(cell) for cell in line[4:]] for line in lines]).reshape(2, 3, 37)
    np.testing.assert_array_equal(found[:, :, 0], expected.biases)
    np.testing.assert_array_equal(found[:, :, 1:], expected.rows)


def test_that_a_saved_model_and_its_data_give_the_same_figure(data: Path) -> None:
    assert main(["fit", "small.npz", "--depth", "2", "-o", "m.npz"]) == 0
    assert main(["weights", "m.npz", "--pixels", "1,2", "-o", "a.svg"]) == 0
    assert main(["weights", "small.npz", "--depth", "2", "--pixels", "1,2", "-o", "b.svg", "--no-session"]) == 0
    assert Path("a.svg").read_bytes() == Path("b.svg").read_bytes()
    assert read_session(Path("b.svg")) is None


def test_that_pictures_hold_the_session_in_which_a_window_shows_the_same(data: Path) -> None:
    arguments = ["--noise", "0.2", "--depth", "2", "--pixels", "1,2", "--levels", "tile", "--colors", "jet"]
    assert main(["weights", "small.npz", *arguments, "-o", "w.png", "--format", "png", "svg", "pdf"]) == 0
    first, *others = (read_session(Path(f"w.{suffix}")) for suffix in ("png", "svg", "pdf"))
    assert first is not None
    assert others == [first, first]
    assert (first.page, first.parameters) == ("weights", StackParameters(noise=0.2, depth=2))
    assert (first.selection.pins, first.selection.levels, first.selection.colors) == ((8,), "tile", "jet")
    assert first.source.paths == ("small.npz",)
    session = located(first, Path("w.png"))
    assert session.source.load().fingerprint == session.fingerprint


def test_that_contributions_are_drawn_when_asked_for_and_the_table_tells_the_weights(
    data: Path, capsys: Capture
) -> None:
    said = []
    for show in ("weights", "contribution"):
        arguments = ["--show", show, "-o", f"{show}.svg", "--format", "svg", "csv", "--json"]
        assert main(["weights", "small.npz", *arguments]) == 0
        said.append(json.loads(capsys.readouterr().out))
    assert [document["show"] for document in said] == ["weights", "contribution"]
    assert said[0]["data"][0]["pixels"][0]["limits"] != said[1]["data"][0]["pixels"][0]["limits"]
    assert Path("weights.csv").read_bytes() == Path("contribution.csv").read_bytes()
    assert "contribution (weight × RMS)" in Path("contribution.svg").read_text(encoding="utf-8")
    assert main(["fit", "small.npz", "-o", "m.npz"]) == 0
    capsys.readouterr()
    assert main(["weights", "m.npz", "--show", "contribution"]) == 2
    assert "name the data instead" in capsys.readouterr().err


def test_that_all_formats_are_written_and_listed(data: Path, capsys: Capture) -> None:
    arguments = ["--levels", "global", "--colors", "jet", "--width", "double", "--bias", "--json"]
    assert main(["weights", "small.npz", *arguments, "-o", "w.pdf", "--format", "pdf", "svg", "png", "csv"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["outputs"] == ["w.pdf", "w.svg", "w.png", "w.csv"]
    assert all(Path(name).stat().st_size > 1000 for name in said["outputs"])
    (entry,) = said["data"]
    assert [len(pixel["biases"]) for pixel in entry["pixels"]] == [3, 3, 3, 3]


def test_that_each_data_set_takes_its_own_pixels(data: Path, capsys: Capture) -> None:
    np.savez("other.npz", X=np.random.default_rng(1).random((30, 5, 4)).astype(np.float32))
    arguments = ["weights", "small.npz", "other.npz", "--pixels", "1,2", "--pixels", "4,3", "-o", "w.csv", "--json"]
    assert main(arguments) == 0
    said = json.loads(capsys.readouterr().out)["data"]
    assert [entry["pixels"][0]["pixel"] for entry in said] == [[1, 2], [4, 3]]


@pytest.mark.parametrize(("show", "alone"), [("auto", True), ("contribution", False)])
def test_that_a_bundle_makes_itself_again_by_script_and_by_commands(data: Path, show: str, alone: bool) -> None:
    arguments = ["--noise", "0.2", "--depth", "2", "--pixels", "1,2", "--levels", "tile", "--show", show]
    arguments += ["--bundle", "bundle"]
    assert main(["weights", "small.npz", *arguments]) == 0
    bundle = Path("bundle")
    names = ["commands.txt", "weights.csv", "weights.pdf", "weights.png", "weights.py", "weights.svg"]
    assert sorted(os.listdir(bundle)) == sorted([*names, "weights.slide-session", RECORD])
    session = located(read_session(bundle), bundle)
    assert (session.parameters.noise, session.selection.levels, session.selection.show) == (0.2, "tile", show)
    assert session.source.load().fingerprint == session.fingerprint
    before = {name: (bundle / name).read_bytes() for name in names}
    figures = [name for name in names if name not in ("commands.txt", "weights.py")]

    os.makedirs("script")
    os.link("small.npz", "script/small.npz")
    for name in figures:
        os.remove(bundle / name)
    if alone:  # in a process of its own
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        subprocess.run([sys.executable, "../bundle/weights.py"], check=True, cwd="script", env=environment)
    else:
        run_script(bundle / "weights.py", Path("script"))
    commands = (bundle / "commands.txt").read_text(encoding="utf-8").splitlines()
    for command in commands:
        words = command.split()
        assert words[0] == "slide-gui"
        assert main(words[1:]) == 0
    assert os.listdir("script") == ["small.npz"], "the script writes next to itself"
    for name in figures:
        assert (bundle / name).read_bytes() == before[name]
        assert Path(name).read_bytes() == before[name]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fit"], "DATA"),
        (["fit", "small.npz", "--noise", "1"], "noise is 1.0"),
        (["fit", "small.npz", "--noise", "much"], "--noise"),
        (["fit", "small.npz", "--squashing", "relu"], "squashing is 'relu'"),
        (["fit", "small.npz", "--depth", "-1"], "depth is -1"),
        (["weights", "small.npz", "--depth", "0"], "depth is 0"),
        (["weights", "small.npz", "--pixels", "6,0"], "rows 0 to 5"),
        (["weights", "small.npz", "--pixels", "3"], "ROW,COLUMN"),
        (["weights", "small.npz", "--pixels", "1,1", "--pixels", "2,2"], "2 times for 1"),
        (["weights", "small.npz", "--levels", "row"], "levels is 'row'"),
        (["weights", "small.npz", "--width", "huge"], "width is 'huge'"),
        (["weights", "small.npz", "--show", "all"], "show is 'all'"),
        (["weights", "small.npz", "-o", "w.jpg"], "must end in"),
        (["weights", "small.npz", "--unknown"], "--unknown"),
        (["nonsense"], "neither a file nor one of the subcommands"),
        (["--nonsense"], "required"),
    ],
)
def test_that_wrong_usage_ends_with_two_and_one_sentence(
    data: Path, capsys: Capture, arguments: list[str], sentence: str
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("slide-gui: ")
    assert captured.err.count("\n") == 1
    assert sentence in captured.err


def test_that_one_row_is_refused_by_the_name_of_its_data(data: Path, capsys: Capture) -> None:
    Path("row.csv").write_text("a,b,label\n1,2,cat\n")
    for command in ("fit", "weights"):
        assert main([command, "row.csv"]) == 1
        assert capsys.readouterr().err == "slide-gui: row: has 1 row; at least two are needed to fit\n"


@pytest.mark.parametrize("command", ["fit", "weights"])
def test_that_unusable_data_end_with_one_and_one_sentence(data: Path, capsys: Capture, command: str) -> None:
    Path("empty.csv").touch()
    Path("broken.npz").write_bytes(data.read_bytes()[:300])
    for name in ("empty.csv", "broken.npz", "absent.csv"):
        assert main([command, name]) == 1
        captured = capsys.readouterr()
        assert captured.err.startswith("slide-gui: ")
        assert name in captured.err
        assert captured.err.count("\n") == 1
    assert not Path("weights.pdf").exists()


def test_that_an_output_that_cannot_be_written_ends_with_one_sentence(data: Path, capsys: Capture) -> None:
    assert main(["fit", "small.npz", "-o", "small.npz/m.npz"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(("what", "depth"), [("noise", 1), ("layers", 2)])
def test_that_an_animation_holds_one_picture_each_and_the_session(
    data: Path, capsys: Capture, what: str, depth: int
) -> None:
    arguments = ["--animate", what, "--depth", str(depth), "--pixels", "1,2", "--width", "single", "--dpi", "60"]
    assert main(["weights", "small.npz", *arguments, "--format", "gif", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outputs"] == ["weights.gif"]
    with Image.open("weights.gif") as image:
        assert getattr(image, "n_frames", 1) == {"noise": 20, "layers": 2}[what]
    session = read_session(Path("weights.gif"))
    assert session is not None
    assert (session.selection.pins, session.parameters.depth) == ((8,), depth)
    assert session.source.paths == ("small.npz",)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--animate", "depth"], "animate is 'depth'; it must be one of noise, layers"),
        (["--animate", "layers", "-o", "w.pdf"], "must end in .gif"),
        (["--animate", "layers", "--bundle", "b"], "exclude each other"),
        (["--animate", "layers", "--format", "png"], "--format 'png' is none of gif"),
        (["small.npz", "--animate", "layers"], "shows one data set"),
        (["-o", "w.gif"], "must end in .pdf, .svg, .png or .csv"),
    ],
)
def test_that_what_cannot_be_animated_is_refused(
    data: Path, capsys: Capture, arguments: list[str], sentence: str
) -> None:
    assert main(["weights", "small.npz", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_that_a_saved_model_is_animated_by_layer_and_not_by_noise(data: Path, capsys: Capture) -> None:
    assert main(["fit", "small.npz", "--depth", "2", "-o", "m.npz"]) == 0
    assert main(["weights", "m.npz", "--animate", "noise"]) == 2
    assert "needs the data" in capsys.readouterr().err
    assert main(["weights", "m.npz", "--animate", "layers", "--dpi", "60", "-o", "w.gif"]) == 0
    assert read_session(Path("w.gif")) is None
