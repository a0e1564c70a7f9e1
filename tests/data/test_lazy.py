"""Rows of Zarr arrays and Parquet tables are read in chunks, or refused in one sentence."""

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr

from slide_gui.data import lazy as lazy_module
from slide_gui.data.errors import DataError
from slide_gui.data.lazy import is_lazy, open_lazy
from slide_gui.data.reading import ParseOptions

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, used by Dask

IMAGES = np.random.default_rng(0).random((300, 4, 5)).astype("float32")
FLAT = IMAGES.reshape(300, 20)


def store(path, values, **options):
    array = zarr.create_array(str(path), shape=values.shape, dtype=values.dtype, **options)
    array[...] = values
    return array


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Change to a folder with the arrays and tables of these tests."""
    monkeypatch.chdir(tmp_path)
    store("flat.zarr", FLAT, chunks=(70, 7))
    store("images.zarr", IMAGES, chunks=(50, 2, 5))
    store("line.zarr", IMAGES[:, 0, 0], chunks=(50,))
    store("empty.zarr", IMAGES[:0], chunks=(50, 4, 5))
    store("group.zarr/rows", FLAT, chunks=(70, 20))
    zarr.open_group("group.zarr", mode="a")
    (tmp_path / "bad.zarr").mkdir()
    (tmp_path / "bad.zarr" / "zarr.json").write_text("{")
    columns = {f"x{i}": FLAT[:, i] for i in range(4)}
    words = {"word": ["a", "b", "c"] * 100, "class": np.arange(300) % 3, "lit": FLAT[:, 0] > 0.5}
    table = pa.table({**columns, **words})
    pq.write_table(table, "one.parquet", row_group_size=100)
    (tmp_path / "many.parquet").mkdir()
    for part in range(3):
        pq.write_table(table.slice(100 * part, 100), f"many.parquet/part-{part}.parquet")
    pq.write_table(pa.table({"word": ["a", "b"]}), "words.parquet")
    (tmp_path / "text.parquet").write_text("not a table")
    return tmp_path


def computed(rows):
    return rows.train.compute(scheduler="synchronous")


def test_that_an_address_tells_whether_rows_are_read_in_chunks():
    assert is_lazy("zarr:///data/a")
    assert is_lazy("parquet://b")
    assert not is_lazy("a.zarr")
    with pytest.raises(DataError, match="expected zarr://PATH or parquet://PATH"):
        open_lazy("a.zarr")


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("name", ["flat.zarr", "group.zarr/rows"])
def test_that_a_zarr_array_is_read_in_chunks_of_complete_rows(monkeypatch, name):
    monkeypatch.setattr(lazy_module, "_CHUNK", 3 * 70 * 80)
    rows = open_lazy(f"zarr://{name}")
    assert rows.train.chunks == ((210, 90), (20,))
    assert (rows.image_shape, rows.feature_names) == (None, ())
    np.testing.assert_array_equal(computed(rows), FLAT)


@pytest.mark.usefixtures("stored")
def test_that_images_in_a_zarr_array_become_rows_of_pixels():
    rows = open_lazy("zarr://images.zarr")
    assert (rows.name, rows.image_shape, rows.train.shape) == ("images", (4, 5), (300, 20))
    np.testing.assert_array_equal(computed(rows), FLAT)
    assert open_lazy("zarr://images.zarr", ParseOptions(shape=())).image_shape is None
    assert open_lazy("zarr://flat.zarr", ParseOptions(shape=(5, 4))).image_shape == (5, 4)


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("name", ["one.parquet", "many.parquet"])
@pytest.mark.parametrize("chunk", [1, 32 << 20])
def test_that_a_parquet_table_is_read_without_labels_and_text(monkeypatch, name, chunk):
    monkeypatch.setattr(lazy_module, "_CHUNK", chunk)
    rows = open_lazy(f"parquet://{name}")
    assert rows.feature_names == ("x0", "x1", "x2", "x3", "lit")
    assert rows.train.dtype == np.float32
    assert sum(rows.train.chunks[0]) == 300
    assert chunk > 1 or rows.train.chunks[0] == (100, 100, 100)
    np.testing.assert_array_equal(computed(rows), np.column_stack([FLAT[:, :4], FLAT[:, 0] > 0.5]))


@pytest.mark.usefixtures("stored")
def test_that_columns_of_a_parquet_table_are_left_out_as_requested():
    options = ParseOptions(label_column="x1", left_out=("1",))
    assert open_lazy("parquet://one.parquet", options).feature_names == ("x2", "x3", "class", "lit")
    assert "class" in open_lazy("parquet://one.parquet", ParseOptions(label_column="none")).feature_names


def test_that_a_missing_number_of_a_table_is_nan(tmp_path):
    table = pa.table({"a": pa.array([1, None, 3], pa.int64()), "b": [1.0, 2.0, 3.0]})
    pq.write_table(table, tmp_path / "gap.parquet")
    rows = open_lazy(f"parquet://{tmp_path / 'gap.parquet'}")
    assert rows.train.dtype == np.float64
    assert np.isnan(computed(rows)[1, 0])


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("name", "reading", "sentence"),
    [
        ("zarr://absent.zarr", {}, "does not exist; check the path"),
        ("zarr://", {}, "does not exist"),
        ("zarr://group.zarr", {}, r"is a group of arrays \(rows\); give the path of one array, .*/NAME"),
        ("zarr://line.zarr", {}, r"is a 1-D array \(300,\) of float32, expected rows"),
        ("zarr://empty.zarr", {}, r"is a 3-D array \(0, 4, 5\)"),
        ("zarr://bad.zarr", {}, "cannot be read .*check its format"),
        ("zarr://one.parquet", {}, "cannot be read"),
        ("zarr://flat.zarr", {"label_column": "a"}, "is not a table with named columns"),
        ("zarr://flat.zarr", {"shape": (3, 3)}, "has 20 features, not 3 × 3 pixels"),
        ("zarr://flat.zarr", {"scaled": True}, "without scaling; remove that option"),
        ("zarr://flat.zarr", {"bins": 3}, "without classes or groups; remove those options"),
        ("zarr://flat.zarr", {"shape": (4, 5), "transposed": True}, "store the images row by row"),
        ("parquet://text.parquet", {}, "cannot be read .*check its format"),
        ("parquet://words.parquet", {}, "has no column of numbers except the labels; it has columns word"),
        ("parquet://one.parquet", {"label_column": "z"}, "has no column 'z'; it has 7 columns .x0, x1, x2, x3, word"),
        ("parquet://one.parquet", {"header": True}, "without a line of column names"),
    ],
)  # fmt: skip
def test_that_addresses_and_options_that_do_not_apply_are_refused(name, reading, sentence):
    with pytest.raises(DataError, match=sentence) as refusal:
        open_lazy(name, ParseOptions(**reading))
    assert str(refusal.value).startswith(name)
    assert "\n" not in str(refusal.value)


def test_that_too_many_features_for_the_memory_are_refused(tmp_path):
    zarr.create_array(str(tmp_path / "wide.zarr"), shape=(3, 2**31), chunks=(1, 1000), dtype="uint8")
    with pytest.raises(DataError, match=r"wide.zarr: the scatter of 2147483648 features needs .* use fewer features"):
        open_lazy(f"zarr://{tmp_path / 'wide.zarr'}")


@pytest.mark.parametrize("place", ["compressor", "filters"])
def test_that_a_codec_that_could_execute_code_is_refused(tmp_path, place):
    path = tmp_path / "pickled.zarr"
    zarr.create_array(str(path), shape=(2, 3), chunks=(2, 3), dtype="float32", zarr_format=2, compressors=None)
    (path / "0.0").write_bytes(b"cos\nsystem\n(S'echo ran > ran.txt'\ntR.")
    metadata, codec = json.loads((path / ".zarray").read_text()), {"id": "pickle", "protocol": 5}
    (path / ".zarray").write_text(json.dumps(metadata | {place: [codec] if place == "filters" else codec}))
    with pytest.raises(DataError, match=r"uses the codec pickle, which is not accepted|cannot be read"):
        open_lazy(f"zarr://{path}")


@pytest.mark.parametrize(
    "options", [{"zarr_format": 2}, {"zarr_format": 3}, {"shards": (140, 20)}, {"compressors": None}]
)
def test_that_common_formats_and_shards_are_read(tmp_path, options):
    store(tmp_path / "a.zarr", FLAT, chunks=(70, 20), **options)
    rows = open_lazy(f"zarr://{tmp_path / 'a.zarr'}")
    assert rows.train.chunks[0] == (300,)
    np.testing.assert_array_equal(computed(rows), FLAT)


def test_that_fingerprints_differ_exactly_if_the_files_differ(stored):
    def fingerprint(name):
        return open_lazy(f"{'zarr' if 'zarr' in name else 'parquet'}://{name}").fingerprint

    def packed(first, last):
        rows = np.zeros((4000, 4))
        rows[0, 0], rows[-1, -1] = first, last
        table = pa.table({f"x{i}": rows[:, i] for i in range(4)})
        pq.write_table(table, "wide.parquet", compression="none", use_dictionary=False, write_statistics=False)
        return fingerprint("wide.parquet")

    store("again.zarr", FLAT, chunks=(70, 7))
    store("other.zarr", FLAT, chunks=(70, 7))[299, 19] = 7.0
    assert fingerprint("again.zarr") == fingerprint("flat.zarr") != fingerprint("other.zarr")
    assert len({packed(1.0, 1.0), packed(2.0, 1.0), packed(1.0, 2.0)}) == 3  # the start and the end of a file
    assert packed(1.0, 1.0) == packed(1.0, 1.0)
    before = fingerprint("many.parquet")
    (stored / "many.parquet" / "part-2.parquet").rename(stored / "many.parquet" / "part-3.parquet")
    assert fingerprint("many.parquet") != before


@pytest.mark.usefixtures("stored")
def test_that_a_missing_package_is_named_with_its_installation(monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(ValueError, match=r"zarr is not installed: pip install 'slide-gui\[cluster\]'"):
        open_lazy("zarr://flat.zarr")
