"""`fit`, `weights`, `flow`, `copies`, `predict`, `features` and `fill` write the numbers of the Python interface."""

import csv
import os
import unicodedata
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from slide_gui import LinearImputer
from slide_gui.core.imputation import hidden_cell_errors
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data import generators
from slide_gui.data.errors import DataError
from slide_gui.data.files import RECORD
from slide_gui.data.reading import ParseOptions
from slide_gui.experiments.files.model_file import fit_model, load_model, save_model
from slide_gui.experiments.files.session import located, read_session
from slide_gui.experiments.files.source import DataSource, image_text
from slide_gui.experiments.inspection.closed_form import CopiesStudy
from slide_gui.experiments.inspection.flow import flow_result
from slide_gui.experiments.inspection.rows import weight_rows
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import RunSpec
from tests.experiments.test_splits import incomplete_table

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


def test_that_a_fit_without_layers_states_no_noise_level(cli, small):
    assert "fitted in" in cli("fit small.npz --depth 1").out
    output = cli("fit small.npz --depth 0").out
    assert output.splitlines()[1] == "the depth is 0, so no layer is fitted"
    assert "noise" not in output


def test_that_a_convolution_is_fitted_by_its_options_and_refused_for_a_table(cli, small):
    options = "--sharing convolution --window 3"
    document = cli(f"fit small.npz {options} -o m.npz --json").json
    assert (document["parameters"]["sharing"], document["parameters"]["window"]) == ("convolution", 3)
    expected = fit_model(SMALL.load(), StackParameters(sharing="convolution", window=3))
    np.testing.assert_array_equal(load_model("m.npz").stack.layers[2].weights, expected.stack.layers[2].weights)
    Path("table.csv").write_text("a,b,kind\n1,2,x\n2,1,y\n3,5,x\n")
    assert "slide-gui: the features are not pixels" in cli(f"fit table.csv {options} -o n.npz", code=1).err


