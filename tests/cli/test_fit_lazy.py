"""`slide-gui fit` of rows that stay in their files, here and on workers."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.experiments.files.model_file import load_model
from tests.core.test_stack import images

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's own, of pandas

ROWS = images(n=400).astype("float32")


@pytest.fixture
def stored(cli):
    shape, chunks = (400, 8, 8), (100, 8, 8)
    zarr.create_array("rows.zarr", shape=shape, chunks=chunks, dtype="float32")[...] = ROWS.reshape(shape)
    pq.write_table(pa.table({f"x{i}": ROWS[:, i] for i in range(64)} | {"y": np.arange(400)}), "rows.parquet")


@pytest.mark.parametrize("name", ["zarr://rows.zarr", "parquet://rows.parquet"])
def test_that_a_fit_of_rows_in_files_is_the_fit_of_these_rows(stored, cli, name):
    document = cli(f"fit {name} --noise 0.4 -o model.npz --json").json
    model = load_model("model.npz")
    assert (document["dataset"], document["n_samples"]) == ("rows", 400)
    assert model.image_shape == ((8, 8) if name.startswith("zarr") else None)
    assert model.feature_names[:2] == (() if name.startswith("zarr") else ("x0", "x1"))
    for layer, expected in zip(model.stack.layers, fit_stack(ROWS, StackParameters(noise=0.4)).layers, strict=True):
        np.testing.assert_array_equal(layer.weights, expected.weights)


def test_that_workers_give_the_model_of_this_process(stored, cli):
    cli("fit zarr://rows.zarr -o here.npz")
    cli("fit zarr://rows.zarr -o there.npz --workers 2")
    here, there = load_model("here.npz"), load_model("there.npz")
    for layer, expected in zip(there.stack.layers, here.stack.layers, strict=True):
        np.testing.assert_array_equal(layer.weights, expected.weights)
    assert there.fingerprint == here.fingerprint


@pytest.mark.parametrize("largest", [1.0, 255.0])
def test_that_values_outside_the_range_of_thresholds_are_reported(cli, largest):
    zarr.create_array("large.zarr", shape=(400, 64), chunks=(100, 64), dtype="float32")[...] = ROWS * largest
    assert ("some values lie outside 0 to 1" in cli("fit zarr://large.zarr").out) == (largest > 1)


def test_that_an_unreadable_chunk_is_one_sentence_with_its_place(stored, cli):
    chunk = next(each for each in Path("rows.zarr").rglob("*") if each.is_file() and each.name != "zarr.json")
    chunk.write_bytes(chunk.read_bytes()[:40])
    sentence = cli("fit zarr://rows.zarr", code=1).err.splitlines()[-1]
    assert sentence.startswith("slide-gui: zarr://rows.zarr: cannot be read (")
    assert sentence.endswith("; check its format")
