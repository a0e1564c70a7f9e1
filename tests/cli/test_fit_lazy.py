"""`slide-gui fit` of rows that stay in their files, here and on workers."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr

from slide_gui.cli import main
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.experiments.files.model_file import load_model
from tests.core.test_stack import images

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's own, of pandas

ROWS = images(n=400).astype("float32")


@pytest.fixture
def stored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    zarr.create_array("rows.zarr", shape=(400, 8, 8), chunks=(100, 8, 8), dtype="float32")[...] = ROWS.reshape(
        400, 8, 8
    )
    pq.write_table(pa.table({f"x{i}": ROWS[:, i] for i in range(64)} | {"y": np.arange(400)}), "rows.parquet")


def fitted(capsys, *arguments):
    assert main(["fit", *arguments, "-o", "model.npz", "--json"]) == 0
    return json.loads(capsys.readouterr().out), load_model("model.npz")


@pytest.mark.parametrize("name", ["zarr://rows.zarr", "parquet://rows.parquet"])
def test_that_a_fit_of_rows_in_files_is_the_fit_of_these_rows(stored, capsys, name):
    document, model = fitted(capsys, name, "--noise", "0.4")
    assert (document["dataset"], document["n_samples"]) == ("rows", 400)
    assert model.image_shape == ((8, 8) if name.startswith("zarr") else None)
    assert model.feature_names[:2] == (() if name.startswith("zarr") else ("x0", "x1"))
    for layer, expected in zip(model.stack.layers, fit_stack(ROWS, StackParameters(noise=0.4)).layers, strict=True):
        np.testing.assert_array_equal(layer.weights, expected.weights)


def test_that_workers_give_the_model_of_this_process(stored, capsys):
    _, here = fitted(capsys, "zarr://rows.zarr")
    _, there = fitted(capsys, "zarr://rows.zarr", "--workers", "2")
    for layer, expected in zip(there.stack.layers, here.stack.layers, strict=True):
        np.testing.assert_array_equal(layer.weights, expected.weights)
    assert there.fingerprint == here.fingerprint


@pytest.mark.parametrize("largest", [1.0, 255.0])
def test_that_a_fit_says_when_values_lie_where_the_threshold_tells_nothing_apart(stored, capsys, largest):
    zarr.create_array("large.zarr", shape=(400, 64), chunks=(100, 64), dtype="float32")[...] = ROWS * largest
    assert main(["fit", "zarr://large.zarr"]) == 0
    assert ("some values lie outside 0 to 1" in capsys.readouterr().out) == (largest > 1)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["zarr://absent.zarr"], 1, "zarr://absent.zarr: does not exist; check the path"),
        (["zarr://rows.zarr", "zarr://rows.zarr"], 2, "expected a single zarr://PATH or parquet://PATH"),
        (
            ["zarr://rows.zarr", "--held-out", "0.5"],
            2,
            "all its rows are fitted; leave out the options of the test set",
        ),
        (["rectangles", "--workers", "2"], 2, "--workers and --scheduler need data named as zarr://PATH"),
        (["zarr://rows.zarr", "--scheduler", "nowhere"], 2, "expected tcp://HOST:PORT"),
    ],
)
def test_that_what_cannot_be_fitted_is_refused_in_one_sentence(stored, capsys, arguments, code, words):
    assert main(["fit", *arguments]) == code
    assert words in capsys.readouterr().err


def test_that_a_chunk_that_cannot_be_read_is_one_sentence_with_its_place(stored, capsys):
    chunk = next(each for each in Path("rows.zarr").rglob("*") if each.is_file() and each.name != "zarr.json")
    chunk.write_bytes(chunk.read_bytes()[:40])
    assert main(["fit", "zarr://rows.zarr"]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("slide-gui: zarr://rows.zarr: cannot be read (")
    assert said.endswith("; check its format")
