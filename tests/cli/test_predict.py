"""`predict` and `features` use the columns and the scale of training."""

import csv
from pathlib import Path

import numpy as np
import pytest

from slide_gui.data.errors import DataError
from slide_gui.experiments.files.model_file import load_model, save_model
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import RunSpec

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


def test_that_a_model_predicts_the_test_rows_as_its_run_did_and_is_saved_again_to_the_byte(cli, table):
    source = DataSource.of(["plants.csv"])
    dataset = source.load()
    result, model = run(dataset, RunSpec.from_document(cli(f"{TRAIN} --json").json["spec"])), load_model("model.npz")
    codes, margins = model.predict(dataset.test)
    assert np.array_equal(np.flatnonzero(codes != dataset.test_labels), result.misclassified)
    assert margins.shape == codes.shape
    assert (model.label_column, model.class_names) == ("kind", ("a", "b", "c"))
    save_model("again.npz", model)
    assert Path("again.npz").read_bytes() == Path("model.npz").read_bytes()
    tried = cli("try plants.csv --save-model tried.npz --json").json
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
    write("bare.csv", [row[:3] for row in table[1:6]])
    assert cli("predict model.npz bare.csv --json").json["classes"] == whole["classes"][:5]
    write("labelled.csv", table[1:6])
    assert cli("predict model.npz labelled.csv --json").json["n_test"] == 5


def test_that_predictions_are_written_with_margin_and_label_and_features_with_all_representations(cli, table):
    lines = cli("predict model.npz plants.csv -o out.csv").out.splitlines()
    assert lines[-1] == "saved out.csv"
    assert any(line.startswith("The classes differ in size: the balanced error is ") for line in lines)
    with Path("out.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
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
        ([["length", "mass", "width"], ["1", "x", "2"], ["1", "y", "2"]], "column “mass” has text"),
        ([["length", "mass", "width"], ["1", "2", "2"], ["1", "", "2"]], "row 2: “mass” is missing; fill"),
        ([["1", "2", "2", "4", "5"], ["1", "2", "3", "4", "6"]], "has 5 features, but the model has 3"),
    ],
)
def test_that_rows_that_do_not_fit_are_refused(cli, table, rows, message):
    write("new.csv", rows)
    assert message in cli("predict model.npz new.csv", code=1).err


def test_that_a_model_without_classifier_and_an_output_that_is_an_input_are_refused(cli, table):
    cli("fit plants.csv -o stack.npz")
    assert "stack.npz has no classifier; save one with" in cli("predict stack.npz plants.csv", code=2).err
    cli("features stack.npz plants.csv -o features.npz")
    cli("features model.npz plants.csv -o model.npz", code=2)
    cli("predict model.npz plants.csv -o plants.csv", code=2)
    Path("notes.npz").write_text("mine")
    assert "is not a model" in cli(f"{TRAIN} --save-model notes.npz", code=2).err
    assert "is not a regular file" in cli(f"{TRAIN} --save-model .", code=2).err
    assert "cannot save SdA; use" in cli("train plants.csv --method sda --save-model sda.npz", code=2).err


def test_that_a_feature_of_the_model_cannot_be_the_label_or_be_left_out(cli, table):
    for option in ("--label-column mass", "--label-column 2", "--leave-out mass", "--leave-out 2"):
        assert "column “mass” is a feature" in cli(f"predict model.npz plants.csv {option}", code=1).err
    assert "has no column 'nope'" in cli("predict model.npz plants.csv --leave-out nope", code=1).err
    by_number = cli("predict model.npz plants.csv --label-column 4 --json").json
    assert by_number["n_test"] == 90


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
    if name != "scaling":
        with pytest.raises(DataError, match="the members are not"):
            load_model("model.npz")
