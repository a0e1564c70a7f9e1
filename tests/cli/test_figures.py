"""`fit`, `weights`, `flow` and `copies` write the numbers of the Python interface, with sessions and bundles."""

import csv
import os
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data import generators
from slide_gui.data.files import RECORD
from slide_gui.experiments.files.model_file import fit_model, load_model
from slide_gui.experiments.files.session import located, read_session
from slide_gui.experiments.files.source import DataSource, image_text
from slide_gui.experiments.inspection.closed_form import CopiesStudy
from slide_gui.experiments.inspection.flow import flow_result
from slide_gui.experiments.inspection.rows import weight_rows

SMALL = DataSource(paths=("small.npz",))
TINY = DataSource(paths=("tiny.npz",))


def test_that_fit_saves_the_weights_that_python_computes_to_the_bit(cli, small):
    document = cli("fit small.npz --noise 0.2 --depth 2 --threshold 0.4 --dtype float64 -o m.npz --json").json
    expected = fit_model(SMALL.load(), StackParameters(noise=0.2, depth=2, threshold=0.4, dtype="float64"))
    model = load_model("m.npz")
    assert model.fingerprint == document["fingerprint"] == expected.fingerprint
    assert document["errors"] == [layer.error for layer in expected.stack.layers]
    assert document["parameters"]["threshold"] == 0.4
    for layer, other in zip(model.stack.layers, expected.stack.layers, strict=True):
        np.testing.assert_array_equal(layer.weights, other.weights)


def test_that_a_convolution_is_fitted_by_its_options_and_refused_for_a_table(cli, small):
    options = "--sharing convolution --window 3"
    document = cli(f"fit small.npz {options} -o m.npz --json").json
    assert (document["parameters"]["sharing"], document["parameters"]["window"]) == ("convolution", 3)
    expected = fit_model(SMALL.load(), StackParameters(sharing="convolution", window=3))
    np.testing.assert_array_equal(load_model("m.npz").stack.layers[2].weights, expected.stack.layers[2].weights)
    assert "window is 4; it must be an odd integer" in cli("fit small.npz --window 4 -o n.npz", code=2).err
    Path("table.csv").write_text("a,b,kind\n" + "".join(f"{i % 7},{i % 3},{'xy'[i % 2]}\n" for i in range(40)))
    assert "slide-gui: the features are not pixels" in cli(f"fit table.csv {options} -o n.npz", code=1).err
    assert "the features are not pixels" in cli(f"train table.csv {options}", code=1).err