def test_that_weights_writes_the_rows_that_python_computes_to_the_bit(cli, small):
    cli("weights small.npz --pixels 1,2 5,5 --noise 0.4 -o w.csv")
    expected = weight_rows(fit_model(SMALL.load(), StackParameters(noise=0.4)), [8, 35])
    with open("w.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))[1:]
    assert [line[1:4] for line in lines] == [[*place, k] for place in (["1", "2"], ["5", "5"]) for k in "123"]
    values = np.array([[float(cell) for cell in line[4:]] for line in lines]).reshape(2, 3, 37)
    np.testing.assert_array_equal(values[:, :, 0], expected.biases)
    np.testing.assert_array_equal(values[:, :, 1:], expected.rows)


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
    cli(f"{line} --no-session")
    assert read_session(Path("w.png")) is None


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
    document = cli("weights small.npz --animate noise --depth 2 --pixels 1,2 --dpi 60 --format gif --json").json
    assert (document["outputs"], document["show"]) == (["weights.gif"], "auto")
    assert "limits" not in document["data"][0]["pixels"][0], "they depend on the noise level"
    with Image.open("weights.gif") as image:
        assert getattr(image, "n_frames", 1) == 20
    session = read_session(Path("weights.gif"))
    assert (session.selection.pins, session.parameters.depth) == ((8,), 2)
    assert session.source.paths == ("small.npz",)


def test_that_a_flow_has_the_errors_of_the_library_and_rows_of_a_table_are_named_from_1(cli, tiny, flowers):
    document = cli("flow tiny.npz --row 3 --part test --depth 2 --corruption 5 -o f.svg --format svg csv --json").json
    dataset = TINY.load()
    expected = flow_result(fit_model(dataset, StackParameters(depth=2)), dataset.test[3], "test image 4", 5)
    assert document["image"] == "test image 4"
    assert ("weights", "test", "3") in read_session(Path("f.svg")).choices
    assert document["blanked"] == int((~expected.flow.survivors).sum())
    for layer, own in zip(document["layers"], expected.flow.layers, strict=True):
        assert layer == {"error_from_below": own.target_error, "error_from_x": own.input_error}
    stages = [line.split(",")[3] for line in Path("f.csv").read_text(encoding="utf-8").splitlines()]
    assert stages == ["stage", "x", "entered", "T(h0)", "h1", "T(h1)", "h2"]
    assert cli(f"flow {flowers} --row 3 --depth 1 -o f.csv --json").json["image"] == "training row 4"


def test_that_an_image_from_a_file_flows_through_the_stack(cli, tiny):
    Path("drawn.csv").write_text(image_text(np.eye(8, dtype=np.float32)), encoding="utf-8")
    document = cli("flow tiny.npz --image drawn.csv --name 'a line' --clean --depth 1 -o f.png --json").json
    assert (document["image"], document["corruption"], document["blanked"]) == ("a line", None, 0)
    assert Path("f.png").read_bytes().startswith(b"\x89PNG")
    session = read_session(Path("f.png"))
    assert (session.parameters.depth, session.choices) == (1, (("weights", "view", "flow"),))
    Path("bright.csv").write_text(image_text(255 * np.eye(8, dtype=np.float32)), encoding="utf-8")
    assert "bright.csv exceed the range of tiny; scale" in cli("flow tiny.npz --image bright.csv -o f.png").err


def test_that_copies_have_the_errors_of_the_library(cli, tiny):
    document = cli("copies tiny.npz --depth 1 --most 8 --seeds 2 --pixel 2,3 -o c.svg --json").json
    dataset = TINY.load()
    expected = CopiesStudy(fit_model(dataset, StackParameters(depth=1)).stack, dataset.train, most=8, seeds=2).run()
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


TRAIN = "train plants.csv --widths median --depth 1 --noise 0.1"


def write(name, rows):
    with Path(name).open("w", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture
def table(cli):
    """Return a table of 90 rows of three kinds, two thirds "b", with values far outside 0 to 1; save its model."""
    random, kinds = np.random.default_rng(5), [("a", "b", "b", "b", "b", "c")[k % 6] for k in range(90)]
    means = np.array([[{"a": 0, "b": 6, "c": 12}[kind], 900.0, 5.0] for kind in kinds])
    values = random.normal(size=(90, 3)) * [1, 100, 0.1] + means
    rows = [["length", "mass", "width", "kind"]]
    rows += [[*(f"{v:.4f}" for v in row), kind] for row, kind in zip(values, kinds, strict=True)]
    write("plants.csv", rows)
    cli(f"{TRAIN} --save-model model.npz")
    return rows


@pytest.mark.parametrize("scale", [None, "quantile"])
def test_that_a_model_predicts_the_test_rows_as_its_run_did_and_is_saved_again_to_the_byte(cli, table, scale):
    dataset = DataSource(paths=("plants.csv",), reading=ParseOptions(scaled=scale)).load()
    trained = cli(f"{TRAIN} --save-model model.npz --json{' --quantiles' * bool(scale)}").json
    result, model = run(dataset, RunSpec.from_document(trained["spec"])), load_model("model.npz")
    codes, _ = model.predict(dataset.test)
    write("new.csv", [table[0], *(table[1 + k] for k in dataset.order[len(dataset.train) :])])
    assert cli("predict model.npz new.csv --json").json["classes"] == [model.class_names[k] for k in codes]
    assert np.array_equal(np.flatnonzero(codes != dataset.test_labels), result.misclassified)
    assert (model.label_column, model.class_names) == ("kind", ("a", "b", "c"))
    save_model("again.npz", model)
    assert Path("again.npz").read_bytes() == Path("model.npz").read_bytes()
    if scale:
        tried = cli("try plants.csv --quantiles --budget 5 --save-model tried.npz --json").json
        assert len(load_model("tried.npz").stack.layers) == tried["depth"]


def test_that_columns_are_matched_by_name_and_scaled_as_in_training(cli, table):
    whole = cli("predict model.npz plants.csv --json").json
    assert whole["error"] < 0.1
    assert whole["recall"].keys() == {"a", "b", "c"}
    assert whole["balanced_error"] == pytest.approx(1 - np.mean(list(whole["recall"].values())))
    # a few rows have a different range, so scaling them by it would change their values
    few = [["id", *table[0][2::-1], "note"], *(["7", *row[2::-1], "dry"] for row in table[1:6])]
    write("few.csv", few)
    document = cli("predict model.npz few.csv --json").json
    assert document["classes"] == whole["classes"][:5]
    assert "error" not in document
    for name in ("old_train.csv", "old_test.csv"):
        write(name, few)
    answer = cli("predict model.npz old_train.csv old_test.csv --json")
    assert answer.json["classes"] == whole["classes"][:5]
    assert "only the test set old_test.csv is used" in answer.err
    write("bare.csv", [row[:3] for row in table[1:6]])
    assert cli("predict model.npz bare.csv --json").json["classes"] == whole["classes"][:5]
    write("metres.csv", [table[0], *([*(float(v) / 1000 for v in row[:3]), row[3]] for row in table[1:6])])
    warning = "most values of “mass”, “width” are far beyond the training range; check the units"
    assert warning in cli("predict model.npz metres.csv").err
    write("first.csv", [row[3:] + row[:3] for row in table[1:6]])
    assert cli("predict model.npz first.csv --json").json["n_test"] == 5
    write("labelled.csv", table[1:6])
    assert cli("predict model.npz labelled.csv --json").json["n_test"] == 5
    assert "not pixels and cannot be transposed" in cli("predict model.npz plants.csv --transposed", code=1).err


@pytest.mark.parametrize("names", [("\u202ea", "b" * 200), (-0.5, 0.5), (1234567.5, 2234567.5), (3, 7), ("01", "2b")])
def test_that_labels_of_new_rows_are_compared_with_names_of_the_model_and_keep_their_type(cli, names):
    write("x.csv", [["a", "b", "label"], *([k, -k, names[k // 20]] for k in range(40))])
    cli("train x.csv --noise 0.2 --depth 1 --save-model x.npz")
    assert cli("predict x.npz x.csv --json").json["error"] < 0.2
    cli("features x.npz x.csv -o f.npz")
    assert repr(np.load("f.npz")["y"].tolist()[-1])[:9] == repr(names[1])[:9]
    write("first.csv", [["a", "b", "label"], *([k, -k, str(names[0]).zfill(2)] for k in range(20))])
    assert cli("predict x.npz first.csv --json").json["error"] < 0.2
    write("empty.csv", [["a", "b", "label"], *([k, -k, ""] for k in range(20))])
    unlabelled, labelled = (cli(f"predict x.npz {name}.csv --json").json for name in ("empty", "first"))
    assert unlabelled["predicted"] == labelled["predicted"]


def test_that_labels_of_new_rows_are_compared_with_the_ranges_or_names_that_a_model_or_benchmark_has_as_classes(cli):
    write("x.csv", [["a", "label"], *([k, k / 4] for k in range(40))])
    cli("train x.csv --bins 3 --depth 0 --save-model x.npz")
    assert cli("predict x.npz x.csv --json").json["error"] < 0.2
    cli("train generated:rectangles --depth 0 --labels 100 --save-model m.npz")
    taller = [[1] * 784 for _ in range(3)]
    Path("x.amat").write_text("\n".join(" ".join(map(str, [*row, 1])) for row in taller))
    assert cli("predict m.npz x.amat --json").json["recall"].keys() == {"wider", "taller"}


def test_that_a_text_of_numbers_without_labels_is_read_as_new_rows(cli):
    rows = [[k / 40, 1 - k / 40, k % 2] for k in range(40)]
    Path("x.amat").write_text("\n".join(" ".join(map(str, row)) for row in rows))
    cli("train x.amat --noise 0.2 --depth 0 --save-model m.npz")
    Path("bare.amat").write_text("\n".join(" ".join(map(str, row[:2])) for row in rows))
    answers = [cli(f"predict m.npz {name} --json").json for name in ("x.amat", "bare.amat")]
    assert answers[0]["classes"] == answers[1]["classes"]
    assert "error" not in answers[1]
    assert "so it has no label column" in cli("predict m.npz x.amat --label-column none", code=1).err


@pytest.mark.parametrize("divisor", [1, 200])  # images, and a table with values in 0 … 1
def test_that_new_rows_are_matched_by_name_also_for_images_and_need_names_or_the_label_column(cli, divisor):
    rows = [[k % 2, *((LEVELS[k % 20, 0] // 2 + 128 * (k % 2)) / divisor), *LEVELS[k % 20, 1:].flat] for k in range(40)]
    rows = [row[: 65 if divisor == 1 else 5] for row in rows]
    head = ["label", *(f"p{k}" for k in range(len(rows[0]) - 1))]
    write("x.csv", [head, *rows])
    cli("train x.csv --depth 0 --save-model x.npz")
    write("new.csv", [head[::-1], *(row[::-1] for row in rows)])
    assert cli("predict x.npz new.csv --json").json["error"] < 0.2
    write("bare.csv", rows)
    assert "one column more than the model; use --label-column" in cli("predict x.npz bare.csv", code=1).err
    assert cli("predict x.npz bare.csv --label-column 1 --json").json["error"] < 0.2
    write("units.csv", [head, *([row[0], *(1000 * value for value in row[1:])] for row in rows)])
    assert divisor == 1 or "are far beyond the training range; check the units" in cli("predict x.npz units.csv").err


def test_that_the_label_of_new_rows_is_named_if_the_model_knows_none_and_classes_it_lacks_are_named(cli, table):
    values, kinds = np.array(table[1:])[:, :3].astype(float), [row[3] for row in table[1:]]
    np.savez("x.npz", X=values, y=kinds)
    cli("train x.npz --depth 0 -C 10 --save-model m.npz")
    write("first.csv", [["abc".index(kind), *row] for kind, row in zip(kinds, values, strict=True)])
    assert "one column more than the model; use --label-column" in cli("predict m.npz first.csv", code=1).err
    write("index.csv", [["", "p", "q", "r"], *([k, *row] for k, row in enumerate(values))])
    write("last.csv", [[*row, kind.replace("c", "z")] for row, kind in zip(values, kinds, strict=True)])
    answer = cli("predict m.npz last.csv --json")
    assert answer.json["predicted"] == cli("predict m.npz index.csv --json").json["predicted"]
    assert "rows of the classes “z” count as errors" in answer.err


def test_that_the_number_of_a_label_column_without_name_is_no_column_of_new_rows_with_names(cli):
    rows = [[k / 40, 1 - k / 40, k % 2] for k in range(40)]
    write("x.csv", rows)
    cli("train x.csv --depth 0 -C 1 --widths median --save-model m.npz")
    write("named.csv", [["id", "a", "b"], *([k, *row[:2]] for k, row in enumerate(rows))])
    assert "one column more than the model; use --label-column" in cli("predict m.npz named.csv", code=1).err


def test_that_two_files_of_new_rows_are_refused_unless_one_is_a_test_set_and_a_missing_label_is_refused(cli, table):
    for name in ("a.csv", "b.csv"):
        write(name, table[:20])
    assert "a.csv and b.csv are both training sets; open" in cli("predict model.npz a.csv b.csv", code=1).err
    np.savez("new.npz", X=np.ones((2, 3)), y=[0, np.nan])
    assert "the label of row 2 is missing (nan); fill it in" in cli("predict model.npz new.npz", code=1).err


def test_that_labels_first_composed_names_and_the_shape_of_images_are_known_in_new_rows(cli):
    names = [("müde", "wach")[k % 2] for k in range(40)]
    np.savez("x.npz", X_train=[[k % 2, k / 40] for k in range(40)], y_train=names)
    cli("train x.npz --depth 0 --widths median --save-model x-model.npz")
    decomposed = [unicodedata.normalize("NFD", name) for name in names]
    write("new.csv", [["label", "a", "b"], *([name, k % 2, k / 40] for k, name in enumerate(decomposed))])
    assert cli("predict x-model.npz new.csv --json").json["error"] == 0
    write("lost.csv", [["#N/A", 0.5, "wach"], *([k % 2, k / 40, name] for k, name in enumerate(names))])
    assert "row 1: feature 1 is missing" in cli("predict x-model.npz lost.csv", code=1).err
    np.savez("wide.npz", X_train=LEVELS.reshape(20, 4, 16), y_train=np.arange(20) % 2 == 1)
    cli("train wide.npz --depth 0 --widths median --save-model wide-model.npz")
    assert cli("predict wide-model.npz wide.npz --json").json["recall"].keys() == {"0", "1"}
    np.savez("tall.npz", X=LEVELS.reshape(20, 16, 4))
    assert "has images of 16 × 4, but the model has 4 × 16" in cli("predict wide-model.npz tall.npz", code=1).err


LEVELS = np.random.default_rng(0).integers(0, 256, (20, 8, 8))
LEVELS[0, 0, :2] = 0, 255
DEEP = LEVELS.astype(np.uint16) * 16 + 1
PIXELS = {"u8": LEVELS.astype(np.uint8), "dark8": LEVELS // 20, "u12": DEEP, "dark12": DEEP // 20, "unit": LEVELS / 255}
PIXELS |= {"signed": LEVELS / 127.5 - 1, "bright": DEEP * 16, "u8i64": LEVELS, "faint": LEVELS / 2550 - 0.05}


@pytest.fixture
def pixels(cli):
    """Write the same images in several scales, as arrays and as folders of pictures."""
    for name, images in PIXELS.items():
        np.savez(name, X=images)
        for k, image in enumerate(images if images.dtype.itemsize < 8 else []):
            path = Path(f"{name}-folder/{k % 2}/{k:02}.png")
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(path)


IN_UNIT = "the pixels lie in 0 … 1, so they are not divided by 255"
ENDS = "but the training pixels range from 0 to"


@pytest.mark.parametrize(
    ("trained", "new", "divisor", "message"),
    [
        ("u8.npz", "dark8.npz", 255, ""),
        ("u8.npz", "unit.npz", 1, IN_UNIT),
        ("u8.npz", "u12.npz", 0, f"has pixels of 1 … 4081, {ENDS} 255; save the new rows in the scale of the training"),
        ("u8.npz", "signed.npz", 0, f"has pixels of -1 … 1, {ENDS} 255"),
        ("u12.npz", "u8.npz", 0, f"has 8-bit pixels, {ENDS} 4095"),
        ("unit.npz", "u8.npz", 0, f"has pixels of 0 … 255, {ENDS} 1"),
        ("signed.npz", "unit.npz", None, "the pixels lie in 0 … 1, but the training pixels range from -1 to 1"),
        ("u12.npz", "u8i64.npz", 4095, f"the pixels lie in 0 … 255, {ENDS} 4095; check the scale of the new rows"),
        ("faint.npz", "faint.npz", 1, f"the pixels lie in -0.05 … 0.05, {ENDS} 1; check the scale of the new rows"),
        ("signed.npz", "u8-folder", 0, "has pictures, but the model was trained on arrays"),
        ("u12-folder", "dark12-folder", 4095, ""),
        ("bright-folder", "dark12-folder", 65535, ""),
        ("u12-folder", "u8-folder", 0, f"has pixels of 8 bits, {ENDS} 4095"),
        ("dark12-folder", "u12-folder", 0, f"has pixels up to 4081, {ENDS} 255; save the pictures like those of"),
        ("u8-folder", "bright-folder", 65535, ""),
        ("bright-folder", "u8-folder", 255, ""),
        ("u8-folder", "dark8.npz", 255, ""),
        ("u8-folder", "unit.npz", 1, IN_UNIT),
    ],
)
def test_that_new_images_are_divided_as_in_training_or_refused(cli, pixels, trained, new, divisor, message):
    cli(f"fit {trained} -o model.npz")
    assert message in cli(f"features model.npz {new} -o f.npz", code=int(divisor == 0)).err
    if divisor:
        images = PIXELS[new.split("-")[0].removesuffix(".npz")].reshape(20, -1)
        order = np.argsort(np.arange(20) % 2, kind="stable") if "folder" in new else np.arange(20)
        with np.load("f.npz") as arrays:
            np.testing.assert_allclose(arrays["X"][:, :64], images[order] / divisor, atol=1e-6)


def test_that_a_model_without_the_scale_of_its_pixels_and_pictures_next_to_folders_of_images_are_reported(cli, pixels):
    cli("fit u8.npz -o model.npz")
    save_model("old.npz", replace(load_model("model.npz"), scaling=None))
    warning = "the model does not record the scale of training pixels, so values of 0 … 255 are not scaled"
    assert warning in cli("features old.npz u8.npz -o f.npz").err
    cli("train u8-folder --depth 1 --widths median --save-model model.npz")
    Path("u8-folder/0/00.png").rename("u8-folder/loose.png")
    assert "pictures next to the folders of classes left out" in cli("features model.npz u8-folder -o f.npz").err
    save_model("named.npz", replace(load_model("model.npz"), label_column="digit"))
    write("u8-folder/new.csv", [["file", "digit", "age"], *([f"{k % 2}/{k:02}", k % 2, k / 4] for k in range(2, 20))])
    cli("predict named.npz u8-folder -o p.csv")
    rows = [line.split(",") for line in Path("p.csv").read_text().splitlines()]
    pictures = [(f"{k % 2}/{k:02}.png", str(k % 2)) for k in range(2, 20)]
    assert [(row[1], row[4]) for row in rows] == [("picture", "label"), *pictures]
    cli("features named.npz u8-folder -o p.npz")
    with np.load("p.npz") as arrays:
        assert arrays["pictures"].tolist() == [name for name, _ in pictures]


def test_that_predictions_are_written_with_margin_and_label_and_features_with_all_representations(cli, table):
    lines = cli("predict model.npz plants.csv -o out.csv").out.splitlines()
    assert lines[-1] == "saved out.csv"
    assert any(line.startswith("The classes differ in size: the balanced error is ") for line in lines)
    with Path("out.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    assert [row["row"] for row in written] == [str(k) for k in range(1, 91)]
    assert [row["label"] for row in written] == [row[3] for row in table[1:]]
    assert [row["predicted"] for row in written] == cli("predict model.npz plants.csv --json").json["classes"]
    n_wrong = sum(row["predicted"] != row["label"] for row in written)
    assert f", {n_wrong} of 90 misclassified" in "\n".join(lines)
    cli("features model.npz plants.csv -o features.npz")
    dataset, model = DataSource.of(["plants.csv"]).load(), load_model("model.npz")
    with np.load("features.npz") as arrays:
        X, y = arrays["X"], arrays["y"]
    assert (X.shape, y.tolist()) == ((90, 6), [row[3] for row in table[1:]])
    assert np.array_equal(X[dataset.order[: len(dataset.train)]], model.stack.transform(dataset.train))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["length", "width"], ["1", "2"], ["2", "3"]], "lacks the column “mass” of the model"),
        ([["length", "mass", "width"], ["1", "x", "2"], ["1", "y", "2"]], "column “mass” contains text"),
        ([["length", "mass", "width"], ["1", "2", "2"], ["1", "", "2"]], "row 2: “mass” is missing; fill"),
        ([["length", "mass", "width"], ["1", "", "2"], ["1", "", "2"]], "row 1: “mass” is missing; fill"),
        ([["1", "2", "2", "4", "5"], ["1", "2", "3", "4", "6"]], "has 5 features, but the model has 3"),
    ],
)
def test_that_rows_that_do_not_fit_are_refused(cli, table, rows, message):
    write("new.csv", rows)
    assert message in cli("predict model.npz new.csv", code=1).err


def test_that_a_model_without_classifier_and_an_output_that_is_no_model_are_refused(cli, table):
    cli("fit plants.csv -o stack.npz")
    assert "stack.npz has no classifier; use a model saved by" in cli("predict stack.npz plants.csv", code=2).err
    cli("features stack.npz plants.csv -o features.npz")
    Path("notes.npz").write_text("mine")
    assert "is not a slide-gui model" in cli(f"{TRAIN} --save-model notes.npz", code=2).err
    assert "is not a regular file" in cli(f"{TRAIN} --save-model .", code=2).err
    assert "cannot save SdA; use" in cli("train plants.csv --method sda --save-model sda.npz", code=2).err


def test_that_a_feature_of_the_model_cannot_be_the_label_or_be_left_out(cli, table):
    for option in ("--label-column mass", "--label-column 2", "--leave-out mass", "--leave-out 2"):
        assert "column “mass” is a feature" in cli(f"predict model.npz plants.csv {option}", code=1).err
    assert "has no column 'nope'" in cli("predict model.npz plants.csv --leave-out nope", code=1).err
    assert cli("predict model.npz plants.csv --label-column 4 --json").json["n_test"] == 90
    without_labels = cli("predict model.npz plants.csv --leave-out 4 --json").json
    assert without_labels == cli("predict model.npz plants.csv --label-column none --json").json


@pytest.mark.parametrize("name", ["widths", "scaling", "vectors", "biases"])
def test_that_a_damaged_classifier_or_scale_is_refused(table, name):
    with np.load("model.npz") as file:
        arrays = dict(file)
    arrays[name] = np.full_like(arrays[name], np.nan)
    np.savez("model.npz", **arrays)
    with pytest.raises(DataError, match=f"{name} contains NaN"):
        load_model("model.npz")
    del arrays[name]
    np.savez("model.npz", **arrays)
    for array in ([[0.0] * 3, [1.0, 0.0, 1.0]], [[0.0] * 3, [2.0] * 3, [1.0] * 3], [[0.0] * 3]):
        np.savez("model.npz", **arrays | {"scaling": np.array(array)})
        with pytest.raises(DataError, match="exactly the arrays" if name != "scaling" else "unsorted quantiles"):
            load_model("model.npz")


def test_that_cells_and_errors_are_those_of_the_imputer_and_the_report_is_a_table_of_the_columns(cli):
    incomplete_table(Path("t.csv"))
    document = cli("fill t.csv -o filled.csv --json --seed 3").json
    X, written = (
        np.genfromtxt(name, delimiter=",", skip_header=1, usecols=range(8)) for name in ("t.csv", "filled.csv")
    )
    filled = LinearImputer().fit_transform(X)
    np.testing.assert_allclose((written - filled) / X[~np.isnan(X).any(axis=1)].std(axis=0), 0.0, atol=1e-3)
    counts, errors, mean_errors = hidden_cell_errors(LinearImputer(), X, seed=3)
    np.testing.assert_allclose([column["error"] for column in document["columns"]], errors, rtol=1e-6)
    np.testing.assert_allclose([column["mean_error"] for column in document["columns"]], mean_errors, rtol=1e-6)
    assert [column["hidden"] for column in document["columns"]] == counts.tolist()
    assert document["missing"] == document["filled"] == np.isnan(X).sum()
    assert document["error"] < document["mean_error"]
    assert document["unused"] == ["class"]
    lines = cli("fill t.csv -o filled.csv").out.splitlines()
    assert len(lines) == 2 + 8 + 3
    assert lines[1].split() == ["missing", "filled", "error", "column", "mean"]
    n = str(np.isnan(X).sum())
    assert lines[-3].split()[:4] == ["all", "columns", n, n]
    assert lines[-2:] == ["columns neither used nor changed: class", "saved filled.csv"]


def test_that_an_empty_column_stays_empty_and_a_complete_table_does_not_change(cli):
    Path("t.csv").write_text("a,b,c\n1,,2\n2,,3\n?,,5\n4,,7\n")
    assert [column["filled"] for column in cli("fill t.csv -o filled.csv --json").json["columns"]] == [1, 0]
    assert [line.split(",")[1] for line in Path("filled.csv").read_text().split()[1:]] == [""] * 4
    assert "columns neither used nor changed: b" in cli("fill t.csv -o filled.csv").out
    Path("t.csv").write_text("a,b\n1,2\n2,3\n3,5\n")
    cli("fill t.csv -o filled.csv")
    assert Path("filled.csv").read_bytes() == Path("t.csv").read_bytes()