def test_that_weights_writes_the_rows_that_python_computes_to_the_bit(cli, small):
    cli("weights small.npz --pixels 1,2 5,5 --noise 0.4 -o w.csv")
    expected = weight_rows(fit_model(SMALL.load(), StackParameters(noise=0.4)), [8, 35])
    with open("w.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))[1:]
    assert [line[1:4] for line in lines] == [[*place, k] for place in (["1", "2"], ["5", "5"]) for k in "123"]
    values = np.array([[float(cell) for cell in line[4:]] for line in lines]).reshape(2, 3, 37)
    np.testing.assert_array_equal(values[:, :, 0], expected.biases)
    np.testing.assert_array_equal(values[:, :, 1:], expected.rows)


def test_that_a_saved_model_and_its_data_give_the_same_figure(cli, small):
    cli("fit small.npz --depth 2 -o m.npz")
    cli("weights m.npz --pixels 1,2 -o a.svg")
    cli("weights small.npz --depth 2 --pixels 1,2 -o b.svg --no-session")
    assert Path("a.svg").read_bytes() == Path("b.svg").read_bytes()
    assert read_session(Path("b.svg")) is None
    assert read_session(Path("a.svg")) is None
    assert "needs the data" in cli("weights m.npz --animate noise", code=2).err
    assert "name the data instead" in cli("weights m.npz --show contribution", code=2).err


def test_that_pictures_hold_the_session_in_which_a_window_shows_the_same(cli, small):
    line = "weights small.npz --noise 0.2 --depth 2 --pixels 1,2 --levels tile --colors jet -o w.png"
    cli(f"{line} --format png svg pdf")
    first, *others = (read_session(Path(f"w.{suffix}")) for suffix in ("png", "svg", "pdf"))
    assert others == [first, first]
    assert (first.page, first.parameters) == ("weights", StackParameters(noise=0.2, depth=2))
    assert (first.selection.pins, first.selection.levels, first.selection.colors) == ((8,), "tile", "jet")
    assert first.source.paths == ("small.npz",)
    session = located(first, Path("w.png"))
    assert session.source.load().fingerprint == session.fingerprint


def test_that_all_formats_are_written_and_each_data_set_takes_its_own_pixels(cli, small):
    np.savez("other.npz", X=np.random.default_rng(1).random((30, 5, 4)).astype(np.float32))
    line = "weights small.npz other.npz --pixels 1,2 --pixels 4,3 --levels global --bias --show contribution -o w.pdf"
    document = cli(f"{line} --format pdf svg png csv --json").json
    assert document["show"] == "contribution"
    assert document["outputs"] == ["w.pdf", "w.svg", "w.png", "w.csv"]
    assert all(Path(name).stat().st_size > 1000 for name in document["outputs"])
    assert [entry["pixels"][0]["pixel"] for entry in document["data"]] == [[1, 2], [4, 3]]
    assert [len(entry["pixels"][0]["biases"]) for entry in document["data"]] == [3, 3]


def test_that_a_bundle_has_figures_numbers_commands_script_and_session(cli, small):
    line = "weights small.npz --noise 0.2 --depth 2 --pixels 1,2 --levels tile --show contribution --transpose"
    cli(f"{line} --bundle bundle")
    bundle = Path("bundle")
    figures = ["weights.csv", "weights.pdf", "weights.png", "weights.svg"]
    texts = ["commands.txt", "weights.py", "weights.slide-session", RECORD]
    assert sorted(os.listdir(bundle)) == sorted([*figures, *texts])
    session = located(read_session(bundle), bundle)
    assert (session.parameters.noise, session.selection.levels) == (0.2, "tile")
    assert (session.selection.show, session.selection.transposed) == ("contribution", True)
    assert session.source.load().fingerprint == session.fingerprint == SMALL.load().fingerprint


def test_that_an_animation_holds_its_pictures_and_the_session(cli, small):
    line = "weights small.npz --animate noise --depth 2 --pixels 1,2 --dpi 60 --format gif --json"
    assert cli(line).json["outputs"] == ["weights.gif"]
    with Image.open("weights.gif") as image:
        assert getattr(image, "n_frames", 1) == 20
    session = read_session(Path("weights.gif"))
    assert (session.selection.pins, session.parameters.depth) == ((8,), 2)
    assert session.source.paths == ("small.npz",)


def test_that_a_flow_has_the_errors_of_the_library(cli, tiny):
    document = cli("flow tiny.npz --row 3 --part test --depth 2 --corruption 5 -o f.csv --json").json
    dataset = TINY.load()
    expected = flow_result(fit_model(dataset, StackParameters(depth=2)), dataset.test[3], "test image 4", 5)
    assert document["image"] == "test image 4"
    assert document["blanked"] == int((~expected.flow.survivors).sum())
    for layer, own in zip(document["layers"], expected.flow.layers, strict=True):
        assert layer == {"error_from_target": own.target_error, "error_from_x": own.input_error}
    stages = [line.split(",")[3] for line in Path("f.csv").read_text(encoding="utf-8").splitlines()]
    assert stages == ["stage", "x", "entered", "T(h0)", "h1", "T(h1)", "h2"]


def test_that_an_image_from_a_file_flows_through_the_stack(cli, tiny):
    Path("drawn.csv").write_text(image_text(np.eye(8, dtype=np.float32)), encoding="utf-8")
    document = cli("flow tiny.npz --image drawn.csv --name 'a line' --clean --depth 1 -o f.png --json").json
    assert (document["image"], document["corruption"], document["blanked"]) == ("a line", None, 0)
    assert Path("f.png").read_bytes().startswith(b"\x89PNG")
    session = read_session(Path("f.png"))
    assert (session.parameters.depth, session.choices) == (1, (("weights", "view", "flow"),))


def test_that_copies_have_the_errors_of_the_library(cli, tiny):
    document = cli("copies tiny.npz --depth 1 --most 8 --seeds 2 --pixel 2,3 -o c.svg --json").json
    dataset = TINY.load()
    model = fit_model(dataset, StackParameters(depth=1))
    expected = CopiesStudy(model.stack, dataset.train, most=8, seeds=2).run()
    assert document["feature"] == 19
    assert [point["copies"] for point in document["points"]] == [1, 2, 4, 8]
    assert [point["errors"] for point in document["points"]] == [point.errors.tolist() for point in expected.points]
    assert document["slope"] == expected.slope()
    assert "<svg" in Path("c.svg").read_text(encoding="utf-8")


def test_that_demo_writes_the_figure_its_numbers_and_a_picture_of_the_window(app, cli, monkeypatch):
    monkeypatch.setattr(generators, "rectangles", partial(generators.rectangles, 60, 40))
    names = ["weights.pdf", "weights.svg", "weights.png", "weights.csv", "window.png"]
    assert cli("demo --out out --json").json["outputs"] == [f"out/{name}" for name in names]
    assert Path("out/window.png").read_bytes().startswith(b"\x89PNG")
    cli("weights generated:rectangles --depth 4 -o again.svg")
    assert Path("again.svg").read_bytes() == Path("out/weights.svg").read_bytes()
